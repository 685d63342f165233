"""`emulate` says what it does before it imports what takes long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("sqlglot", "pyarrow", "psycopg", "pymysql", "boto3", "pyspark")
PROGRAM = f"""
import importlib.abc, sys
class Noting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in {SLOW}:
            print("imports", name, file=sys.stderr, flush=True)
sys.meta_path.insert(0, Noting())
from dms_iceberg.cli.app import main
main(sys.argv[1:])
"""


def test_it_speaks_first(tmp_path: Path) -> None:
    document = tmp_path / "shop.json"
    catalog = {"name": "lake", "type": "hadoop", "warehouse": str(tmp_path / "lake")}
    tables = {"public.t": {"target": "silver.t", "key": ["id"]}}
    content = {"version": 1, "pipeline": "shop", "bronze": {"uri": str(tmp_path / "bronze")}, "catalog": catalog, "tables": tables}
    document.write_text(json.dumps(content))
    command = [sys.executable, "-c", PROGRAM, "emulate", str(document), "--source", "postgresql://me@127.0.0.1:1/none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stderr.splitlines()
    assert json.loads(lines[0])["step"] == f"reading the document {document}"
    assert "imports psycopg" in lines, "the test would notice none"
    assert [json.loads(line)["step"] for line in lines if line.startswith("{")][1:] == ["connecting to the source"]
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_the_package_has_what_it_names() -> None:
    import dms_emulator

    assert all(getattr(dms_emulator, name).__name__ == name for name in dms_emulator.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Task'"):
        dms_emulator.Task  # noqa: B018
