"""Ctrl-C and SIGTERM in a watch: an answer at once, in the words and with the exit codes of the other commands."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import asyncio, os, signal, sys, threading, time
from types import SimpleNamespace
from dms_iceberg.cli.app import main
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.spark import session
from dms_iceberg.watch import run

def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)

def starts(*_, **__):
    if STAGE == "start":
        press()
        threading.Event().wait()
    return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=print))

class Watch:
    run_id, tables = "r", ["public.t"]

    def __init__(self, *_, listener, **__):
        self._listener, self._stopping = listener, threading.Event()

    def stop(self):
        self._stopping.set()

    def open_rows(self):
        return {"public.t": 3}

    async def run(self):
        self._listener("public.t", BatchReport(files=2, bytes=1, snapshot_id=1, frontier="", seconds=1, rows_read=617))
        press(NUMBER)
        await asyncio.get_running_loop().run_in_executor(None, self._stopping.wait)
        if STAGE == "batch":
            press(NUMBER)
            await asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
        return []

session.open_session, run.Watch = starts, Watch
"""


def ended(folder: Path, stage: str, number: signal.Signals = signal.SIGINT) -> tuple[int, list[str], str]:
    """Return exit code, steps and standard output of a watch that gets signals at a stage."""
    catalog = {"name": "lake", "type": "hadoop", "warehouse": str(folder / "lake")}
    tables = {"public.t": {"target": "silver.t", "key": ["id"]}}
    document = {"version": 1, "pipeline": "shop", "bronze": {"uri": str(folder / "bronze")}, "catalog": catalog, "tables": tables}
    path = folder / "shop.json"
    path.write_text(json.dumps(document))
    script = f"STAGE, NUMBER = {stage!r}, {int(number)}\n{WATCH}\nmain(['watch', {str(path)!r}])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr and "Aborted" not in done.stderr, done.stderr
    return done.returncode, [json.loads(line)["step"] for line in done.stderr.splitlines()], done.stdout


def test_while_spark_starts_it_is_answered_as_elsewhere(tmp_path: Path) -> None:
    code, steps, _ = ended(tmp_path, "start")
    assert (code, steps[1:]) == (
        130,
        [
            "starting Spark",
            "stopping; Ctrl-C again stops now",
            "stopped while starting Spark; nothing is left half done, and the command can be started again",
        ],
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_ends_the_watch_after_the_batch_at_hand(tmp_path: Path, number: signal.Signals) -> None:
    code, steps, printed = ended(tmp_path, "idle", number)
    assert (code, steps[-2:]) == (
        0,
        ["stopping after the batch at hand; Ctrl-C again stops now", "committed: public.t: 1 batch of 2 files and 617 rows"],
    )
    merged, rejected = printed.splitlines()
    assert merged.startswith("merged 2 files with 617 rows into 1 table in ")
    assert rejected == f"3 rows are in quarantine: dms-iceberg quarantine list {tmp_path}/shop.json"


@pytest.mark.parametrize(("number", "ends_with"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_says_what_was_merged_and_ends_the_process(tmp_path: Path, number: signal.Signals, ends_with: int) -> None:
    code, steps, _ = ended(tmp_path, "batch", number)
    assert (code, steps[-1]) == (
        ends_with,
        "stopped; committed: public.t: 1 batch of 2 files and 617 rows. What was at hand was not committed: the next run merges it.",
    )
