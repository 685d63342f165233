"""Ctrl-C while tables are merged: an answer at once, an end after the batch at hand, and what was committed."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import structlog

from dms_iceberg.cli.stopping import STOPPING, Committed, Stopping
from dms_iceberg.cli.words import Words
from dms_iceberg.runs.report import BatchReport


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def batch(files: int = 2, rows: int = 1234) -> BatchReport:
    return BatchReport(files=files, bytes=10, snapshot_id=1, frontier="20260301100130000", seconds=0.5, rows_read=rows, applied=rows)


def test_the_first_is_answered_at_once_and_the_handler_is_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Words(quiet=True) as words, Stopping(words) as stopping:
        assert not stopping.is_stopping
        signal.raise_signal(signal.SIGINT)
        assert [json.loads(line)["step"] for line in capsys.readouterr().err.splitlines()] == [STOPPING]
        assert stopping.is_stopping
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_ends_the_process_and_says_what_was_committed() -> None:
    script = (
        "import signal, threading\n"
        "from dms_iceberg.cli.stopping import Stopping\n"
        "from dms_iceberg.cli.words import Words\n"
        "from dms_iceberg.runs.report import BatchReport\n"
        "threading.Thread(target=threading.Event().wait).start()\n"  # as a table does that waits for Spark
        "with Words() as words, Stopping(words) as stopping:\n"
        "    for _ in range(2):\n"
        "        stopping.merged('public.t', BatchReport(files=2, bytes=1, snapshot_id=1, frontier='', seconds=1, rows_read=617))\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    first, second = (json.loads(line)["step"] for line in done.stderr.splitlines())
    assert done.returncode == 130
    assert first == STOPPING
    assert second.startswith("stopped; committed: public.t: 2 batches of 4 files and 1,234 rows.")


def test_without_signals_in_another_thread_it_changes_nothing() -> None:
    before, heard = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with Stopping(Words(quiet=True)) as stopping:
            heard.append((stopping.is_stopping, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [(False, before)]


def test_what_was_committed_in_words() -> None:
    committed = Committed()
    assert committed.text == "nothing was committed"
    committed.merged("a", batch(1, 1))
    committed.merged("b", batch())
    committed.merged("b", batch())
    assert committed.text == "committed: a: 1 batch of 1 file and 1 row; b: 2 batches of 4 files and 2,468 rows"
