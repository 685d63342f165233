"""Reading CSV as DMS writes it: RFC 4180 or without any quotes, with or without a header."""

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql.functions import expr

from dms_iceberg.changes.csv_shapes import STREAM_POSITION, further_rows, key_type
from dms_iceberg.changes.inspect import SchemaGroup
from dms_iceberg.changes.mapping import SilverColumn, typed_sql
from dms_iceberg.changes.origin import CORRUPT, EMPTY_IMAGE, EMPTY_KEY, NOT_TEXT, ROW, SHIFTED, SWALLOWED, origin_of_file
from dms_iceberg.changes.position import is_sequence_sql
from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.identifiers import quote, string_literal

_BYTES = "ISO-8859-1"
_NO_QUOTE = "\ue000"
"""A character that text decoded from Latin-1 does not have."""


def read_csv(reader: DataFrameReader, paths: list[str], group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of a schema group as text, with the columns of `origin`.

    Bytes are read as Latin-1, which any byte is, and decoded here: Spark's own decoding replaces what is not UTF-8 without a word.

    Spark makes NULL of every unquoted empty field, whatever stands for NULL; so where a text does, it is told from the empty text here.
    """
    csv = bronze.csv
    # RFC 4180 doubles quotes; Spark's default escape would corrupt a field that ends with a backslash.
    quotes = '"' if csv.rfc4180 else _NO_QUOTE
    schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in (*group.columns, (CORRUPT, "string")))
    frame = (
        reader.options(
            header=csv.header,
            sep=_as_bytes(csv.delimiter),
            quote=quotes,
            escape=quotes,
            multiLine=True,
            lineSep=group.line_end,
            enforceSchema=True,
            encoding=_BYTES,
            maxCharsPerColumn=-1,
            maxColumns=20_480,
            columnNameOfCorruptRecord=CORRUPT,
        )
        .schema(schema)
        .csv(paths)
    )
    # A text file with quoted line ends is never split.
    row = f"monotonically_increasing_id() AS {ROW}"
    names = [quote(name) for name in (*group.names, CORRUPT)]
    invalid = " OR ".join(f"coalesce({_is_not_text(name)}, false)" for name in names)
    absent = _null_when_empty(bronze, table)
    values = [_null_told(quote(name), csv.null, empty="NULL" if name.lower() in absent else "''") for name in group.names]
    texts = [f"{value} AS {name}" for value, name in zip([*values, _decoded(CORRUPT)], names, strict=True)]
    frame = frame.selectExpr(*texts, *origin_of_file(), row, f"({invalid}) AS {NOT_TEXT}")
    cases = _misread_cases(group, bronze, table)
    if not cases:
        return frame
    return frame.withColumn(CORRUPT, expr(f"CASE WHEN {CORRUPT} IS NOT NULL THEN {CORRUPT} {' '.join(cases)} END"))


def _null_when_empty(bronze: Bronze, table: Table) -> set[str]:
    """Return the columns, in lower case, in which an empty field is never empty text, whatever stands for NULL.

    DMS leaves service columns of loaded rows empty. Before-images are NULL, and written like any NULL, where there is none.
    """
    change = bronze.change
    names = [change.op_column, change.timestamp_column, change.sequence_column, change.stream_position_column]
    if change.before_image_prefix:
        names += [change.before_image_prefix + key for key in table.key if key_type(table, key) is not None]
    return {name.lower() for name in names if name}


def _null_told(column: str, null: str, *, empty: str) -> str:
    if not null:
        return _decoded(column)
    return (
        f"CASE WHEN {column} IS NULL THEN {empty} WHEN {column} = {string_literal(_as_bytes(null))} THEN NULL ELSE {_decoded(column)} END"
    )


def _misread_cases(group: SchemaGroup, bronze: Bronze, table: Table) -> list[str]:
    """SQL cases over decoded columns: why a row that parses cannot be what its file means."""
    prefix = bronze.change.before_image_prefix
    images = {key: name for key in table.key if prefix and (name := _find(group, prefix + key))}
    cases = []
    further = further_rows(group.names, bronze, is_cdc=group.is_cdc) if bronze.csv.rfc4180 else None
    if further is not None:
        # Few values have a line end: looking for one costs less than the expression.
        pattern = string_literal(further)
        swallowed = " OR ".join(f"instr({name}, '\\n') > 0 AND {name} RLIKE {pattern}" for name in map(quote, group.names))
        cases.append(f"WHEN {swallowed} THEN {string_literal(SWALLOWED)}")
    if not bronze.csv.header and (shifted := _shifted(group, bronze, table, images)):
        cases.append(f"WHEN {' OR '.join(shifted)} THEN {string_literal(SHIFTED)}")
    if not bronze.csv.null and (unsure := [name for key in images if _has_expression(table, key) and (name := _find(group, key))]):
        cases.append(f"WHEN {' OR '.join(f'{quote(name)} IS NULL' for name in unsure)} THEN {string_literal(EMPTY_KEY)}")
    if group.empty_images:
        empty = " OR ".join(f"{quote(image)} = ''" for key, image in images.items() if key_type(table, key) is None)
        given = " OR ".join(f"{quote(image)} <> ''" for image in images.values())
        update = _is_operation("U", group, bronze)
        cases.append(f"WHEN {update} AND ({empty}) AND NOT coalesce({given}, false) THEN {string_literal(EMPTY_IMAGE)}")
    return cases


def _shifted(group: SchemaGroup, bronze: Bronze, table: Table, images: dict[str, str]) -> list[str]:
    """SQL conditions of rows whose service columns hold what they cannot; operation, time and sequence are judged later."""
    found = []
    if bronze.change.stream_position_column and (name := _find(group, bronze.change.stream_position_column)):
        stream = quote(name)
        is_one = f"{stream} RLIKE {string_literal(f'^(?:{STREAM_POSITION})$')} AND NOT {is_sequence_sql(stream)}"
        found.append(f"{stream} <> '' AND NOT ({is_one})")
    for key, image in images.items():
        # Nothing stood before an insert, or before a load.
        given = f"nullif({quote(image)}, {string_literal(bronze.csv.no_supplement or '')}) <> ''"
        never = _is_operation("I", group, bronze) if group.is_cdc else "true"
        found.append(f"{given} AND {never}")
        carrier, type_ = key_column(table, key), key_type(table, key)
        if carrier is not None and type_ is not None:
            typed = typed_sql(SilverColumn(carrier.name, image, is_key=True, declared=carrier), "string", type_)
            found.append(f"{given} AND {typed} IS NULL")
    return found


def _find(group: SchemaGroup, name: str) -> str | None:
    return next((one for one in group.names if one.lower() == name.lower()), None)


def _is_operation(operation: str, group: SchemaGroup, bronze: Bronze) -> str:
    name = _find(group, bronze.change.op_column)
    words = [string_literal(word) for word, meaning in bronze.change.op_words.items() if meaning == operation]
    return f"coalesce({quote(name)} IN ({', '.join(words)}), false)" if name is not None and words else "false"


def _has_expression(table: Table, key: str) -> bool:
    column = key_column(table, key)
    return column is not None and column.expr is not None


def _as_bytes(text: str) -> str:
    return text.encode().decode(_BYTES)


def _is_ascii(column: str) -> str:
    return f"octet_length({column}) = char_length({column})"


def _decoded(column: str) -> str:
    return f"CASE WHEN {_is_ascii(column)} THEN {column} ELSE decode(encode({column}, '{_BYTES}'), 'UTF-8') END"


def _is_not_text(column: str) -> str:
    # What decoding had to replace does not come back as the same bytes; a replacement character the source itself holds does.
    data = f"encode({column}, '{_BYTES}')"
    return f"NOT ({_is_ascii(column)}) AND encode(decode({data}, 'UTF-8'), 'UTF-8') <> {data}"
