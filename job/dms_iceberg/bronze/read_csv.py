"""Reads CSV as DMS writes it: RFC 4180 or without any quotes, with or without a header."""

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from dms_iceberg.bronze.csv_shapes import key_images, key_type
from dms_iceberg.bronze.misread_values import misread_cases
from dms_iceberg.bronze.origin import origin_of_file
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.spark.kept_plans import reading
from dms_iceberg.sql.cdc_columns import CORRUPT, NOT_TEXT, ROW
from dms_iceberg.sql.quoting import quote, string_literal

_BYTES = "ISO-8859-1"
_NO_QUOTE = "\ue000"
"""A character that text decoded from Latin-1 does not have."""


def read_csv(spark: SparkSession, reader: DataFrameReader, paths: list[str], group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of a schema group as text, with `FILE`, `FILE_NAME`, `ROW`, `CORRUPT` and `NOT_TEXT` (see `read.read_group`).

    Bytes are read as Latin-1, in which every byte is valid, and decoded here: Spark's own decoding replaces what is not UTF-8 silently.

    Spark reads every unquoted empty field as NULL, whatever stands for NULL. So where a text stands for NULL, this function separates NULL
    from empty text.
    """
    csv = bronze.csv
    # RFC 4180 doubles quotes; Spark's default escape would corrupt a field that ends with a backslash.
    quotes = '"' if csv.rfc4180 else _NO_QUOTE
    schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in (*group.columns, (CORRUPT, "string")))
    options: dict[str, str | int] = {
        "header": csv.header,
        "sep": _as_bytes(csv.delimiter),
        "quote": quotes,
        "escape": quotes,
        # By default NUL is an escape character before an escaped quote, and is lost.
        "charToEscapeQuoteEscaping": _NO_QUOTE,
        "multiLine": True,
        "lineSep": group.line_end,
        "enforceSchema": True,
        "encoding": _BYTES,
        "maxCharsPerColumn": -1,
        "maxColumns": 20_480,
        "columnNameOfCorruptRecord": CORRUPT,
    }
    form = (bronze.format, schema, *options.values())
    frame = reading(spark, form, lambda: reader.options(**options).schema(schema).csv(paths))
    # A text file with quoted line ends is never split.
    row = f"monotonically_increasing_id() AS {ROW}"
    names = [quote(name) for name in (*group.names, CORRUPT)]
    invalid = " OR ".join(f"coalesce({_is_not_text(name)}, false)" for name in names)
    absent = _null_when_empty(group, bronze, table)
    values = [_value(quote(name), csv.null, empty="NULL" if name.lower() in absent else "''") for name in group.names]
    texts = [f"{value} AS {name}" for value, name in zip([*values, _decoded(CORRUPT)], names, strict=True)]
    frame = frame.selectExpr(*texts, *origin_of_file(), row, f"({invalid}) AS {NOT_TEXT}")
    cases = misread_cases(group, bronze, table)
    if not cases:
        return frame
    corrupt = f"CASE WHEN {CORRUPT} IS NOT NULL THEN {CORRUPT} {' '.join(cases)} END AS {CORRUPT}"
    return frame.selectExpr(*(corrupt if name == CORRUPT else quote(name) for name in frame.columns))


def _null_when_empty(group: SchemaGroup, bronze: Bronze, table: Table) -> set[str]:
    """Return the columns, in lower case, in which an empty field is always NULL, whatever stands for NULL.

    DMS leaves service columns of loaded rows empty. A before-image that does not exist is written like any NULL.
    """
    change = bronze.change
    names = [change.op_column, change.timestamp_column, change.sequence_column, change.stream_position_column]
    names += [image for key, image in key_images(group.names, bronze, table).items() if key_type(table, key) is not None]
    return {name.lower() for name in names if name}


def _value(column: str, null: str, *, empty: str) -> str:
    if not null:
        return _decoded(column)
    return (
        f"CASE WHEN {column} IS NULL THEN {empty} WHEN {column} = {string_literal(_as_bytes(null))} THEN NULL ELSE {_decoded(column)} END"
    )


def _as_bytes(text: str) -> str:
    return text.encode().decode(_BYTES)


def _is_ascii(column: str) -> str:
    return f"octet_length({column}) = char_length({column})"


def _decoded(column: str) -> str:
    return f"CASE WHEN {_is_ascii(column)} THEN {column} ELSE decode(encode({column}, '{_BYTES}'), 'UTF-8') END"


def _is_not_text(column: str) -> str:
    # Where decoding replaced bytes, encoding returns other bytes; for a replacement character of the source itself it returns the same.
    data = f"encode({column}, '{_BYTES}')"
    return f"NOT ({_is_ascii(column)}) AND encode(decode({data}, 'UTF-8'), 'UTF-8') <> {data}"
