"""CSV without a header: columns are known by their place alone, so a file that is not exactly what the document names is refused."""

from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, write_text

T1 = "20260301100100"
CHANGES = "20260301-100130000.csv"
PEOPLE = {
    "source_columns": ["id", "email", "city"],
    "columns": [{"name": "id", "type": "bigint"}, {"name": "email", "mask": "redact"}],
}
NAMES = "id, email, city"


@attrs.frozen
class Task:
    """What a task writes behind the source columns, and what the document says of it."""

    sequence: bool = True
    stream: bool = False
    images: bool = False
    change: dict[str, Any] = attrs.field(factory=dict)

    @property
    def exact(self) -> dict[str, Any]:
        """``bronze.change`` that names what is written and nothing else."""
        absent = {
            "sequence_column": self.sequence,
            "stream_position_column": self.stream,
            "before_image_prefix": self.images,
        }
        return {name: None for name, written in absent.items() if not written} | self.change

    def line(self, op: str, counter: int, *values: object, image: object = "") -> str:
        """A change; a LOAD row has the counter 0."""
        trailing = [sequence(T1, counter) if counter else ""] if self.sequence else []
        trailing += [f"0/{counter:08X}" if counter else ""] if self.stream else []
        trailing += [str(image)] if self.images else []
        return ",".join([op, timestamp(T1) if counter else COMMIT, *map(str, values), *trailing])

    def load(self, *rows: tuple[object, ...]) -> list[str]:
        """Lines of a LOAD file."""
        return [self.line("I", 0, *row) for row in rows]


WHOLE = Task(stream=True, images=True)
WITHOUT_STREAM = Task(images=True)
ONLY_STREAM = Task(stream=True)
ONLY_SEQUENCE = Task()
ONLY_IMAGES = Task(sequence=False, images=True)
NOTHING = Task(sequence=False)
ADA, BOB = (1, "ada@example.org", "Paris"), (2, "bob@example.org", "Lima")


@attrs.frozen
class Case:
    """A table: its LOAD file, its change file, and what must become of them.

    Attributes:
        error: parts of the error; empty when the run must succeed.
        kept: keys in silver afterwards; None where there must be no table.
        rejected: parts of the details in quarantine.
    """

    name: str
    task: Task
    load: list[str]
    changes: list[str] = attrs.field(factory=list)
    error: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] | None = None
    rejected: tuple[str, ...] = ()
    change: dict[str, Any] | None = None
    table: dict[str, Any] = attrs.field(factory=lambda: PEOPLE)


