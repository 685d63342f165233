"""The demo's comparison must see every difference: the demo itself only ever shows that there is none."""

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from dms_demo import check
from dms_demo.shop import BAD_ORDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("order_id", "note", "amount", "day", "at")
SOURCE = [
    ("1", "a", "1.50", "2026-02-28", "2026-02-28 23:59:59.000001"),
    ("3", "", "0.00", None, None),
    ("4", None, None, "1999-12-31", "1969-12-31 23:00:00.000000"),
]
SILVER: list[tuple[Any, ...]] = [
    (4, None, None, date(1999, 12, 31), "1969-12-31 23:00:00", "p"),
    (1, "a", Decimal("1.50"), date(2026, 2, 28), "2026-02-28 23:59:59.000001", "p"),
    (3, "", Decimal("0.00"), None, None, "p"),
]
LAST_GOOD = (str(BAD_ORDER), "good", "9.00", None, None)


def outcome(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, ...]], *extra: str, source: str = "public.order_lines"
) -> check.Comparison:
    frame = spark.createDataFrame(rows, "order_id bigint, note string, amount decimal(8,2), day date, at string, _cdc_position string")
    frame.selectExpr("note", "amount", "order_id", "day", "CAST(at AS timestamp) AS at", "_cdc_position", *extra).createOrReplaceTempView(
        "seen"
    )
    bad = [(str(BAD_ORDER), "good", "-9.00", None, None)] if source == "public.orders" else []
    monkeypatch.setattr(check, "_source_rows", lambda *_: (COLUMNS, [*SOURCE, *bad]))
    return check.compare(spark, Any, "", source, ("seen",), LAST_GOOD)


def test_equal_rows_in_any_order_of_rows_and_columns(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(spark, monkeypatch, SILVER)
    assert found.equal
    assert (found.source_rows, found.silver_rows, found.differing) == (3, 3, 0)


@pytest.mark.parametrize(
    ("rows", "differing"),
    [
        (SILVER[:2], 1),
        ([*SILVER, (5, None, None, None, None, "p")], 1),
        ([*SILVER, SILVER[0]], 1),
        ([*SILVER[:2], (3, None, Decimal("0.00"), None, None, "p")], 2),
        ([*SILVER[:2], (3, "", None, None, None, "p")], 2),
        ([SILVER[0], (1, "a", Decimal("1.50"), date(2026, 2, 28), "2026-02-28 23:59:59", "p"), SILVER[2]], 2),
    ],
    ids=["missing", "more", "twice", "NULL for empty", "NULL for zero", "a microsecond"],
)
def test_every_difference_is_seen(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, ...]], differing: int
) -> None:
    found = outcome(spark, monkeypatch, rows)
    assert not found.equal
    assert found.differing == differing


def test_a_column_nobody_expects_is_a_difference(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    assert not outcome(spark, monkeypatch, SILVER, "1 AS surplus").equal


@pytest.mark.parametrize(("amount", "equal"), [("9.00", True), ("-9.00", False)])
def test_of_a_quarantined_change_the_last_good_version_is_expected(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, amount: str, equal: bool
) -> None:
    rows = [*SILVER, (BAD_ORDER, "good", Decimal(amount), None, None, "p")]
    assert outcome(spark, monkeypatch, rows, source="public.orders").equal is equal


def test_texts_of_the_source_are_those_of_spark() -> None:
    values = (True, 7, Decimal("1.50"), date(2026, 2, 28), "x", None, "")
    assert [check._text(value) for value in values] == ["true", "7", "1.50", "2026-02-28", "x", None, ""]
