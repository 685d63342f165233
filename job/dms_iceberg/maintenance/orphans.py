"""Files that no snapshot of a table references: listed by Iceberg, and deleted only if they cannot belong to another table."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from dms_iceberg.errors import TargetError
from dms_iceberg.maintenance.procedures import orphans_sql, removable

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

    from dms_iceberg.silver.table import TargetTable

_NO_METADATA = re.compile(r"\.jackson\.\S*Exception|NotFoundException")


def remove_orphans(spark: "SparkSession", target: "TargetTable", older_than: str) -> int:
    """Delete the orphan files of a (refreshed) table that are older than a UTC timestamp (text); return how many.

    Raises:
        TargetError: another table lives in the same folder; nothing is deleted.
    """
    table = target.iceberg
    rows = spark.sql(orphans_sql(target.parts, older_than)).collect()
    files = removable(table.location(), [row.orphan_file_location for row in rows])
    if files:
        _check_alone(spark, table)
        jvm: Any = spark._jvm
        listed = jvm.java.util.ArrayList()
        for file in files:
            listed.add(file)
        jvm.org.apache.iceberg.CatalogUtil.deleteFiles(table.io(), listed, "orphan", True)
    return len(files)


def _check_alone(spark: "SparkSession", table: "JavaObject") -> None:
    """Check that all metadata files beside this table's are its own, whatever their age.

    A table that was renamed, or dropped without its files and registered again, keeps its folder. The next table with its old name gets
    the same folder, because GlueCatalog derives a table's location from its name.
    """
    jvm: Any = spark._jvm
    current = table.operations().current()
    own = current.uuid()
    for uri in _unknown_metadata(spark, table):
        try:
            other = jvm.org.apache.iceberg.TableMetadataParser.read(table.io(), uri).uuid()
        except Py4JJavaError as error:
            # A truncated or meanwhile deleted file is not the present state of a table. One that S3 fails to return may be.
            if not _NO_METADATA.search(str(error)):
                raise
            continue
        if other != own:
            raise TargetError(
                f"{uri}: metadata of another table ({other}) in the folder of the table at {table.location()} ({own}), so its live files "
                "cannot be told from orphans. Nothing was deleted. That is so after a table was renamed, or dropped without its files. "
                "If that table is in use, move one of the two, or set maintenance.orphan_files_older_than_hours of this one to null. If it "
                "is gone, delete its metadata files, and the rest of it goes as orphans."
            )


def _unknown_metadata(spark: "SparkSession", table: "JavaObject") -> Iterator[str]:
    """Yield the metadata files in the table's folder that are neither its present nor its former ones."""
    jvm: Any = spark._jvm
    current = table.operations().current()
    known = {PurePosixPath(str(one.file())).name for one in current.previousFiles()} | {PurePosixPath(current.metadataFileLocation()).name}
    folder = f"{table.location().rstrip('/')}/metadata"
    path = jvm.org.apache.hadoop.fs.Path(folder)
    system = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    for status in system.listStatus(path, jvm.org.apache.hadoop.fs.GlobFilter("*.metadata.json")):
        name = str(status.getPath().getName())
        if name not in known:
            yield f"{folder}/{name}"
