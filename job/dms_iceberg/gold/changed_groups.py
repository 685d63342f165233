"""Which groups of a table changed between two of its snapshots: found from added and removed files, so only these are read.

Iceberg's changelog scans do not support delete files (1.10), and positions do not show rows that are gone. The files do: a row that only
one snapshot has is in a data file that only this snapshot has, or a delete file that only the other snapshot has deletes it. Compaction
moves rows, so it adds groups that have not changed, and never omits one. Both directions are compared, so a rollback counts as a change.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from dms_iceberg.config.incremental import KEY
from dms_iceberg.iceberg.scan_files import Deletes, ScanFile, only_of, scan_files
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.broadcast import broadcast_if_small
from dms_iceberg.sql.quoting import quote


@attrs.frozen(eq=False)
class Gone:
    """Where the rows are that one snapshot has and another has not.

    Attributes:
        other: the id of the other snapshot.
        whole: data files that only the one has.
        partly: data files of both, of which the other may have deleted rows, by location.
        new: by location of these, what only the other has of delete files and deletion vectors for it.
        deletes: all of them, with their numbers of deletes.
    """

    other: int
    whole: Sequence[ScanFile]
    partly: Mapping[str, ScanFile]
    new: Mapping[str, Collection[Deletes]]
    deletes: Mapping[Deletes, int]

    @property
    def rows(self) -> int:
        """How many rows the data files have."""
        return sum(file.rows for file in (*self.whole, *self.partly.values()))


def gone_each_way(spark: SparkSession, table: TargetTable, before: int, after: int) -> tuple[Gone, Gone]:
    """Return where the rows are that only the first or only the second of two snapshots has. Neither may have equality deletes."""
    first, second = scan_files(table, before), scan_files(table, after)
    return _hit(spark, table, _gone(first, second, after)), _hit(spark, table, _gone(second, first, before))


def _gone(one: Mapping[str, ScanFile], other: Mapping[str, ScanFile], snapshot: int) -> Gone:
    new = {location: other[location].deletes.keys() - file.deletes.keys() for location, file in one.items() if location in other}
    new = {location: found for location, found in new.items() if found}
    paths = {deletes.location for found in new.values() for deletes in found}
    return Gone(
        snapshot,
        [file for location, file in one.items() if location not in other],
        {location: one[location] for location in new},
        new,
        # All that are read of these files: also vectors of data files that only the other has.
        {deletes: count for file in other.values() for deletes, count in file.deletes.items() if deletes.location in paths},
    )


def _hit(spark: SparkSession, table: TargetTable, gone: Gone) -> Gone:
    """Leave out data files of which no row is deleted: a delete file may concern any that is older, as far as manifests tell."""
    uses = Counter(deletes for found in gone.new.values() for deletes in found)
    shared = {deletes for deletes, files in uses.items() if files > 1}
    if not shared:
        return gone
    rows = _deleted(spark, table, gone.other, {deletes.location for deletes in shared}).select("file_path").distinct().collect()
    hit = {row[0] for row in rows}
    partly = {location: file for location, file in gone.partly.items() if location in hit or not shared.issuperset(gone.new[location])}
    return attrs.evolve(gone, partly=partly)


@contextmanager
def touched_groups(spark: SparkSession, table: TargetTable, columns: Sequence[str], changes: Sequence[Gone]) -> Iterator[DataFrame]:
    """Give the distinct values of ``columns``, as ``_key_0``, ``_key_1`` ..., of rows that are gone one way or the other.

    Args:
        spark: the session.
        table: its present schema must have the columns as both snapshots have them.
        columns: the columns that rows are grouped by.
        changes: see `gone_each_way`.
    """
    keys = [f"{quote(column)} AS {KEY}{n}" for n, column in enumerate(columns)]
    with ExitStack() as stack:
        found: list[DataFrame] = []
        for gone in changes:
            whole = stack.enter_context(only_of(spark, table, gone.whole)) if gone.whole else table.rows().where("false")
            found.append(whole.selectExpr(*keys))
            if gone.partly:
                rows = stack.enter_context(only_of(spark, table, gone.partly.values())).selectExpr(*keys, "_file", "_pos")
                found.append(rows.join(_places(spark, table, gone), ["_file", "_pos"], "left_semi").drop("_file", "_pos"))
        yield reduce(DataFrame.unionByName, found).distinct()


def _places(spark: SparkSession, table: TargetTable, gone: Gone) -> DataFrame:
    """Return the positions that the delete files delete."""
    hits = _deleted(spark, table, gone.other, {deletes.location for deletes in gone.deletes})
    return broadcast_if_small(hits.selectExpr("file_path AS _file", "pos AS _pos"), sum(gone.deletes.values()))


def _deleted(spark: SparkSession, table: TargetTable, snapshot: int, locations: Iterable[str]) -> DataFrame:
    """Return the rows of a snapshot's delete files at these locations."""
    paths = f.broadcast(spark.createDataFrame([(path,) for path in locations], "delete_file_path string"))
    deleted = spark.sql(f"SELECT * FROM {table.sql_name}.position_deletes VERSION AS OF {snapshot}")
    return deleted.join(paths, "delete_file_path", "left_semi")
