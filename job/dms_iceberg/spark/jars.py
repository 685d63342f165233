"""The jars a local Spark needs, resolved with jgo, a Maven client in Python, and checked against pinned checksums."""

import hashlib
import os
import sys
from pathlib import Path

from dms_iceberg.spark.versions import present


class JarError(RuntimeError):
    """A jar is missing and cannot be fetched, or does not have its pinned checksum."""


def _repository() -> Path:
    return Path(os.environ.get("DMS_ICEBERG_JARS", Path.home() / ".m2" / "repository"))


def _path(coordinate: str) -> Path:
    group, artifact, version = coordinate.split(":")
    return _repository() / group.replace(".", "/") / artifact / version / f"{artifact}-{version}.jar"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def resolve(coordinate: str, checksum: str) -> Path:
    """Return the jar of a coordinate; fetches it when it is missing.

    Raises:
        JarError: it cannot be fetched or has another checksum.
    """
    from filelock import FileLock
    from jgo.maven import MavenContext

    path = _path(coordinate)
    stamp = path.with_suffix(".jar.checked")
    if stamp.exists() and stamp.read_text() == checksum and path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(path) + ".lock"):
        group, artifact, version = coordinate.split(":")
        context = MavenContext(repo_cache=_repository())
        try:
            found = Path(context.project(group, artifact).at_version(version).artifact().resolve())
        except Exception as error:
            raise JarError(f"{coordinate}: cannot be fetched ({error}). A network is needed once; or put the jar at {path}") from error
        actual = _sha256(found)
        if actual != checksum:
            raise JarError(f"{found}: sha256 is {actual}, expected {checksum}. Delete the file and try again")
        stamp.write_text(checksum)
        return found


def spark_jars(*, aws: bool = False) -> str:
    """Return the comma-separated jars for ``spark.jars``; fetches what is missing.

    Args:
        aws: also the S3A file system and Iceberg's AWS bundle (S3FileIO, Glue catalog).

    Raises:
        JarError: a jar cannot be fetched or has another checksum.
    """
    wanted = {**present().jars, **(present().aws_jars if aws else {})}
    return ",".join(str(resolve(coordinate, checksum)) for coordinate, checksum in wanted.items())


if __name__ == "__main__":
    try:
        sys.stdout.write(spark_jars(aws=True).replace(",", "\n") + "\n")
    except JarError as error:
        # Users of `make setup` need no traceback of the libraries in between.
        sys.exit(f"setup: {error}")
