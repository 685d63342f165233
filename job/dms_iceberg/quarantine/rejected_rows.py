"""Rejected rows: one quarantine table per silver table, in a separate namespace because its records are unmasked.

A row's id is a hash of load number, file key, ETag and row number, and rows are merged by id: a batch that is killed and run again, or
read again by a rebuild of its load, writes each row once. A later load is another folder, which may have the same file: its row is another.

A replay merges rows into silver, and no commit spans two tables. So the ids that a replay resolves are written first, to a table beside the
quarantine, with the id of the replay and that of the one before it. The silver snapshot then has the replay's id in its progress. A
row is *open* unless a replay in the history of main's head has resolved it (``docs/adr/0010-replays-are-a-chain.md``).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql.functions import broadcast, col, row_number
from pyspark.sql.functions import max as max_

from dms_iceberg.bronze.keys import parse_key, table_prefix, time_of
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import BatchPlan, BranchState, RunContext
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.rejected_key import rejected_key_sql
from dms_iceberg.quarantine.tables import COLUMNS, prepare_replays, quarantine_name, quarantine_part, replays_name
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, FILE, KEY_TEXT, LAYOUT, OLD_KEY, OP, POSITION, PROBLEM, RECORD, ROW_NUMBER
from dms_iceberg.sql.quoting import quote, string_literal

REJECTION = {
    "reason": f"substring_index({PROBLEM}, ': ', 1)",
    "detail": f"substr({PROBLEM}, instr({PROBLEM}, ': ') + 2)",
    "op": OP,
    "position": POSITION,
    "committed_at": COMMITTED_AT,
}
"""Columns that say what was rejected and why, as SQL: another configuration may say otherwise of the same row."""


def resolve(context: RunContext, table: Table, ids: DataFrame, replay: str, parent: str) -> None:
    """Record which rows (column ``id``) a replay resolves. They count as resolved once main's head has the replay in its history.

    Args:
        context: the context of the run.
        table: the table's configuration.
        ids: the rows.
        replay: id of the replay.
        parent: id of the replay before it in the content's history, "" for none.
    """
    name = prepare_replays(context.spark, context.config, table)
    values = {"replay": replay, "parent": parent, "run_id": context.run_id}
    ids.selectExpr("id", *(f"{string_literal(value)} AS {column}" for column, value in values.items())).writeTo(name).append()


def quarantine_sql(name: str, source: str) -> str:
    """Return the idempotent MERGE of quarantine rows. WHEN MATCHED makes two writers of one row conflict instead of duplicating it."""
    columns = ", ".join(COLUMNS)
    # A row that a rebuild rejects again gets the reason of the present configuration, and the present time: see `rejected_since`.
    # Of two runs with one batch, the one that stamped its rows first may write them last: a rejection does not get older by that.
    newer = {"quarantined_at": "greatest(t.quarantined_at, s.quarantined_at)"}
    again = ", ".join(f"t.{column} = {newer.get(column, f's.{column}')}" for column in COLUMNS if column != "id")
    return (
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET {again} "
        f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({', '.join(f's.{c}' for c in COLUMNS)})"
    )


def rejected_since(digits: str) -> str:
    """SQL that is true for quarantine rows that were rejected (or rejected again) at a time of 17 digits or later; "" is no time."""
    return f"quarantined_at >= {_timestamp_sql(time_of(digits))}" if digits else "true"


def stamp_sql(now: datetime, branch: BranchState) -> str:
    """SQL of the time at which rows of a batch are rejected: now, and never before the build that the batch belongs to began.

    Another machine, whose clock is ahead, may have begun it.
    """
    began = max(branch.progress.built_since, branch.rebuild)
    return _timestamp_sql(max(now, time_of(began)) if began else now)


def _timestamp_sql(time: datetime) -> str:
    return f"TIMESTAMP {string_literal(time.strftime('%Y-%m-%d %H:%M:%S.%f'))}"


def update_rejections_sql(name: str, source: str) -> str:
    """Return the MERGE that updates why rows are still in quarantine."""
    columns = (*REJECTION, "key")
    other = " OR ".join(f"NOT (t.{column} <=> s.{column})" for column in columns)
    return (
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id "
        f"WHEN MATCHED AND ({other}) THEN UPDATE SET {', '.join(f't.{column} = s.{column}' for column in columns)}"
    )


def rejected_changes(cleaned: DataFrame, shape: Shape) -> DataFrame:
    """Return the rejected changes among cleaned ones with record, row number and layout: the columns that `rejected_rows` needs.

    The caller persists them: they are few, and finding them reads the whole batch.
    """
    needed = [FILE, ROW_NUMBER, RECORD, LAYOUT, KEY_TEXT, OP, POSITION, COMMITTED_AT, *(quote(name) for name in shape.key)]
    # Not a condition: Spark would push it down below the cleaning, and plan the cleaning twice, which takes long for a wide table.
    problem = f"explode(CASE WHEN {OLD_KEY} = 0 AND {PROBLEM} IS NOT NULL THEN array({PROBLEM}) ELSE array() END) AS {PROBLEM}"
    return cleaned.selectExpr(*needed, problem)


def rejected_rows(context: RunContext, table: Table, planned: BatchPlan, shape: Shape, rejected: DataFrame) -> DataFrame:
    """Return the quarantine rows of `rejected_changes`, all with the present time.

    Args:
        context: the context of the run.
        table: the table's configuration.
        planned: the batch.
        shape: the silver columns.
        rejected: the changes.

    Raises:
        BronzeError: a row is of a file that is not in the batch: a defect.
    """
    now = stamp_sql(datetime.now(UTC), planned.branch_state)
    # Spark returns percent-encoded paths with one slash or three after the scheme; the few that matter are matched here.
    paths = [row[0] for row in rejected.select(FILE).distinct().collect()]
    known = {path: file for path in paths for file in planned.batch.files if unquote(path).endswith("/" + file.key)}
    if len(known) < len(paths):
        lost = next(path for path in paths if path not in known)
        raise BronzeError(f"{unquote(lost)}: rejected rows of a file that is not in the batch of {table.source}. Report this defect.")
    path, key, etag = "_cdc_path", "_cdc_file_key", "_cdc_etag"
    origin = context.spark.createDataFrame(
        [(path, file.key, file.etag) for path, file in known.items()] or [("", "", "")], f"{path} string, {key} string, {etag} string"
    )
    return rejected.join(broadcast(origin), col(FILE) == col(path)).selectExpr(
        f"sha2(concat_ws('|', {planned.progress.load}, {key}, {etag}, {ROW_NUMBER}), 256) AS id",
        f"{string_literal(table.source)} AS source_table",
        f"{key} AS file",
        f"{etag} AS etag",
        f"{ROW_NUMBER} AS row_number",
        *(f"{sql} AS {column}" for column, sql in REJECTION.items()),
        f"{rejected_key_sql(shape)} AS key",
        f"{RECORD} AS record",
        f"{now} AS quarantined_at",
        f"{string_literal(context.run_id)} AS run_id",
        f"{planned.progress.load}L AS load",
        f"{LAYOUT} AS layout",
    )


def all_rows(spark: SparkSession, config: Config, table: Table) -> DataFrame | None:
    """Return all rows of a table's quarantine at its newest snapshot, None where there are none."""
    return _as_of_now(quarantine_part(spark, config, table, quarantine_name(config, table)))


