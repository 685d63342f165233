"""The job in a process of its own, to be killed: at named points, or at the moment a file appears in the warehouse."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 400


class JobProcess:
    """A command on a document, by default `run`, JVM included in its process group. Use it as a context manager: nothing outlives it."""

    def __init__(
        self,
        document: dict[str, Any],
        folder: Path,
        kill_at: Sequence[str] = (),
        options: Sequence[str] = (),
        command: Sequence[str] = ("run",),
    ) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(document))
        self.log = folder / f"job-{time.monotonic_ns()}.log"
        environment = {**os.environ, "DMS_ICEBERG_DRIVER_MEMORY": "1g", "DMS_ICEBERG_KILL_AT": ",".join(kill_at)}
        with self.log.open("wb") as log:
            words = [sys.executable, "-m", "dms_iceberg.cli.app", *command, str(path), "--json", *options]
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=environment, start_new_session=True)

    def __enter__(self) -> "JobProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its JVM."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return

    def wait(self) -> int:
        """Return the exit status; a signal as a negative number."""
        return self.process.wait(TIMEOUT_SECONDS)

    def text(self) -> str:
        """Everything it has written, for the message of a failed assertion."""
        return self.log.read_text(errors="replace")[-6000:]

    def freeze_when(self, seen: Callable[[], object]) -> None:
        """Stop the whole process group as soon as ``seen`` is true; it can be killed then, but does nothing more."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not seen():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.0005)
        self.signal(signal.SIGSTOP)
