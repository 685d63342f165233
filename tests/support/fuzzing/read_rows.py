"""What the job's readers make of many mutated files, before anything is merged: thousands of files in the time of a few merges."""

from collections.abc import Sequence
from typing import Any

import attrs
from pyspark.sql import DataFrame

from dms_iceberg.bronze.corrupt_files import find_corrupt_file
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.changes.frames import Cleaner, ReadGroup
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.context import RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.silver.analysis import analysed_evolution
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.sql.cdc_columns import FILE, OLD_KEY, OP, POSITION, PROBLEM, ROW_NUMBER
from dms_iceberg.storage.open_store import open_store
from support.fuzzing.forms import Form
from support.fuzzing.judging import MadeRow, ReadFile, judge_rows
from support.fuzzing.reading import read_file
from support.fuzzing.running import FuzzedTable, bronze_file, column_as_number, looked_at, note, refuse
from support.lake import Lake


@attrs.define
class _Reader:
    """The readers of one table at work."""

    lake: Lake
    job: RunContext
    table: FuzzedTable
    made: list[MadeRow] = attrs.field(factory=list)

    def read(self, files: Sequence[BronzeFile]) -> None:
        """Read files together, and without the one that is refused once more."""
        entry = self.job.config.tables[self.table.source]
        while files:
            try:
                groups = open_files(self.job, entry, files)
                shape = analysed_evolution(self.job, entry, groups, None).shape
                break
            except (DmsIcebergError, *FAILURES) as error:
                files = self._without_refused(files, error)
        else:
            return
        cleaner = Cleaner(self.job, entry, shape, load=0)
        frames = [cleaner.clean([one], with_record=True) for one in groups]
        for one, frame in zip(groups, frames, strict=True):
            self._collect(one, frame)

    def _collect(self, group: ReadGroup, frame: DataFrame) -> None:
        try:
            self.made += [_made_row(row, self.table.source) for row in frame.selectExpr(*_shown(frame)).collect()]
        except FAILURES as error:
            self.read(self._without_refused(group.group.files, error))

    def _without_refused(self, files: Sequence[BronzeFile], error: BaseException) -> list[BronzeFile]:
        keys = {file.relative for file in files}
        candidates = [file for file in self.table.files if file.relative in keys and file.relative not in self.table.refused]
        try:
            find_corrupt_file(self.job.spark, self.job.store, files, error)
        except DmsIcebergError as found:
            error = found
        text = str(error) if isinstance(error, DmsIcebergError) else describe(error)
        refuse(self.lake, self.table, text, candidates)
        return [file for file in files if file.relative not in self.table.refused]


def read_all(lake: Lake, form: Form, tables: Sequence[FuzzedTable]) -> None:
    """Read every table's files as a run does, and judge each row."""
    config = lake.config({table.source: form.entry for table in tables}, bronze=form.bronze)
    job = RunContext(lake.spark, config, open_store(config.bronze.uri), "fuzz")
    for table in tables:
        reader = _Reader(lake, job, table)
        looks = [looked_at(lake, config, table, file) for file in table.files]
        reader.read([bronze_file(job.store, table, table.first.relative), *(found for found in looks if found is not None)])
        left = [file for file in table.files if file.relative not in table.refused]
        files = [table.first, *(ReadFile(file.relative, file.label, read_file(file.data, form)) for file in left)]
        note(table, judge_rows(files, [row for row in reader.made if row.relative not in table.refused]))


def _shown(frame: DataFrame) -> list[str]:
    columns = [column_as_number(column, type_) for column, type_ in frame.dtypes if not column.startswith("_cdc_")]
    return [*columns, FILE, ROW_NUMBER, OP, POSITION, OLD_KEY, PROBLEM]


def _made_row(row: Any, source: str) -> MadeRow:
    values = row.asDict()
    own = {name: values.pop(name) for name in (FILE, ROW_NUMBER, OP, POSITION, OLD_KEY, PROBLEM)}
    relative = own[FILE].partition("/" + source.replace(".", "/") + "/")[2]
    takes_away = own[OLD_KEY] == 1 or own[OP] == "D"
    lower = {name.lower(): value for name, value in values.items()}
    return MadeRow(relative, own[ROW_NUMBER], own[POSITION], lower.get("id"), None if takes_away else lower, own[PROBLEM])
