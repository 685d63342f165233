"""What EMR Serverless does with a run: the job's own script, zips, Python and arguments from S3, started by spark-submit.

Of EMR is ours: Spark's master and how much it takes of this machine, the jars that ``spark.jars`` names, and S3 as a file system. All else
comes from the run: script, ``--py-files``, ``--conf``, the archive with its Python, arguments, and the rights of its role.
"""

import os
import shlex
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from dms_iceberg.spark.jars import spark_jars
from support.local_aws import LocalAws
from support.terraform.glue_runtime import java_environment, machine_settings

ICEBERG = "/usr/share/aws/iceberg/lib/iceberg-spark3-runtime.jar"
_DRIVER_ENVIRONMENT = "spark.emr-serverless.driverEnv."


class EmrRun:
    """The driver of one run, as a process."""

    def __init__(self, aws: LocalAws, described: Any, folder: Path) -> None:
        """Start what `GetJobRun` describes, in an empty folder."""
        self._client = aws.client_of(described["executionRole"], "s3")
        submit = described["jobDriver"]["sparkSubmit"]
        words = shlex.split(submit["sparkSubmitParameters"])
        options = list(zip(words[::2], words[1::2], strict=True))
        assert {option for option, _ in options} == {"--py-files", "--conf"}
        settings = dict(value.split("=", 1) for option, value in options if option == "--conf")
        given = dict(options)
        assert settings.pop("spark.jars") == ICEBERG, "without it EMR Serverless has no Iceberg"
        archive, name = settings.pop("spark.archives").split("#")
        with tarfile.open(self._fetch(archive, folder)) as packed:
            packed.extractall(folder / name, filter="data")
        zips = [str(self._fetch(uri, folder)) for uri in given["--py-files"].split(",")]
        command = [str(_spark_home() / "bin" / "spark-submit"), "--master", "local[2]", "--jars", spark_jars(aws=True)]
        for key, value in (settings | machine_settings(aws)).items():
            command += ["--conf", f"{key}={value}"]
        command += ["--py-files", ",".join(zips), str(self._fetch(submit["entryPoint"], folder)), *submit["entryPointArguments"]]
        variables = {key.removeprefix(_DRIVER_ENVIRONMENT): value for key, value in settings.items() if key.startswith(_DRIVER_ENVIRONMENT)}
        self.stdout, self.stderr = folder / "stdout", folder / "stderr"
        with self.stdout.open("wb") as output, self.stderr.open("wb") as errors:
            self._process = subprocess.Popen(
                command, cwd=folder, stdout=output, stderr=errors, env=_environment(aws, described["executionRole"]) | variables
            )

    def said(self) -> str:
        """Everything the driver wrote so far."""
        return self.stdout.read_text() + self.stderr.read_text()

    def is_over(self) -> bool:
        """Whether the driver has ended."""
        return self._process.poll() is not None

    def cancel(self) -> None:
        """End the driver as a cancelled run is ended: Spark's process hears of it, and Python's only that Spark is gone."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(120)

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.wait(30)

    def _fetch(self, uri: str, folder: Path) -> Path:
        place = urlparse(uri)
        path = folder / Path(place.path).name
        path.write_bytes(self._client.get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))["Body"].read())
        return path


@contextmanager
def emr_run(aws: LocalAws, account: str, run: tuple[str, str], folder: Path) -> Iterator[EmrRun]:
    """Run the driver of a run (ids of application and run) while the block lasts."""
    application, identity = run
    described = aws.client("emr-serverless", account).get_job_run(applicationId=application, jobRunId=identity)["jobRun"]
    one = EmrRun(aws, described, folder)
    try:
        yield one
    finally:
        one.kill()


def _environment(aws: LocalAws, role_arn: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    session = aws.environment_of(role_arn)
    # The region is the run's own to set.
    del session["AWS_REGION"], session["AWS_DEFAULT_REGION"]
    spark = {"SPARK_HOME": str(_spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    return kept | java_environment() | spark | session


def _spark_home() -> Path:
    """Return Spark's folder, whose PySpark the Python of the archive imports."""
    import pyspark

    return Path(pyspark.__file__).parent
