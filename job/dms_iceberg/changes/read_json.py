"""Reading JSON lines: every member as text, a number with all its digits, a nested one as the JSON it is.

Spark's own reader of JSON lines gives numbers from a double (`json_numbers`), of two objects on a line the first, of two members of one
name the last, a question mark for half a character, and no column where every value is ``{}``. So lines are read as text, and parsed here.
"""

from urllib.parse import unquote

from pyspark.sql import DataFrame, DataFrameReader

from dms_iceberg.changes.inspect import SchemaGroup, refuse_twins
from dms_iceberg.changes.json_numbers import STRICT, has_half_character_sql, mark_sql, marked_sql, plain_sql
from dms_iceberg.changes.json_text import options_sql
from dms_iceberg.changes.origin import CORRUPT, FILE, FILE_NAME, NOT_TEXT, ROW, origin_of_file
from dms_iceberg.changes.reserved import refuse_reserved
from dms_iceberg.changes.text_values import is_text_sql
from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.identifiers import quote, string_literal
from dms_iceberg.staging.keys import BronzeFile

_LINE, _BLOCK, _MARK, _MARKED, _OBJECT = "_cdc_line", "_cdc_block", "_cdc_mark", "_cdc_marked", "_cdc_object"
_NAMES, _MEMBERS = "_cdc_names", "_cdc_members"
# White space of JSON, as far as a line can have it. Spark's reader passed over byte order marks.
_LINE_SQL = "trim(TRAILING ' \\t\\r' FROM trim(LEADING '\\uFEFF' FROM value))"
# The mark is the last name only if the closing brace was that of one object, and nothing stands outside of it.
_IS_OBJECT = (
    f"coalesce({_NAMES}[size({_NAMES}) - 1] = {_MARK} AND {_NAMES} = array_distinct({_NAMES}) AND NOT array_contains({_NAMES}, ''), false)"
)
# Big files are split, in blocks of 4 MiB or more, that may be read in any order.
_ROW_SQL = f"shiftleft(shiftright({_BLOCK}, 20), 33) + (monotonically_increasing_id() & 8589934591)"


def read_json(reader: DataFrameReader, paths: list[str], group: SchemaGroup, bronze: Bronze, table: Table) -> DataFrame:
    """Return the rows of a group, as `read.read_group` says; `CORRUPT` is the line where it is not one object that has each member once.

    One Spark job finds the names, as every line may have others.

    Raises:
        BronzeError: names differ in case only, or a name is one that reading needs.
    """
    lines = reader.text(paths).selectExpr(f"{_LINE_SQL} AS {_LINE}", f"_metadata.file_block_start AS {_BLOCK}", *origin_of_file())
    lines = lines.where(f"{_LINE} <> ''").selectExpr("*", f"{mark_sql(_LINE)} AS {_MARK}")
    lines = lines.selectExpr("*", f"{marked_sql(_LINE, _MARK)} AS {_MARKED}")
    behind = f"concat(left({_MARKED}, length({_MARKED}) - 1), ',\"', {_MARK}, '\":0}}')"
    lines = lines.selectExpr("*", f"CASE WHEN endswith({_MARKED}, '}}') THEN {behind} END AS {_OBJECT}")
    lines = lines.selectExpr("*", f"json_object_keys({_OBJECT}) AS {_NAMES}")
    names = _names(lines, group, bronze, table)
    schema = string_literal(", ".join(f"{quote(name)} string" for name in (*names, CORRUPT)))
    parsed = f"from_json({_OBJECT}, {schema}, {options_sql({**STRICT, 'columnNameOfCorruptRecord': CORRUPT})})"
    whole = f"{_IS_OBJECT} AND {_MEMBERS}.{CORRUPT} IS NULL AND NOT {has_half_character_sql(_LINE)}"
    values = [f"{plain_sql(f'{_MEMBERS}.{quote(name)}', _MARK)} AS {quote(name)}" for name in names]
    return lines.selectExpr("*", f"{parsed} AS {_MEMBERS}").selectExpr(
        *values,
        f"CASE WHEN NOT ({whole}) THEN {_LINE} END AS {CORRUPT}",
        *(FILE, FILE_NAME),
        f"{_ROW_SQL} AS {ROW}",
        f"NOT {is_text_sql(_LINE)} AS {NOT_TEXT}",
    )


def _names(lines: DataFrame, group: SchemaGroup, bronze: Bronze, table: Table) -> list[str]:
    """Return the names of members, in their order as text."""
    known = lines.where(_IS_OBJECT).selectExpr(f"explode(slice({_NAMES}, 1, size({_NAMES}) - 1)) AS name", FILE)
    found = {row.name: row.file for row in known.groupBy("name").agg({FILE: "min"}).toDF("name", "file").collect()}
    names = sorted(found)
    lower = [name.lower() for name in names]
    twin = next((name for name in reversed(names) if lower.count(name.lower()) > 1), None)
    if twin is not None:
        refuse_twins(table, _file(group, found[twin]), names)
    for name in names:
        refuse_reserved([name], bronze, table, _file(group, found[name]).key)
    return names


def _file(group: SchemaGroup, path: str) -> BronzeFile:
    return next((file for file in group.files if unquote(path).endswith("/" + file.key)), group.files[0])
