"""The zip for Glue: the same bytes anywhere, and a start without a network and with no more packages than Glue has."""

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import build_dist

ROOT = Path(__file__).resolve().parents[2]
ON_GLUE = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six", "pyarrow", "numpy", "pandas", "pyspark", "py4j")
"""Of the packages that Glue 5.x brings, those that ours and their requirements import."""


@pytest.fixture(scope="module")
def job_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "job.zip"
    build_dist.build(target)
    return target


def copy_of_sources(target: Path) -> Path:
    """A checkout made by somebody else: other times, other modes, other order on disk."""
    for path in sorted((ROOT / "job").rglob("*"), reverse=True):
        if path.is_file() and "__pycache__" not in path.parts and "egg-info" not in str(path):
            copy = target / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o777)
            os.utime(copy, (1_000_000_000, 1_000_000_000))
    shutil.copyfile(ROOT / "pyproject.toml", target / "pyproject.toml")
    return target


def test_same_bytes_under_another_umask_and_with_other_file_times(job_zip: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        build_dist.build(tmp_path / "again.zip", copy_of_sources(tmp_path / "checkout"))
    finally:
        os.umask(before)
    assert (tmp_path / "again.zip").read_bytes() == job_zip.read_bytes()


def test_members_are_stored_in_order_with_one_time_and_mode(job_zip: Path) -> None:
    with zipfile.ZipFile(job_zip) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {(e.compress_type, e.date_time, e.external_attr, e.create_system) for e in entries} == {
        (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0), 0o644 << 16, 3)
    }


def test_holds_package_requirements_and_their_licences_and_nothing_compiled(job_zip: Path) -> None:
    with zipfile.ZipFile(job_zip) as archive:
        names = archive.namelist()
    folders = {name.split("/")[0] for name in names}
    assert {"dms_iceberg", "attr", "attrs", "cattrs", "typer", "rich", "sqlglot", "structlog", "tenacity", "yaml"} <= folders
    assert not folders & {"boto3", "pyarrow", "pyspark", "pydantic", "numpy"}
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    for metadata in [name for name in names if name.endswith(".dist-info/METADATA")]:
        folder = metadata.split("/")[0]
        assert any(name.startswith(folder) and "LICEN" in name.upper() for name in names), folder


def test_compiled_requirement_is_refused() -> None:
    with pytest.raises(ValueError, match="compiled parts"):
        build_dist.collect(["duckdb"])


def run_on_glue(job_zip: Path, folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code with nothing but the zip and Glue's packages: no site-packages, no network asked for."""
    packages = folder / "glue"
    packages.mkdir()
    for name in ON_GLUE:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        origin = Path(found.origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        (packages / source.name).symlink_to(source)
    start = f"import sys; sys.path[:0] = [{str(job_zip)!r}, {str(packages)!r}]; {code}"
    environment = {"PATH": os.environ["PATH"]}
    command = [sys.executable, "-I", "-S", "-c", start, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)


START = f"import runpy; sys.argv[0] = {str(ROOT / 'job/merge.py')!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
GLUES_OWN = (
    "--JOB_NAME",
    "merge",
    "--JOB_RUN_ID",
    "jr_1",
    "--TempDir",
    "s3://tmp/x",
    "--enable-metrics",
    "true",
    "--job-bookmark-option",
    "x",
)


def test_starts_with_glues_packages_and_ignores_glues_arguments(job_zip: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(
        "version: 1\npipeline: shop\nbronze: {uri: bronze}\ncatalog: {warehouse: lake}\n"
        "tables: {public.orders: {target: silver.orders, key: [id], filter: id > 0}}\n"
    )
    done = run_on_glue(job_zip, tmp_path, START, "--command", "validate", "--config", "shop.yaml", *GLUES_OWN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "valid, 1 tables" in done.stdout


def test_wrong_configuration_ends_with_exit_code_2(job_zip: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text("{}")
    done = run_on_glue(job_zip, tmp_path, START, *GLUES_OWN, "--config", "shop.json", "--command", "validate")
    assert done.returncode == 2
    # Where alarms are read from: Glue keeps a log group for each stream.
    assert "shop.json" in done.stdout


def test_every_part_of_the_job_imports_from_the_zip(job_zip: Path, tmp_path: Path) -> None:
    modules = ("runner", "preview", "status", "session", "table_run", "secrets", "config.s3", "staging.s3", "replay.run")
    modules += ("verify.run", "verify.postgres", "verify.mysql")
    imports = "".join(f"import dms_iceberg.{module} as m; print(m.__file__); " for module in modules)
    done = run_on_glue(job_zip, tmp_path, imports)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(job_zip)) == len(modules)


def test_job_arguments_become_switches(job_zip: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text("{}")
    arguments = ("--command", "validate", "--config", "shop.json")
    as_json = run_on_glue(job_zip, tmp_path, START, *GLUES_OWN, *arguments, "--json", "true")
    assert json.loads(as_json.stdout)["valid"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "c"], ["run", "c"]),
        (["--JOB_NAME", "x", "--table", "a.b", "--config", "c", "--table", "a.c"], ["run", "c", "--table", "a.b", "--table", "a.c"]),
        (["--json", "--command", "status", "--config", "c"], ["status", "c", "--json"]),
        (["--json", "false", "--config", "c"], ["run", "c"]),
        (
            ["--command", "watch", "--config", "c", "--for", "3h", "--queue", "https://sqs/q", "--json", "true"],
            ["watch", "c", "--for", "3h", "--queue", "https://sqs/q", "--json"],
        ),
        (
            ["--command", "quarantine replay", "--config", "c", "--reason", "rule: x", "--json"],
            ["quarantine", "replay", "c", "--reason", "rule: x", "--json"],
        ),
        (
            ["--command", "verify", "--config", "c", "--source", "postgresql://db/d", "--tries", "2", "--repair"],
            ["verify", "c", "--source", "postgresql://db/d", "--tries", "2", "--repair"],
        ),
        (
            ["--config", "c", "--truncate", "a.b", "--truncated-at", "2026-03-01T10:00:00Z"],
            ["run", "c", "--truncate", "a.b", "--truncated-at", "2026-03-01T10:00:00Z"],
        ),
    ],
)
def test_command_line(arguments: list[str], words: list[str]) -> None:
    assert runpy.run_path(str(ROOT / "job/merge.py"))["command_line"](arguments) == words
