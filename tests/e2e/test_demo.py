"""The demo as a user starts it: the command, what it prints, and what it leaves."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dms_demo.shop import SALT_VARIABLE
from support.mariadb import skip_without_mariadb

pytestmark = pytest.mark.release

COMMAND = [sys.executable, "-m", "dms_iceberg.cli.app"]
TABLES = {"public.customers", "public.orders", "public.order_lines"}
STATUSES = ["new", "paid", "packed", "shipped", "delivered"]


def environment(**more: str) -> dict[str, str]:
    # The demo starts as it does for users; and of Java's options Java would tell in the demo's own output.
    unwanted = (SALT_VARIABLE, "DMS_ICEBERG_CONFIG", "PYSPARK_SUBMIT_ARGS", "JDK_JAVA_OPTIONS")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    # A zone with a half hour: whatever depends on the machine's own time would show.
    return {**kept, "TZ": "Asia/Kolkata", **more}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    base = tmp_path_factory.mktemp("demo")
    directory = base / "build" / "demo"
    stale = directory / "bronze" / "public" / "orders" / "LOAD00000001.parquet"
    stale.parent.mkdir(parents=True)
    stale.write_text("left by an earlier demo")
    (directory / "notes.txt").write_text("a file of the user's own")
    done = subprocess.run([*COMMAND, "demo"], cwd=base, env=environment(DEMO_SECONDS="6"), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory, done


@pytest.fixture(scope="module")
def report(demo: tuple[Path, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((demo[0] / "report.json").read_text())
    return document


def test_every_table_equals_its_source(report: dict[str, Any]) -> None:
    assert set(report["tables"]) == TABLES
    for table in report["tables"].values():
        assert table["equal"] is True
        assert table["rows"] == table["source_rows"] > table["rows_loaded"] / 2
        assert table["source_md5"] == table["silver_md5"]
        assert table["changes"] > 0
        assert 0 < table["lag_p50_seconds"] <= table["lag_p95_seconds"] <= table["lag_max_seconds"]
        later = table["lag_after_first_batches"]["max_seconds"]
        assert later is None or 0 < later <= table["lag_max_seconds"]
    assert report["equal"] is True


def test_the_books_balance_with_the_files(report: dict[str, Any]) -> None:
    for table in report["tables"].values():
        books = dict(table["books"])
        assert books.pop("read") == sum(books.values()) == table["changes_captured"]
    assert report["idle_snapshots"] == 0


def test_the_writers_did_what_the_demo_is_about(report: dict[str, Any]) -> None:
    assert report["transactions"]["commits"] > 20
    assert report["transactions"]["key_changes"] > 0
    assert report["transactions"]["rollbacks"] > 0
    assert [event["what"] for event in report["events"]] == ["negative amount written", "column added"]
    assert [s for s in report["schema_changes"] if "loyalty_points" in s] == report["schema_changes"] != []
    assert "loyalty_points" in report["tables"]["public.customers"]["columns"]


def test_one_row_is_in_quarantine_and_says_why(report: dict[str, Any]) -> None:
    (row,) = report["quarantined"]
    assert (row["table"], row["reason"], row["detail"]) == ("public.orders", "rule", "amount_not_negative")
    assert json.loads(row["key"]) == {"order_id": 2}
    assert row["record"]["amount"] < 0
    assert report["tables"]["public.orders"]["last_good_version_expected"] == ["order_id 2"]


def test_the_story_goes_forward_in_time(report: dict[str, Any]) -> None:
    story = report["story"]
    assert story[0]["committed_at"] is None
    assert story[0]["status"] == "new"
    assert story[-1]["status"] == "delivered"
    assert [chapter["status"] for chapter in story] == sorted((c["status"] for c in story), key=STATUSES.index)
    assert [chapter["snapshot_at"] for chapter in story] == sorted(chapter["snapshot_at"] for chapter in story)
    for chapter in story[1:]:
        assert chapter["committed_at"] < chapter["snapshot_at"]


def test_the_output_is_plain_and_short(demo: tuple[Path, "subprocess.CompletedProcess[str]"]) -> None:
    _, done = demo
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) < 40
    assert "amount_not_negative" in done.stdout
    assert done.stderr == ""


def test_the_page_needs_nothing_else(demo: tuple[Path, Any]) -> None:
    page = (demo[0] / "report.html").read_text()
    assert page.count("<circle") > 6
    assert re.findall(r"(?:src|href)=|https?:|<script|@import|url\(", page) == []
    assert "$" not in page


def test_the_salt_is_nowhere(demo: tuple[Path, Any]) -> None:
    document = json.loads((demo[0] / "config.json").read_text())
    (email,) = [c for c in document["tables"]["public.customers"]["columns"] if c["name"] == "email"]
    assert email["mask_salt"] == f"env:{SALT_VARIABLE}"
    assert "@example.com" not in "".join(path.read_text() for path in (demo[0] / "runs").iterdir())


def test_status_works_on_what_is_left(demo: tuple[Path, Any], report: dict[str, Any]) -> None:
    directory, _ = demo
    done = subprocess.run(
        [*COMMAND, "status", "--json", str(directory / "config.json")],
        cwd=directory.parent,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tables = json.loads(done.stdout)["tables"]
    assert {name: table["rows"] for name, table in tables.items()} == {n: t["rows"] for n, t in report["tables"].items()}
    assert {name: table["quarantined"] for name, table in tables.items()} == {n: int(n == "public.orders") for n in TABLES}
    assert all(table["last_error"] is None and table["frontier"] for table in tables.values())


def test_an_earlier_demo_is_replaced_and_nothing_else(demo: tuple[Path, Any]) -> None:
    directory, _ = demo
    assert (directory / "notes.txt").read_text() == "a file of the user's own"
    assert {path.name for path in directory.iterdir()} == {
        "bronze", "config.json", "notes.txt", "report.html", "report.json", "runs", "warehouse"
    }  # fmt: skip


def test_a_mariadb_is_mirrored_as_well(tmp_path: Path) -> None:
    skip_without_mariadb()
    done = subprocess.run(
        [*COMMAND, "demo"],
        cwd=tmp_path,
        env=environment(DEMO_SECONDS="6", DEMO_SOURCE="mysql"),
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "build/demo/report.json").read_text())
    assert (report["source"], report["equal"]) == ("MariaDB", True)
    assert set(report["tables"]) == {"shop.customers", "shop.orders", "shop.order_lines"}
    assert all(table["changes"] > 0 for table in report["tables"].values())
    assert report["transactions"]["key_changes"] > 0
    assert report["idle_snapshots"] == 0
    assert [row["table"] for row in report["quarantined"]] == ["shop.orders"]
    assert "commit times of this source are whole seconds" in done.stdout
    assert "<h1>MariaDB mirrored into Iceberg" in (tmp_path / "build/demo/report.html").read_text()


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder of the demo's own, where PostgreSQL's user gets in when the tests run as root."""
    with tempfile.TemporaryDirectory(prefix="dms-iceberg-test-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def running(tmp_path: Path, temporary: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*COMMAND, "demo"],
        cwd=tmp_path,
        env=environment(DEMO_SECONDS="300", TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demo_stops_everything(running: "subprocess.Popen[str]", temporary: Path, number: signal.Signals, code: int) -> None:
    assert running.stdout is not None
    line = running.stdout.readline()
    assert "the full load is in bronze" in line
    running.send_signal(number)
    rest, _ = running.communicate(timeout=200)
    assert running.returncode == code, line + rest
    assert "Traceback" not in rest
    # The server and its data are gone.
    assert list(temporary.glob("dms-iceberg-*")) == []


def test_ctrl_c_while_the_demo_starts_is_no_failure(running: "subprocess.Popen[str]", temporary: Path) -> None:
    """A terminal sends it to all processes: what made the database died of it, and the demo ended with a traceback."""
    deadline = time.monotonic() + 100
    while not list(temporary.glob("dms-iceberg-pg-*/data")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=200)
    assert running.returncode == 130, output
    assert "interrupted: everything is stopped" in output
    assert "Traceback" not in output
    assert list(temporary.glob("dms-iceberg-*")) == []
