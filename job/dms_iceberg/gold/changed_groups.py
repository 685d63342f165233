"""Which groups of a table changed between two of its snapshots: found from added and removed files, so only these are read in full.

Iceberg's changelog scans do not support delete files (1.10), and positions do not show rows that are gone. The files do: a row that only
one snapshot has is in a data file that only this snapshot has, or a delete file that only the other snapshot has deletes it. Compaction
moves rows, so it adds groups that have not changed, and never omits one. Both directions are compared, so a rollback counts as a change.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dms_iceberg.config.incremental import KEY
from dms_iceberg.spark.broadcast import broadcast_if_small
from dms_iceberg.sql.quoting import quote

_DATA, _POSITION_DELETES = 0, 1


def touched_groups(spark: SparkSession, table: str, columns: Sequence[str], before: int, after: int) -> DataFrame:
    """Return the distinct values of ``columns``, as ``_key_0``, ``_key_1`` ..., of rows that only one of the snapshots has.

    Args:
        table: quoted name with its catalog.
        columns: the columns that rows are grouped by; both snapshots must have them.
        before: id of a snapshot.
        after: id of another snapshot. Neither may have equality deletes.
    """
    only = _only_in_one(spark, table, before, after)
    found: list[DataFrame] = []
    for one, other in ((before, after), (after, before)):
        rows = _rows(spark, table, columns, one)
        if own := only.get((one, _DATA)):
            found.append(rows.join(_paths(spark, own, "_file"), "_file", "left_semi"))
        if foreign := only.get((other, _POSITION_DELETES)):
            deleted = _metadata(spark, table, "position_deletes", other)
            hits = deleted.join(_paths(spark, foreign, "delete_file_path"), "delete_file_path", "left_semi")
            places = broadcast_if_small(hits.selectExpr("file_path AS _file", "pos AS _pos"), sum(foreign.values()))
            found.append(rows.join(places, ["_file", "_pos"], "left_semi"))
    found = found or [_rows(spark, table, columns, after).where("false")]
    return reduce(DataFrame.unionByName, found).drop("_file", "_pos").distinct()


def _only_in_one(spark: SparkSession, table: str, before: int, after: int) -> dict[tuple[int, int], dict[str, int]]:
    """Return the files that only one of two snapshots has, with their row counts, by snapshot and content type; most types are absent."""
    columns = ("content", "file_path", "record_count")
    both = [_metadata(spark, table, "files", id_).selectExpr(*columns, f"{id_}L AS id") for id_ in (before, after)]
    counted = both[0].unionByName(both[1]).groupBy("content", "file_path")
    found = counted.agg(f.min("id").alias("id"), f.max("id").alias("last"), f.sum("record_count").alias("records"))
    only: dict[tuple[int, int], dict[str, int]] = {}
    for row in found.where("id = last").collect():
        only.setdefault((row.id, row.content), {})[row.file_path] = row.records
    return only


def _paths(spark: SparkSession, paths: Iterable[str], name: str) -> DataFrame:
    return f.broadcast(spark.createDataFrame([(path,) for path in paths], f"{name} string"))


def _rows(spark: SparkSession, table: str, columns: Sequence[str], snapshot: int) -> DataFrame:
    keys = [f"{quote(column)} AS {KEY}{n}" for n, column in enumerate(columns)]
    return spark.sql(f"SELECT {', '.join(keys)}, _file, _pos FROM {table} VERSION AS OF {snapshot}")


def _metadata(spark: SparkSession, table: str, name: str, snapshot: int) -> DataFrame:
    return spark.read.option("snapshot-id", snapshot).table(f"{table}.{name}")
