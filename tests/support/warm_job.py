"""The job in a process of its own with one Spark session for many runs: a start costs as much as several runs.

Run as a script, this file is that process: a line on standard input is a document to run, how often Glue may be asked and what to rebuild;
a line on standard output is the run's report.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
_RUN_SECONDS = 240
# What the job tries for minutes ends within seconds here.
IMPATIENT = {
    "spark.hadoop.fs.s3a.attempts.maximum": "2",
    "spark.hadoop.fs.s3a.retry.limit": "1",
    "spark.hadoop.fs.s3a.retry.interval": "50ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "1",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "50ms",
    "spark.hadoop.fs.s3a.connection.timeout": "2000",
}
PATIENCE_SECONDS = 2
GLUE_ATTEMPTS = 3
S3_ATTEMPTS = 3


class WarmJob:
    """A running job process. Use it as a context manager: nothing outlives it."""

    def __init__(self, environment: Mapping[str, str], folder: Path, python: Path | str = sys.executable) -> None:
        self.log = folder / f"warm-job-{time.monotonic_ns()}.log"
        path = os.pathsep.join(map(str, (_TESTS.parent / "job", _TESTS)))
        variables = {"DMS_ICEBERG_DRIVER_MEMORY": "1g"} | os.environ | {"PYTHONPATH": path} | environment
        with self.log.open("wb") as log:
            command = [str(python), "-m", "support.warm_job"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=variables, start_new_session=True
            )

    def __enter__(self) -> "WarmJob":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def kill(self) -> None:
        """Kill process and JVM with SIGKILL."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait()

    def start(self, document: Path, glue_attempts: int = GLUE_ATTEMPTS, rebuild: Sequence[str] = ()) -> None:
        """Begin a run of a document, with tables to rebuild. The number of attempts is fixed when a catalog is first used."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([str(document), glue_attempts, list(rebuild)]).encode() + b"\n")
        self.process.stdin.flush()

    def finish(self, seconds: float = _RUN_SECONDS) -> dict[str, Any] | None:
        """Return the report of the run that was begun, with its ``exit_code``; None if it has not ended after so many seconds."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        line = self.process.stdout.readline()
        assert line, f"the job process has ended:\n{self.text()}"
        report: dict[str, Any] = json.loads(line)
        return report

    def run(
        self, document: Path, glue_attempts: int = GLUE_ATTEMPTS, rebuild: Sequence[str] = (), seconds: float = _RUN_SECONDS
    ) -> dict[str, Any]:
        """Run a document to its end."""
        self.start(document, glue_attempts, rebuild)
        report = self.finish(seconds)
        assert report is not None, f"no end within {seconds} s:\n{self.text()}"
        return report

    def text(self) -> str:
        """The end of what it has written to its log."""
        return self.log.read_text(errors="replace")[-6000:]


def _serve() -> None:
    from botocore.config import Config

    from dms_iceberg.config.load import load_config
    from dms_iceberg.context import RunRequest
    from dms_iceberg.logs import configure_logs
    from dms_iceberg.runs.run import run
    from dms_iceberg.spark.session import open_session
    from dms_iceberg.storage import s3

    reports = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    configure_logs(terminal=False)
    retries = {"mode": "adaptive", "total_max_attempts": S3_ATTEMPTS}
    short = Config(read_timeout=PATIENCE_SECONDS, connect_timeout=PATIENCE_SECONDS, retries=retries)
    s3.CLIENT_SETTINGS = s3.CLIENT_SETTINGS.merge(short)
    for line in sys.stdin:
        document, glue_attempts, rebuild = json.loads(line)
        config = load_config(document)
        spark = open_session(config, **IMPATIENT)
        spark._jvm.java.lang.System.setProperty("aws.maxAttempts", str(glue_attempts))  # type: ignore[union-attr]
        report = run(spark, config, request=RunRequest(rebuild=frozenset(rebuild)))
        reports.write(json.dumps({"exit_code": report.exit_code, **report.to_document()}) + "\n")
        reports.flush()


if __name__ == "__main__":
    _serve()
