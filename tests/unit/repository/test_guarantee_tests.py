"""The index of the tests that hold the promises: every promise has a test, and every named test and statement exists."""

from pathlib import Path

import pytest

from tools import guarantee_tests as tool

PAGE = """# Guarantees

## Promises

### P1. Convergence

Words.

- **Shifted keys.** Words.
  - **Not this far.** Words.

### Files

- **Moved files**: words.

## How rows are judged

- **Deletes.** Words.
"""
SOURCE = """
[guarantees]
"P1. Convergence" = ["tests/properties"]
"Shifted keys" = ["tests/test_keys.py", "tests/properties"]
"Not this far" = ["tests/test_keys.py"]
"Moved files" = ["tests/test_keys.py"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("docs", "tests/properties"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/guarantees.md").write_text(PAGE)
    (tmp_path / "docs/limits.md").write_text("# Limits\n\n## Keys\n\n- **One folder.** Words.\n")
    (tmp_path / "tests/test_keys.py").touch()
    (tmp_path / "tests/properties/test_histories.py").touch()
    (tmp_path / tool.SOURCE).write_text(SOURCE)
    return tmp_path


def test_index_of_the_repository_is_complete_and_up_to_date() -> None:
    assert tool.main(write=False) == []


def test_index_links_statements_and_tests_in_the_order_of_the_page(root: Path) -> None:
    assert tool.main(root, write=True) == []
    assert tool.main(root, write=False) == []
    rows = [line for line in (root / tool.INDEX).read_text().split("\n") if line.startswith("| [")]
    assert rows[:2] == [
        "| [P1. Convergence](guarantees.md#p1-convergence) | [properties](../tests/properties) |",
        "| [Shifted keys](guarantees.md#p1-convergence) | [test_keys](../tests/test_keys.py), [properties](../tests/properties) |",
    ]
    assert rows[-1] == "| [Moved files](guarantees.md#files) | [test_keys](../tests/test_keys.py) |"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("test_keys.py", "test_no_keys.py", "tests/test_no_keys.py, of 'Moved files', does not exist"),
        ('"tests/properties"]', '"tests/nothing"]', "tests/nothing, of 'P1. Convergence', does not exist"),
        ('"tests/properties"]', '"docs"]', "docs, of 'P1. Convergence', does not exist"),
        ("Moved files", "Lost files", "'Lost files' is no heading or list item of docs/guarantees.md"),
        ("Moved files", "Lost files", "the promise 'Moved files' has no test"),
        ('"P1. Convergence" = ["tests/properties"]', "", "the promise 'P1. Convergence' has no test"),
        ("[guarantees]", "[promises]", "unknown table [promises]; allowed: guarantees, limits"),
        ('"Moved files"', '"Deletes" = ["tests/test_keys.py"]\n"Moved files"', "is not what tests/guarantees.toml and the pages give"),
    ],
)
def test_problem_is_named(root: Path, old: str, new: str, problem: str) -> None:
    tool.main(root, write=True)
    source = root / tool.SOURCE
    source.write_text(source.read_text().replace(old, new))
    assert [found for found in tool.main(root, write=False) if problem in found]


def test_statement_that_is_there_twice_is_refused(root: Path) -> None:
    page = root / "docs/guarantees.md"
    page.write_text(page.read_text().replace("Deletes", "Moved files"))
    assert [found for found in tool.main(root, write=True) if "'Moved files' is there twice" in found]
