"""The recipes of CONTRIBUTING.md name the files that a change of their kind must touch."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RECIPES = ("A DMS endpoint option", "A version of Spark", "A catalog type")


def named_files(recipe: str) -> set[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2].partition("\n## ")[0]
    body = text.partition(f"**{recipe}**")[2].partition("\n**")[0]
    return set(re.findall(r"`([\w./-]+/[\w./-]+)`", body))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_file_is_there(recipe: str) -> None:
    files = named_files(recipe)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_a_catalog_type_is_decided_in_the_named_files_only() -> None:
    """A model that holds the type, and a command that prints for Glue, decide nothing."""
    deciding = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "job" / "dms_iceberg").rglob("*.py")
        if re.search(r"CatalogType\.[A-Z]|class CatalogType", path.read_text("utf-8"))
    }
    assert deciding - {"job/dms_iceberg/config/model.py", "job/dms_iceberg/cli/discover.py"} == named_files("A catalog type")


def test_versions_of_spark_stand_in_one_module() -> None:
    """Beside it only sources of odd facts, in comments and docstrings, name a version."""
    code = re.compile(r'"[^"]*spark-(?:runtime|sql)-\d|pyspark\.__version__')
    found = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "job" / "dms_iceberg").rglob("*.py") if code.search(path.read_text("utf-8"))
    }
    assert found <= {"job/dms_iceberg/spark/versions.py"}
