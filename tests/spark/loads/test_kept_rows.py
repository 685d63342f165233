"""Rows that a load keeps because it rejected their newer version: by which keys they are known, and what a rebuild does with them."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.memory.withheld import Withheld
from support.lake import Lake

RULE = {"rules": [{"name": "small", "expr": "v < 5"}]}
ID_V = [("id", pa.int64()), ("v", pa.int64())]
NAN = float("nan")


@attrs.frozen
class Form:
    """A key in the load before and in the load after, where it is rejected.

    Attributes:
        name: of the table.
        before: type and value of the key in the files of the first load.
        after: the same in those of the second.
        other: a key of the first load that the second lacks; it looks alike.
        column: what the document declares of the column.
        known: whether both are one key.
    """

    name: str
    before: tuple[pa.DataType, Any]
    after: tuple[pa.DataType, Any]
    other: Any
    column: dict[str, Any] = attrs.field(factory=dict)
    known: bool = True


def utc(*of: int) -> dt.datetime:
    return dt.datetime(*of, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


DOUBLE, FLOAT, TEXT, BYTES = pa.float64(), pa.float32(), pa.string(), pa.binary()
FORMS = (
    Form("negative_zero", (DOUBLE, -0.0), (DOUBLE, 0.0), 5e-324),
    Form("positive_zero", (DOUBLE, 0.0), (DOUBLE, -0.0), -5e-324),
    Form("same_negative_zero", (DOUBLE, -0.0), (DOUBLE, -0.0), 1.0),
    Form("no_number", (DOUBLE, NAN), (DOUBLE, NAN), float("inf")),
    Form("float_zero", (FLOAT, -0.0), (FLOAT, 0.0), 1e-45),
    Form("float_to_double", (FLOAT, 0.1), (DOUBLE, float.fromhex("0x1.99999ap-4")), 0.25),
    Form("double_beside_float", (FLOAT, 0.1), (DOUBLE, 0.1), 0.25, known=False),
    Form("scale", (pa.decimal128(38, 10), Decimal("1.5")), (pa.decimal128(10, 2), Decimal("1.50")), Decimal("1.5000000001")),
    Form("precision", (pa.decimal128(10, 2), Decimal("1.50")), (pa.decimal128(20, 2), Decimal("1.50")), Decimal("1.51")),
    Form("int_to_bigint", (pa.int32(), 7), (pa.int64(), 7), 70),
    Form("whole_decimal", (pa.decimal128(38, 0), Decimal(10**37)), (pa.decimal128(38, 0), Decimal(10**37)), Decimal(10**37 + 1)),
    Form("millis", (pa.timestamp("us"), utc(2026, 3, 1, 10)), (pa.timestamp("ms"), utc(2026, 3, 1, 10)), utc(2026, 3, 1, 10, 0, 0, 1)),
    Form("zone", (pa.timestamp("us", "UTC"), utc(2026, 3, 1)), (pa.timestamp("us", "Asia/Tokyo"), utc(2026, 3, 1)), utc(2026, 3, 1, 9)),
    Form("day", (pa.date32(), dt.date(1, 1, 1)), (pa.date32(), dt.date(1, 1, 1)), dt.date(1, 1, 2)),
    Form("bytes", (BYTES, b"\x00\xff"), (BYTES, b"\x00\xff"), b"\x00"),
    Form("composed", (TEXT, "\u00e9"), (TEXT, "\u00e9"), "e\u0301"),
    Form("decomposed", (TEXT, "\u00e9"), (TEXT, "e\u0301"), "e", known=False),
    Form("padded", (TEXT, "k"), (TEXT, "k  "), " k", known=False),
    Form("trimmed", (TEXT, "k"), (TEXT, " k  "), "l", {"trim": True}),
    Form("lower", (TEXT, "AB"), (TEXT, "ab"), "a", {"expr": "lower(id)", "type": "string"}),
    Form("zeros", (TEXT, "0.50"), (TEXT, "+.5"), "0.05", {"type": "decimal(10,2)"}),
    Form("number_as_text", (TEXT, "7"), (pa.int32(), 7), "07", {"type": "string"}),
    Form("masked", (TEXT, "secret"), (TEXT, "secret"), "secret ", {"mask": "sha256"}),
    Form("masked_double", (DOUBLE, -0.0), (DOUBLE, 0.0), 1.0, {"mask": "sha256"}),
    Form(
        "masked_scale", (pa.decimal128(10, 2), Decimal("1.50")), (pa.decimal128(10, 1), Decimal("1.5")), Decimal("1.51"), {"mask": "sha256"}
    ),
)


def one(lake: Lake, entry: dict[str, Any], **request: Any) -> TableReport:
    return run(lake.spark, lake.config({"public.t": entry}), ["public.t"], request=RunRequest(**request)).tables["public.t"]


# Of each kind of key the form that is the hardest to compare.
FEW = [
    form
    for form in FORMS
    if form.name in ("negative_zero", "double_beside_float", "scale", "millis", "decomposed", "zeros", "masked_double")
]


@pytest.mark.parametrize(
    ("mode", "forms"),
    [
        pytest.param("mirror", FEW, id="mirror-few"),
        *(pytest.param(mode, FORMS, marks=pytest.mark.long, id=mode) for mode in ("mirror", "soft_delete", "history")),
    ],
)
def test_keys_of_every_form(lake: Lake, monkeypatch: pytest.MonkeyPatch, mode: str, forms: Sequence[Form]) -> None:
    """The load rejects a row, and lacks one whose key looks alike."""
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    entry = {"mode": mode, **RULE}
    tables = {f"public.{form.name}": {**entry, "columns": [{"name": "id", **form.column}] if form.column else []} for form in forms}
    lake.enter(1)
    for form in forms:
        type_, key = form.before
        lake.load(f"public.{form.name}", [("id", type_), ("v", pa.int64())], [(key, 1), (form.other, 2)])
    assert lake.run(lake.config(tables)).errors == {}
    lake.enter(2)
    for form in forms:
        type_, key = form.after
        lake.load(f"public.{form.name}", [("id", type_), ("v", pa.int64())], [(key, 9)])
    report = run(lake.spark, lake.config(tables), request=RunRequest(load_complete=frozenset(tables)))
    present = {"soft_delete": " WHERE NOT _cdc_deleted", "history": " WHERE _is_current"}.get(mode, "")
    found = {}
    for form in forms:
        told = report.tables[f"public.{form.name}"]
        assert (told.error, told.quarantined, told.lost_versions) == (None, 1, False), form.name
        rows = lake.spark.sql(f"SELECT v FROM lake.{lake.namespace}.{form.name}{present}").collect()
        found[form.name] = [row.v for row in rows]
    assert found == {form.name: [1] if form.known else [] for form in forms}


def rebuilt(lake: Lake, entry: dict[str, Any]) -> TableReport:
    report = one(lake, entry, rebuild=frozenset({"public.t"}))
    assert report.error is None
    return report


def kept(lake: Lake, entry: dict[str, Any], rows: Sequence[tuple[Any, ...]] = ((1, 9), (2, 4))) -> None:
    """A table with a row that a load kept: of key 1."""
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, 1), (2, 2), (3, 3)])
    lake.run_one(lake.config({"public.t": entry}))
    lake.enter(2)
    lake.load("public.t", ID_V, rows)
    report = one(lake, entry, load_complete=frozenset({"public.t"}))
    assert (report.error, report.warnings) == (None, [])


def test_a_rebuild_keeps_what_the_load_kept(lake: Lake) -> None:
    kept(lake, RULE)
    for _ in range(2):
        report = rebuilt(lake, RULE)
        assert (report.warnings, report.lost_versions) == ([], False)
        assert lake.rows("t", "id, v") == [(1, 1), (2, 4)]
    # The rejected row is newer than what was kept, and so is any change.
    assert replay(lake.spark, lake.config({"public.t": {"rules": [{"name": "small", "expr": "v < 10"}]}})).errors == {}
    assert lake.rows("t", "id, v") == [(1, 9), (2, 4)]


def test_changes_after_the_load_win_over_what_was_kept_also_in_a_rebuild(lake: Lake) -> None:
    kept(lake, RULE, [(1, 9), (2, 4), (3, 9)])
    lake.changes("public.t", "20260302-100000000.parquet", ID_V, [("U", "20260302095900", 61, 1, 3), ("D", "20260302095900", 65, 3, 3)])
    assert one(lake, RULE).error is None
    assert lake.rows("t", "id, v") == [(1, 3), (2, 4)]
    assert rebuilt(lake, RULE).warnings == []
    assert lake.rows("t", "id, v") == [(1, 3), (2, 4)]


def test_a_rebuild_takes_the_newer_version_once_the_rule_lets_it_pass(lake: Lake) -> None:
    kept(lake, RULE)
    report = rebuilt(lake, {"rules": [{"name": "small", "expr": "v < 10"}]})
    assert (report.warnings, lake.rows("t", "id, v")) == ([], [(1, 9), (2, 4)])


@pytest.mark.parametrize(
    "change",
    [
        {"rules": [*RULE["rules"], {"name": "positive", "expr": "v > 0"}]},
        {"columns": [{"name": "v", "expr": "v + 0", "type": "bigint"}]},
        {"filter": "v < 100"},
        {"filter": "v < 5"},
        {"key": ["id", "v"]},
    ],
)
def test_a_rebuild_that_cannot_keep_it_says_why_and_how_many(lake: Lake, change: dict[str, Any]) -> None:
    """Never that bronze has lost files: they never had the row."""
    kept(lake, RULE)
    (before,) = [lake.target("t").head()]
    report = rebuilt(lake, {**RULE, **change})
    assert lake.rows("t", "id, v") == [(2, 4)]
    (warning,) = report.warnings
    assert "1 row is not in the rebuilt content" in warning and "made with another configuration" in warning
    assert before is not None and str(before.id) in warning and "lost change files" not in warning
    assert ("was not compared" in warning) == ("key" in change)
    assert report.lost_versions


def test_a_rebuild_remembers_what_it_withholds_though_it_resolved_rows(lake: Lake) -> None:
    """The snapshot that resolves rows records the progress alone, and was taken for the newest batch."""
    text = [("id", pa.int64()), ("v", pa.int64()), ("email", pa.string())]
    lake.load("public.t", text, [(1, 9, "a"), (2, 4, "b")])
    one(lake, RULE)
    masked = {"rules": [{"name": "small", "expr": "v < 10"}], "columns": [{"name": "email", "mask": "redact"}]}
    assert rebuilt(lake, masked).warnings == []
    withheld = Withheld.from_properties(lake.target("t").properties())
    assert withheld is not None and list(withheld.masks) == ["email"]
    lake.changes("public.t", "20260302-100000000.parquet", text, [("U", "20260302095900", 61, 1, 3, "c")])
    assert "email" in str(one(lake, {"rules": masked["rules"]}).error)
    assert lake.rows("t", "id, email") == [(1, "***"), (2, "***")]
