"""The tool that packs a Python for EMR Serverless: what it refuses, what it packs, and the same bytes each time."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow
import pytest

from tools.elf import is_elf, needed_glibc, needed_libraries
from tools.python_archive import GLIBC, ArchiveError, check, members, write

ARROW = Path(pyarrow.__file__).parent
COMPILED = next(ARROW.glob("lib.cpython-311-*.so"), None)
pytestmark = pytest.mark.skipif(sys.platform != "linux" or COMPILED is None, reason="the archive is for Linux")


def libraries() -> dict[str, Path]:
    """pyarrow's own libraries, as members."""
    return {f"lib/{path.name}": path for path in ARROW.glob("lib*.so.*")}


def test_needs_of_a_compiled_file_are_read() -> None:
    assert COMPILED is not None
    assert is_elf(COMPILED)
    assert not is_elf(Path(__file__))
    assert {"libc.so.6", "libstdc++.so.6"} <= set(needed_libraries(COMPILED))
    assert (2, 0) < needed_glibc(COMPILED) < (3, 0)


def test_library_that_nobody_brings_along_is_named() -> None:
    assert COMPILED is not None
    with pytest.raises(ArchiveError, match=r"libarrow\.so\.\d+ \(by lib/x\.so\).*uv python install 3\.11"):
        check({"lib/x.so": COMPILED})
    check({"lib/x.so": COMPILED} | libraries())


def test_newer_glibc_is_named(tmp_path: Path) -> None:
    assert COMPILED is not None
    newer = tmp_path / "newer.so"
    newer.write_bytes(COMPILED.read_bytes() + b"\0GLIBC_2.99\0")
    with pytest.raises(ArchiveError, match=r"glibc 2\.34.*glibc 2\.99 \(by lib/newer\.so\)"):
        check({"lib/newer.so": newer} | libraries())
    exactly = tmp_path / "exactly.so"
    exactly.write_bytes(COMPILED.read_bytes() + b"\0GLIBC_%d.%d\0" % GLIBC)
    check({"lib/exactly.so": exactly} | libraries())


def test_folder_without_a_python_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"there is no Python 3\.11.*--prefix"):
        members(tmp_path)


def test_archive_has_what_the_zips_leave_out_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    found = members(Path(sys.base_prefix))
    packages = {name.split("/")[3] for name in found if name.startswith("lib/python3.11/site-packages/")}
    assert {"boto3", "botocore", "pyarrow", "dateutil", "six.py", "urllib3"} <= packages
    assert not {"pyspark", "dms_iceberg", "typer", "pip"} & packages
    assert not any("/test/" in name or "__pycache__" in name for name in found)
    few = {name: path for name, path in found.items() if name in ("bin/python", "lib/python3.11/os.py")}
    for name in ("one", "two"):
        write(tmp_path / f"{name}.tar.gz", few)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        modes = {one.name: one.mode for one in archive.getmembers() if one.isfile()}
        assert modes == {"bin/python": 0o755, "lib/python3.11/os.py": 0o644}
        assert archive.getmember("bin/python3").linkname == "python"


@pytest.mark.long
def test_packed_python_runs_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "python.tar.gz", members(Path(sys.base_prefix)))
    with tarfile.open(tmp_path / "python.tar.gz") as archive:
        archive.extractall(tmp_path / "environment", filter="data")
    code = "import boto3, dateutil, pyarrow.parquet, ssl, sys; print(sys.prefix, pyarrow.__file__)"
    done = subprocess.run(["./environment/bin/python", "-c", code], cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(part.startswith(str(tmp_path / "environment")) for part in done.stdout.split())
