"""The job as on AWS: bronze on S3, tables in Glue with S3FileIO, each run a process of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import boto3
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog import load_catalog

from support.aws import aws_server
from support.cloud import parquet
from support.commands import run_command
from support.lake import COMMIT, sequence, timestamp

T1, T2 = "20260301100100", "20260301100200"


@attrs.frozen
class Cloud:
    environment: dict[str, str]
    config: Path

    def client(self, service: str) -> Any:
        return boto3.client(service, endpoint_url=self.environment["AWS_ENDPOINT_URL"], region_name="us-east-1")

    def put(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        self.client("s3").put_object(Bucket="bronze", Key=f"dms/shop/public/orders/{name}", Body=parquet(rows))

    def run(self, *refreshes: str) -> dict[str, Any]:
        """Run, and see that the models were refreshed so."""
        report = run_command("run", str(self.config), environment=self.environment)
        table: dict[str, Any] = report["tables"]["public.orders"]
        assert table["error"] is None
        assert {name: model["refresh"] for name, model in report["models"].items()} == dict(
            zip(("gold.lengths", "gold.texts"), refreshes, strict=True)
        )
        return table

    def rows(self, table: str = "silver.orders") -> list[tuple[Any, ...]]:
        """What PyIceberg, which knows nothing of Spark, reads through Glue."""
        endpoint = self.environment["AWS_ENDPOINT_URL"]
        catalog = load_catalog("glue", type="glue", **{"glue.endpoint": endpoint, "s3.endpoint": endpoint, "glue.region": "us-east-1"})
        found = catalog.load_table(table).scan().to_arrow()
        return sorted(zip(*(found[name].to_pylist() for name in found.column_names if not name.startswith("_cdc_")), strict=True))


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with aws_server() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        config = tmp_path_factory.mktemp("config") / "shop.json"
        document = {
            "version": 1,
            "pipeline": "shop",
            "bronze": {"uri": "s3://bronze/dms/shop/"},
            "catalog": {"name": "lake", "type": "glue", "warehouse": "s3://silver/warehouse"},
            "tables": {"public.orders": {"target": "silver.orders", "key": ["id"], "rules": [{"name": "named", "expr": "v <> ''"}]}},
            "gold": {
                "gold.lengths": {"sql": "SELECT length(v) AS l, count(*) AS n FROM silver.orders GROUP BY length(v)"},
                "gold.texts": {"sql": "SELECT v, count(*) AS n FROM silver.orders GROUP BY v", "refresh": "incremental"},
            },
            "state_uri": "s3://silver/state/",
        }
        config.write_text(json.dumps(document))
        cloud = Cloud(environment, config)
        for bucket in ("bronze", "silver"):
            cloud.client("s3").create_bucket(Bucket=bucket)
        yield cloud


def change(op: str, clock: str, counter: int, id_: int, v: str | None, before: int | None = None) -> tuple[Any, ...]:
    return (op, timestamp(clock), id_, v, sequence(clock, counter), before)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_full_load_changes_and_a_second_run(cloud: Cloud) -> None:
    cloud.put("LOAD00000001.parquet", [("I", COMMIT, n, f"row {n}", "", None) for n in range(1, 5)])
    cloud.put(
        "2026/03/01/10/20260301-100130000.parquet",
        [change("U", T1, 61, 1, "ONE"), change("D", T1, 65, 2, None), change("I", T1, 69, 9, "")],
    )
    first = cloud.run("full", "full")
    assert (first["rows_read"], first["applied"], first["quarantined"], first["batches"]) == (7, 6, 1, 2)
    assert cloud.rows() == [(1, "ONE"), (3, "row 3"), (4, "row 4")]
    assert cloud.rows("gold.lengths") == [(3, 1), (5, 2)]
    assert cloud.rows("gold.texts") == [("ONE", 1), ("row 3", 1), ("row 4", 1)]

    cloud.put("2026/03/01/10/20260301-100230000.parquet", [change("U", T2, 73, 30, "moved", 3), change("I", T2, 77, 2, "again")])
    second = cloud.run("full", "incremental")
    assert (second["rows_read"], second["applied"], second["files"]) == (2, 2, 1)
    assert cloud.rows() == [(1, "ONE"), (2, "again"), (4, "row 4"), (30, "moved")]
    assert cloud.rows("gold.lengths") == [(3, 1), (5, 3)]
    assert cloud.rows("gold.texts") == [("ONE", 1), ("again", 1), ("moved", 1), ("row 4", 1)]
    state = json.loads(cloud.client("s3").get_object(Bucket="silver", Key="state/runs/shop/public.orders.json")["Body"].read())
    assert state["applied"] == 2


def test_stale_version_is_refused_by_glue(cloud: Cloud) -> None:
    """Guards the server, not the job: without it every test of concurrent commits on it would prove nothing."""
    glue = cloud.client("glue")
    glue.create_database(DatabaseInput={"Name": "guard"})
    glue.create_table(DatabaseName="guard", TableInput={"Name": "t", "Parameters": {"n": "0"}})
    version = glue.get_table(DatabaseName="guard", Name="t")["Table"]["VersionId"]
    glue.update_table(DatabaseName="guard", TableInput={"Name": "t", "Parameters": {"n": "1"}}, VersionId=version)
    with pytest.raises(ClientError, match="ConcurrentModificationException"):
        glue.update_table(DatabaseName="guard", TableInput={"Name": "t", "Parameters": {"n": "2"}}, VersionId=version)
