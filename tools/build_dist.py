"""Build the zips that the Terraform modules upload to AWS: the job and its requirements, and the functions of Lambda.

The same sources give the same bytes on any machine: members are stored, not deflated (compressors differ between zlib builds), in one
order, with one time and one mode. job.zip contains only the package dms_iceberg. requirements.zip contains the pure-Python packages that
it needs, so that the job starts without a network: the closure of the run-time requirements in pyproject.toml, without what Glue 5.x
has, as installed from requirements.lock; it changes only with these. trigger.zip and watch.zip contain only their function's modules.
"""

import argparse
import sys
import tomllib
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROVIDED = frozenset({"boto3", "pyarrow", "python-dateutil"})
"""Requirements that Glue 5.x has; they are compiled, or too large to upload again."""

GLUE = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.14",
    "python_version": "3.11",
    "sys_platform": "linux",
}
"""The values of environment markers: those of the machine that runs the zip, not of the one that builds it."""

SPEEDUPS = frozenset({"pyyaml"})
"""Packages whose compiled part only makes them faster; without it they use Python."""

_LICENCES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS")
_LEXERS = PurePosixPath("pygments/lexers")
_LEXERS_KEPT = {"__init__.py", "_mapping.py", "python.py", "special.py"}
"""Of Pygments' lexers (4 MB), those that Rich itself uses."""


def bundled_distributions(requirements: list[str]) -> list[metadata.Distribution]:
    """Return the installed distributions that the requirements need, without those of Glue, by name.

    Raises:
        PackageNotFoundError: one is not installed; run `make setup` first.
    """
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in PROVIDED or name in found or (wanted.marker and not wanted.marker.evaluate({**GLUE, "extra": ""})):
            continue
        found[name] = metadata.distribution(name)
        waiting += [Requirement(text) for text in found[name].requires or []]
    return [found[name] for name in sorted(found)]


def is_bundled(member: PurePosixPath) -> bool:
    """Whether an installed file goes into the zip: Python sources, licences and the metadata that has the version."""
    if member.is_absolute() or ".." in member.parts or "__pycache__" in member.parts:
        return False
    if member.parts[0].endswith(".dist-info"):
        return member.name == "METADATA" or member.name.upper().startswith(_LICENCES)
    if member.parent == _LEXERS:
        return member.name in _LEXERS_KEPT
    return member.suffix == ".py" or member.name.upper().startswith(_LICENCES)


def collect(requirements: list[str]) -> dict[str, Path]:
    """Return the files of the requirements: name in the zip to file on disk.

    Raises:
        ValueError: a package has compiled parts, which cannot be imported from a zip.
    """
    collected: dict[str, Path] = {}
    for distribution in bundled_distributions(requirements):
        files = distribution.files or []
        if canonicalize_name(distribution.name) not in SPEEDUPS and any(file.suffix in {".so", ".pyd", ".dylib"} for file in files):
            raise ValueError(
                f"{distribution.name} {distribution.version} has compiled parts, which cannot be imported from a zip: "
                "choose another version or package in pyproject.toml"
            )
        collected |= {file.as_posix(): Path(str(distribution.locate_file(file))) for file in files if is_bundled(file)}
    return collected


def job_members(root: Path = ROOT) -> dict[str, Path]:
    """Return the members of job.zip: name in the zip to file on disk. The packages beside dms_iceberg are useless on Glue."""
    package = root / "job" / "dms_iceberg"
    sources = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(package.parent).as_posix(): path for path in sources}


def requirements_members(root: Path = ROOT) -> dict[str, Path]:
    """Return the members of requirements.zip: name in the zip to file on disk. Raises the errors of `collect`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return collect(project["dependencies"])


def trigger_members(root: Path = ROOT) -> dict[str, Path]:
    """Return the members of trigger.zip: name in the zip to file on disk."""
    return {path.name: path for path in (root / "lambda" / "trigger").glob("*.py")}


def watch_members(root: Path = ROOT) -> dict[str, Path]:
    """Return the members of watch.zip: name in the zip to file on disk."""
    return {path.name: path for path in (root / "lambda" / "watch").glob("*.py")}


ZIPS: dict[str, Callable[[Path], dict[str, Path]]] = {
    "job.zip": job_members,
    "requirements.zip": requirements_members,
    "trigger.zip": trigger_members,
    "watch.zip": watch_members,
}
"""The name of each zip, and the function that finds its members below a root."""


def build(name: str, folder: Path, root: Path = ROOT) -> Path:
    """Write one of `ZIPS` into a folder and return its path. Raises the errors of `collect`."""
    write_zip(folder / name, ZIPS[name](root))
    return folder / name


def write_zip(target: Path, files: dict[str, Path]) -> None:
    """Write a zip and, if necessary, its folder; an older zip is replaced only once the new one is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, whatever system builds it
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    unfinished.replace(target)


def main() -> None:
    """Build all zips in the given folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    for name in ZIPS:
        target = build(name, folder)
        sys.stdout.write(f"{target}: {target.stat().st_size / 1e3:,.0f} kB\n")


if __name__ == "__main__":
    main()
