"""Reading a schema group into one DataFrame: the file's own columns plus where each row came from."""

import json

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from dms_iceberg.changes.before_images import before_images
from dms_iceberg.changes.inspect import Columns, SchemaGroup, refuse_twins
from dms_iceberg.changes.mapping import VOID
from dms_iceberg.changes.origin import CORRUPT, FILE, FILE_NAME, NOT_TEXT, ORIGIN_COLUMNS, ROW, ROW_ID, origin_of_file
from dms_iceberg.changes.read_csv import read_csv
from dms_iceberg.changes.reserved import is_reserved, is_used, refuse_reserved
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.identifiers import quote
from dms_iceberg.staging.store import join

__all__ = ["CORRUPT", "FILE", "FILE_NAME", "NOT_TEXT", "ORIGIN_COLUMNS", "ROW", "ROW_ID", "read_group"]


def read_group(spark: SparkSession, root: str, group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of ``group``.

    Adds `FILE` (full path), `FILE_NAME`, `ROW` (place in the file: the row number in Parquet, for text formats a number that rises
    within a file), `CORRUPT` (the raw line when it did not parse, or one of `misread.MISREAD`, else NULL) and `NOT_TEXT` (whether the row
    has bytes that are not UTF-8).

    Raises:
        BronzeError: a column has a type that Spark cannot read, or a name it needs for itself, and is not dropped.
    """
    refuse_reserved(group.names, bronze, table, group.files[0].key)
    paths = [join(root, file.key) for file in group.files]
    reader = spark.read.option("__globPaths__", "false")
    if bronze.format is BronzeFormat.PARQUET:
        readable = _readable(group, bronze, table)
        frame = reader.schema(_ddl(tuple(column for column in readable if column[1] != VOID))).parquet(*paths)
        columns = [f"NULL AS {quote(name)}" if type_ == VOID else quote(name) for name, type_ in readable]
        return frame.selectExpr(*columns, *_origin("_metadata.row_index"), f"CAST(NULL AS string) AS {CORRUPT}", f"false AS {NOT_TEXT}")
    if bronze.format is BronzeFormat.CSV:
        return read_csv(reader, paths, group, bronze, table)
    return _read_json(reader, paths, group, bronze, table)


def _origin(row: str) -> list[str]:
    return [*origin_of_file(), f"{row} AS {ROW}"]


def _ddl(columns: Columns) -> str:
    return ", ".join(f"{quote(name)} {type_}" for name, type_ in columns)


def _readable(group: SchemaGroup, bronze: Bronze, table: Table) -> Columns:
    images = before_images(group.names, bronze.change.before_image_prefix)
    unreadable = [(n, type_) for n, type_ in group.columns if type_.startswith("<") and n not in images and is_used(n, table)]
    if unreadable:
        name, type_ = unreadable[0]
        rule = {
            "rule-type": "transformation",
            "rule-target": "column",
            "rule-action": "change-data-type",
            "object-locator": {"schema-name": table.schema_name, "table-name": table.table_name, "column-name": name},
            "data-type": {"type": "string", "length": 20},
        }
        raise BronzeError(
            f"{table.source}: column {name!r} has the Parquet type {type_.strip('<>')}, which Spark cannot read (first file: "
            f"{group.files[0].key}). Add a DMS mapping rule that makes it text, {json.dumps(rule)}, and load the table again; "
            "or leave the column out with drop."
        )
    return tuple((name, type_) for name, type_ in group.columns if not type_.startswith("<") and not is_reserved(name))


def _read_json(reader: DataFrameReader, paths: list[str], group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Read JSON lines: every member as text, a nested one as the JSON it is.

    Without an ``encoding`` the parser sees the bytes, and a line that is not UTF-8 does not parse; with one it would be repaired silently.
    """
    reader = reader.options(primitivesAsString=True, columnNameOfCorruptRecord=CORRUPT, mode="PERMISSIVE")
    try:
        names = [name for name in reader.json(paths).columns if name != CORRUPT]
    except AnalysisException as error:
        if error.getErrorClass() != "COLUMN_ALREADY_EXISTS":
            raise
        name = (error.getMessageParameters() or {}).get("columnName", "").strip("`")
        refuse_twins(table, group.files[0], [name, name])
        raise
    refuse_reserved(names, bronze, table, group.files[0].key)
    columns = [(name, "string") for name in names]
    frame = reader.schema(_ddl((*columns, (CORRUPT, "string")))).json(paths)
    # Big files are split, in blocks of 4 MiB or more, that may be read in any order.
    row = "shiftleft(shiftright(_metadata.file_block_start, 20), 33) + (monotonically_increasing_id() & 8589934591)"
    return frame.selectExpr(*(quote(name) for name in names), CORRUPT, *_origin(row), f"false AS {NOT_TEXT}")
