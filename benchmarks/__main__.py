"""``python -m benchmarks [NAME] [OPTIONS]``: run one benchmark (`BENCHMARKS`); without a name, the one beside the hand-written script."""

import importlib
import sys
from collections.abc import Sequence
from typing import Final

import typer

DEFAULT: Final = "handwritten"
BENCHMARKS: Final = {
    DEFAULT: "benchmarks.handwritten",
    "full": "benchmarks.full.comparison",
    "small": "benchmarks.small",
    "watch": "benchmarks.following",
    "late": "benchmarks.protection",
    "maintain": "benchmarks.maintained",
    "models": "benchmarks.models",
    "verify": "benchmarks.verified",
    "throughput": "benchmarks.throughput",
    "tables": "benchmarks.many_tables",
    "quarantine": "benchmarks.rejected",
}
"""The module with each benchmark's ``main``, by the name of the benchmark."""


def chosen(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the benchmark to run, and its options.

    Raises:
        SystemExit: there is no benchmark of that name; the message lists all names.
    """
    if not arguments or arguments[0].startswith("-"):
        return DEFAULT, list(arguments)
    name, *options = arguments
    if name not in BENCHMARKS:
        sys.exit(f"{name}: no such benchmark; choose one of {', '.join(BENCHMARKS)}")
    return name, options


def main() -> None:
    """Run the benchmark that the command line names."""
    name, options = chosen(sys.argv[1:])
    app = typer.Typer(add_completion=False)
    app.command()(importlib.import_module(BENCHMARKS[name]).main)
    app(options, prog_name=f"python -m benchmarks {name}")


if __name__ == "__main__":
    main()