def open_rows(spark: SparkSession, config: Config, table: Table, progress: Progress) -> DataFrame | None:
    """Return the open rows of a table's quarantine at its newest snapshot, None where there are none.

    They are rows of the content's own load and of merged files only: rows of other files will come again with their file, or are from a
    load that another one has replaced. They were rejected since the load was begun to be built: what only a build that was thrown away has
    rejected, the build after it has read again, and has merged or filtered. Of a file that was uploaded again, a row that several versions
    have counts once. Later writes to the quarantine do not change the result.

    Args:
        progress: the progress of the content in which the rows are missing.
    """
    rejected, replays = (quarantine_part(spark, config, table, name(config, table)) for name in (quarantine_name, replays_name))
    return open_rows_of(rejected, replays, table, progress)


def open_rows_of(rejected: TargetTable | None, replays: TargetTable | None, table: Table, progress: Progress) -> DataFrame | None:
    """Return `open_rows` of these two tables, as of their last refresh, whosever they are.

    Args:
        rejected: the quarantine table; None where there is none.
        replays: the table of its replays; None where there is none.
        table: the table's configuration.
        progress: the progress of the content in which the rows are missing.
    """
    rows = _as_of_now(rejected)
    if rows is None:
        return None
    spark = rows.sparkSession
    rows = rows.where(f"load = {progress.load} AND {rejected_since(progress.built_since)}")
    files = [(row.file, row.etag) for row in rows.select("file", "etag").distinct().collect()]
    unmerged = [(file, etag) for file, etag in files if not is_merged(file, etag, table, progress)]
    if unmerged:
        rows = rows.join(broadcast(spark.createDataFrame(unmerged, "file string, etag string")), ["file", "etag"], "left_anti")
    if len({file for file, _ in files}) < len(files):
        rows = _once_in_each_file(rows)
    resolved = _resolved_in(replays, progress.replay)
    return rows if resolved is None else rows.join(resolved, "id", "left_anti")


