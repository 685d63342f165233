"""The documents: short lines, whole tables, links that lead to a heading, names of code that exist, one line per term of the glossary."""

import pkgutil
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "lambda/*/*.md", "terraform/*/*/*.md")
PAGES = sorted({page for place in PLACES for page in ROOT.glob(place)})
WIDTH = 120
GENERATED = "<!-- Written by"
"""Begins a page that a program writes: its tables are as wide as the figures."""
BETWEEN_MARKERS = re.compile(r"^<!-- inputs and outputs.*?^<!-- end of inputs and outputs -->", re.MULTILINE | re.DOTALL)
"""Tables that `tools/terraform_readme.py` writes from the modules' descriptions."""
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
TERM = re.compile(r"- \*\*([a-z -]+)\*\*: \S.*[^.]\.")
OUR_NAMES = {
    *("position", "frontier", "load epoch", "floor", "look-back", "high water", "late change", "crowded key", "replay"),
    *("quarantine", "gold model", "batch", "branch state"),
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def every(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=name_of)


def without(found: re.Pattern[str], text: str) -> str:
    """Blank what is found, with the number of lines kept."""
    return found.sub(lambda part: "\n" * part[0].count("\n"), text)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Number the lines that a writer can break: code is copied as it stands, in a fence or indented behind an empty line."""
    lines = without(FENCE, without(BETWEEN_MARKERS, text)).split("\n")
    code = False
    for number, line in enumerate(lines, 1):
        code = line.startswith("    ") and (code or not lines[number - 2].strip())
        if not code:
            yield number, line


def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", without(FENCE, page.read_text("utf-8")), re.MULTILINE)
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in found)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


@every(PAGES)
def test_lines_are_at_most_120_characters(page: Path) -> None:
    """Rows of tables too, as nobody reads a wider one: what is longer is a list. Not URLs, which cannot be broken."""
    text = page.read_text("utf-8")
    lines = [(number, line) for number, line in prose(text) if not (GENERATED in text and line.startswith("|"))]
    assert [number for number, line in lines if len(re.sub(r"https?://[^\s)]+", "", line)) > WIDTH] == []


@every([*PAGES, *(ROOT / "terraform" / "examples").glob("*/*.tf"), *ROOT.glob("*.tf")])
def test_what_a_reader_must_replace_is_in_capitals(page: Path) -> None:
    """No name that might be somebody's: it would be copied as it stands."""
    text = page.read_text("utf-8")
    assert "acme" not in text.lower()
    sources = re.findall(r"git::https://github[^\s\"`,]+", text)
    assert [one for one in sources if not ("/OWNER/" in one and one.endswith("?ref=COMMIT"))] == []


@every(PAGES)
def test_tables_are_whole(page: Path) -> None:
    """An empty line ends a table: rows behind it need a head and a line of dashes of their own. Each row has a cell per column."""
    lines = without(FENCE, page.read_text("utf-8")).split("\n")
    for is_table, group in groupby(lines, lambda line: line.startswith("|")):
        if is_table:
            head, dashes, *rows = group
            assert re.fullmatch(r"\|(-+\|)+", dashes), head
            assert {cells(row) for row in (dashes, *rows)} == {cells(head)}, head


def cells(row: str) -> int:
    return re.sub(r"`[^`]*`|\\\|", "", row).count("|")


@every(PAGES)
def test_links_inside_the_repository_lead_to_a_file_and_its_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text("utf-8")):
        if "://" not in target:
            other = page.parent / target if target else page
            assert other.exists(), target
            assert not anchor or anchor in headings(other), f"{target}#{anchor}"


@every(PAGES)
def test_names_of_code_exist(page: Path) -> None:
    """`dms_iceberg.runs.run.run` is a module and a name that it defines; `bronze/position.py` is a file of the job or of the repository."""
    text = without(FENCE, page.read_text("utf-8"))
    dotted = re.findall(r"`(dms_(?:iceberg|emulator|demo)(?:\.[a-z_]+)+)`", text)
    assert [name for name in dotted if not resolves(name)] == []
    files = re.findall(r"(?<![\w/])([\w-]+(?:/[\w-]+)+\.py)\b", text)
    places = (ROOT, ROOT / "job", ROOT / "job/dms_iceberg", page.parent)
    assert [name for name in files if not any((place / name).exists() for place in places)] == []


@every(PAGES)
def test_named_tests_exist(page: Path) -> None:
    """Also without their folder: `test_late.py`."""
    named = set(re.findall(r"\btest_\w+\.py\b", without(FENCE, page.read_text("utf-8"))))
    assert named <= {path.name for path in (ROOT / "tests").rglob("test_*.py")}


def resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_a_name_of_code_that_has_moved_is_found() -> None:
    assert resolves("dms_iceberg.bronze.position")
    assert not resolves("dms_iceberg.changes.position")
    assert not resolves("dms_iceberg.bronze.position.moved")


def test_the_glossary_has_one_line_per_term() -> None:
    lines = (ROOT / "docs/glossary.md").read_text("utf-8").split("\n")
    entries = lines[next(number for number, line in enumerate(lines) if line.startswith("- ")) :]
    assert entries.pop() == ""
    found = [TERM.fullmatch(line) for line in entries]
    assert [line for line, match in zip(entries, found, strict=True) if match is None] == []
    terms = [match[1] for match in found if match]
    assert terms == sorted(set(terms))
    assert set(terms) >= OUR_NAMES


def test_long_lines_of_prose_and_tables_are_found_and_those_of_code_are_not() -> None:
    long = "x " * 70
    text = f"{long}\n\n    {long}\n\n```sh\n{long}\n```\n\n- one\n    {long}\n| {long} |\n"
    assert [number for number, line in prose(text) if len(line) > WIDTH] == [1, 10, 11]
