"""Running the job as a user does: the command line in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
