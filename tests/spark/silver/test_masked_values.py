"""Masked columns whose files change the type: one value has one text, and so one hash, whatever file it comes in.

And tables with masked numbers through their lives: late files, renames, rebuilds, reloads, other declarations, and earlier versions.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY
from support.lake import Lake, sequence
from support.text_files import ONLY_SEQUENCE, cdc_name, change_line, load_line, write_text

SALT = "salt-of-tables"
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
WHOLE, CENTS = pa.decimal128(10, 0), pa.decimal128(10, 2)
HASHED = {"name": "code", "mask": "sha256", "mask_salt": "env:TABLE_SALT"}
KEYED: dict[str, Any] = {"key": ["code"], "columns": [HASHED]}
ANEW = RunRequest(rebuild=frozenset({"public.t"}))


@pytest.fixture(autouse=True)
def _salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_SALT", SALT)


def sha256(text: str) -> str:
    return hashlib.sha256(f"{SALT}{text}".encode()).hexdigest()


def columns(code: pa.DataType) -> list[tuple[str, pa.DataType]]:
    return [("code", code), ("n", pa.int32())]


def load(lake: Lake, code: pa.DataType, *codes: str) -> None:
    lake.load("public.t", columns(code), [(Decimal(text), number) for number, text in enumerate(codes, 1)])


def change(lake: Lake, minute: int, code: pa.DataType, *rows: tuple[str, str, int | None], at: str | None = None) -> None:
    clock = at or f"202603011001{minute:02d}"
    full = [(op, clock, 61 + 4 * place, Decimal(text), n, None) for place, (op, text, n) in enumerate(rows)]
    lake.changes("public.t", cdc_name(minute), columns(code), full, key=("code",))


def rows(lake: Lake) -> list[tuple[Any, ...]]:
    return sorted(lake.rows("t", "n, code"))


def test_a_late_change_in_a_file_of_another_type_loses_and_fills_as_any(lake: Lake) -> None:
    config = lake.config({"public.t": KEYED})
    load(lake, WHOLE, "1", "2", "3")
    change(lake, 5, CENTS, ("U", "1.00", 10), ("D", "2.00", None))
    lake.run_one(config)
    # Committed before the changes that are merged, and in the type of the load.
    change(lake, 4, WHOLE, ("U", "1", -1), ("U", "2", -2), ("U", "3", 30), at="20260301100059")
    report = lake.run_one(config)
    assert (report.applied, report.stale) == (1, 2)
    assert rows(lake) == [(10, sha256("1")), (30, sha256("3"))]


def test_the_old_key_of_a_moved_row_has_the_text_of_any_key(lake: Lake) -> None:
    config = lake.config({"public.t": KEYED})
    load(lake, WHOLE, "1", "2")
    lake.run_one(config)
    moved = [("U", T1, 61, Decimal("3.00"), 10, Decimal("1.00"))]
    lake.changes("public.t", cdc_name(1), columns(CENTS), moved, key=("code",))
    # A before-image of another type than the key in its file.
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *columns(CENTS), ("dms_change_seq", pa.string()), ("BI_code", WHOLE)]
    row = ("U", "2026-03-01 10:02:00", Decimal("4.00"), 20, sequence(T2, 61), Decimal("2"))
    lake.parquet("public.t", cdc_name(2), service, [row])
    lake.run_one(config)
    assert rows(lake) == [(10, sha256("3")), (20, sha256("4"))]


@pytest.mark.long
def test_the_texts_stay_those_of_the_first_file_through_renames_rebuilds_and_rollbacks(lake: Lake) -> None:
    load(lake, CENTS, "1.00", "2.50")
    change(lake, 1, WHOLE, ("U", "1", 10))
    lake.run_one(lake.config({"public.t": KEYED}))
    first = lake.target("t").head()
    assert first is not None
    mail = {"key": ["code"], "columns": [{**HASHED, "name": "pin", "from": "code", "renamed_from": "code"}]}
    renamed = lake.config({"public.t": mail})
    change(lake, 2, pa.decimal128(12, 3), ("U", "2.500", 20))
    assert lake.run_one(renamed).warnings == []
    expected = [(10, sha256("1.00")), (20, sha256("2.50"))]
    assert sorted(lake.rows("t", "n, pin")) == expected
    # Bronze begins with another file now; what the table remembers counts.
    assert run(lake.spark, renamed, request=ANEW).errors == {}
    assert sorted(lake.rows("t", "n, pin")) == expected
    lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.t', {first.id})")
    assert lake.run_one(renamed).warnings == []
    assert sorted(lake.rows("t", "n, pin")) == expected
    assert json.loads(lake.target("t").properties()[WITHHELD_PROPERTY])["masks"]["pin"]["text"] == "decimal(10,2)"


def test_a_reload_with_another_type_keeps_the_hashes(lake: Lake) -> None:
    lake.enter(1)
    load(lake, CENTS, "1.00", "2.50")
    lake.run_one(lake.config({"public.t": KEYED}))
    lake.enter(2)
    load(lake, WHOLE, "1", "7")
    change(lake, 1, pa.decimal128(12, 1), ("U", "7.0", 70))
    assert lake.run_one(lake.config({"public.t": KEYED})).warnings == []
    assert rows(lake) == [(1, sha256("1.00")), (70, sha256("7.00"))]


def test_a_declared_type_gives_every_file_its_text(lake: Lake) -> None:
    entry = {"key": ["code"], "columns": [{**HASHED, "type": "decimal(12,2)"}]}
    load(lake, WHOLE, "1", "2")
    change(lake, 1, pa.decimal128(20, 4), ("U", "1.0000", 10), ("D", "2.0000", None))
    lake.run_one(lake.config({"public.t": entry}))
    assert rows(lake) == [(10, sha256("1.00"))]


def test_the_last_digits_that_a_partial_mask_shows_are_those_of_the_value(lake: Lake) -> None:
    entry = {"key": ["n"], "columns": [{"name": "code", "mask": "partial"}]}
    lake.load("public.t", columns(WHOLE), [(Decimal("1234567"), 1)])
    lake.changes("public.t", cdc_name(1), columns(CENTS), [("I", T1, 61, Decimal("7654321.00"), 2, None)], key=("n",))
    lake.run_one(lake.config({"public.t": entry}))
    assert rows(lake) == [(1, "***4567"), (2, "***4321")]


def test_an_expression_without_a_type_is_masked_by_one_text_too(lake: Lake) -> None:
    entry = {"key": ["n"], "columns": [{**HASHED, "expr": "code * 2"}]}
    lake.load("public.t", columns(WHOLE), [(Decimal("4"), 1)])
    lake.run_one(lake.config({"public.t": entry}))
    lake.changes("public.t", cdc_name(1), columns(CENTS), [("I", T1, 61, Decimal("4.00"), 2, None)], key=("n",))
    lake.run_one(lake.config({"public.t": entry}))
    assert rows(lake) == [(1, sha256("8")), (2, sha256("8"))]


def test_a_masked_key_that_would_have_other_hashes_is_refused_until_the_rebuild(lake: Lake) -> None:
    load(lake, CENTS, "1.00")
    lake.run_one(lake.config({"public.t": KEYED}))
    state = lake.target("t").metadata_location()
    change(lake, 1, CENTS, ("U", "1.00", 10))
    # The type that it has anyway gives the same hashes.
    same = lake.config({"public.t": {"key": ["code"], "columns": [{**HASHED, "type": "decimal(38,2)"}]}})
    (plan,) = preview(lake.spark, same)
    assert (plan.error, plan.warnings) == (None, [])
    for changed in ({**HASHED, "type": "decimal(12,3)"}, {**HASHED, "expr": "code + 1"}):
        other = lake.config({"public.t": {"key": ["code"], "columns": [changed]}})
        error = lake.run_one(other, fails=True).error or ""
        assert "the key column 'code' of" in error and "would have other hashes" in error and "run --rebuild public.t" in error
        (plan,) = preview(lake.spark, other)
        assert plan.error == error
    assert lake.target("t").metadata_location() == state
    other = lake.config({"public.t": {"key": ["code"], "columns": [{**HASHED, "type": "decimal(12,3)"}]}})
    assert run(lake.spark, other, request=ANEW).errors == {}
    assert rows(lake) == [(10, sha256("1.000"))]
    assert lake.run_one(other).warnings == []


TEXT_KEY = {"name": "code", "type": "string"}
AS_TEXT = [pytest.param({**HASHED, "type": "string"}, sha256, id="masked"), pytest.param(TEXT_KEY, str, id="clear")]


@pytest.mark.parametrize(("entry", "shown"), AS_TEXT)
def test_a_key_declared_as_text_has_one_text_whatever_type_its_files_have(lake: Lake, entry: dict[str, Any], shown: Any) -> None:
    config = lake.config({"public.t": {"key": ["code"], "columns": [entry]}})
    load(lake, CENTS, "1.50", "2.50", "4.50")
    lake.run_one(config)
    wider = pa.decimal128(12, 3)
    change(lake, 1, wider, ("U", "1.500", 10), ("D", "2.500", None), ("I", "3.125", 30))
    moved = [("U", T2, 61, Decimal("5.000"), 50, Decimal("4.500"))]
    lake.changes("public.t", cdc_name(2), columns(wider), moved, key=("code",))
    lake.run_one(config)
    expected = [(10, shown("1.50")), (30, shown("3.125")), (50, shown("5.00"))]
    assert rows(lake) == expected
    assert run(lake.spark, config, request=ANEW).errors == {}
    assert rows(lake) == expected
    assert lake.run_one(config).warnings == []


def test_a_key_that_becomes_text_for_its_files_types_has_one_text(lake: Lake) -> None:
    """The table is made of the files of two types that no number type holds."""
    config = lake.config({"public.t": {"key": ["code"]}})
    for minute, (op, type_, value, n) in enumerate([("I", pa.int32(), 1, 1), ("U", pa.float64(), 1.0, 10)], 1):
        lake.changes("public.t", cdc_name(minute), columns(type_), [(op, f"202603011001{minute:02d}", 61, value, n, None)], key=("code",))
    lake.run_one(config)
    assert rows(lake) == [(10, "1")]
    lake.changes("public.t", cdc_name(3), columns(CENTS), [("U", T3, 61, Decimal("1.00"), 100, None)], key=("code",))
    lake.run_one(config)
    assert rows(lake) == [(100, "1")]


MASKED_KEY = {"key": ["code"], "columns": [{"name": "code", "mask": "sha256", "mask_salt": "env:TABLE_SALT"}]}
FLOAT = 0.10000000149011612


@attrs.frozen
class Case:
    """A key that a load writes as ``before`` and changes as ``after``: row ``one`` is updated, row ``two`` deleted, ``new`` inserted."""

    before: pa.DataType
    after: pa.DataType
    one: tuple[Any, Any]
    two: tuple[Any, Any]
    new: Any
    texts: tuple[str, str]
    """Of ``one`` and ``new``."""


def number(text: str) -> Decimal:
    return Decimal(text)


def whole(digits: int) -> pa.DataType:
    return pa.decimal128(digits, 0)


CASES = {
    "scale_grows": Case(
        whole(10), pa.decimal128(10, 2), (number("1"), number("1.00")), (number("20"), number("20.00")), number("1.50"), ("1", "1.5")
    ),
    "scale_shrinks": Case(
        pa.decimal128(10, 2),
        pa.decimal128(12, 1),
        (number("1.00"), number("1.0")),
        (number("0.50"), number("0.5")),
        number("7.5"),
        ("1.00", "7.50"),
    ),
    "digit_too_many": Case(
        pa.decimal128(10, 2),
        pa.decimal128(12, 3),
        (number("0.00"), number("0.000")),
        (number("2.50"), number("2.500")),
        number("1.234"),
        ("0.00", "1.234"),
    ),
    "tiny": Case(
        pa.decimal128(12, 8),
        pa.decimal128(12, 9),
        (number("0E-8"), number("0E-9")),
        (number("1E-7"), number("1.00E-7")),
        number("1.2E-8"),
        ("0E-8", "1.2E-8"),
    ),
    "whole_to_decimal": Case(pa.int64(), pa.decimal128(20, 2), (1, number("1.00")), (-2, number("-2.00")), number("3.10"), ("1", "3.1")),
    "decimal_to_whole": Case(pa.decimal128(20, 2), pa.int32(), (number("1.00"), 1), (number("2.00"), 2), 3, ("1.00", "3.00")),
    "decimal_to_double": Case(
        pa.decimal128(38, 10), pa.float64(), (number("1.5"), 1.5), (number("0.1"), 0.1), 1e-12, ("1.5000000000", "1E-12")
    ),
    "double_to_decimal": Case(
        pa.float64(), pa.decimal128(20, 2), (1.0, number("1.00")), (0.1, number("0.10")), number("3.25"), ("1.0", "3.25")
    ),
    "float_to_double": Case(pa.float32(), pa.float64(), (0.1, FLOAT), (1.5, 1.5), 0.1, ("0.1", "0.1d")),
    "whole_widens": Case(pa.int16(), pa.int64(), (1, 1), (2, 2), 2**40, ("1", str(2**40))),
    "date_to_time": Case(
        pa.date32(),
        pa.timestamp("us"),
        (dt.date(2026, 1, 2), dt.datetime(2026, 1, 2)),
        (dt.date(2026, 1, 3), dt.datetime(2026, 1, 3)),
        dt.datetime(2026, 1, 4, 5, 6, 7),
        ("2026-01-02", "2026-01-04 05:06:07"),
    ),
}


@attrs.frozen
class Merged:
    lake: Lake
    report: RunReport


@pytest.fixture(scope="module")
def merged(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Merged]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TABLE_SALT", SALT)
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp("types"))
        config = lake.config({f"public.{name}": MASKED_KEY for name in CASES})
        for name, case in CASES.items():
            lake.load(f"public.{name}", [("code", case.before), ("n", pa.int32())], [(case.one[0], 1), (case.two[0], 2)])
        assert lake.run(config).failed == []
        for name, case in CASES.items():
            rows = [("U", T1, 61, case.one[1], 10, None), ("D", T1, 65, case.two[1], None, None), ("I", T1, 69, case.new, 30, None)]
            lake.changes(f"public.{name}", cdc_name(1), [("code", case.after), ("n", pa.int32())], rows, key=("code",))
        yield Merged(lake, lake.run(config))


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_masked_key_finds_its_row_whatever_type_the_files_have(merged: Merged, name: str) -> None:
    report = merged.report.tables[f"public.{name}"]
    assert (report.error, report.warnings) == (None, [])
    one, new = CASES[name].texts
    assert sorted(merged.lake.rows(name, "n, code")) == [(10, sha256(one)), (30, sha256(new))]


def test_a_key_of_zero_is_one_whether_it_has_a_sign(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", SALT)
    masks: dict[str, dict[str, Any]] = {"hashed": {"mask": "sha256"}, "plain": {}}
    config = lake.config({f"public.{name}": {"key": ["code"], "columns": [{"name": "code", **mask}]} for name, mask in masks.items()})
    columns = [("code", pa.float64()), ("v", pa.string())]
    for name in masks:
        lake.load(f"public.{name}", columns, [(0.0, "a")])
        lake.changes(f"public.{name}", cdc_name(1), columns, [("U", T1, 61, -0.0, "A", None)], key=("code",))
    assert lake.run(config).errors == {}
    assert {name: lake.rows(name, "v") for name in masks} == {"hashed": [("A",)], "plain": [("A",)]}


@pytest.mark.parametrize("former", [["email"], ["mail", "email"]])
@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_a_column_with_the_former_name_of_a_masked_one_is_not_shown(lake: Lake, former: list[str], format_: str) -> None:
    """Files from before a rename, then one with both names: be it that the source uses the name again, the mask is not left out by it."""
    both = ["mail", "email"]
    if format_ == "parquet":
        first, later = ([("id", pa.int64()), *((name, pa.string()) for name in names)] for names in (former, both))
        lake.load("public.t", first, [(1, *former)])
        lake.changes("public.t", cdc_name(1), later, [("U", T1, 61, 1, "a", "secret", None)])
    else:
        write_text(lake, "public.t", "LOAD00000001.csv", [load_line(1, *former)], header(*former))
        write_text(lake, "public.t", cdc_name(1, "csv"), [change_line("U", T1, 61, 1, "a", "secret")], header(*both))
    bronze = {"format": format_, **({"change": ONLY_SEQUENCE} if format_ == "csv" else {})}
    table = {"columns": [{"name": "mail", "renamed_from": "email", "mask": "redact"}]}
    report = lake.run_one(lake.config({"public.t": table}, bronze=bronze), fails=True)
    assert f"{lake.namespace}.t.email was masked and would now receive clear text" in (report.error or "")
    if former == ["email"]:
        assert [field.name for field in lake.spark.table(f"lake.{lake.namespace}.t").schema if not field.name.startswith("_")] == [
            "mail",
            "id",
        ]
        assert lake.rows("t", "mail") == [("***",)]
    else:
        assert not lake.spark.catalog.tableExists(f"lake.{lake.namespace}.t")
    dropped = lake.config({"public.t": {**table, "drop": ["email"]}}, bronze=bronze)
    if former == both:
        # The first file has both names, so that 'mail' may be there what the source had dropped before the rename.
        assert "has both the column 'email' and 'mail', and nothing shows" in (lake.run_one(dropped, fails=True).error or "")
        return
    assert lake.run_one(dropped).error is None
    assert lake.rows("t", "mail") == [("***",)]


def header(*names: str) -> str:
    return f"Op,dms_commit_ts,id,{','.join(names)},dms_change_seq"
