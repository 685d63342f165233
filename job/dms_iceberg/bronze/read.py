"""Reads a schema group into one DataFrame: the files' own columns, and where each row came from."""

import json
from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from dms_iceberg.bronze.before_images import find_images
from dms_iceberg.bronze.origin import origin_of_file
from dms_iceberg.bronze.read_csv import read_csv
from dms_iceberg.bronze.read_json import read_json
from dms_iceberg.bronze.reserved_names import is_reserved, is_used, refuse_reserved
from dms_iceberg.bronze.schema_groups import Columns, SchemaGroup
from dms_iceberg.config.former_names import former_in_file, former_names, key_in_file
from dms_iceberg.config.image_names import image_of
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.config.named_columns import named_columns
from dms_iceberg.config.service_columns import is_sequenced
from dms_iceberg.errors import BronzeError
from dms_iceberg.spark.kept_plans import reading
from dms_iceberg.sql.cdc_columns import CORRUPT, FILE, FILE_NAME, NOT_TEXT, ORIGIN_COLUMNS, ROW, ROW_ID
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.text_values import are_texts_sql
from dms_iceberg.sql.types import VOID
from dms_iceberg.storage.store import join

__all__ = ["CORRUPT", "FILE", "FILE_NAME", "NOT_TEXT", "ORIGIN_COLUMNS", "ROW", "ROW_ID", "read_group"]

_TEXT_LENGTH = 100
"""Length of text columns in suggested mapping rules: enough for a time, and for the digits of decimals of 256 bits."""


def read_group(
    spark: SparkSession, root: str, group: SchemaGroup, bronze: Bronze, table: Table, existing: Collection[str] = ()
) -> DataFrame:
    """Return the rows of ``group``.

    Adds `FILE` (full path), `FILE_NAME`, `ROW` (place in the file: the row's number from 0, or, in text formats where rows have a
    sequence or are loaded, any number that rises within a file), `CORRUPT` (the raw line when it did not parse, or one of
    `misread_values.MISREAD`, else NULL) and `NOT_TEXT` (whether the row has bytes that are not UTF-8).

    Raises:
        BronzeError: a column that is not dropped has a type that Spark cannot read, or a name that Spark or this package reserves.
    """
    refuse_reserved(group.names, bronze, table, group.files[0].key)
    paths = [join(root, file.key) for file in group.files]
    reader = spark.read.option("__globPaths__", "false")
    if bronze.format is BronzeFormat.PARQUET:
        readable = _readable(group, bronze, table, existing)
        ddl = _ddl(tuple(column for column in readable if column[1] != VOID))
        frame = reading(spark, (bronze.format, ddl), lambda: reader.schema(ddl).parquet(*paths))
        columns = [f"NULL AS {quote(name)}" if type_ == VOID else quote(name) for name, type_ in readable]
        not_text = f"{_not_text_sql(readable, bronze, table, existing)} AS {NOT_TEXT}"
        origin = *origin_of_file(), f"_metadata.row_index AS {ROW}"
        return frame.selectExpr(*columns, *origin, f"CAST(NULL AS string) AS {CORRUPT}", not_text)
    if bronze.format is BronzeFormat.CSV:
        frame = read_csv(spark, reader, paths, group, bronze, table)
    else:
        frame = read_json(reader, paths, group, bronze, table)
    return _numbered(frame) if group.is_cdc and not is_sequenced(frame.columns, bronze.change) else frame


def _numbered(frame: DataFrame) -> DataFrame:
    """Number the rows of each file. Their place is part of the position there, and must be the same in each reading.

    A number that only rises depends on the files that one task reads. The window costs a shuffle.
    """
    return frame.withColumn(ROW, expr(f"CAST(row_number() OVER (PARTITION BY {FILE} ORDER BY {ROW}) - 1 AS bigint)"))


def _ddl(columns: Columns) -> str:
    return ", ".join(f"{quote(name)} {type_}" for name, type_ in columns)


