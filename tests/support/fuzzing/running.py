"""Many mutated files in few runs: tables of a few files each, and those that a run refuses by name are taken away before the next."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs
from structlog.testing import capture_logs

from dms_iceberg.bronze.keys import BronzeFile, digits_of, parse_key
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.config.model import Config
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import LocalStore, ObjectStore
from support.fuzzing.forms import Form, changed, loaded
from support.fuzzing.judging import WHOLE, Judgement, ReadFile
from support.fuzzing.mutating import mutated
from support.fuzzing.reading import read_file
from support.lake import Lake

FILES = 24
"""Mutated files of a table."""
_MOST_ROUNDS = 16
_ONE_IN = 10


@attrs.frozen(eq=False)
class MutatedFile:
    """A mutated file of a table; ``seed`` makes it again."""

    relative: str
    mutation: str
    seed: str
    data: bytes = attrs.field(repr=False)

    @property
    def label(self) -> str:
        return f"[{self.mutation} seed {self.seed}]"


@attrs.define
class FuzzedTable:
    """A table of mutated files and what became of them."""

    name: str
    form: Form
    files: list[MutatedFile]
    first: ReadFile
    refused: dict[str, str] = attrs.field(factory=dict)
    reports: list[Any] = attrs.field(factory=list)
    left_out: set[str] = attrs.field(factory=set)
    problems: list[str] = attrs.field(factory=list)
    good: int = 0
    good_rejected: int = 0
    is_done: bool = False

    @property
    def source(self) -> str:
        return f"public.{self.name}"


def fuzzed_table(lake: Lake, form: Form, seed: int, number: int, count: int = FILES) -> FuzzedTable:
    """Write a table's files: a whole LOAD file, and then mutated ones of both kinds."""
    name = f"{form.name}_{number}"
    files = [_mutated_file(form, f"{form.name}:{seed}:{number}:{place}", place) for place in range(count)]
    random = Random(f"{form.name}:{seed}:{number}")
    keys = [1000 * place + step for place in range(count) if not _is_load(place) for step in range(3)]
    relative = f"LOAD00000001.{form.extension}"
    data = form.encode(loaded(keys, random), random)
    for key, content in [(relative, data), *((file.relative, file.data) for file in files)]:
        path = lake.path(f"public.{name}", key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return FuzzedTable(name, form, files, ReadFile(relative, WHOLE, read_file(data, form)))


def _is_load(place: int) -> bool:
    return place % 3 == 0


def _mutated_file(form: Form, seed: str, place: int) -> MutatedFile:
    first = 1000 * place
    if _is_load(place):
        mutation, data = mutated(form, seed, lambda random: loaded(range(first, first + 4), random))
        return MutatedFile(f"LOAD{place + 2:08X}.{form.extension}", mutation, seed, data)
    mutation, data = mutated(form, seed, lambda random: changed(first, random))
    return MutatedFile(f"2026/03/01/10/20260301-10{place // 60 + 10:02d}{place % 60:02d}000.{form.extension}", mutation, seed, data)


def run_all(lake: Lake, form: Form, tables: Sequence[FuzzedTable]) -> None:
    """Run the job until no table fails, taking away what it refuses by name, and judge every table."""
    config = lake.config({table.source: form.entry for table in tables}, bronze=form.bronze, parallelism=2)
    for table in tables:
        _inspected(lake, config, table)
    for _ in range(_MOST_ROUNDS):
        waiting = [table for table in tables if not table.is_done]
        if not waiting:
            break
        # To show a failure with all its locals takes longer than to fail.
        with capture_logs():
            reports = lake.run(config, *(table.source for table in waiting)).tables
        for table in waiting:
            _after_run(lake, table, reports[table.source])
    for table in tables:
        if not table.is_done:
            table.problems.append(f"still fails after {_MOST_ROUNDS} runs")
        else:
            _judge(lake, table)


def _inspected(lake: Lake, config: Config, table: FuzzedTable) -> None:
    """Take away most of the files that the first look refuses, as each would cost a run; that a run says the same is seen by the others."""
    for file in table.files:
        if _is_for_the_first_look_only(table.form, file) or hashlib.sha256(file.seed.encode()).digest()[0] % _ONE_IN:
            looked_at(lake, config, table, file)


def looked_at(lake: Lake, config: Config, table: FuzzedTable, file: MutatedFile) -> BronzeFile | None:
    """Return a file that the first look lets in; None when it refuses it, or no other reader may see it, and then it is taken away."""
    store = LocalStore(lake.bronze)
    found = bronze_file(store, table, file.relative)
    try:
        inspect(store, [found], config.bronze, config.tables[table.source])
    except BronzeError as error:
        refuse(lake, table, str(error), [file])
    except Exception as error:
        table.problems.append(f"{file.label}: {type(error).__name__} instead of a BronzeError: {str(error)[:200]}")
        _take_away(lake, table, file, str(error))
    else:
        if not _is_for_the_first_look_only(table.form, file):
            return found
        table.left_out.add(file.relative)
        _take_away(lake, table, file, "left out")
    return None


def bronze_file(store: ObjectStore, table: FuzzedTable, relative: str) -> BronzeFile:
    """A file of a table as a listing shows it."""
    prefix = f"public/{table.name}/"
    (one,) = store.list(prefix + relative)
    file = parse_key(prefix, one.key, one.size, "", digits_of(one.modified))
    assert file is not None
    return file


def _is_for_the_first_look_only(form: Form, file: MutatedFile) -> bool:
    """Whether a file is damaged Parquet: Spark's vectorized reader never ends with some (docs/limits.md)."""
    return form.format == "parquet" and file.mutation.startswith(("bytes.", "footer")) and bool(read_file(file.data, form).broken)


def _after_run(lake: Lake, table: FuzzedTable, report: Any) -> None:
    table.reports.append(report)
    if report.error is None:
        table.is_done = True
        return
    refuse(lake, table, report.error, [file for file in table.files if file.relative not in table.refused])


def refuse(lake: Lake, table: FuzzedTable, error: str, candidates: Sequence[MutatedFile]) -> None:
    """Take away the file that an error names; an error that names none is a problem of all candidates."""
    for word in ("defect", "Traceback", "Py4J"):
        if word in error:
            table.problems.append(f"an error that nobody foresaw: {error[:400]}")
    named = [file for file in candidates if file.relative.rpartition("/")[2] in error]
    if not named:
        told = ", ".join(file.label for file in candidates)
        table.problems.append(f"an error that names no file: {error[:400]} (one of {told})")
        table.is_done = True
        table.refused |= {file.relative: error for file in candidates}
        return
    if len(error) > 2_500:
        table.problems.append(f"an error of {len(error)} characters: {error[:300]}")
    for file in named[:1]:
        _take_away(lake, table, file, error)


def _take_away(lake: Lake, table: FuzzedTable, file: MutatedFile, error: str) -> None:
    table.refused[file.relative] = error
    lake.path(table.source, file.relative).unlink()


def _judge(lake: Lake, table: FuzzedTable) -> None:
    left = [file for file in table.files if file.relative not in table.refused]
    files = [table.first, *(ReadFile(file.relative, file.label, read_file(file.data, table.form)) for file in left)]
    if table.problems and len(left) == 0:
        return
    batches = [batch for report in table.reports for batch in report.batches]
    for batch in batches:
        if batch.rows_read != batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined:
            table.problems.append(f"books that do not add up: {batch}")
    name = f"lake.{lake.namespace}.`{table.name}`"
    lake.spark.sql(f"REFRESH TABLE {name}")
    frame = lake.spark.table(name)
    shown = [column_as_number(column, type_) for column, type_ in frame.dtypes if not column.startswith("_cdc_")]
    silver = [{column.lower(): value for column, value in row.asDict().items()} for row in frame.selectExpr(*shown).collect()]
    rejected: dict[tuple[str, int], str] = {}
    if sum(batch.quarantined for batch in batches):
        rows = lake.quarantine(table.name, "file, row_number, reason, detail")
        prefix = f"public/{table.name}/"
        rejected = {(file.removeprefix(prefix), number): f"{reason}: {detail}" for file, number, reason, detail in rows}
        if not all(rejected.values()) or len(rejected) != sum(batch.quarantined for batch in batches):
            table.problems.append(f"{len(rejected)} rows in quarantine: {[batch.quarantined for batch in batches]}")
    judgement = Judgement()
    judgement.judge(files, silver, rejected, sum(batch.rows_read for batch in batches))
    note(table, judgement)


def column_as_number(column: str, type_: str) -> str:
    """SQL of a silver column, instants as microseconds and days as numbers."""
    name = "`" + column.replace("`", "``") + "`"
    made = {"at": f"unix_micros({name})", "born": f"unix_date({name})"}.get(column, name)
    return f"{made} AS {name}"


def note(table: FuzzedTable, judgement: Judgement) -> None:
    """Keep what was found about a table."""
    table.problems += judgement.problems
    table.good += judgement.good
    table.good_rejected += judgement.good_rejected


def outcomes(tables: Sequence[FuzzedTable]) -> Counter[str]:
    """How many files were refused, read, and, as damaged Parquet that the first look lets in, left out."""
    files, refused = (sum(map(len, every)) for every in ([table.files for table in tables], [table.refused for table in tables]))
    left_out = sum(len(table.left_out) for table in tables)
    return Counter(refused=refused - left_out, left_out=left_out, read=files - refused)


def replayed(lake: Lake, form: Form, seed: str) -> FuzzedTable:
    """The table of one mutated file alone, from the seed that a failure prints."""
    file = _mutated_file(form, seed, int(seed.rpartition(":")[2]))
    table = fuzzed_table(lake, form, 0, 0, 0)
    table.files.append(file)
    path = Path(lake.path(table.source, file.relative))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data)
    return table
