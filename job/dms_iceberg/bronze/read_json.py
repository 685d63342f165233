"""Reads JSON lines: every member as text, a number with all its digits, a nested value as its JSON.

Spark's own reader of JSON lines passes numbers through a double (`json_numbers`), returns the first of two objects on a line and the last
of two members of one name, a question mark for half a surrogate pair, and no column where every value is ``{}``. So lines are read as text,
and parsed here.
"""

from urllib.parse import unquote

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql.functions import expr

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.origin import origin_of_file
from dms_iceberg.bronze.reserved_names import refuse_reserved
from dms_iceberg.bronze.schema_groups import SchemaGroup, refuse_twins
from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.sql.cdc_columns import CORRUPT, FILE, FILE_NAME, NOT_TEXT, ROW
from dms_iceberg.sql.json_numbers import STRICT, has_half_character_sql, mark_sql, marked_sql, plain_member_sql
from dms_iceberg.sql.json_text import options_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.text_values import is_text_sql

_LINE, _BLOCK, _MARK, _MARKED, _OBJECT = "_cdc_line", "_cdc_block", "_cdc_mark", "_cdc_marked", "_cdc_object"
_NAMES, _MEMBERS = "_cdc_names", "_cdc_members"
# Removes JSON's white space at the end, and a byte order mark. Only where needed: trimming examines every character, and few lines need it.
_LINE_SQL = (
    "CASE WHEN startswith(value, '{') AND endswith(value, '}') THEN value "
    "ELSE trim(TRAILING ' \\t\\r' FROM trim(LEADING '\\uFEFF' FROM value)) END"
)
_END = "_cdc_end"
"""A member that is inserted before the closing brace of a line, with the mark as its value. The parsed object has this value only if the
line is one object and nothing else. (If the mark were the name, Jackson would cache a name for each line.)"""
_HAS_TWINS = f"(size(array_distinct({_NAMES})) < size({_NAMES}) OR array_contains({_NAMES}, ''))"
# Big files are split into blocks of 4 MiB or more, which may be read in any order.
_ROW_SQL = f"shiftleft(shiftright({_BLOCK}, 20), 33) + (monotonically_increasing_id() & 8589934591)"


def read_json(reader: DataFrameReader, paths: list[str], group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of a group, as `read.read_group` says; `CORRUPT` is the line where it is not one object that has each member once.

    One Spark job finds the names of members, as every line may have others.

    Raises:
        BronzeError: names differ in case only, or a name is reserved (`reserved_names`).
    """
    lines = reader.text(paths).selectExpr(f"{_LINE_SQL} AS {_LINE}", f"_metadata.file_block_start AS {_BLOCK}", *origin_of_file())
    lines = lines.where(f"{_LINE} <> ''")
    names, twins = _names(lines, group, bronze, table)
    for step in _object_steps():
        lines = lines.selectExpr("*", *step)
    schema = string_literal(", ".join(f"{quote(name)} string" for name in (*names, _END, CORRUPT)))
    parsed = f"from_json({_OBJECT}, {schema}, {options_sql({**STRICT, 'columnNameOfCorruptRecord': CORRUPT})})"
    keys = f"json_object_keys({_OBJECT}) AS {_NAMES}" if twins else f"CAST(NULL AS array<string>) AS {_NAMES}"
    whole = f"{_MEMBERS}.{CORRUPT} IS NULL AND {_MEMBERS}.{_END} = {_MARK} AND NOT coalesce({_HAS_TWINS}, false)"
    values = [f"{plain_member_sql(f'{_MEMBERS}.{quote(name)}', _MARK)} AS {quote(name)}" for name in names]
    return lines.selectExpr("*", keys, f"{parsed} AS {_MEMBERS}").selectExpr(
        *values,
        f"CASE WHEN NOT coalesce({whole}, false) OR {has_half_character_sql(_LINE)} THEN {_LINE} END AS {CORRUPT}",
        *(FILE, FILE_NAME),
        f"{_ROW_SQL} AS {ROW}",
        f"NOT {is_text_sql(_LINE)} AS {NOT_TEXT}",
    )


def _object_steps() -> list[list[str]]:
    """Select lists, each over the result of the one before, that add `_OBJECT`: the line with marked numbers, and `_END`."""
    # As bytes, because Spark counts the characters of a string.
    begin = f"substr(CAST({_MARKED} AS binary), 1, octet_length({_MARKED}) - 1)"
    end = f"CAST(concat(',\"{_END}\":\"', {_MARK}, '\"}}') AS binary)"
    return [
        [f"{mark_sql(_LINE)} AS {_MARK}"],
        [f"{marked_sql(_LINE, _MARK)} AS {_MARKED}"],
        [f"CASE WHEN endswith({_MARKED}, '}}') THEN CAST(concat({begin}, {end}) AS string) END AS {_OBJECT}"],
    ]


def _names(lines: DataFrame, group: SchemaGroup, bronze: Bronze, table: Table) -> tuple[list[str], bool]:
    """Return the names of members, sorted, and whether a line may have one twice, or an empty name.

    Names from lines that later prove not to be one whole object may be among them.
    """
    # A line that does not parse without marks may have NaN.
    marked = f"json_object_keys({marked_sql(_LINE, mark_sql(_LINE))})"
    # Most lines of a file have the same names.
    known = lines.selectExpr(f"coalesce(json_object_keys({_LINE}), {marked}) AS {_NAMES}", FILE).distinct()
    once = known.selectExpr(f"explode({_NAMES}) AS name", f"{FILE} AS file", f"{_HAS_TWINS} AS twins")
    once = once.groupBy("name").agg(expr("min(file) AS file"), expr("max(twins) AS twins"))
    found = {row.name: row for row in once.collect()}
    names = sorted(name for name in found if name)
    lower = [name.lower() for name in names]
    twin = next((name for name in reversed(names) if lower.count(name.lower()) > 1), None)
    if twin is not None:
        first, *others = dict.fromkeys(found[name].file for name in reversed(names) if name.lower() == twin.lower())
        refuse_twins(table, _file(group, first), names, [_file(group, other) for other in others])
    for name in names:
        refuse_reserved([name], bronze, table, _file(group, found[name].file).key)
    return names, "" in found or any(row.twins for row in found.values())


def _file(group: SchemaGroup, path: str) -> BronzeFile:
    return next((file for file in group.files if unquote(path).endswith("/" + file.key)), group.files[0])
