"""The zips of the functions: the same bytes anywhere, and a start from nothing else."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.notifications import message
from tools import build_dist

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("function", ["trigger", "watch"])
def test_same_bytes_under_another_umask_and_with_other_file_times(function: str, tmp_path: Path) -> None:
    checkout = tmp_path / "lambda" / function
    checkout.mkdir(parents=True)
    for path in sorted((ROOT / "lambda" / function).glob("*.py"), reverse=True):
        shutil.copyfile(path, checkout / path.name)
        (checkout / path.name).chmod(0o777)
        os.utime(checkout / path.name, (1_000_000_000, 1_000_000_000))
    before = os.umask(0o077)
    try:
        build_dist.build(f"{function}.zip", tmp_path, tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / f"{function}.zip").read_bytes() == (ROOT / "dist" / f"{function}.zip").read_bytes()


@pytest.mark.parametrize(
    ("function", "modules"),
    [
        (
            "trigger",
            (
                *("batch", "changes_queue", "clients", "completion", "decision", "events", "handler", "loads", "logs", "settings"),
                *("starter", "starting"),
            ),
        ),
        ("watch", ("watch_starter", "watching")),
    ],
)
def test_zip_holds_the_function_and_nothing_else(function: str, modules: tuple[str, ...]) -> None:
    with zipfile.ZipFile(ROOT / "dist" / f"{function}.zip") as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == [f"{name}.py" for name in modules]
    assert {(e.compress_type, e.date_time, e.external_attr, e.create_system) for e in entries} == {
        (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0), 0o644 << 16, 3)
    }


def test_function_starts_from_the_zip(tmp_path: Path) -> None:
    """With nothing of this repository on the path: `handler.handler`, as Terraform names it."""
    with zipfile.ZipFile(ROOT / "dist" / "trigger.zip") as archive:
        archive.extractall(tmp_path)
    event = json.dumps({"Records": [message(json.dumps({"Event": "s3:TestEvent"}))]})
    code = f"import handler, json; print(json.dumps(handler.handler(json.loads({event!r}), None)))"
    ours = {"JOB_NAME": "j", "CONFIG_URI": "c", "BRONZE_BUCKET": "b", "QUEUE_URL": "q", "DEAD_LETTER_QUEUE_URL": "d"}
    environment = {"PATH": os.environ["PATH"], "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1", **ours}
    done = subprocess.run([sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.'); {code}"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"batchItemFailures": []}
