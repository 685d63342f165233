"""Changes of key away from an empty text, in CSV: the before-image is an empty field, and so may be one that is not there."""

from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, write_text

T1 = "20260301100100"
NULL = "<null>"
PAIR = ["id", "code"]
ID = {"name": "id", "type": "bigint"}
Row = tuple[Any, ...]


def loaded(*rows: Row, key: int, null: str = NULL) -> list[str]:
    return [",".join(["I", COMMIT, *row, "", *[null] * key]) for row in rows]


def changed(op: str, counter: int, *values: str) -> str:
    """A change: source values, then before-images."""
    source, images = values[:3], values[3:]
    return ",".join([op, timestamp(T1), *source, sequence(T1, counter), *images])


@attrs.frozen
class Case:
    """A table with the columns id, code and v.

    Attributes:
        rows: its (id, code, v) after both files.
        rejected: reasons in quarantine.
    """

    name: str
    key: list[str]
    load: list[Row]
    changes: list[str]
    rows: list[Row]
    rejected: list[str] = attrs.field(factory=list)
    table: dict[str, Any] = attrs.field(factory=dict)
    headerless: bool = False

    @property
    def entry(self) -> dict[str, Any]:
        return {"key": self.key, "columns": [ID], "source_columns": ["id", "code", "v"], **self.table}


LOADED = [("1", "", "a"), ("1", "x", "b"), ("2", "", "c")]
TOLD = [
    Case(
        "part",
        PAIR,
        LOADED,
        [changed("U", 61, "1", "y", "A", "1", ""), changed("U", 65, "1", "x", "B", NULL, NULL), changed("D", 69, "2", "", "", NULL, NULL)],
        rows=[(1, "x", "B"), (1, "y", "A")],
    ),
    Case("both_parts", PAIR, LOADED, [changed("U", 61, "3", "y", "C", "2", "")], rows=[(1, "", "a"), (1, "x", "b"), (3, "y", "C")]),
    Case("to_empty", PAIR, LOADED[1:], [changed("U", 61, "1", "", "B", "1", "x")], rows=[(1, "", "B"), (2, "", "c")]),
    # Oracle names only the parts that changed.
    Case(
        "only_changed_parts", PAIR, LOADED, [changed("U", 61, "3", "", "C", "2", NULL)], rows=[*[(1, "", "a"), (1, "x", "b")], (3, "", "C")]
    ),
    Case(
        "alone",
        ["code"],
        LOADED[:2],
        [changed("U", 61, "1", "x", "B", NULL), changed("U", 65, "1", "y", "A", ""), changed("I", 69, "4", "z", "D", NULL)],
        rows=[(1, "x", "B"), (1, "y", "A"), (4, "z", "D")],
    ),
    # MySQL names the key that was with every update.
    Case(
        "always",
        ["code"],
        LOADED[:2],
        [changed("U", 61, "1", "x", "B", "x"), changed("U", 65, "1", "y", "A", "")],
        rows=[(1, "x", "B"), (1, "y", "A")],
    ),
    # Files that leave before-images empty where there are none say nothing with an empty one.
    Case(
        "unclear",
        ["code"],
        LOADED[:2],
        [changed("I", 61, "4", "z", "D", ""), changed("U", 65, "1", "x", "B", ""), changed("U", 69, "4", "y", "D", "z")],
        rows=[(1, "", "a"), (1, "x", "b"), (4, "y", "D")],
        rejected=["ambiguous_before_image"],
    ),
    Case(
        "unclear_but_given",
        PAIR,
        LOADED,
        [changed("I", 61, "4", "z", "D", "", ""), changed("U", 65, "1", "y", "A", "1", "")],
        rows=[(1, "x", "b"), (1, "y", "A"), (2, "", "c"), (4, "z", "D")],
    ),
    # A number is never empty text.
    Case(
        "number",
        ["id"],
        LOADED[1:],
        [changed("U", 61, "1", "x", "B", ""), changed("U", 65, "3", "", "C", "2")],
        rows=[(1, "x", "B"), (3, "", "C")],
    ),
]
UNTOLD = [
    Case(
        "part",
        PAIR,
        LOADED,
        [changed("U", 61, "1", "y", "A", "1", ""), changed("U", 65, "1", "x", "B", "", "")],
        rows=[(1, "x", "B"), (1, "y", "A")],
        rejected=["null_key"] * 2,
    ),
    Case(
        "made_a_key",
        ["code"],
        LOADED[:2],
        [changed("U", 61, "1", "y", "A", ""), changed("U", 65, "1", "x", "B", "")],
        rows=[(1, "x", "B"), (1, "y", "A")],
        rejected=["ambiguous_key"],
        table={"columns": [ID, {"name": "code", "expr": "coalesce(code, '-')", "type": "string"}]},
    ),
]
DOCUMENTS = {"told": (TOLD, NULL), "untold": (UNTOLD, "")}


@pytest.fixture(scope="module")
def ran(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Lake, dict[str, TableReport]]]:
    ran = {}
    for name, (cases, null) in DOCUMENTS.items():
        for header in (True, False):
            lake = Lake(spark, warehouse, tmp_path_factory.mktemp(f"{name}_{header}"))
            change = {"stream_position_column": None}
            for case in cases:
                columns = ["Op", "dms_commit_ts", "id", "code", "v", "dms_change_seq", *(f"BI_{key}" for key in case.key)]
                first = ",".join(columns) if header else None
                source = f"public.{case.name}"
                write_text(lake, source, "LOAD00000001.csv", loaded(*case.load, key=len(case.key), null=null), first)
                write_text(lake, source, cdc_name(1, "csv"), case.changes, first)
            bronze = {"format": "csv", "csv": {"null": null, "header": header}, "change": change}
            config = lake.config({f"public.{case.name}": case.entry for case in cases}, bronze=bronze)
            ran[f"{name}-{header}"] = (lake, lake.run(config).tables)
    return ran