LOADED = [(1, "***", "Paris"), (2, "***", "Lima")]
CASES = [
    Case("exact", WHOLE, WHOLE.load(ADA, BOB), [WHOLE.line("U", 61, 3, *BOB[1:], image=2)], rows=[LOADED[0], (3, "***", "Lima")]),
    Case("exact_without_stream", WITHOUT_STREAM, WITHOUT_STREAM.load(ADA, BOB), [WITHOUT_STREAM.line("D", 61, 2, "", "")], rows=LOADED[:1]),
    # A source column is gone: what stood behind it stands in its place.
    Case(
        "dropped",
        WHOLE,
        WHOLE.load(ADA, BOB),
        [WHOLE.line("U", 61, 1, "Rome"), WHOLE.line("I", 65, 4, "Oslo")],
        error=(CHANGES, "7 columns", "names 8", "dms_change_seq", "source_columns", "5: sequence 2"),
        rows=LOADED,
    ),
    Case(
        "dropped_without_before_images",
        ONLY_SEQUENCE,
        ONLY_SEQUENCE.load((1, "Paris")),
        error=("LOAD00000001.csv", "5 columns", "source_columns"),
    ),
    # The document names what the task does not write, and a source column is new.
    Case(
        "added_read_as_before_image",
        ONLY_SEQUENCE,
        ONLY_SEQUENCE.load((*ADA, 2), (*BOB, 1)),
        change={"stream_position_column": None},
        error=("LOAD00000001.csv", "6: whole number 2", "BI_id"),
    ),
    Case(
        "added_read_as_before_image_of_changes",
        ONLY_IMAGES,
        ONLY_IMAGES.load(ADA, BOB),
        [NOTHING.line("I", 61, 4, "x@example.org", "Oslo", 2), NOTHING.line("I", 65, 5, "y@example.org", "Bern", 1)],
        error=(CHANGES, "BI_id", "6: whole number 2"),
        rows=LOADED,
    ),
    Case(
        "before_image_read_as_stream_position",
        WITHOUT_STREAM,
        WITHOUT_STREAM.load(ADA, BOB),
        change={},
        error=("LOAD00000001.csv", "7 columns", "8", "bronze.change.stream_position_column to null"),
    ),
    Case(
        "before_image_in_the_place_of_the_stream_position",
        WITHOUT_STREAM,
        WITHOUT_STREAM.load(ADA, BOB),
        [
            WITHOUT_STREAM.line("I", 61, 4, "x", "Oslo"),
            WITHOUT_STREAM.line("I", 65, 5, "y", "x"),
            WITHOUT_STREAM.line("U", 69, 6, "x", "y", image=2),
        ],
        change={"before_image_prefix": None},
        error=(CHANGES, "dms_stream_position", "7: empty 2, whole number 1"),
        rows=LOADED,
    ),
    # As many columns as the document names, with its default of a stream position, which the task does not write.
    Case(
        "images_of_two_columns_for_a_stream_position_and_an_image",
        WITHOUT_STREAM,
        WHOLE.load(ADA, BOB),
        [WITHOUT_STREAM.line("U", 61, 1, "a@example.org", "Paris", image="1,2")],
        change={},
        error=(CHANGES, "8 columns may be two things", "bronze.change.stream_position_column to null"),
        rows=LOADED,
    ),
    Case(
        "image_for_a_stream_position_where_images_are_optional",
        WITHOUT_STREAM,
        ONLY_STREAM.load(ADA, BOB),
        [WITHOUT_STREAM.line("U", 61, 3, *BOB[1:], image=2)],
        change={"before_image": "optional"},
        error=(CHANGES, "7 columns may be two things", "bronze.change.stream_position_column to null"),
        rows=LOADED,
    ),
    Case(
        "load_without_op", WHOLE, [line[2:] for line in WHOLE.load(ADA, BOB)], error=("7 columns", "bronze.change.load_without_op to true")
    ),
    Case(
        "load_with_op",
        attrs.evolve(WHOLE, change={"load_without_op": True}),
        WHOLE.load(ADA, BOB),
        error=("8 columns", "bronze.change.load_without_op to false"),
    ),
    # Beyond the rows that are looked at: row by row.
    Case(
        "changed_in_the_middle",
        ONLY_IMAGES,
        ONLY_IMAGES.load(ADA, BOB),
        [
            *(ONLY_IMAGES.line("U", 61, 1, "a@example.org" * 10, "Paris", image=1) for _ in range(700)),
            NOTHING.line("I", 61, 4, "x@example.org", "Oslo", 2),
            NOTHING.line("D", 61, 2, "", ""),
        ],
        rows=LOADED,
        rejected=("service column", "columns of its file"),
    ),
    Case(
        "images_in_source_order",
        Task(images=True),
        ["I,2026-03-01 10:00:00.000000,1,7,x,,,"],
        [Task(images=True).line("U", 61, 1, 8, "x", image="1,7")],
        rows=[(1, 8, "x")],
        table={
            "key": ["b", "a"],
            "source_columns": ["a", "b", "v"],
            "columns": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}],
        },
    ),
]


