"""What a truncate does to a table's rows, for each mode. SQL text; pure."""

from collections.abc import Mapping

from dms_iceberg.bronze.position import truncate_position
from dms_iceberg.config.model import Mode
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    DELETE_POSITION,
    DELETED,
    DELETED_AT,
    IS_CURRENT,
    OP,
    OP_TRUNCATE,
    POSITION,
    VALID_FROM,
    VALID_TO,
)
from dms_iceberg.sql.quoting import quote, string_literal, timestamp_literal


def goes_sql(mode: Mode, load: int, at: str) -> str | None:
    """SQL that is true for rows which a truncate at ``at`` (17 digits) ends; None in mode ``append``, where rows stay."""
    position, time = string_literal(truncate_position(load, at)), timestamp_literal(at)
    before = f"{POSITION} < {position}"
    if mode is Mode.SOFT_DELETE:
        return f"{before} AND NOT {DELETED}"
    if mode is Mode.HISTORY:
        # A next version or a delete after the truncate applied to a table that no longer had the row.
        return f"{before} AND coalesce({DELETE_POSITION} > {position}, {IS_CURRENT} OR {VALID_TO} >= {time})"
    return before if mode is Mode.MIRROR else None


def truncate_sql(name: str, mode: Mode, load: int, at: str) -> str | None:
    """Return the statement that truncates a table.

    Args:
        name: quoted name of the table.
        mode: its mode.
        load: number of the load whose changes are merged.
        at: 17 digits; what was committed at or after this moment stays.

    Returns:
        None in mode ``append``, whose log gets a row instead (`truncate_row`).
    """
    goes, position, time = goes_sql(mode, load, at), string_literal(truncate_position(load, at)), timestamp_literal(at)
    if mode is Mode.MIRROR:
        return f"DELETE FROM {name} WHERE {goes}"
    if mode is Mode.SOFT_DELETE:
        return f"UPDATE {name} SET {POSITION} = {position}, {DELETED} = true, {DELETED_AT} = {time} WHERE {goes}"
    if mode is Mode.HISTORY:
        ended = f"{VALID_TO} = greatest({VALID_FROM}, {time}), {IS_CURRENT} = false, {DELETE_POSITION} = {position}"
        return f"UPDATE {name} SET {ended} WHERE {goes}"
    return None


def truncate_row(columns: Mapping[str, str], load: int, at: str) -> list[str]:
    """Select list of the row that records a truncate in mode ``append``; ``columns`` are all of the table, with their types."""
    known = {
        POSITION: string_literal(truncate_position(load, at)),
        OP: string_literal(OP_TRUNCATE),
        COMMITTED_AT: timestamp_literal(at),
    }
    return [f"CAST({known.get(name, 'NULL')} AS {type_}) AS {quote(name)}" for name, type_ in columns.items()]
