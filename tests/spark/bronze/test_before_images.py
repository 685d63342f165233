"""Before-images never show in silver what a mask or drop keeps back, and a column that is only called like one is not lost in silence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import RunReport, TableReport
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, write_text

T1, T2 = "20260301100100", "20260301100200"
ID, EMAIL, TEXT = ("id", pa.int64()), ("email", pa.string()), pa.string()
MASKED = {"columns": [{"name": "email", "expr": "lower(email)", "mask": "redact"}]}


def write_json(lake: Lake, table: str, name: str, *rows: dict[str, Any]) -> None:
    """Members that are NULL are left out."""
    write_text(lake, table, name, map(json.dumps, rows), None)


def loaded(**row: Any) -> dict[str, Any]:
    return {"Op": "I", "dms_commit_ts": COMMIT, "dms_change_seq": "", **row}


def updated(counter: int, **row: Any) -> dict[str, Any]:
    return {"Op": "U", "dms_commit_ts": timestamp(T1), "dms_change_seq": sequence(T1, counter), **row}


@attrs.frozen
class Done:
    """A run, and the warnings of the plan before it."""

    lake: Lake
    config: Config
    report: RunReport
    planned: dict[str, list[str]]

    def table(self, name: str) -> TableReport:
        one = self.report.tables[f"public.{name}"]
        assert one.error is None, one.error
        assert self.planned[one.table] == one.warnings
        return one

    def columns(self, name: str) -> list[str]:
        found = self.lake.spark.table(f"lake.{self.lake.namespace}.{name}").columns
        return [column for column in found if not column.startswith("_cdc_")]


def done(lake: Lake, config: Config) -> Done:
    planned = {one.table: one.warnings for one in preview(lake.spark, config)}
    return Done(lake, config, lake.run(config), planned)


@pytest.fixture(scope="module")
def lines(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """JSON lines: the updates of a file leave ``email`` out, though they have its image."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("lines"))
    tables = {"public.masked": MASKED, "public.held": {**MASKED, "schema_changes": "strict"}, "public.dropped": {"drop": ["EMAIL"]}}
    config = lake.config(tables, bronze={"format": "json"})
    for table in tables:
        write_json(lake, table, "LOAD00000001.json", loaded(id="1", email="Ada@x.org", note="a"), loaded(id="2", email="b@x.org", note="b"))
    assert lake.run(config).failed == []
    for table in tables:
        same = updated(61, id="1", note="A", BI_id="1", BI_email="Ada@x.org", BI_note="a")
        moved = updated(65, id="3", note="b", BI_id="2", BI_email="b@x.org")
        write_json(lake, table, cdc_name(1, "json"), same, moved)
    return done(lake, config)


def test_an_image_of_a_column_that_the_files_leave_out_does_not_show_it(lines: Done) -> None:
    assert lines.table("masked").warnings == []
    assert lines.columns("masked") == ["email", "id", "note"]
    assert lines.lake.rows("masked", "id, email, note") == [("1", None, "A"), ("3", None, "b")]
    lines.table("dropped")
    assert lines.columns("dropped") == ["id", "note"]


def test_an_image_is_no_change_of_the_structure(lines: Done) -> None:
    assert lines.table("held").warnings == []
    assert lines.lake.rows("held", "id, note") == [("1", "A"), ("3", "b")]


