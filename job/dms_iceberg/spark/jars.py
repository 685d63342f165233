"""The jars a local Spark needs, resolved with jgo, a Maven client in Python, and checked against pinned checksums.

Hadoop's S3A needs three of the AWS SDK's jars, not the 281 MB bundle that its POM names: static and environment credentials work
with these (``dynamodb`` because S3AFileSystem loads one of its exception classes).
"""

import hashlib
import os
import sys
from pathlib import Path

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0"
BASE = {ICEBERG: "70f9471870b2d456167d703c829f098a446b86bb1379eee338c0efa03a341026"}
AWS = {
    "org.apache.iceberg:iceberg-aws-bundle:1.10.0": "172370cfc32a5f1ae5399b210e86fc04a366dc29a112d97ac8ffc74df7525596",
    "org.apache.hadoop:hadoop-aws:3.3.4": "53f9ae03c681a30a50aa17524bd9790ab596b28481858e54efd989a826ed3a4a",
    "com.amazonaws:aws-java-sdk-core:1.12.262": "06fed99f929c389e168278c1b111aaf1afb270d07202fbbce92e73d1e4279678",
    "com.amazonaws:aws-java-sdk-s3:1.12.262": "a0cb7580178bc0d4d3558295a5bb890008478da8a6b3241989c71238b0ed3be5",
    "com.amazonaws:aws-java-sdk-dynamodb:1.12.262": "7af4ba06d0d9b3c2ab435089caecd0567810d203aa285f7aa72861f1964d442e",
}


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
    wanted = BASE | AWS if aws else BASE
    return ",".join(str(resolve(coordinate, checksum)) for coordinate, checksum in wanted.items())


if __name__ == "__main__":
    try:
        sys.stdout.write(spark_jars(aws=True).replace(",", "\n") + "\n")
    except JarError as error:
        # Users of `make setup` need no traceback of the libraries in between.
        sys.exit(f"setup: {error}")
