"""Quotes in CSV: by RFC 4180, where they enclose fields, and with ``Rfc4180=false``, where they are characters like any other."""

from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from support.lake import COMMIT, Lake
from support.text_files import HEADER, ONLY_SEQUENCE, cdc_name, change_line, load_line, write_text

T1 = "20260301100100"
TABLE: dict[str, Any] = {"source_columns": ["id", "v"], "columns": [{"name": "id", "type": "bigint"}]}
# More than the bytes that are looked at before a file is read.
PADDING = [load_line(number, "pad" * 40) for number in range(100, 1_000)]


@attrs.frozen
class Case:
    """A table of one file.

    Attributes:
        error: what its error says of the ``wrong`` row (from 1); empty when the run must succeed.
        rows: (id, v) afterwards but for padding.
        rejected: parts of the details in quarantine.
    """

    name: str
    lines: tuple[str, ...]
    rows: list[tuple[int, str]] = attrs.field(factory=list)
    error: str = ""
    wrong: int = 1
    rejected: tuple[str, ...] = ()


SETTING = "bronze.csv.rfc4180"
QUOTED = [
    Case(
        "rfc",
        (load_line(1, '"a ""b"", c"'), load_line(2, '"one\ntwo"'), load_line(3, '"""d"""')),
        rows=[(1, 'a "b", c'), (2, "one\ntwo"), (3, '"d"')],
    ),
    # NUL escapes nothing.
    Case(
        "nul_before_quotes",
        (load_line(1, '"a\x00""b"'), load_line(2, '"""\x00"""'), load_line(3, '"a\x00\x00""b"'), load_line(4, '"a\x00,b\x00"')),
        rows=[(1, 'a\x00"b'), (2, '"\x00"'), (3, 'a\x00\x00"b'), (4, "a\x00,b\x00")],
    ),
    Case("unclosed", (load_line(1, "a"), load_line(2, '"b'), load_line(3, "c")), error="never closed", wrong=2),
    Case("within", (load_line(1, "a"), load_line(2, '24"')), error="within a field", wrong=2),
    Case("goes_on", (load_line(1, '"a"b'),), error="behind its closing quote"),
    Case("opens_and_closes", (load_line(1, '"a'), load_line(2, "b"), load_line(3, 'c"'), load_line(4, "d")), error="further rows"),
    # Further down than the first bytes: row by row.
    Case(
        "swallows_far_down",
        (*PADDING, load_line(1, '"a'), load_line(2, "b"), load_line(3, 'c"'), load_line(4, '"two\nlines, and\nI, the third"')),
        rows=[(4, "two\nlines, and\nI, the third")],
        rejected=(SETTING,),
    ),
    Case("unclosed_far_down", (*PADDING, load_line(1, "a"), load_line(2, '"b'), load_line(3, "c")), rows=[(1, "a")], rejected=(SETTING,)),
    # That a text begins and ends with quotes, nobody can tell from quotes around it.
    Case("around", (load_line(1, '"a"'),), rows=[(1, "a")]),
]
UNQUOTED = [
    Case(
        "characters",
        tuple(load_line(n, v) for n, v in enumerate(('"a', '24"', '"a"b', '"', '"""', "\\", 'a\\"', '"a"', "'", "ø\ue000"), 1)),
        rows=list(enumerate(('"a', '24"', '"a"b', '"', '"""', "\\", 'a\\"', '"a"', "'", "ø\ue000"), 1)),
    ),
    Case(
        "characters_far_down",
        (*PADDING, load_line(1, '"a'), load_line(2, 'b"'), load_line(3, '"')),
        rows=[(1, '"a'), (2, 'b"'), (3, '"')],
    ),
    Case(
        "delimiters_and_line_ends",
        (load_line(1, "a"), load_line(2, "b, c"), load_line(3, "d\ne"), load_line(4, "f")),
        rows=[(1, "a"), (4, "f")],
        rejected=("columns",) * 3,
    ),
    Case("quoted_after_all", (load_line(1, "a"), load_line(2, '"b, ""c"""')), rows=[(1, "a")], rejected=("columns",)),
    Case("not_utf8", (load_line(1, "a"), load_line(2, "\udcff\udce4"), load_line(3, "c")), rows=[(1, "a"), (3, "c")], rejected=("UTF-8",)),
]
DOCUMENTS: dict[str, tuple[list[Case], dict[str, Any]]] = {
    "quoted": (QUOTED, {}),
    "quoted_headerless": (QUOTED, {"header": False}),
    "unquoted": (UNQUOTED, {"rfc4180": False}),
    "unquoted_headerless": (UNQUOTED, {"rfc4180": False, "header": False}),
}


@pytest.fixture(scope="module")
def ran(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Lake, dict[str, TableReport]]]:
    """Every document is one run."""
    ran = {}
    for name, (cases, csv) in DOCUMENTS.items():
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp(name))
        for case in cases:
            lines = [line.encode("utf-8", "surrogateescape") for line in case.lines]
            write_text(lake, f"public.{case.name}", "LOAD00000001.csv", lines, HEADER if csv.get("header", True) else None)
        config = lake.config(
            {f"public.{case.name}": TABLE for case in cases}, bronze={"format": "csv", "csv": csv, "change": ONLY_SEQUENCE}
        )
        ran[name] = (lake, lake.run(config).tables)
    return ran


