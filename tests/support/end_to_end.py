"""What the end-to-end tests of all sources share: the emulated DMS as a process, and the comparison of both sides."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.lake import Lake

Columns = dict[str, tuple[str, str]]
"""By its name, each column as text in both worlds: the left is the source's SQL, the right is Spark's."""
WORDS = ["plain", "comma, quote \" and 'single'", "line\nbreak", "back\\slash\\", "Grüße 中文 🙂", "", "NULL", "${spark.master}"]


def emulate(config: Path, dsn: str, *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "dms_iceberg.cli.app", "emulate", str(config), "--source", dsn, "--interval", "300ms", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until_loaded(dms: "subprocess.Popen[bytes]", bronze: Path, tables: int) -> None:
    """Wait for the full load: on a busy machine the emulated DMS may take longer to start than all runs of the job."""
    deadline = time.monotonic() + 120
    while len({file.parent for file in bronze.rglob("LOAD*")}) < tables:
        assert dms.poll() is None, "the emulated DMS has ended"
        assert time.monotonic() < deadline, "no full load in two minutes"
        time.sleep(0.1)


def ends_well(dms: "subprocess.Popen[bytes]") -> None:
    _, said = dms.communicate(timeout=60)
    assert dms.returncode == 0, said.decode()


def silver_rows(lake: Lake, table: str, columns: Columns) -> list[tuple[Any, ...]]:
    return sorted(lake.rows(table, ", ".join(sql for _, sql in columns.values())), key=repr)


def differences(source: list[tuple[Any, ...]], silver: list[tuple[Any, ...]], names: list[str]) -> list[str]:
    """Say per key and column what differs."""
    left, right = {row[0]: row for row in source if row not in silver}, {row[0]: row for row in silver if row not in source}
    found = [f"only one side has {key}" for key in left.keys() ^ right.keys()]
    for key in left.keys() & right.keys():
        found += [
            f"{key}.{n}: {a!r} at the source, {b!r} in silver" for n, a, b in zip(names, left[key], right[key], strict=True) if a != b
        ]
    return found