def _not_text_sql(columns: Columns, bronze: Bronze, table: Table, existing: Collection[str]) -> str:
    """SQL of whether a row of Parquet has bytes that are not text in columns that matter: of a delete only its key matters."""
    change, texts = bronze.change, _texts(columns, bronze, table, existing)
    op = next((name for name, _ in columns if name.lower() == change.op_column.lower()), None)
    if op is None:
        return f"NOT {are_texts_sql(texts)}"
    in_file = key_in_file((name for name, _ in columns), table).values()
    keys = {name.lower() for one in in_file for name in (one, image_of(change, one)) if name is not None}
    keys = {*keys, (change.stream_position_column or "").lower()}
    decisive = [name for name in texts if name.lower() in keys]
    values = [name for name in texts if name.lower() not in keys]
    deletes = ", ".join(string_literal(word) for word, meaning in change.op_words.items() if meaning == "D")
    is_delete = f"coalesce(CAST({quote(op)} AS string) IN ({deletes}), false)"
    others = f" OR (NOT {is_delete} AND NOT {are_texts_sql(values)})" if values and deletes else ""
    return f"(NOT {are_texts_sql(decisive)}{others})"


def _texts(columns: Columns, bronze: Bronze, table: Table, existing: Collection[str]) -> list[str]:
    """Return the text columns of Parquet that reach silver or decide something: Spark accepts any bytes as text there.

    Operation, time and sequence are not among them: their values are compared with known words, times and digits anyway.
    """
    change = bronze.change
    compared = {name.lower() for name in (change.op_column, change.timestamp_column, change.sequence_column) if name}
    read = {*table.key, *(named.column for named in named_columns(table)), *(old for old, _ in former_names(table))}
    read = {name.lower() for one in read for name in (one, image_of(change, one)) if name is not None}
    left_out = find_images([name for name, _ in columns], change, table, existing=existing).left_out
    images = {name for name in left_out if name.lower() not in read}
    texts = [name for name, type_ in columns if type_ == "string" and name not in images and name.lower() not in compared]
    return [name for name in texts if name.lower() in read or is_used(name, table)]


def _readable(group: SchemaGroup, bronze: Bronze, table: Table, existing: Collection[str]) -> Columns:
    images = find_images(group.names, bronze.change, table, existing=existing).left_out
    change = bronze.change
    keys = key_in_file(group.names, table).values()
    former = former_in_file(group.names, table).values()
    named = {one.lower() for one in (*keys, *former, *(named.column for named in named_columns(table)))}
    # Columns with a change's operation, place and former key: without them the change would mean something else.
    service = (change.op_column, change.timestamp_column, change.sequence_column, *(image_of(change, key) for key in keys))
    decisive = {name.lower() for name in service if name is not None}
    wanted = {name for name in group.names if (is_used(name, table) or name.lower() in named) and name not in images}
    unreadable = [(name, type_) for name, type_ in group.columns if type_.startswith("<") and (name in wanted or name.lower() in decisive)]
    if unreadable:
        found = ", ".join(f"{name!r} ({type_.strip('<>')})" for name, type_ in unreadable)
        several = len(unreadable) > 1
        raise BronzeError(
            f"{table.source}: Spark cannot read the Parquet type of column{'s' * several} {found} (first file: {group.files[0].key}). Add "
            f"{'DMS mapping rules that make them' if several else 'a DMS mapping rule that makes it'} text, "
            f"{', '.join(_text_rule(table, name) for name, _ in unreadable)}, and load the table again; or leave the "
            f"column{'s' * several} out with drop."
        )
    return tuple((name, type_) for name, type_ in group.columns if not type_.startswith("<") and not is_reserved(name))


def _text_rule(table: Table, column: str) -> str:
    rule = {
        "rule-type": "transformation",
        "rule-target": "column",
        "rule-action": "change-data-type",
        "object-locator": {"schema-name": table.schema_name, "table-name": table.table_name, "column-name": column},
        "data-type": {"type": "string", "length": _TEXT_LENGTH},
    }
    return json.dumps(rule, ensure_ascii=False, separators=(",", ":"))