@pytest.mark.long
@pytest.mark.parametrize(
    ("document", "case"), [pytest.param(name, case, id=f"{name}-{case.name}") for name, (cases, _) in DOCUMENTS.items() for case in cases]
)
def test_quotes(ran: dict[str, tuple[Lake, dict[str, TableReport]]], document: str, case: Case) -> None:
    lake, reports = ran[document]
    report = reports[f"public.{case.name}"]
    if case.error:
        line = case.wrong + (document == "quoted")
        assert report.error is not None, "no error"
        assert f"line {line} has" in report.error and case.error in report.error and SETTING in report.error
        assert not lake.spark.catalog.tableExists(f"lake.{lake.namespace}.{case.name}")
        return
    assert report.error is None, report.error
    assert [row for row in lake.rows(case.name, "id, v") if row[0] < 100] == case.rows
    rejected = lake.quarantine(case.name) if report.quarantined else []
    assert all(part in detail for (_, detail), part in zip(rejected, case.rejected, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("change", [ONLY_SEQUENCE, {**ONLY_SEQUENCE, "timestamp_column": None}], ids=["time", "sequence"])
def test_a_quote_that_swallows_changes_is_not_passed_over(lake: Lake, change: dict[str, Any]) -> None:
    """The row that swallows others waits in quarantine, also in a replay; made again without quotes, the table has all of them."""
    timed = "timestamp_column" not in change

    def cut(line: str) -> str:
        op, _, rest = line.split(",", 2)
        return line if timed else f"{op},{rest}"

    header = HEADER if timed else HEADER.replace("dms_commit_ts,", "")
    write_text(lake, "public.t", "LOAD00000001.csv", map(cut, [*PADDING, load_line(1, "a"), load_line(2, "b")]), header)
    changes = [*(change_line("U", T1, n, 100, "pad" * 40) for n in range(61, 700)), change_line("U", T1, 701, 1, '"A')]
    changes += [change_line("U", T1, 705, 2, "B"), change_line("I", T1, 709, 3, 'c"'), change_line("I", T1, 713, 4, "d")]
    write_text(lake, "public.t", cdc_name(1, "csv"), map(cut, changes), header)
    bronze = {"format": "csv", "change": change}
    config = lake.config({"public.t": TABLE}, bronze=bronze)
    assert lake.run_one(config).quarantined == 1
    assert [row for row in lake.rows("t", "id, v") if row[0] < 100] == [(1, "a"), (2, "b"), (4, "d")]
    ((reason, detail),) = lake.quarantine("t")
    assert reason == "malformed" and SETTING in detail
    (replayed,) = replay(lake.spark, config).tables.values()
    assert replayed.error is None and lake.quarantine("t") == [(reason, detail)]
    right = lake.config({"public.t": TABLE}, bronze={**bronze, "csv": {"rfc4180": False}})
    (rebuilt,) = run(lake.spark, right, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert rebuilt.error is None
    assert [row for row in lake.rows("t", "id, v") if row[0] < 100] == [(1, '"A'), (2, "B"), (3, 'c"'), (4, "d")]


def test_a_line_end_of_windows_in_the_last_value_ends_no_file_without_quotes(lake: Lake) -> None:
    """Without a service column behind it, a value may end a line; one that ends with a carriage return says nothing of the other lines."""
    table = {**TABLE, "source_columns": ["id", "v"]}
    change = {"sequence_column": None, **ONLY_SEQUENCE}
    write_text(lake, "public.t", "LOAD00000001.csv", [f"I,{COMMIT},1,a\r", f"I,{COMMIT},2,b"], None)
    write_text(lake, "public.t", "LOAD00000002.csv", [f"I,{COMMIT},3,c\r", f"I,{COMMIT},4,d\r"], None)
    lake.run_one(lake.config({"public.t": table}, bronze={"format": "csv", "csv": {"header": False, "rfc4180": False}, "change": change}))
    assert lake.rows("t", "id, v") == [(1, "a\r"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("name", ["LOAD00000001.csv", cdc_name(1, "csv")], ids=["load", "cdc"])
def test_a_quote_swallows_no_rows_of_a_table_with_an_operation_only(lake: Lake, name: str) -> None:
    """Two source columns and no service column: a row has fewer fields than the beginning of a row of a wider table."""
    lines = [*(f"I,{number},{'pad' * 40}" for number in range(100, 1_000)), 'I,1,"abc', "I,2,x", 'I,3,def"', 'I,"5,x', 'I,6",def', "I,4,z"]
    write_text(lake, "public.t", name, lines, "Op,id,v")
    change = {"timestamp_column": None, "sequence_column": None, **ONLY_SEQUENCE}
    bronze = {"format": "csv", "change": change}
    table = {**TABLE, "columns": []}
    assert lake.run_one(lake.config({"public.t": table}, bronze=bronze)).quarantined == 2
    assert [row for row in lake.rows("t", "id, v") if not row[0].isdigit() or int(row[0]) < 100] == [("4", "z")]
    assert all(reason == "malformed" and SETTING in detail for reason, detail in lake.quarantine("t"))