@attrs.frozen
class Ran:
    """Every case's lake and report."""

    lakes: dict[str, Lake]
    reports: dict[str, TableReport]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Cases with the same document are one run, first with the LOAD files, then with the changes."""
    ran = Ran({}, {})
    documents: dict[str, list[Case]] = {}
    for case in CASES:
        documents.setdefault(repr(_change(case)), []).append(case)
    for number, cases in enumerate(documents.values()):
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp(f"headerless_{number}"))
        bronze = {"format": "csv", "csv": {"header": False}, "change": _change(cases[0])}
        config = lake.config({f"public.{case.name}": case.table for case in cases}, bronze=bronze)
        for case in cases:
            write_text(lake, f"public.{case.name}", "LOAD00000001.csv", case.load, header=None)
        reports = lake.run(config).tables
        later = [case for case in cases if case.changes]
        for case in later:
            assert reports[f"public.{case.name}"].error is None
            write_text(lake, f"public.{case.name}", cdc_name(1, "csv"), case.changes, header=None)
        reports |= lake.run(config, *(f"public.{case.name}" for case in later)).tables if later else {}
        ran.lakes.update({case.name: lake for case in cases})
        ran.reports.update({case.name: reports[f"public.{case.name}"] for case in cases})
    return ran


def _change(case: Case) -> dict[str, Any]:
    return case.task.exact if case.change is None else case.change


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_headerless_file(ran: Ran, case: Case) -> None:
    lake, report = ran.lakes[case.name], ran.reports[case.name]
    if case.error:
        assert report.error is not None, "no error"
        assert not [part for part in case.error if part not in report.error], report.error
        assert not [value for value in ("example.org", "Paris", "Lima", "Oslo") if value in report.error]
        assert len(report.error) < 1500
    else:
        assert report.error is None, report.error
    assert lake.spark.catalog.tableExists(f"lake.{lake.namespace}.{case.name}") == (case.rows is not None)
    if case.rows is not None:
        names = NAMES if case.table is PEOPLE else "a, b, v"
        found = lake.rows(case.name, names)
        assert found == case.rows
    rejected = lake.quarantine(case.name) if report.quarantined else []
    assert all(part in detail for (_, detail), part in zip(rejected, case.rejected, strict=True))


def test_plan_refuses_what_a_run_refuses(lake: Lake) -> None:
    write_text(lake, "public.t", "LOAD00000001.csv", WITHOUT_STREAM.load(ADA), header=None)
    (found,) = preview(lake.spark, lake.config({"public.t": PEOPLE}, bronze={"format": "csv", "csv": {"header": False}}))
    assert found.error is not None and "bronze.change.stream_position_column to null" in found.error


def test_a_file_of_an_older_structure_is_merged_before_the_document_follows(lake: Lake) -> None:
    """A source column was added between two files of one batch: one by one, each is merged by the document of its time."""
    bronze = {"format": "csv", "csv": {"header": False}, "change": ONLY_SEQUENCE.exact}
    load = ONLY_SEQUENCE.load(ADA)
    write_text(lake, "public.t", "LOAD00000001.csv", load, header=None)
    write_text(lake, "public.t", cdc_name(1, "csv"), [ONLY_SEQUENCE.line("I", 61, *BOB)], header=None)
    write_text(lake, "public.t", cdc_name(2, "csv"), [ONLY_SEQUENCE.line("I", 65, 3, "c@example.org", "Oslo", "new")], header=None)
    old = lake.config({"public.t": PEOPLE}, bronze=bronze, batch={"max_files": 1})
    assert "7 columns" in str(lake.run_one(old, fails=True).error)
    assert lake.rows("t", NAMES) == LOADED
    table = {**PEOPLE, "source_columns": ["id", "email", "city", "more"]}
    lake.run_one(lake.config({"public.t": table}, bronze=bronze))
    assert lake.rows("t", f"{NAMES}, more") == [(*row, None) for row in LOADED] + [(3, "***", "Oslo", "new")]


def test_a_task_whose_before_images_were_switched_on_later(lake: Lake) -> None:
    """Each file has them or not; old ones are read again by a rebuild, for a late change, and from the quarantine."""
    bare = Task(stream=True)
    optional = {"format": "csv", "csv": {"header": False}, "change": {"before_image": "optional"}}
    required = lake.config({"public.t": PEOPLE}, bronze={**optional, "change": {}})
    config = lake.config({"public.t": PEOPLE}, bronze=optional)
    strict = {**PEOPLE, "rules": [{"name": "known", "expr": "city <> 'Nowhere'"}]}
    held = lake.config({"public.t": strict}, bronze=optional)
    write_text(lake, "public.t", "LOAD00000001.csv", bare.load(ADA, BOB), header=None)
    assert "set bronze.change.before_image to 'optional'" in str(lake.run_one(required, fails=True).error)
    changes = [bare.line("U", 61, 1, "x", "Rome"), bare.line("I", 65, 7, "y", "Nowhere")]
    write_text(lake, "public.t", cdc_name(1, "csv"), changes, header=None)
    assert lake.run_one(held).quarantined == 1
    write_text(
        lake, "public.t", cdc_name(5, "csv"), [WHOLE.line("U", 77, 3, *BOB[1:], image=2), WHOLE.line("I", 81, 9, "", "")], header=None
    )
    lake.run_one(held)
    moved = [(1, "***", "Rome"), (3, "***", "Lima"), (9, None, None)]
    assert lake.rows("t", NAMES) == moved
    # Late: from before what is merged, in a file without before-images.
    write_text(
        lake, "public.t", cdc_name(3, "csv"), [bare.line("U", 69, 2, "late", "Oslo"), bare.line("I", 73, 5, "z", "Bern")], header=None
    )
    lake.run_one(held)
    after = sorted([*moved, (5, "***", "Bern")])
    assert lake.rows("t", NAMES) == after
    assert replay(lake.spark, config).tables["public.t"].applied == 1
    after = sorted([*after, (7, "***", "Nowhere")])
    assert lake.rows("t", NAMES) == after
    (rebuilt,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert rebuilt.error is None
    assert lake.rows("t", NAMES) == after
    # Neither width.
    write_text(lake, "public.t", cdc_name(7, "csv"), [bare.line("I", 85, 6, "w", "Bern", "new", "newer")], header=None)
    error = str(lake.run_one(config, fails=True).error)
    assert "9 columns" in error and "names 8" in error and "or 7 without before-images" in error
