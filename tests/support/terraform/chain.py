"""What the test of the whole chain needs around it: a source, the local DMS, the function's words, and two readers of the tables."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from pyiceberg.catalog import load_catalog

from support.read_with_spark import read_with_spark
from support.terraform.tree import ROOT

if TYPE_CHECKING:
    from support.terraform.lives import Life

_JOB = ROOT / "job"
_SECONDS = 60

TABLES = """
create table orders (
    order_id bigint primary key, customer text, amount numeric(12, 2), paid boolean, placed_at timestamptz, note text);
create table order_lines (order_id bigint, line_no int, sku uuid, quantity int, primary key (order_id, line_no));
insert into orders
    select n, 'customer ' || n, n * 1.25, n % 2 = 0, timestamptz '2026-03-29 02:30:00.123456+02' + n * interval '1 hour', null
    from generate_series(1, 200) n;
insert into order_lines select n, l, gen_random_uuid(), l from generate_series(1, 200) n, generate_series(1, 3) l;
"""
CHANGES = """
update orders set amount = amount + 1, note = 'Grüße, "quoted"' where order_id <= 20;
delete from order_lines where order_id between 30 and 39;
delete from orders where order_id between 30 and 39;
update orders set order_id = 1040 where order_id = 40;
insert into orders values (9000, '', -1.5, null, '1969-12-31 23:59:59.999999+00', 'new'), (9001, null, null, true, null, null);
insert into order_lines values (9000, 1, gen_random_uuid(), 7);
"""
ORDERS = "order_id::text, customer, amount::text, paid::text, to_char(placed_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), note"
LINES = "order_id::text, line_no::text, sku::text, quantity::text"
Rows = list[tuple[str | None, ...]]


@contextmanager
def local_dms(life: "Life", dsn: str, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The emulated DMS with the job's own document, and with the rights of the role by which DMS writes."""
    document = folder / "shop.json"
    document.write_text(life.pipeline["config_json"])
    role = life.pipeline["replication"]["s3_role_arn"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "dms_iceberg.cli.app", "emulate", str(document), "--source", dsn, "--interval", "300ms"]
    with (folder / "dms.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--state-dir", str(folder)],
            env=kept | life.world.aws.environment_of(role) | {"PYTHONPATH": str(_JOB)},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


def until(what: str, true: Callable[[], bool], dms: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait until something is true, as long as the local DMS is at work."""
    end = time.monotonic() + _SECONDS
    while not true():
        assert dms.poll() is None, (folder / "dms.log").read_text()
        assert time.monotonic() < end, f"not within {_SECONDS} s: {what}"
        time.sleep(0.2)


def start_runs_at_once(life: "Life") -> None:
    """Let the function wait for nothing between two runs, which a test would wait for as well."""
    functions, name = life.client("lambda"), life.pipeline["trigger"]["function"]["name"]
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    assert float(variables["MIN_MINUTES_BETWEEN_RUNS"]) > 0
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**variables, "MIN_MINUTES_BETWEEN_RUNS": "0"}})


def outcomes(life: "Life") -> list[str]:
    """What the function said it did, in order."""
    return [json.loads(line)["outcome"] for line in words_of_the_function(life).splitlines() if line.startswith('{"level"')]


def words_of_the_function(life: "Life") -> str:
    """All lines of the function's log."""
    logs, group = life.client("logs"), life.pipeline["trigger"]["function"]["log_group"]
    lines = [
        event["message"]
        for stream in logs.describe_log_streams(logGroupName=group)["logStreams"]
        for event in logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"])["events"]
    ]
    return "\n".join(lines)


def source_rows(connection: psycopg.Connection[Any], table: str, columns: str) -> Rows:
    return sorted(connection.execute(f"select {columns} from {table}").fetchall(), key=repr)


def read_with_pyiceberg(life: "Life", table: str) -> Rows:
    """Rows as texts, as `source_rows` has them; PyIceberg knows nothing of Spark."""
    variables = life.world.aws.environment(life.world.account)
    keys = {"access-key-id": "AWS_ACCESS_KEY_ID", "secret-access-key": "AWS_SECRET_ACCESS_KEY", "session-token": "AWS_SESSION_TOKEN"}
    properties = {f"{service}.{key}": variables[name] for service in ("glue", "s3") for key, name in keys.items()}
    endpoints = {
        "glue.endpoint": life.world.aws.url,
        "s3.endpoint": life.world.aws.url,
        "glue.region": "us-east-1",
        "s3.region": "us-east-1",
    }
    found = load_catalog("glue", type="glue", **endpoints, **properties).load_table(table).scan().to_arrow()
    names = [name for name in found.column_names if not name.startswith("_cdc_")]
    return sorted((tuple(text(value) for value in row) for row in zip(*(found[name].to_pylist() for name in names), strict=True)), key=repr)


def text(value: Any) -> str | None:
    """A value as PostgreSQL writes it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if hasattr(value, "strftime") else str(value)


def read_by_spark(life: "Life", tables: list[str]) -> dict[str, Rows]:
    """Rows as texts, read by a Spark that is not the job's."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    variables |= life.world.aws.environment(life.world.account)
    found = read_with_spark(life.pipeline["merge_job"]["config_uri"], tables, variables)
    return {table: sorted((tuple(row) for row in rows), key=repr) for table, rows in found.items()}
