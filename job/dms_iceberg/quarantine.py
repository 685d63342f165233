"""Rejected rows: one quarantine table per silver table, in a namespace of its own because its records are unmasked.

A row's id is made of file key, ETag and row number, and rows are merged by id: a batch that is killed and done again writes each row once.
"""

from collections.abc import Sequence
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, col

from dms_iceberg.changes.frames import RECORD, ROW_NUMBER, Shape, json_sql
from dms_iceberg.changes.normalise import COMMITTED_AT, OLD_KEY, OP, POSITION, PROBLEM
from dms_iceberg.changes.read import FILE
from dms_iceberg.config.model import Config, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.identifiers import quote_path, string_literal
from dms_iceberg.staging.keys import BronzeFile

_COLUMNS = {
    "id": "string",
    "source_table": "string",
    "file": "string",
    "etag": "string",
    "row_number": "bigint",
    "reason": "string",
    "detail": "string",
    "op": "string",
    "position": "string",
    "committed_at": "timestamp",
    "key": "string",
    "record": "string",
    "quarantined_at": "timestamp",
    "run_id": "string",
}


def quarantine_table(config: Config, table: Table) -> str:
    """Return the quoted name of a table's quarantine table: ``<namespace>.<target with dots as __>``."""
    return quote_path([config.catalog.name, *config.quarantine.namespace.split("."), table.target.replace(".", "__")])


def create_quarantine_sql(name: str) -> str:
    """Return the CREATE TABLE statement of a quarantine table."""
    body = ", ".join(f"{column} {type_}" for column, type_ in _COLUMNS.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({body}) USING iceberg TBLPROPERTIES ('format-version' = '2', "
        "'write.merge.mode' = 'merge-on-read', 'write.merge.isolation-level' = 'serializable')"
    )


def quarantine_sql(name: str, source: str) -> str:
    """Return the idempotent write. WHEN MATCHED is what makes two writers of one row conflict instead of doubling it."""
    columns = ", ".join(_COLUMNS)
    return (
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.reason = s.reason, t.detail = s.detail "
        f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({', '.join(f's.{c}' for c in _COLUMNS)})"
    )


def rejected_rows(
    spark: SparkSession, cleaned: DataFrame, files: Sequence[BronzeFile], table: Table, shape: Shape, run_id: str, now: str
) -> DataFrame:
    """Return the quarantine rows of cleaned changes that carry record and row number.

    Args:
        now: UTC timestamp text, the same for the whole batch.
    """
    rejected = cleaned.where(f"{PROBLEM} IS NOT NULL AND {OLD_KEY} = 0")
    # Spark gives paths percent-encoded and with one slash or three; the few that matter are matched here.
    paths = [row[0] for row in rejected.select(FILE).distinct().collect()]
    known = {path: file for path in paths for file in files if unquote(path).endswith("/" + file.key)}
    if len(known) < len(paths):
        lost = next(path for path in paths if path not in known)
        raise BronzeError(f"{unquote(lost)}: rejected rows of a file that is not in the batch of {table.source}. Report this defect.")
    origin = spark.createDataFrame(
        [(path, file.key, file.etag) for path, file in known.items()] or [("", "", "")], "_cdc_path string, file string, etag string"
    )
    return rejected.join(broadcast(origin), col(FILE) == col("_cdc_path")).selectExpr(
        f"sha2(concat_ws('|', file, etag, {ROW_NUMBER}), 256) AS id",
        f"{string_literal(table.source)} AS source_table",
        "file",
        "etag",
        f"{ROW_NUMBER} AS row_number",
        f"substring_index({PROBLEM}, ': ', 1) AS reason",
        f"substr({PROBLEM}, instr({PROBLEM}, ': ') + 2) AS detail",
        f"{OP} AS op",
        f"{POSITION} AS position",
        f"{COMMITTED_AT} AS committed_at",
        f"{json_sql(shape.key)} AS key",
        f"{RECORD} AS record",
        f"TIMESTAMP {string_literal(now)} AS quarantined_at",
        f"{string_literal(run_id)} AS run_id",
    )
