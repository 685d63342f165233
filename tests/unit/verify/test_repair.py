"""Repairs: which change a key gets, the file it is in, and that staging takes that file for one of DMS's."""

import datetime as dt
import math
from decimal import Decimal
from io import BytesIO

import pyarrow.parquet as pq
import pytest

from dms_iceberg.bronze.keys import parse_key, repair_key, resume_after
from dms_iceberg.config.model import Bronze, BronzeFormat, Catalog, CatalogType, Change, Config
from dms_iceberg.errors import ConfigError
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.repair import refuse_repair
from dms_iceberg.verify.repair_file import changes, encode

CLOCK = "20260301100000123456"
COLUMNS = tuple(
    SourceColumn(name, "", type_)
    for name, type_ in {"id": "bigint", "part": "decimal(9,3)", "at": "timestamp", "raw": "binary", "yes": "boolean", "day": "date"}.items()
)
ROW = '["7", "1.500", "2026-03-01 09:00:00.100000", "00ff", "true", "2026-02-28"]'


def test_a_key_gets_the_row_that_the_source_has_or_a_delete() -> None:
    loose = '["8", "1.500", null, null, null, null]'
    found = changes(COLUMNS, COLUMNS[:2], [("7", "1.5"), ("9", "2")], [ROW, loose])
    row = {
        "id": 7,
        "part": Decimal("1.5"),
        "at": dt.datetime(2026, 3, 1, 9, 0, 0, 100000, dt.UTC),
        "raw": b"\x00\xff",
        "yes": True,
        "day": dt.date(2026, 2, 28),
    }
    assert found == [("I", row), ("D", {"id": 9, "part": Decimal(2)})]


def test_a_key_that_is_no_number_gets_its_row() -> None:
    columns = (SourceColumn("id", "", "double"), SourceColumn("v", "", "string"))
    ((op, row),) = changes(columns, columns[:1], [("NaN",)], ['["NaN", "x"]'])
    assert (op, math.isnan(row["id"]), row["v"]) == ("I", True, "x")


def test_a_value_that_the_type_does_not_have_is_null_as_in_a_comparison() -> None:
    row = '["7", "1", null, null, "false", "0000-00-00"]'
    ((_, values),) = changes(COLUMNS, COLUMNS[:1], [("7",)], [row])
    assert (values["day"], values["yes"]) == (None, False)


def test_the_file_is_one_that_the_task_could_have_written() -> None:
    names = Change(op_column="action", op_words={"INSERT": "I", "UPSERT": "I", "DELETE": "D"})
    data = encode(COLUMNS, names, changes(COLUMNS, COLUMNS[:1], [("7",), ("9",)], [ROW]), CLOCK)
    table = pq.read_table(BytesIO(data))
    assert table.column("action").to_pylist() == ["INSERT", "DELETE"]
    assert set(table.column(str(names.sequence_column)).to_pylist()) == {CLOCK[:16] + "0" * 19}
    assert set(table.column(str(names.timestamp_column)).to_pylist()) == {"2026-03-01 10:00:00.123456"}
    assert table.column("part").to_pylist() == [Decimal("1.500"), None]
    assert str(table.schema.field("at").type) == "timestamp[us, tz=UTC]"


def test_staging_takes_a_repair_for_a_change_file_and_never_passes_over_its_folder() -> None:
    file = parse_key("public/t/", repair_key("public/t/", CLOCK), 1, "e")
    assert file is not None
    assert (file.is_cdc, file.order, file.relative) == (True, "20260301100000123", "_repair/20260301-100000123.parquet")
    assert resume_after(file.relative, "99991231235959999") is None
    # Where a listing jumps to, below a year or the root, comes before the folder.
    for relative in ("2020/01/01/20200101-000000000.parquet", "20200101-000000000.parquet", "20200101/20200101-000000000.parquet"):
        assert (resume_after(relative, "20260301100000000") or "") < "_repair/"


@pytest.mark.parametrize(
    ("bronze", "options", "says"),
    [
        (Bronze(uri="b", format=BronzeFormat.CSV), Options(), "bronze.format is 'csv'"),
        (Bronze(uri="b", change=Change(sequence_column=None)), Options(), "sequence_column is null"),
        (Bronze(uri="b"), Options(tries=0), "needs --tries 1"),
        (Bronze(uri="b"), Options(settle=0), "needs --tries 1"),
    ],
)
def test_what_cannot_be_repaired_is_refused_at_once(bronze: Bronze, options: Options, says: str) -> None:
    catalog = Catalog(name="lake", type=CatalogType.HADOOP, warehouse="w")
    with pytest.raises(ConfigError, match=says):
        refuse_repair(Config(pipeline="p", bronze=bronze, catalog=catalog, tables={}), options)