def resolved_ids(spark: SparkSession, config: Config, table: Table, newest: str) -> DataFrame | None:
    """Return the ids of the rows that a replay and all before it have resolved, None where there are none; "" is no replay."""
    return _resolved_in(quarantine_part(spark, config, table, replays_name(config, table)), newest) if newest else None


def _resolved_in(found: TargetTable | None, newest: str) -> DataFrame | None:
    replays = _as_of_now(found) if newest else None
    if replays is None:
        return None
    parents = {row.replay: row.parent for row in replays.select("replay", "parent").distinct().collect()}
    return replays.where(col("replay").isin(chain(parents, newest))).select("id")


def _once_in_each_file(rows: DataFrame) -> DataFrame:
    """Leave out rows that later versions of a file, with other ETags, have as well. Row numbers may differ, so records are compared.

    The n-th of equal records in one version is the n-th in each other version.
    """
    versions = Window.partitionBy("file", "etag")
    numbered = rows.withColumns(
        {
            "_cdc_version": max_("quarantined_at").over(versions),
            "_cdc_number": row_number().over(Window.partitionBy("file", "etag", "record").orderBy("row_number")),
        }
    )
    newest = Window.partitionBy("file", "record", "_cdc_number").orderBy(col("_cdc_version").desc(), "etag")
    single = numbered.withColumn("_cdc_choice", row_number().over(newest)).where("_cdc_choice = 1")
    return single.drop("_cdc_version", "_cdc_number", "_cdc_choice")


def is_merged(key: str, etag: str, table: Table, progress: Progress) -> bool:
    """Whether a version of a file is merged into the content with this progress."""
    file = parse_key(table_prefix(table.schema_name, table.table_name), key, 0, etag)
    return file is not None and progress.holds(file)


def _as_of_now(found: TargetTable | None) -> DataFrame | None:
    """Return a table's rows at its newest snapshot, None without one."""
    head = found.head() if found is not None else None
    return found.rows_at(head.id) if found is not None and head is not None else None


def chain(parents: Mapping[str, str], newest: str) -> list[str]:
    """Return a replay and all replays before it. ``parents`` may have others, which were never committed or were rolled back."""
    found = list[str]()
    while newest in parents:
        found.append(newest)
        newest = parents[newest]
    return found


def reason_is(wanted: Iterable[str]) -> str:
    """SQL that is true for rows with one of these reasons, alone or with their detail (``rule: name``); for all rows if there are none."""
    listed = ", ".join(map(string_literal, wanted))
    return f"(reason IN ({listed}) OR concat(reason, ': ', detail) IN ({listed}))" if listed else "true"


def late_files(rows: DataFrame | None) -> set[str]:
    """Return the files of open rows that came too late to be compared: their presence does not prove that bronze reaches back so far."""
    late = rows.where("reason = 'older_than_bronze'").select("file").distinct().collect() if rows is not None else []
    return {row.file for row in late}
