"""A new user with somebody else's files: the command line as it is installed, and each command as it is printed."""

import csv
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

JOB = Path(__file__).parents[3] / "job"
COLUMNS = ("order_id", "customer", "city")
Row = tuple[str | None, ...]
LOADED: list[Row] = [
    ("1", 'Ann "the first"', "Lyon"),
    ("2", "Bob; and, Carol", None),
    ("3", "two\nlines", "Köln"),
    ("4", "Dan", "Oslo"),
    ("5", "Eve", "Rome"),
]
CHANGES: list[list[tuple[str, Row]]] = [
    [("U", ("1", "Ann", "Paris")), ("I", ("6", "Fay", "Bonn")), ("D", ("4", None, None))],
    [("U", ("6", "Fay", None)), ("D", ("5", None, None)), ("I", ("7", "\U0001f600", "Ulm"))],
    [("I", ("4", "Dan again", "Bern")), ("U", ("7", "Gil", "Ulm"))],
]


def text(rows: Sequence[Sequence[str | None]]) -> str:
    """A file of the endpoint's defaults but for the header: neither a commit time nor a sequence."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()


def write(folder: Path, table: str) -> None:
    place = folder / "erp" / table
    place.mkdir(parents=True)
    # Without IncludeOpForFullLoad.
    (place / "LOAD00000001.csv").write_text(text([COLUMNS, *LOADED[:3]]))
    (place / "LOAD00000002.csv").write_text(text([COLUMNS, *LOADED[3:]]))
    for number, changes in enumerate(CHANGES, 1):
        path = place / "2026" / "03" / "01" / f"20260301-10{number:02}00000.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text([("Op", *COLUMNS), *((op, *row) for op, row in changes)]))


def expected() -> list[Row]:
    rows = {row[0]: row for row in LOADED}
    for op, row in (change for file in CHANGES for change in file):
        if op == "D":
            del rows[row[0]]
        else:
            rows[row[0]] = row
    return sorted(rows.values(), key=str)


def command(line: str, folder: Path, code: int = 0) -> str:
    """What a command prints on its output, which is run as it was printed; its errors are with the failure."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env={"DMS_ICEBERG_DRIVER_MEMORY": "1g"} | os.environ | {"PYTHONPATH": str(JOB), "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == code, f"{line}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def printed(output: str, which: str) -> str:
    """The command of a kind that is printed as a line of its own."""
    (found,) = re.findall(rf"^(?:next:|then:)?\s*(dms-iceberg {which} .*)$", output, re.MULTILINE)
    return str(found)


def rows_of(folder: Path, table: str) -> list[Row]:
    newest = max((folder / "lake" / "silver" / table / "metadata").glob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    found = StaticTable.from_metadata(str(newest)).scan(selected_fields=COLUMNS).to_arrow()
    return sorted((tuple(row[name] for name in COLUMNS) for row in found.to_pylist()), key=str)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "a new user's folder"
    write(folder / "bucket", "orders")
    write(folder / "bucket", "offers")
    return folder


# `.ci/run` and the README run the demo, which is processes as well.
@pytest.mark.long
def test_three_processes(home: Path) -> None:
    said = command(f"dms-iceberg init bucket --out {shlex.quote('my shop.yaml')}", home)
    # It says which keys to compare, and what to take out of which file.
    (told,) = re.findall(
        r"^next: compare the key of (.*) with .*, and take (\w+) out of (.*)\. Nothing runs before that$", said, re.MULTILINE
    )
    assert told[:2] == ("erp.offers, erp.orders", "key_confirmed")
    (name,) = shlex.split(told[2])
    document = home / name
    refused = command(printed(said, "run"), home, code=2)
    assert 'tables."erp.orders".key_confirmed: false' in refused
    lines = document.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.strip().startswith(told[1] + ":")]
    assert len(lines) - len(kept) == 2
    document.write_text("".join(kept))

    assert "erp.orders" in command(printed(said, "plan"), home)
    ran = command(printed(said, "run"), home)
    for table in ("orders", "offers"):
        assert rows_of(home, table) == expected()
    status = command(printed(ran, "status"), home)
    assert "erp.orders" in status
    assert "erp.offers" in status


def test_without_a_file_the_command_that_writes_it_is_printed(home: Path) -> None:
    said = command("dms-iceberg init bucket --table 'erp.or*' --namespace 'mine'", home)
    again = printed(said, "init")
    assert again == "dms-iceberg init bucket --table 'erp.or*' --namespace mine --out shop.yaml"
    command(again, home)
    assert "erp.orders" in (home / "shop.yaml").read_text()
    assert "erp.offers" not in (home / "shop.yaml").read_text()
