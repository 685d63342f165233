"""Reading a schema group into one DataFrame: the file's own columns plus where each row came from."""

import json

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from dms_iceberg.changes.inspect import Columns, SchemaGroup
from dms_iceberg.config.model import Bronze, BronzeFormat, OtherColumns, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.identifiers import quote
from dms_iceberg.staging.store import join

FILE = "_cdc_file"
FILE_NAME = "_cdc_file_name"
ROW = "_cdc_row"
CORRUPT = "_cdc_corrupt"
ORIGIN_COLUMNS = frozenset({FILE, FILE_NAME, ROW, CORRUPT})


def read_group(spark: SparkSession, root: str, group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of ``group``.

    Adds `FILE` (full path), `FILE_NAME`, `ROW` (place in the file: the row number in Parquet; for text formats a number that rises
    within a file, as a text file is never split) and `CORRUPT` (the raw line when it did not parse, else NULL).

    Raises:
        BronzeError: a column has a type that Spark cannot read and is not dropped.
    """
    paths = [join(root, file.key) for file in group.files]
    reader = spark.read.option("__globPaths__", "false")
    if bronze.format is BronzeFormat.PARQUET:
        frame = reader.schema(_ddl(_readable(group, table))).parquet(*paths)
        return frame.selectExpr("*", *_origin("_metadata.row_index"), f"CAST(NULL AS string) AS {CORRUPT}")
    if bronze.format is BronzeFormat.CSV:
        frame = (
            reader.options(
                header=bronze.csv.header,
                sep=bronze.csv.delimiter,
                quote='"',
                # RFC 4180 doubles quotes; Spark's default escape would corrupt a field that ends with a backslash.
                escape='"',
                multiLine=True,
                enforceSchema=True,
                encoding="UTF-8",
                maxCharsPerColumn=-1,
                maxColumns=20_480,
                columnNameOfCorruptRecord=CORRUPT,
                **({"nullValue": bronze.csv.null} if bronze.csv.null else {}),
            )
            .schema(_ddl((*group.columns, (CORRUPT, "string"))))
            .csv(paths)
        )
        return frame.selectExpr("*", *_origin("monotonically_increasing_id()"))
    return _read_json(reader, paths)


def _origin(row: str) -> list[str]:
    return [f"_metadata.file_path AS {FILE}", f"_metadata.file_name AS {FILE_NAME}", f"{row} AS {ROW}"]


def _ddl(columns: Columns) -> str:
    return ", ".join(f"{quote(name)} {type_}" for name, type_ in columns)


def _readable(group: SchemaGroup, table: Table) -> Columns:
    unreadable = [(name, type_) for name, type_ in group.columns if type_.startswith("<") and _is_used(name, table)]
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
    return tuple((name, type_) for name, type_ in group.columns if not type_.startswith("<"))


def _is_used(name: str, table: Table) -> bool:
    declared = {column.source_name.lower() for column in table.columns if column.source_name}
    dropped = {column.lower() for column in table.drop}
    return name.lower() in declared or (name.lower() not in dropped and table.other_columns is OtherColumns.KEEP)


def _read_json(reader: DataFrameReader, paths: list[str]) -> DataFrame:
    reader = reader.options(primitivesAsString=True, columnNameOfCorruptRecord=CORRUPT, mode="PERMISSIVE", encoding="UTF-8")
    inferred = reader.json(paths).schema
    columns = tuple((field.name, field.dataType.simpleString()) for field in inferred.fields if field.name != CORRUPT)
    frame = reader.schema(_ddl((*columns, (CORRUPT, "string")))).json(paths)
    # A nested value stays the text it is until a declared type parses it.
    texts = [quote(name) if type_ == "string" else f"to_json({quote(name)}) AS {quote(name)}" for name, type_ in columns]
    return frame.selectExpr(*texts, CORRUPT, *_origin("monotonically_increasing_id()"))
