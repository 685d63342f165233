"""A watch on EMR Serverless, on the local AWS from the first apply to the change back to Glue; its run on a real Spark.

That AWS accepts the run, and starts it as `support.terraform.emr_runtime` does, is not shown.
"""

import io
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_iceberg.spark.versions import SPARK_3_5, present
from support.lake import COMMIT, sequence
from support.terraform.chain import read_with_pyiceberg
from support.terraform.emr_runtime import EmrRun, emr_run
from support.terraform.example_stacks import World, minimal
from support.terraform.lives import Life
from support.terraform.stack import Stack
from tools import python_archive

if TYPE_CHECKING:
    from support.local_aws import LocalAws

pytestmark = [
    pytest.mark.release,
    pytest.mark.timeout(1800),
    pytest.mark.usefixtures("terraform"),
    pytest.mark.skipif(present() is not SPARK_3_5, reason="the releases of EMR that the module takes have Spark 3.5"),
]

CLOCK = "2026030110000000"
ACTIVE = {"SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "CANCELLING"}


class Watch:
    """The pipeline of the example, and what EMR Serverless says of it."""

    def __init__(self, life: Life) -> None:
        self.life, self.emr = life, life.client("emr-serverless")

    def apply(self, **inputs: Any) -> list[str]:
        """Apply the example with other inputs of the module; returns what a second plan would change."""
        given = "".join(f"  {name} = {json.dumps(value)}\n" for name, value in inputs.items())
        self.life.stack.override("change", f'module "pipeline" {{\n{given}}}\n')
        self.life.outputs = self.life.stack.apply()
        return self.life.stack.drift()

    def runs(self) -> list[dict[str, Any]]:
        """The runs, the newest first, with their tags."""
        application = self.told["application"]["id"]
        found = self.emr.list_job_runs(applicationId=application)["jobRuns"]
        found.sort(key=lambda one: one["createdAt"], reverse=True)
        assert sum(one["state"] in ACTIVE for one in found) <= 1
        details = [self.emr.get_job_run(applicationId=application, jobRunId=one["id"])["jobRun"] for one in found]
        return [{**detail, "state": one["state"]} for one, detail in zip(found, details, strict=True)]

    @property
    def told(self) -> dict[str, Any]:
        """Output `watch` of the module."""
        found: dict[str, Any] = self.life.pipeline["watch"]
        return found

    def tick(self) -> dict[str, Any]:
        """Do what the schedule does every minute; returns what the function did."""
        name = self.told["starter"]["name"]
        [target] = self.life.client("events").list_targets_by_rule(Rule=name)["Targets"]
        answer = self.life.client("lambda").invoke(FunctionName=target["Arn"], Payload=target["Input"])
        assert "FunctionError" not in answer, answer["Payload"].read()
        found: dict[str, Any] = json.loads(answer["Payload"].read())
        return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of this machine, packed as the tool packs one for EMR."""
    target = tmp_path_factory.mktemp("python") / "python-3.11-x86_64.tar.gz"
    python_archive.write(target, python_archive.members(Path(sys.base_prefix)))
    return target


def test_watch_from_the_first_apply_to_the_way_back(aws: "LocalAws", archive: Path, tmp_path: Path) -> None:
    world = World(aws, aws.new_account(), aws.new_account(), tmp_path)
    life = Life("emr-serverless", world, Stack("examples/emr-serverless", tmp_path, aws, world.account))
    life.outputs = life.stack.apply(**minimal(world), python_archive=str(archive))
    assert life.stack.drift() == []
    watch = Watch(life)

    # One watch, and every minute again one look that changes nothing.
    [first] = watch.runs()
    assert (first["name"], first["mode"], first["executionTimeoutMinutes"]) == ("shop-watch", "STREAMING", 0)
    assert first["tags"]["dms-iceberg:version"] == watch.told["version"]
    assert watch.tick()["outcome"] == "keep"
    glue = life.client("glue").get_job_runs(JobName=life.pipeline["merge_job"]["name"])
    alarms = {one["AlarmName"]: one for one in life.client("cloudwatch").describe_alarms()["MetricAlarms"]}
    assert {"shop-watch-not-running", "shop-watch-failed", "shop-watch-starter-errors"} <= set(alarms)
    assert "shop-no-run" not in alarms
    counted = life.client("logs").describe_metric_filters(logGroupName=watch.told["log_group"])["metricFilters"]
    assert "shop-FailedTables" in {one["filterName"] for one in counted}

    # Its arguments, script, zips and Python on a real Spark, with the rights of its role.
    put(life, 1, [("I", 1, "one"), ("I", 2, "two")])
    (tmp_path / "run").mkdir()
    with emr_run(aws, world.account, (watch.told["application"]["id"], first["jobRunId"]), tmp_path / "run") as driver:
        until(driver, "batch_merged", 1)
        put(life, 2, [("U", 1, "uno"), ("D", 2, "two"), ("I", 3, "three")])
        until(driver, "batch_merged", 2)
        driver.cancel()
    lines = [json.loads(line) for line in driver.stdout.read_text().splitlines() if line.startswith("{")]
    merged = [(one["applied"], one["stale"], one["quarantined"]) for one in lines if one["event"] == "batch_merged"]
    assert merged == [(2, 0, 0), (3, 0, 0)]
    assert "table_failed" not in {one["event"] for one in lines}
    # Bronze has no queue and no run of Glue: the watch found the files by itself.
    assert glue["JobRuns"] == []
    assert read_with_pyiceberg(life, life.pipeline["targets"]["public.orders"]) == [("1", "uno"), ("3", "three")]

    # Another document: the watch is cancelled, and the next begins once it has ended.
    rules = [{"name": "v", "expr": "v is not null"}]
    tables = {"public.orders": {"key": ["order_id"], "rules": rules}, "public.order_lines": {"key": ["order_id", "line_no"]}}
    assert watch.apply(tables=tables) == []
    assert [one["state"] for one in watch.runs()] == ["CANCELLING"]
    assert watch.tick()["outcome"] == "start"
    second, former = watch.runs()
    assert (second["state"], former["state"], former["jobRunId"]) == ("RUNNING", "CANCELLED", first["jobRunId"])
    assert second["tags"]["dms-iceberg:version"] == watch.told["version"] != first["tags"]["dms-iceberg:version"]

    # A change of the application, which AWS refuses while it is started.
    python = {"archive_path": str(archive)}
    assert watch.apply(tables=tables, emr_serverless={"python": python, "executor": {"max": 2}}) == []
    application = watch.emr.get_application(applicationId=watch.told["application"]["id"])["application"]
    assert (application["state"], application["maximumCapacity"]) == ("STARTED", {"cpu": "8 vCPU", "memory": "32 GB"})
    assert [one["state"] for one in watch.runs()] == ["RUNNING", "CANCELLED", "CANCELLED"]

    # Paused, and back to Glue: no watch is left, and the function of files starts runs again.
    assert watch.apply(emr_serverless={"python": python, "start": False}) == []
    assert {one["state"] for one in watch.runs()} == {"CANCELLED"}
    assert watch.emr.get_application(applicationId=watch.told["application"]["id"])["application"]["state"] == "STOPPED"
    assert watch.apply(runtime="glue", emr_serverless={}) == []
    states = [one["state"] for one in watch.emr.list_applications()["applications"]]
    assert states == ["TERMINATED"]
    function = life.client("lambda").get_function_configuration(FunctionName=life.pipeline["trigger"]["function"]["name"])
    assert "STARTS_RUNS" not in function["Environment"]["Variables"]
    assert life.pipeline["watch"] is None


def put(life: Life, number: int, changes: list[tuple[str, int, str]]) -> None:
    """Write a change file of the table orders, as DMS does."""
    bucket, folder = life.pipeline["bronze_uri"].removeprefix("s3://").split("/", 1)
    rows = [(op, COMMIT, key, value, sequence(CLOCK, 10 * number + at), key) for at, (op, key, value) in enumerate(changes)]
    names = ["Op", "dms_commit_ts", "order_id", "v", "dms_change_seq", "BI_order_id"]
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), sink)
    key = f"{folder}public/orders/2026/03/01/20260301-10000{number}000.parquet"
    life.client("s3").put_object(Bucket=bucket, Key=key, Body=sink.getvalue())


def until(driver: EmrRun, event: str, times: int) -> None:
    """Wait until the driver has said something so many times."""
    end = time.monotonic() + 300
    while sum(f'"event": "{event}"' in line for line in driver.stdout.read_text().splitlines()) < times:
        assert not driver.is_over(), driver.said()[-8000:]
        assert time.monotonic() < end, f"not {times} times within 300 s: {event}\n{driver.said()[-8000:]}"
        time.sleep(0.5)
