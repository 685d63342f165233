"""Which benchmark `make bench` runs."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, DEFAULT, chosen

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (DEFAULT, [])),
        (["--rows", "100"], (DEFAULT, ["--rows", "100"])),
        (["watch"], ("watch", [])),
        (["full", "--rows", "100"], ("full", ["--rows", "100"])),
    ],
)
def test_the_first_argument_names_the_benchmark(arguments: list[str], expected: tuple[str, list[str]]) -> None:
    assert chosen(arguments) == expected


def test_an_unknown_name_fails_and_lists_the_names() -> None:
    with pytest.raises(SystemExit) as failure:
        chosen(["wach"])
    assert str(failure.value) == f"wach: no such benchmark; choose one of {', '.join(BENCHMARKS)}"


def test_every_benchmark_exists_and_is_documented() -> None:
    help_, readme = (ROOT / "Makefile").read_text("utf-8"), (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    (line,) = [line for line in help_.splitlines() if line.startswith("bench:")]
    for name, module in BENCHMARKS.items():
        assert find_spec(module) is not None
        if name != DEFAULT:
            assert name in line
            assert f"make bench BENCH={name}" in readme
