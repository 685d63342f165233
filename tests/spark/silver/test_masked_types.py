"""Masked columns whose files change the type: one value has one text, and so one hash, whatever file it comes in."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.report import RunReport
from support.lake import Lake
from support.text_files import cdc_name

SALT = "salt-of-types"
T1, T2 = "20260301100100", "20260301100200"
MASKED_KEY = {"key": ["code"], "columns": [{"name": "code", "mask": "sha256", "mask_salt": "env:TYPES_SALT"}]}
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


def sha256(text: str) -> str:
    return hashlib.sha256(f"{SALT}{text}".encode()).hexdigest()


@attrs.frozen
class Merged:
    lake: Lake
    report: RunReport


@pytest.fixture(scope="module")
def merged(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Merged]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TYPES_SALT", SALT)
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp("types"))
        config = lake.config({f"public.{name}": MASKED_KEY for name in CASES})
        for name, case in CASES.items():
            lake.load(f"public.{name}", [("code", case.before), ("n", pa.int32())], [(case.one[0], 1), (case.two[0], 2)])
        assert lake.run(config).failed == []
        for name, case in CASES.items():
            rows = [("U", T1, 61, case.one[1], 10, None), ("D", T1, 65, case.two[1], None, None), ("I", T1, 69, case.new, 30, None)]
            lake.changes(f"public.{name}", cdc_name(1), [("code", case.after), ("n", pa.int32())], rows, key=("code",))
        yield Merged(lake, lake.run(config))


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
