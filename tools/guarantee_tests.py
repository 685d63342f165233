"""Write docs/tests-of-guarantees.md, which tests hold which promise, or only check it (``--check``).

The source is ``tests/guarantees.toml``: a table for each page, ``guarantees`` and ``limits``, with the paths of tests by statement.
A statement is a heading of the page, or the bold words that begin a list item.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "tests/guarantees.toml"
INDEX = "docs/tests-of-guarantees.md"
PAGES = ("guarantees", "limits")
PROMISES = "Promises"
_HEAD = f"""<!-- Written by `make fmt` from {SOURCE} -->

# Tests of the guarantees

These tests fail when a statement of [guarantees](guarantees.md) or [limits](limits.md) is no longer true.
"""
_HEADING = re.compile(r"(#{2,3}) (.+)")
_ITEM = re.compile(r" *- \*\*(.+?)\.?\*\*")
Tests = dict[str, list[str]]


def statements(page: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each statement of a page's text, the heading that it is under, and whether it is a promise, which needs tests.

    A heading is under itself. Headings without a number only group the promises below them.
    """
    heading, promised = "", False
    for line in page.split("\n"):
        if match := _HEADING.fullmatch(line):
            heading = match[2]
            promised = heading == PROMISES or (promised and match[1] == "###")
            yield heading, heading, promised and re.match(r"P\d+\.", heading) is not None
        elif match := _ITEM.match(line):
            yield match[1], heading, promised


def problems(root: Path, tests: dict[str, Tests]) -> Iterator[str]:
    """Yield each statement and each test that does not exist, and each promise without a test."""
    for name in PAGES:
        found = list(statements((root / f"docs/{name}.md").read_text("utf-8")))
        known = [statement for statement, _, _ in found]
        listed = tests.get(name, {})
        for statement in sorted({statement for statement in known if known.count(statement) > 1 and statement in listed}):
            yield f"docs/{name}.md: '{statement}' is there twice: give each its own words"
        for statement in listed.keys() - set(known):
            yield f"{SOURCE}: '{statement}' is no heading or list item of docs/{name}.md"
        for statement, _, promised in found:
            if promised and not listed.get(statement):
                yield f"docs/{name}.md: the promise '{statement}' has no test: name it in {SOURCE}"
        for statement, paths in listed.items():
            yield from (f"{SOURCE}: {path}, of '{statement}', does not exist" for path in paths if not _is_test(root, path))


def _is_test(root: Path, path: str) -> bool:
    found = root / path
    return path.startswith("tests/") and (any(found.rglob("test_*.py")) if found.is_dir() else found.is_file())


def index(root: Path, tests: dict[str, Tests]) -> str:
    """Return the text of the index: the statements that have tests, in the order of the pages."""
    return _HEAD + "".join(line + "\n" for name in PAGES for line in _rows(root, name, tests.get(name, {})))


def _rows(root: Path, name: str, tests: Tests) -> Iterator[str]:
    yield from ("", f"## {name.capitalize()}", "", "| statement | tests |", "|---|---|")
    for statement, heading, _ in statements((root / f"docs/{name}.md").read_text("utf-8")):
        if statement in tests:
            links = ", ".join(f"[{Path(path).stem}](../{path})" for path in tests[statement])
            yield f"| [{statement}]({name}.md#{_anchor(heading)}) | {links} |"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def main(root: Path = ROOT, *, write: bool) -> list[str]:
    """Write the index, or only compare it if ``write`` is false; return all problems."""
    tests: dict[str, Tests] = tomllib.loads((root / SOURCE).read_text("utf-8"))
    found = [f"{SOURCE}: unknown table [{name}]; allowed: {', '.join(PAGES)}" for name in tests.keys() - set(PAGES)]
    found += problems(root, tests)
    path, wanted = root / INDEX, index(root, tests)
    if write:
        path.write_text(wanted, "utf-8")
    elif not path.exists() or path.read_text("utf-8") != wanted:
        found.append(f"{INDEX} is not what {SOURCE} and the pages give: run `make fmt`")
    return found


if __name__ == "__main__":
    _problems = main(write="--check" not in sys.argv[1:])
    sys.stderr.write("".join(f"{problem}\n" for problem in _problems))
    sys.exit(1 if _problems else 0)
