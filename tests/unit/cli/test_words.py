"""What is said while a command works: a line on a terminal, lines of the log elsewhere; never on standard output."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import typer

from dms_iceberg.cli.words import Words
from dms_iceberg.runs.report import BatchReport

ODD = "public.[red]:key:[/]"


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def batch() -> BatchReport:
    return BatchReport(files=2, bytes=10, snapshot_id=1, frontier="20260301100130000", seconds=0.5, rows_read=1234, applied=1234)


def on_standard_error(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize(("quiet", "watched", "drawn"), [(False, True, True), (True, True, False), (False, False, False)])
def test_tables_at_work_are_for_terminals(monkeypatch: pytest.MonkeyPatch, quiet: bool, watched: bool, drawn: bool) -> None:
    stream = Terminal() if watched else io.StringIO()
    on_standard_error(monkeypatch, stream)
    with Words(quiet=quiet) as words:
        words.doing(ODD, "merge 4 files")
        words.merged(ODD, batch())
        words.merged(ODD, batch())
        words.now("not logged")
    assert (ODD in stream.getvalue()) == ("4 files, 2,468 rows" in stream.getvalue()) == drawn
    assert drawn or stream.getvalue() == ""


def test_each_step_is_one_line_of_the_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Words(quiet=True) as words:
        words.say("starting Spark")
        words.show("only on a terminal")
        words.say("merging 40 tables")
        words.print("a result")
    shown = capsys.readouterr()
    lines = [json.loads(line) for line in shown.err.splitlines()]
    assert [(line["event"], line["level"], line["step"]) for line in lines] == [
        ("step", "info", "starting Spark"),
        ("step", "info", "merging 40 tables"),
    ]
    assert shown.out == "a result\n"


def test_a_step_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal()
    on_standard_error(monkeypatch, stream)
    with Words() as words:
        words.say("starting Spark")
        words.say(f"merging {ODD}")
        assert "starting Spark" not in stream.getvalue().split(f"merging {ODD}")[-1]
        words.print("a result")
        words.tell("a line that stays")
    assert capsys.readouterr().out == "a result\n", "the drawing must not take standard output for itself"
    assert "a line that stays" in stream.getvalue()


def test_ctrl_c_is_answered_at_once_and_ends_the_command_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(typer.Exit) as ended, Words(quiet=True) as words:
        words.say("starting Spark")
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")
    assert ended.value.exit_code == 130
    assert [json.loads(line)["step"] for line in capsys.readouterr().err.splitlines()] == [
        "starting Spark",
        "stopping; Ctrl-C again stops now",
        "stopped while starting Spark; nothing is left half done, and the command can be started again",
    ]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_ctrl_c_ends_the_process_though_threads_are_at_work() -> None:
    script = (
        "import signal\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from threading import Event\n"
        "from dms_iceberg.cli.words import Words\n"
        "with Words() as words, ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(Event().wait)\n"
        "    try:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    finally:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False).returncode == 130


def test_a_command_speaks_before_it_imports_what_takes_long() -> None:
    """A parser of SQL, Arrow and Spark take longer to import than a person waits without a word."""
    slow = ("sqlglot", "pyarrow", "pyspark", "boto3", "psycopg")
    check = f"import sys, dms_iceberg.cli.app; sys.exit(', '.join(name for name in {slow} if name in sys.modules) or 0)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_validate_imports_neither_arrow_nor_spark_nor_the_emulator(tmp_path: Path) -> None:
    document = {"version": 1, "pipeline": "p", "bronze": {"uri": "b"}, "catalog": {"warehouse": "w"}}
    document |= {"tables": {"public.t": {"target": "silver.t", "key": ["id"], "rules": [{"name": "r", "expr": "a > 1"}]}}}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document))
    code = (
        "import atexit, sys\nfrom dms_iceberg.cli.app import main\n"
        "slow = ('pyarrow', 'pyspark', 'boto3', 'psycopg', 'dms_emulator', 'dms_demo')\n"
        "atexit.register(lambda: print([name for name in slow if name in sys.modules]))\n"
        f"main(['validate', {str(path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == f"{path}: valid, 1 table\n[]\n"