@pytest.mark.long
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    ("document", "case"), [pytest.param(name, case, id=f"{name}-{case.name}") for name, (cases, _) in DOCUMENTS.items() for case in cases]
)
def test_key_change_away_from_empty_text(
    ran: dict[str, tuple[Lake, dict[str, TableReport]]], document: str, case: Case, header: bool
) -> None:
    lake, reports = ran[f"{document}-{header}"]
    report = reports[f"public.{case.name}"]
    assert report.error is None, report.error
    assert lake.rows(case.name, "id, code, v", "1, 2") == case.rows
    assert [reason for reason, _ in lake.quarantine(case.name)] == case.rejected if report.quarantined else not case.rejected


@pytest.mark.long
@pytest.mark.parametrize("mode", ["soft_delete", "history", "append"])
def test_key_change_away_from_empty_text_in_other_modes(lake: Lake, mode: str) -> None:
    write_text(lake, "public.t", "LOAD00000001.csv", loaded(*LOADED, key=2), "Op,dms_commit_ts,id,code,v,dms_change_seq,BI_id,BI_code")
    line = changed("U", 61, "1", "y", "A", "1", "")
    write_text(lake, "public.t", cdc_name(1, "csv"), [line], "Op,dms_commit_ts,id,code,v,dms_change_seq,BI_id,BI_code")
    table = {"key": PAIR, "columns": [ID], "mode": mode}
    assert lake.run_one(lake.config({"public.t": table}, bronze={"format": "csv", "csv": {"null": NULL}})).quarantined == 0
    shown = {
        "soft_delete": ("id, code, _cdc_deleted", [(1, "", True), (1, "x", False), (1, "y", False), (2, "", False)]),
        "history": ("id, code, _valid_to IS NULL", [(1, "", False), (1, "x", True), (1, "y", True), (2, "", True)]),
        "append": ("id, code, _cdc_key_before", [(1, "", None), (1, "x", None), (1, "y", '{"id":1,"code":""}'), (2, "", None)]),
    }
    columns, rows = shown[mode]
    assert lake.rows("t", columns, "1, 2") == rows


@pytest.mark.long
def test_an_update_that_an_earlier_version_quarantined_may_have_moved(lake: Lake) -> None:
    """Its record lacks the before-image, be it empty text or not there: a replay leaves it, and a rebuild reads it again."""
    header = "Op,dms_commit_ts,id,code,v,dms_change_seq,BI_code"
    write_text(lake, "public.t", "LOAD00000001.csv", loaded(*LOADED[:2], key=1), header)
    write_text(lake, "public.t", cdc_name(1, "csv"), [changed("U", 61, "1", "y", "-", ""), changed("U", 65, "1", "x", "-", NULL)], header)
    table = {"key": ["code"], "columns": [ID]}
    bronze = {"format": "csv", "csv": {"null": NULL}}
    strict = lake.config({"public.t": {**table, "rules": [{"name": "told", "expr": "v <> '-'"}]}}, bronze=bronze)
    assert lake.run_one(strict).quarantined == 2
    name = f"lake.quarantine_{lake.namespace}.`{lake.namespace}__t`"
    before = "layout = replace(layout, '\"told\":true,', ''), record = replace(record, '\"BI_code\":\"\",', '')"
    lake.spark.sql(f"UPDATE {name} SET {before}")
    config = lake.config({"public.t": table}, bronze=bronze)
    assert [one.quarantined for one in replay(lake.spark, config).tables.values()] == [2]
    assert lake.quarantine("t", "reason") == [("ambiguous_before_image",)] * 2
    (rebuilt,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert rebuilt.error is None, rebuilt.error
    assert lake.rows("t", "id, code, v", "2") == [(1, "x", "-"), (1, "y", "-")]


@pytest.mark.parametrize(
    ("column", "load", "moved", "rows", "rejected"),
    [
        # Empty where there is none, as in the file's insert: the update moved nothing, and the row with the empty key stays.
        ("code", LOADED[:2], changed("U", 65, "1", "x", "B", ""), [(1, "", "a"), (1, "x", "b"), (4, "z", "D")], ["ambiguous_before_image"]),
        # A number is never empty text.
        ("id", LOADED[1:], changed("U", 65, "1", "x", "B", ""), [(1, "x", "B"), (2, "", "c"), (4, "z", "D")], []),
    ],
)
def test_images_of_a_key_under_its_former_name(
    lake: Lake, column: str, load: list[Row], moved: str, rows: list[Row], rejected: list[str]
) -> None:
    header = f"Op,dms_commit_ts,id,code,v,dms_change_seq,BI_{column}"
    write_text(lake, "public.t", "LOAD00000001.csv", loaded(*load, key=1), header)
    write_text(lake, "public.t", cdc_name(1, "csv"), [changed("I", 61, "4", "z", "D", ""), moved], header)
    new = {"name": f"{column}_2", "renamed_from": column, **({"type": "bigint"} if column == "id" else {})}
    table = {"key": [f"{column}_2"], "columns": [new, *([] if column == "id" else [ID])]}
    report = lake.run_one(lake.config({"public.t": table}, bronze={"format": "csv", "csv": {"null": NULL}}))
    assert report.error is None, report.error
    assert [reason for reason, _ in lake.quarantine("t")] == rejected if report.quarantined else not rejected
    names = ["id", "code"]
    names[names.index(column)] = f"{column}_2"
    assert lake.rows("t", f"{', '.join(names)}, v", "1, 2") == rows
