"""Bronze on S3 and tables in Glue, both local, for tests that run the job as a process: what is there, and what DMS writes."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog

from dms_iceberg.progress.progress import ACCOUNTING_KEY
from support.aws import aws_server
from support.fault_proxy import FaultProxy, fault_proxy
from support.lake import COMMIT, sequence, timestamp
from support.warm_job import PATIENCE_SECONDS

SCHEMA = pa.schema(
    [
        ("Op", pa.string()),
        ("dms_commit_ts", pa.string()),
        ("id", pa.int64()),
        ("v", pa.string()),
        ("dms_change_seq", pa.string()),
        ("BI_id", pa.int64()),
    ]
)
BRONZE, SILVER = "bronze", "silver"


def parquet(rows: Sequence[Sequence[Any]]) -> bytes:
    """A file as DMS writes it, of rows of `SCHEMA`."""
    data = {field: [row[i] for row in rows] for i, field in enumerate(SCHEMA.names)}
    sink = io.BytesIO()
    pq.write_table(pa.table(data, schema=SCHEMA), sink)
    return sink.getvalue()


@contextmanager
def open_cloud(folder: Path) -> Iterator["Cloud"]:
    """A local S3 and Glue behind a proxy that knows faults; this process has their variables meanwhile."""
    with (
        aws_server() as environment,
        fault_proxy(environment["AWS_ENDPOINT_URL"], PATIENCE_SECONDS + 1) as proxy,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        yield Cloud(proxy, environment, folder)


class Cloud:
    """The job reaches both through a proxy, tests go past it."""

    def __init__(self, proxy: FaultProxy, environment: dict[str, str], folder: Path) -> None:
        self.proxy, self.folder = proxy, folder
        self._endpoint = environment["AWS_ENDPOINT_URL"]
        self.environment = environment | {"AWS_ENDPOINT_URL": proxy.url}
        for bucket in (BRONZE, SILVER):
            self.client("s3").create_bucket(Bucket=bucket)

    def client(self, service: str) -> Any:
        """A boto3 client that meets no fault."""
        return boto3.client(service, endpoint_url=self._endpoint, region_name="us-east-1")  # type: ignore[call-overload]

    def document(self, name: str, tables: Sequence[str] | dict[str, Any], catalog: str = "lake") -> Path:
        """Write a document whose job gives up within seconds; each pipeline has a Glue database of its own."""
        impatient = {
            "s3.retry.num-retries": "2",
            "s3.retry.min-wait-ms": "50",
            "s3.retry.max-wait-ms": "200",
            "http-client.apache.socket-timeout-ms": str(PATIENCE_SECONDS * 1000),
        }
        settled = {"commit.status-check.num-retries": "1", "commit.status-check.min-wait-ms": "50"}
        own = tables if isinstance(tables, dict) else {table: {} for table in tables}
        document = {
            "version": 1,
            "pipeline": name,
            "bronze": {"uri": f"s3://{BRONZE}/{name}/"},
            "catalog": {"name": catalog, "type": "glue", "warehouse": f"s3://{SILVER}/warehouse", "properties": impatient},
            "quarantine": {"namespace": f"quarantine_{name}"},
            "parallelism": len(own),
            "tables": {
                f"public.{table}": {"target": f"{name}.{table}", "key": ["id"], "table_properties": settled, **given}
                for table, given in own.items()
            },
            "state_uri": f"s3://{SILVER}/state/{name}/",
        }
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(document))
        return path

    def put(self, name: str, table: str, file: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write a file as DMS does."""
        self.client("s3").put_object(Bucket=BRONZE, Key=f"{name}/public/{table}/{file}", Body=parquet(rows))

    def load(self, name: str, table: str, ids: Sequence[int]) -> None:
        """Write a LOAD file."""
        self.put(name, table, "LOAD00000001.parquet", [("I", COMMIT, id_, f"row {id_}", "", None) for id_ in ids])

    def changes(self, name: str, table: str, minute: int, rows: Sequence[tuple[str, int, str | None]]) -> None:
        """Write a change file of (operation, id, v), committed in a minute after 10:00."""
        clock = f"2026030110{minute:02d}00"
        full = [(op, timestamp(clock), id_, v, sequence(clock, 100 * minute + n), None) for n, (op, id_, v) in enumerate(rows)]
        self.put(name, table, f"2026/03/01/10/20260301-10{minute:02d}30000.parquet", full)

    def rows(self, name: str, table: str) -> list[tuple[int, str]]:
        """Rows of a silver table."""
        found = self.load_table(name, table).scan().to_arrow().sort_by("id")
        return list(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))

    def books(self, name: str, table: str) -> list[int]:
        """How many rows were read for each snapshot of a silver table, by its own account."""
        snapshots = self.load_table(name, table).metadata.snapshots
        return [json.loads(one.summary.additional_properties[ACCOUNTING_KEY])["rows_read"] for one in snapshots if one.summary]

    def load_table(self, name: str, table: str) -> Any:
        """The table as PyIceberg, which knows nothing of Spark, loads it; with the variables of the environment."""
        place = {"glue.endpoint": self._endpoint, "s3.endpoint": self._endpoint, "glue.region": "us-east-1"}
        return load_catalog("glue", type="glue", **place).load_table(f"{name}.{table}")
