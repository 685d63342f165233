"""What a truncate does to a table's rows, for each mode. SQL text; pure."""

from collections.abc import Mapping

from dms_iceberg.bronze.position import truncate_position
from dms_iceberg.modes.table_mode import TableMode
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, OP, OP_TRUNCATE, POSITION
from dms_iceberg.sql.quoting import quote, string_literal, timestamp_literal


def goes_sql(mode: TableMode, load: int, at: str) -> str | None:
    """SQL that is true for rows which a truncate at ``at`` (17 digits) ends; None in mode ``append``, where rows stay."""
    return mode.truncate.ends(*_place(load, at)) if mode.truncate is not None else None


def truncate_sql(name: str, mode: TableMode, load: int, at: str) -> str | None:
    """Return the statement that truncates a table.

    Args:
        name: quoted name of the table.
        mode: its mode.
        load: number of the load whose changes are merged.
        at: 17 digits; what was committed at or after this moment stays.

    Returns:
        None in mode ``append``, whose log gets a row instead (`truncate_row`).
    """
    if mode.truncate is None:
        return None
    place = _place(load, at)
    return mode.truncate.sql(name, mode.truncate.ends(*place), *place)


def truncate_row(columns: Mapping[str, str], load: int, at: str) -> list[str]:
    """Select list of the row that records a truncate in mode ``append``; ``columns`` are all of the table, with their types."""
    known = {
        POSITION: string_literal(truncate_position(load, at)),
        OP: string_literal(OP_TRUNCATE),
        COMMITTED_AT: timestamp_literal(at),
    }
    return [f"CAST({known.get(name, 'NULL')} AS {type_}) AS {quote(name)}" for name, type_ in columns.items()]


def _place(load: int, at: str) -> tuple[str, str]:
    """SQL of a truncate's position and of its time."""
    return string_literal(truncate_position(load, at)), timestamp_literal(at)
