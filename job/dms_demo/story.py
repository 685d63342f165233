"""The history of two rows, as time travel and the quarantine table show it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_demo.lag import AppliedFile
from dms_demo.shop import STORY_ORDER
from dms_iceberg.iceberg.table import Snapshot
from dms_iceberg.sql.cdc_columns import COMMITTED_AT
from dms_iceberg.sql.quoting import quote_path


@attrs.frozen
class Chapter:
    """The row as of one snapshot; times are UTC.

    Attributes:
        committed_at: when the source committed this version; None for the full load's.
    """

    snapshot_id: int
    snapshot_at: datetime
    committed_at: datetime | None
    values: Mapping[str, str | None]


@attrs.frozen
class Rejected:
    """A row of a quarantine table. ``record`` is the change as DMS wrote it."""

    table: str
    reason: str
    detail: str
    op: str
    key: str
    committed_at: str
    file: str
    row_number: int
    record: Mapping[str, Any]


def tell_story(spark: SparkSession, target: tuple[str, ...], lineage: Sequence[Snapshot], files: Sequence[AppliedFile]) -> list[Chapter]:
    """Read the story's order as of the first snapshot, and as of each snapshot with a change of it.

    Args:
        spark: the session with the catalog.
        target: the parts of the silver table's name, catalog first.
        lineage: the table's snapshots, newest first.
        files: the table's change files, which determine the snapshots to read.
    """
    changed = {file.snapshot.id: file.snapshot for file in files if STORY_ORDER in file.keys}
    loaded = {lineage[-1].id: lineage[-1]} if lineage else {}
    chapters = [_chapter(spark, target, snapshot) for snapshot in (loaded | changed).values()]
    return [
        chapter if chapter.snapshot_id in changed else attrs.evolve(chapter, committed_at=None)
        for chapter in chapters
        if chapter is not None
    ]


def _chapter(spark: SparkSession, target: tuple[str, ...], snapshot: Snapshot) -> Chapter | None:
    row = spark.sql(
        f"SELECT status, amount, unix_micros({COMMITTED_AT}) AS micros "
        f"FROM {quote_path(target)} VERSION AS OF {snapshot.id} WHERE order_id = {STORY_ORDER}"
    ).first()
    if row is None:
        return None
    committed = datetime.fromtimestamp(row.micros / 1e6, UTC) if row.micros is not None else None
    at = datetime.fromtimestamp(snapshot.timestamp_ms / 1e3, UTC)
    return Chapter(snapshot.id, at, committed, {"status": row.status, "amount": str(row.amount)})


def rejected_rows(spark: SparkSession, source: str, quarantine: str) -> list[Rejected]:
    """Return the rows of a table's quarantine; none if it has no quarantine table.

    Args:
        spark: the session with the catalog.
        source: ``schema.table``.
        quarantine: quoted name of the quarantine table.
    """
    if not spark.catalog.tableExists(quarantine):
        return []
    columns = "reason, detail, op, key, CAST(committed_at AS string) AS committed_at, file, row_number, record"
    return [
        Rejected(
            source,
            row.reason,
            row.detail,
            row.op,
            row.key,
            row.committed_at,
            row.file,
            row.row_number,
            json.loads(row.record),
        )
        for row in spark.sql(f"SELECT {columns} FROM {quarantine} ORDER BY position").collect()
    ]
