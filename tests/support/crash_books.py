"""What a table's snapshots say about the rows that were read: the books of every batch on the line of main's head."""

import json
from typing import Any

from pyspark.sql import SparkSession

from dms_iceberg.progress.progress import ACCOUNTING_KEY

KINDS = ("applied", "superseded", "stale", "filtered", "quarantined")


def lineage_books(spark: SparkSession, name: str) -> list[dict[str, Any]]:
    """Return the accounting of each snapshot that carries one among main's head and its ancestors."""
    spark.sql(f"REFRESH TABLE {name}")
    ids = f"SELECT snapshot_id FROM {name}.history WHERE is_current_ancestor"
    rows = spark.sql(f"SELECT summary FROM {name}.snapshots WHERE snapshot_id IN ({ids}) ORDER BY committed_at").collect()
    return [json.loads(row.summary[ACCOUNTING_KEY]) for row in rows if ACCOUNTING_KEY in row.summary]


def check_books(spark: SparkSession, name: str, rows_in_files: int) -> list[dict[str, Any]]:
    """Check that every row of every file is in the books exactly once, and under exactly one word; return the books."""
    books = lineage_books(spark, name)
    for batch in books:
        assert batch["rows_read"] == sum(batch[kind] for kind in KINDS), batch
    assert sum(batch["rows_read"] for batch in books) == rows_in_files, books
    return books


def snapshot_ids(spark: SparkSession, name: str) -> list[int]:
    """Return the ids of all snapshots of a table, oldest first."""
    spark.sql(f"REFRESH TABLE {name}")
    return [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()]
