"""Build the archive with the Python that a watch on EMR Serverless uses: interpreter, boto3, pyarrow and python-dateutil.

Spark on EMR 7 has Python 3.9, and the job needs 3.11. The archive holds a whole Python and what requirements.zip leaves out, in the
versions of requirements.lock as they are installed here, so that a run needs no network for it. It must run on EMR's Amazon Linux 2023:
the tool refuses a Python that asks for libraries, or for a glibc, which are not there. One of `uv python install 3.11`
(python-build-standalone) asks for neither.
"""

import argparse
import gzip
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.build_dist import GLUE, PROVIDED
from tools.elf import is_elf, needed_glibc, needed_libraries

VERSION = "3.11"
GLIBC = (2, 34)
"""Of Amazon Linux 2023, on which EMR 7 is built."""
SYSTEM = frozenset(
    f"{name}.so.{number}"
    for name, number in {
        "libc": 6,
        "libm": 6,
        "libdl": 2,
        "libpthread": 0,
        "librt": 1,
        "libutil": 1,
        "libresolv": 2,
        "ld-linux-x86-64": 2,
        "libgcc_s": 1,
        "libstdc++": 6,
    }.items()
)
"""Libraries that are on every Linux that runs a JVM."""
_FOLDERS_LEFT_OUT = frozenset(
    {"__pycache__", "site-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "include"}
)
_EXTENSIONS_LEFT_OUT = (
    "_tkinter",
    "_curses",
    "readline",
    "_gdbm",
    "_dbm",
    "_sqlite3",
    "_crypt",
    "_test",
    "_ctypes_test",
    "nis",
    "ossaudiodev",
    "xx",
)
"""What the job does not use; most of it asks for libraries of its own."""


class ArchiveError(Exception):
    """The archive cannot be built from this Python; the message says why, and what to do."""


def members(prefix: Path, requirements: frozenset[str] = PROVIDED) -> dict[str, Path]:
    """Return the members of the archive: name to file on disk.

    Raises:
        ArchiveError: there is no Python of the right version below ``prefix``.
        PackageNotFoundError: a package is not installed; run `make setup` first.
    """
    interpreter, library = prefix / "bin" / f"python{VERSION}", prefix / "lib" / f"python{VERSION}"
    if not interpreter.exists() or not (library / "os.py").exists():
        raise ArchiveError(
            f"{prefix}: there is no Python {VERSION} (bin/python{VERSION}, lib/python{VERSION}); Spark 3.5 on EMR and the job need that "
            f"version. Give --prefix the folder of one, such as uv python install {VERSION} makes"
        )
    found = {"bin/python": interpreter.resolve()}
    found |= {f"lib/{path.name}": path for path in (prefix / "lib").glob(f"libpython{VERSION}*.so*")}
    for path in _files(library):
        if not path.name.startswith(_EXTENSIONS_LEFT_OUT) or path.suffix != ".so":
            found[f"lib/python{VERSION}/{path.relative_to(library).as_posix()}"] = path
    for distribution in _distributions(requirements):
        for file in distribution.files or []:
            name = PurePosixPath(file.as_posix())
            if not name.is_absolute() and ".." not in name.parts and not _FOLDERS_LEFT_OUT.intersection(name.parts[:-1]):
                found[f"lib/python{VERSION}/site-packages/{name}"] = Path(str(distribution.locate_file(file)))
    return found


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in _FOLDERS_LEFT_OUT and not path.name.startswith("config-"):
            yield from _files(path)
        elif path.is_file():
            yield path


def _distributions(requirements: frozenset[str]) -> list[metadata.Distribution]:
    """Return the installed distributions of the requirements, with what they need."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(name) for name in sorted(requirements)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({**GLUE, "extra": ""})):
            continue
        found[name] = metadata.distribution(name)
        waiting += [Requirement(text) for text in found[name].requires or []]
    return [found[name] for name in sorted(found)]


def check(files: dict[str, Path]) -> None:
    """See to it that the members run on EMR's machines.

    Raises:
        ArchiveError: one asks for a library that is neither in the archive nor on every machine, or for a newer glibc.
    """
    own = {PurePosixPath(name).name for name in files}
    libraries: dict[str, str] = {}
    newer: dict[str, str] = {}
    for name, path in files.items():
        if not is_elf(path):
            continue
        libraries |= {library: name for library in needed_libraries(path) if library not in SYSTEM | own}
        if needed_glibc(path) > GLIBC:
            newer[".".join(str(part) for part in needed_glibc(path))] = name
    if libraries or newer:
        asked = [f"{library} (by {name})" for library, name in sorted(libraries.items())]
        asked += [f"glibc {version} (by {name})" for version, name in sorted(newer.items())]
        raise ArchiveError(
            f"this Python asks for what EMR's machines may not have (Amazon Linux 2023, glibc {GLIBC[0]}.{GLIBC[1]}): {', '.join(asked)}. "
            f"Give --prefix the folder of one that brings its libraries along, such as uv python install {VERSION} makes; or, for machines "
            "like this one only, --unchecked"
        )


def write(target: Path, files: dict[str, Path]) -> None:
    """Write the archive: the same files give the same bytes; an older archive is replaced only once the new one is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    with (
        unfinished.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, path in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o755 if name.startswith("bin/") or is_elf(path) else 0o644
            with path.open("rb") as content:
                archive.addfile(entry, content)
        for link in ("python3", f"python{VERSION}"):
            entry = tarfile.TarInfo(f"bin/{link}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "python"
            archive.addfile(entry)
    unfinished.replace(target)


def main() -> None:
    """Build the archive."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("target", type=Path)
    parser.add_argument(
        "--prefix", type=Path, default=Path(sys.base_prefix), help="folder of the Python that is packed (default: this one)"
    )
    parser.add_argument("--unchecked", action="store_true", help="for machines like this one only: do not look at what the Python asks for")
    given = parser.parse_args()
    try:
        if sys.platform != "linux" or sys.version_info[:2] != (3, 11):
            raise ArchiveError(
                f"found Python {sys.version.split()[0]} on {sys.platform}; the packages that are packed are those of Linux and {VERSION}"
            )
        files = members(given.prefix)
        if not given.unchecked:
            check(files)
        write(given.target, files)
    except ArchiveError as error:
        sys.exit(f"{error}")
    sys.stdout.write(f"{given.target}: {given.target.stat().st_size / 1e6:,.0f} MB\n")


if __name__ == "__main__":
    main()
