"""Packages import downwards only, in the order of docs/architecture.md, and what plans knows neither Spark nor AWS."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
JOB = ROOT / "job"
PACKAGE = JOB / "dms_iceberg"
LAYERS = (
    {"cli"},
    {"doctor", "init"},
    {"watch", "verify", "discover"},
    {"runs"},
    {"gold"},
    {"maintenance"},
    {"loads"},
    {"merge"},
    {"quarantine"},
    {"silver"},
    {"changes"},
    {"retry"},
    {"iceberg"},
    {"context"},
    {"progress"},
    {"bronze"},
    {"source"},
    {"dms"},
    {"spark"},
    {"config"},
    {"modes"},
    {"storage"},
    {"sql"},
    {"errors", "logs", "failpoints", "secrets"},
)
"""From the top down. Members of one set are peers: they do not import each other, but for the last, single modules."""
RANK = {name: number for number, names in enumerate(LAYERS) for name in names}
PURE_ROOMS = ("sql", "modes", "config", "storage", "dms", "progress")
PURE_MODULES = (
    "runs/actions.py",
    "runs/state.py",
    "runs/plan.py",
    "runs/predict.py",
    "runs/wording.py",
    "changes/clean.py",
    "changes/normalise.py",
    "changes/partial_updates.py",
    "changes/shape.py",
    "silver/schema/diff.py",
    "gold/choice.py",
    "bronze/position.py",
)


def _imports(path: Path) -> Iterator[tuple[str, ast.ImportFrom | ast.Import]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "dms_iceberg" else [str(node.module)]
            yield from ((name, node) for name in names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_every_package_has_its_place_and_its_sentence() -> None:
    there = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    there |= {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    assert there == set(RANK)
    for room in (path.parent for path in PACKAGE.glob("*/__init__.py")):
        assert ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))), room


def test_imports_go_downwards_only() -> None:
    upwards = []
    for path in PACKAGE.rglob("*.py"):
        room = _room(path)
        if room == "__init__":
            continue
        for name, _ in _imports(path):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            single = RANK[room] == len(LAYERS) - 1
            if package in ("dms_emulator", "dms_demo"):
                upwards.append(f"{path.relative_to(JOB)}: {name}")
                continue
            if package != "dms_iceberg" or other in ("", "__version__", room):
                continue
            if RANK[other] < RANK[room] or (RANK[other] == RANK[room] and not single):
                upwards.append(f"{path.relative_to(JOB)}: {name}")
    assert not upwards


@pytest.mark.parametrize("module", [*(f"{room}/*.py" for room in PURE_ROOMS), *PURE_MODULES])
def test_what_is_pure_imports_no_spark(module: str) -> None:
    found = list(PACKAGE.glob(module))
    assert found
    for path in found:
        names = [name for name, _ in _imports(path)]
        assert not [name for name in names if re.match(r"(pyspark|py4j)\b", name)], path


def test_no_two_modules_import_each_other() -> None:
    """Not by a third one either, and not in the body of a function, which would hide it."""
    files = {".".join(path.relative_to(JOB).with_suffix("").parts).removesuffix(".__init__"): path for path in PACKAGE.rglob("*.py")}
    wanted = {module: {name for name, _ in _imports(path)} & set(files) for module, path in files.items()}
    for module, path in files.items():
        packages = (node for _, node in _imports(path) if isinstance(node, ast.ImportFrom))
        wanted[module] |= {f"{node.module}.{alias.name}" for node in packages for alias in node.names} & set(files)
    try:
        TopologicalSorter(wanted).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_few_modules_talk_to_aws() -> None:
    talking = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(re.match(r"(boto3|botocore)\b", name) for name, _ in _imports(path))
    }
    assert talking == {"storage/s3.py", "config/s3.py", "secrets.py", "spark/failures.py", "watch/queue.py"}


def test_few_modules_tell_the_modes_apart_by_name() -> None:
    """All others ask a mode's description in `modes/`, so another mode needs no change of theirs."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if _room(path) != "modes"}
    assert len({path for path, text in texts.items() if re.search(r"\bMode\.[A-Z]", text)}) <= 6
    single = re.compile(r"^from dms_iceberg\.modes\.\w+ import .*\b(SOFT_DELETE|HISTORY|APPEND)\b", re.MULTILINE)
    assert not [path for path, text in texts.items() if single.search(text)]


def test_architecture_has_the_packages_in_this_order() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    shown = re.findall(r"^ {4,6}([a-z]+)/? {2,}", text, re.MULTILINE)
    ranks = [RANK[name] for name in shown if name in RANK]
    assert ranks == sorted(ranks)
    assert {name for names in LAYERS[:-1] for name in names} <= set(shown)
