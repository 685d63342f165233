"""Refuse Python files of the product that are too long to read in one sitting. Tests that belong together stay together."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("job", "lambda", "benchmarks", "tools")
LIMIT = 300


def too_long(folder: Path, limit: int = LIMIT) -> list[tuple[Path, int]]:
    """Return the Python files below a folder that have more than ``limit`` lines, with their number of lines."""
    counted = ((path, len(path.read_text("utf-8").splitlines())) for path in sorted(folder.rglob("*.py")))
    return [(path, lines) for path, lines in counted if lines > limit]


def main() -> int:
    """Print every file that is too long."""
    found = [one for folder in FOLDERS for one in too_long(ROOT / folder)]
    for path, lines in found:
        sys.stderr.write(f"{path.relative_to(ROOT)}: {lines} lines, {LIMIT} are allowed: split it by concern\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
