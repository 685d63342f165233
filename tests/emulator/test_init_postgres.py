"""`init --source` on files that the local DMS made of a real PostgreSQL: keys and types of its catalog, also for CSV without a header."""

from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from typer.testing import CliRunner

from dms_emulator.files import CsvShape, FileFormat, FileShape
from dms_iceberg.cli.app import app
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml
from emulator.bronze import make_task, run

SHOP = (
    """create table orders (
        order_id bigint, line_no int, note text, amount numeric(12,2), placed timestamp, shipped timestamptz, flag boolean, opens time,
        paid money, primary key (order_id, line_no))""",
    "create table empty (id int primary key)",
    """insert into orders select n / 3, n % 3, 'note ' || n, n + 0.5, '2024-02-29 12:30', '2024-02-29 12:30Z', n % 2 = 0, '08:30', n + 0.25
        from generate_series(1, 50) n""",
)
CHANGES = (
    "insert into orders values (100, 1, null, 1, null, null, null, null, null), (100, 2, 'x', 2, now(), now(), true, '9:00', 1)",
    "update orders set amount = amount + 1 where order_id = 3",
    "delete from orders where order_id = 5",
    "update orders set order_id = 200 where order_id = 7",
)
TYPES = {
    "order_id": "bigint",
    "line_no": "int",
    "amount": "decimal(12,2)",
    "placed": "timestamp_ntz",
    "shipped": "timestamp",
    "flag": "boolean",
    "paid": "decimal(38,4)",
}
HEADERLESS = FileShape(format=FileFormat.CSV, csv=CsvShape(header=False))


def init(dsn: str, bronze: Path) -> tuple[dict[str, Any], str]:
    with psycopg.connect(dsn) as connection:
        info = connection.info
        url = f"postgresql://{info.user}@127.0.0.1:{info.port}/{info.dbname}"
    result = CliRunner().invoke(app, ["init", str(bronze), "--source", url])
    assert result.exit_code == 0, result.output
    document = load_yaml(result.stdout, "init.yaml")
    assert isinstance(document, dict)
    return document, result.stderr


@pytest.mark.parametrize(
    ("shape", "declared"),
    [
        (FileShape(), {"placed": "timestamp_ntz"}),
        (HEADERLESS, TYPES),
        (attrs.evolve(HEADERLESS, csv=CsvShape(header=False, null="<null>")), TYPES),
        (attrs.evolve(HEADERLESS, sequence_column=None, stream_position_column=None), TYPES),
        (attrs.evolve(HEADERLESS, op_on_full_load=False, gzip=True), TYPES),
        (attrs.evolve(HEADERLESS, csv=CsvShape(header=True, delimiter=";")), TYPES),
        (FileShape(format=FileFormat.JSON), TYPES),
    ],
    ids=["parquet", "headerless", "null-text", "timestamp-only", "load-without-op", "header", "json"],
)
def test_keys_and_types(shape: FileShape, declared: dict[str, str], dsn: str, tmp_path: Path) -> None:
    run(dsn, *SHOP)
    task = make_task(dsn, tmp_path, "public.orders", "public.empty", files=shape, time_as_string=shape.format is not FileFormat.PARQUET)
    task.load()
    run(dsn, *CHANGES)
    assert task.catch_up() > 0
    document, said = init(dsn, task.bronze)
    assert "tables of the source without files, as of empty or excluded ones: public.empty" in said
    (entry,) = document["tables"].values()
    assert entry["key"] == ["order_id", "line_no"]
    assert "key_confirmed" not in entry
    assert {one["name"]: one["type"] for one in entry["columns"]} == declared
    assert entry.get("drop", []) == (["opens"] if shape.format is FileFormat.PARQUET else [])
    config = parse_config(document)
    assert config.bronze.csv.null == (shape.csv.null if shape.format is FileFormat.CSV else "")
    assert (config.bronze.change.sequence_column is None) == (shape.sequence_column is None)
    assert config.bronze.change.load_without_op is not shape.op_on_full_load
