"""Running the job as a user does: the command line, in a process of its own or in this one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from dms_iceberg.cli.app import main

_JOB = Path(__file__).parents[2] / "job"


def run_command(*arguments: str, environment: Mapping[str, str] | None = None, code: int = 0) -> dict[str, Any]:
    """Run ``dms-iceberg <arguments> --json`` and return its report; another exit code than ``code`` fails the test."""
    done = subprocess.run(
        [sys.executable, "-m", "dms_iceberg.cli.app", *arguments, "--json"],
        env={"DMS_ICEBERG_DRIVER_MEMORY": "1g"} | os.environ | {"PYTHONPATH": str(_JOB)} | (environment or {}),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@attrs.frozen
class Ended:
    """A command that has ended. ``tables`` is the part of its ``--json`` report."""

    code: object
    out: str
    err: str

    @property
    def tables(self) -> dict[str, Any]:
        return dict(json.loads(self.out.splitlines()[-1])["tables"])


Command = Callable[..., Ended]


def commanding(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return `command(name, document, *options)`, which runs a command in this process; a name of two words is that of a group."""

    def run(name: str, document: Path, *options: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([*name.split(), str(document), *options])
        shown = capsys.readouterr()
        # What Python gives as None is 0 for the shell.
        return Ended(ended.value.code or 0, shown.out, shown.err)

    return run