@pytest.fixture(scope="module")
def files(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """Parquet under DMS's own prefix."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("files"))
    plain, tool = [ID, EMAIL], ("bi_tool", TEXT)
    odd = [*plain, tool]
    declared = {"columns": [{"name": "bi_tool"}]}
    before: dict[str, dict[str, Any]] = {
        "public.among": {},
        "public.doubtful": {},
        "public.declared": {},
        "public.kept": declared,
        "public.leaked": declared,
        "public.secret": {},
    }
    for table in before:
        columns = odd if before[table] else plain
        lake.load(table, columns, [(1, "a", "hammer")[: len(columns)]])
    assert lake.run(lake.config(before)).failed == []
    for table in ("public.among", "public.declared", "public.kept"):
        lake.changes(table, cdc_name(1), [*odd, ("tool", TEXT)][: 4 if table == "public.among" else 3], [changed(table)])
    for table, source in (("public.doubtful", plain), ("public.leaked", [*plain, ("tool", TEXT)])):
        columns = [("Op", TEXT), ("dms_commit_ts", TEXT), *source, ("dms_change_seq", TEXT), ("BI_id", pa.int64()), tool]
        row = ("U", timestamp(T1), 1, "A", *("drill" for _ in source[2:]), sequence(T1, 61), None, "saw")
        lake.parquet(table, cdc_name(1), columns, [row])
    lake.changes("public.secret", cdc_name(1), [*plain, ("old_email", TEXT)], [("U", T1, 61, 1, "A", "a")], key=())
    after = {name: declared if name == "public.declared" else {} for name in before}
    yield done(lake, lake.config({**after, "public.secret": {"columns": [{"name": "email", "mask": "redact"}]}}))


def changed(table: str) -> tuple[Any, ...]:
    return ("U", T1, 61, 1, "A", "saw", *(["drill"] if table == "public.among" else []))


def test_a_column_that_only_looks_like_an_image_is_one_of_the_source_by_its_place(files: Done) -> None:
    assert files.table("among").warnings == []
    assert files.lake.rows("among", "id, email, bi_tool, tool") == [(1, "A", "saw", "drill")]


def test_an_image_of_nothing_known_is_left_out_with_a_warning_and_declared_it_is_a_column(files: Done) -> None:
    (warning,) = files.table("doubtful").warnings
    assert "a column 'bi_tool'" in warning and "not added" in warning and 'tables."public.doubtful".columns' in warning
    assert files.columns("doubtful") == ["id", "email"]
    assert files.table("declared").warnings == []
    assert files.lake.rows("declared", "id, email, bi_tool") == [(1, "A", "saw")]


def test_a_column_that_a_table_of_an_earlier_version_has_stays_unless_it_is_an_image(files: Done) -> None:
    assert files.table("kept").warnings == []
    assert files.lake.rows("kept", "id, email, bi_tool") == [(1, "A", "saw")]
    # The other one asks whether 'tool' is 'bi_tool' renamed.
    warning, _ = files.table("leaked").warnings
    assert "has the column 'bi_tool', the before-image of 'tool'" in warning and "DROP COLUMN" in warning
    assert files.lake.rows("leaked", "id, bi_tool, tool") == [(1, None, "drill")]


def test_what_may_show_a_masked_column_is_refused_until_the_document_says_what_it_is(files: Done) -> None:
    report = files.report.tables["public.secret"]
    assert report.error is not None
    assert "the column 'old_email' of public.secret may be a column of the source, or the before-image of 'email'" in report.error
    assert files.columns("secret") == ["id", "email"]
    masked = {"name": "email", "mask": "redact"}
    config = files.lake.config({"public.secret": {"columns": [masked, {"name": "old_email", "mask": "redact"}]}})
    assert files.lake.run(config).tables["public.secret"].error is None
    assert files.lake.rows("secret", "id, email, old_email") == [(1, "***", "***")]


@pytest.fixture(scope="module")
def suffixed(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Parquet whose images have a suffix; one table has others, that the configuration does not name."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("suffixed"))
    masked = {"columns": [{"name": "email", "mask": "redact"}]}
    tables: dict[str, dict[str, Any]] = {
        "public.suffixed": {**masked, "rules": [{"name": "known", "expr": "email <> 'bad'"}]},
        "public.unnamed": masked,
    }
    config = lake.config(tables, bronze={"change": {"before_image_prefix": None, "before_image_suffix": "_was"}})
    for table in tables:
        lake.load(table, [ID, EMAIL], [(1, "a"), (2, "b")])
    assert lake.run(config).failed == []
    images = [("id_was", pa.int64()), ("email_was", TEXT)]
    service = [("Op", TEXT), ("dms_commit_ts", TEXT), ID, EMAIL, ("dms_change_seq", TEXT)]
    rows = [("U", timestamp(T1), 3, "A", sequence(T1, 61), 1, "a"), ("U", timestamp(T1), 4, "bad", sequence(T1, 65), 2, "b")]
    lake.parquet("public.suffixed", cdc_name(1), [*service, *images], rows)
    lake.changes("public.unnamed", cdc_name(1), [ID, EMAIL], [("U", T1, 61, 3, "A", 1, "a")], key=("id", "email"))
    return done(lake, config)


def test_images_with_a_suffix_move_rows_and_stay_out(suffixed: Done) -> None:
    one = suffixed.table("suffixed")
    assert (one.warnings, one.quarantined) == ([], 1)
    assert suffixed.columns("suffixed") == ["email", "id"]
    assert suffixed.lake.rows("suffixed", "id, email") == [(3, "***")]
    lenient = suffixed.lake.config(
        {"public.suffixed": {"columns": [{"name": "email", "mask": "redact"}]}},
        bronze={"change": {"before_image_prefix": None, "before_image_suffix": "_was"}},
    )
    again = replay(suffixed.lake.spark, lenient).tables["public.suffixed"]
    assert (again.error, again.applied, again.warnings) == (None, 1, [])
    assert suffixed.columns("suffixed") == ["email", "id"]
    assert [key for (key,) in suffixed.lake.rows("suffixed", "id")] == [3, 4]


def test_images_that_the_configuration_does_not_name_are_left_out_with_a_warning(suffixed: Done) -> None:
    (warning,) = suffixed.table("unnamed").warnings
    assert "'BI_email', 'BI_id'" in warning and "Set bronze.change.before_image_prefix to 'BI_'" in warning
    assert suffixed.columns("unnamed") == ["email", "id"]
    # Nothing says that row 1 has become row 3.
    assert [key for (key,) in suffixed.lake.rows("unnamed", "id")] == [1, 2, 3]


@pytest.fixture(scope="module")
def hidden(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Parquet with images of a prefix or suffix that the document, which leaves the default, does not name."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("hidden"))
    masked = {"columns": [{"name": "email", "mask": "redact"}]}
    tables: dict[str, dict[str, Any]] = {"public.was": masked, "public.old": {"drop": ["email"]}, "public.key": {}}
    config = lake.config(tables)
    names = {"public.was": ["id_was", "email_was"], "public.old": ["OLD_id", "OLD_email"], "public.key": ["id_was"]}
    for table, images in names.items():
        lake.load(table, [ID, EMAIL], [(1, "ada@x")])
        row = ("U", timestamp(T1), 3, "ADA@x", sequence(T1, 61), 1, "ada@x")
        typed = [("dms_change_seq", TEXT), (images[0], pa.int64()), *((name, TEXT) for name in images[1:])]
        columns = [("Op", TEXT), ("dms_commit_ts", TEXT), ID, EMAIL, *typed]
        lake.parquet(table, cdc_name(1), columns, [row[: len(columns)]])
    return done(lake, config)


@pytest.mark.parametrize(
    ("table", "columns", "setting"),
    [("was", ["email", "id"], "suffix to '_was'"), ("old", ["id"], "prefix to 'OLD_'"), ("key", ["id", "email"], "suffix to '_was'")],
)
def test_images_of_a_masked_or_dropped_column_stay_out_whatever_prefix_or_suffix_they_have(
    hidden: Done, table: str, columns: list[str], setting: str
) -> None:
    (warning,) = hidden.table(table).warnings
    assert f"Set bronze.change.before_image_{setting}" in warning
    assert hidden.columns(table) == columns
