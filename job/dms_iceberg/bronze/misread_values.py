"""SQL that finds CSV rows which parse although their values cannot be what the source meant, and the reasons for rejecting them."""

from dms_iceberg.bronze.csv_shapes import STREAM_POSITION, further_rows, key_images, key_type
from dms_iceberg.bronze.position import is_sequence_sql
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.sql.cdc_columns import CORRUPT
from dms_iceberg.sql.quoting import quote, string_literal

_REBUILD = "make the table again (run --rebuild, or a new load epoch)"
SWALLOWED = (
    "malformed: a value holds what looks like further rows of the file, as when a quote that is data is taken for one that opens a field. "
    f"If the endpoint's Rfc4180 is false, set bronze.csv.rfc4180 to false and {_REBUILD}"
)
SHIFTED = (
    "malformed: a service column holds what it cannot hold, so the row does not have the columns that the document names for files without "
    f"a header. If a source column was added or dropped, bring source_columns up to date and {_REBUILD}"
)
EMPTY_KEY = (
    "ambiguous_key: a key column is empty, which is NULL or empty text where bronze.csv.null is empty, and before-images could not tell a "
    "change of such a key. Set CsvNullValue at the endpoint and bronze.csv.null, or use Parquet"
)
EMPTY_IMAGE = (
    "ambiguous_before_image: the update's before-image is an empty field, which bronze.csv.null makes empty text; but inserts of its file "
    "have empty ones, too, and nothing stood before an insert. Let the task write Parquet"
)
UNKNOWN_IMAGE = (
    "ambiguous_before_image: the row was read when an empty before-image was not told from one that is not there, and its key may have "
    f"been empty text. To read it from its file again, {_REBUILD}"
)
MISREAD = (SWALLOWED, SHIFTED, EMPTY_KEY, EMPTY_IMAGE, UNKNOWN_IMAGE)
"""Values of `CORRUPT`, instead of the raw line, for rows that parse and cannot be what the source meant: a reason and its detail."""
MANY_LINES = (
    "malformed: a row of several lines does not have the columns of its file. If the endpoint's Rfc4180 is false, set bronze.csv.rfc4180 "
    f"to false and {_REBUILD}"
)
UNPARSED = "malformed: the row does not parse, or does not have the columns of its file"


def unread_cases() -> list[str]:
    """SQL cases over `CORRUPT`: why a row cannot be used."""
    return [
        f"WHEN {CORRUPT} IN ({', '.join(map(string_literal, MISREAD))}) THEN {CORRUPT}",
        f"WHEN contains({CORRUPT}, '\\n') THEN {string_literal(MANY_LINES)}",
        f"WHEN {CORRUPT} IS NOT NULL THEN {string_literal(UNPARSED)}",
    ]


def misread_cases(group: SchemaGroup, bronze: Bronze, table: Table) -> list[str]:
    """SQL cases over decoded columns: why a row that parses cannot be what the source meant."""
    images = key_images(group.names, bronze, table)
    cases = []
    further = further_rows(group.names, bronze, is_cdc=group.is_cdc) if bronze.csv.rfc4180 else None
    if further is not None:
        change, pattern = bronze.change, string_literal(further)
        named = {change.op_column, change.timestamp_column, change.sequence_column, change.stream_position_column}
        texts = [quote(name) for name in group.names if name.lower() not in {one.lower() for one in named if one}]
        # Few values have a line end, and ``contains`` is the cheapest way to find one.
        swallowed = " OR ".join(f"contains({name}, '\\n') AND {name} RLIKE {pattern}" for name in texts)
        # A file may have only service columns; `columns.split_columns` refuses it, as its key is missing.
        cases += [f"WHEN {swallowed} THEN {string_literal(SWALLOWED)}"] if swallowed else []
    if not bronze.csv.header and (shifted := _shifted(group, bronze, table, images)):
        cases.append(f"WHEN {' OR '.join(shifted)} THEN {string_literal(SHIFTED)}")
    if not bronze.csv.null and (unsure := [name for key in images if _has_expression(table, key) and (name := _find(group, key))]):
        cases.append(f"WHEN {' OR '.join(f'{quote(name)} IS NULL' for name in unsure)} THEN {string_literal(EMPTY_KEY)}")
    empty = " OR ".join(f"{quote(image)} = ''" for key, image in images.items() if key_type(table, key) is None)
    if bronze.csv.null and empty and not group.images_show_null:
        given = " OR ".join(f"{quote(image)} <> ''" for image in images.values())
        update = _is_operation("U", group, bronze)
        cases.append(f"WHEN {update} AND ({empty}) AND NOT coalesce({given}, false) THEN {string_literal(EMPTY_IMAGE)}")
    return cases


def unknown_image_sql(group: SchemaGroup, bronze: Bronze, table: Table) -> str:
    """SQL of `UNKNOWN_IMAGE` for quarantined updates that were read without telling empty before-images from NULL; else NULL."""
    images = key_images(group.names, bronze, table)
    empty = " OR ".join(f"coalesce({quote(image)}, '') = ''" for key, image in images.items() if key_type(table, key) is None)
    if bronze.format is not BronzeFormat.CSV or not bronze.csv.null or group.images_show_null or not group.is_cdc or not empty:
        return "CAST(NULL AS string)"
    return f"CASE WHEN {_is_operation('U', group, bronze)} AND ({empty}) THEN {string_literal(UNKNOWN_IMAGE)} END"


def _shifted(group: SchemaGroup, bronze: Bronze, table: Table, images: dict[str, str]) -> list[str]:
    """SQL conditions for rows whose service columns have impossible values; operation, time and sequence are checked later."""
    found = []
    if bronze.change.stream_position_column and (name := _find(group, bronze.change.stream_position_column)):
        stream = quote(name)
        is_one = f"{stream} RLIKE {string_literal(f'^(?:{STREAM_POSITION})$')} AND NOT {is_sequence_sql(stream)}"
        found.append(f"{stream} <> '' AND NOT ({is_one})")
    for image in images.values():
        # Inserts and loaded rows have no before-image.
        never = _is_operation("I", group, bronze) if group.is_cdc else "true"
        found.append(f"nullif({quote(image)}, {string_literal(bronze.csv.no_supplement or '')}) <> '' AND {never}")
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
