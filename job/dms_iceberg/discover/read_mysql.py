"""Read the catalog of a MySQL or MariaDB, in four queries, however many tables there are."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from dms_iceberg.discover.catalog import Catalog, Column, Generated, Index, Kind, Table
from dms_iceberg.dms.mysql import map_type
from dms_iceberg.source.address import Address, Engine
from dms_iceberg.source.mysql import close, connect, roll_back, translated

_SESSION: Final = ("START TRANSACTION READ ONLY",)
_USERS: Final = "TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') AND TABLE_NAME NOT LIKE 'awsdms\\_%%'"
_IN_DATABASE: Final = "(%s = '' OR TABLE_SCHEMA = %s)"
_MODE: Final = "SELECT @@GLOBAL.sql_mode"
_TABLES: Final = f"""
    SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_OPTIONS FROM information_schema.TABLES
    WHERE {_USERS} AND {_IN_DATABASE} ORDER BY BINARY TABLE_SCHEMA, BINARY TABLE_NAME
"""
_COLUMNS: Final = f"""
    SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA,
           NUMERIC_PRECISION, NUMERIC_SCALE
    FROM information_schema.COLUMNS WHERE {_USERS} AND {_IN_DATABASE} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
# A part of a column (SUB_PART) or an expression (no column name) makes no key of columns.
_INDEXES: Final = f"""
    SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART
    FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND {_USERS} AND {_IN_DATABASE}
    ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
"""
_KINDS: Final = {"BASE TABLE": Kind.TABLE, "VIEW": Kind.VIEW, "SYSTEM VERSIONED": Kind.SYSTEM_VERSIONED}
# Their rows are in another server or in a file, where they change without an entry in this server's log.
_ELSEWHERE: Final = frozenset({"FEDERATED", "CONNECT", "SPIDER"})
_PRIMARY: Final = "PRIMARY"
_TIMES: Final = frozenset({"date", "datetime", "timestamp"})


def read_mysql(address: Address) -> Catalog:
    """Return the tables of the address's database, or of all databases if it names none.

    Raises:
        SourceError: the server cannot be reached or read.
    """
    connection = connect(address, _SESSION)
    try:
        with translated("the catalog"), connection.cursor() as cursor:
            cursor.execute(_MODE)
            modes = str(cursor.fetchone()[0]).upper().split(",")
            found = []
            for query in (_TABLES, _COLUMNS, _INDEXES):
                cursor.execute(query, (address.database, address.database))
                found.append(cursor.fetchall())
    finally:
        roll_back(connection)
        close(connection)
    # The mode refuses zero dates only together with a strict one.
    strict = any(mode.startswith("STRICT_") for mode in modes)
    tables = _tables(*found, zero_dates=not (strict and "NO_ZERO_DATE" in modes))
    return Catalog(engine=Engine.MYSQL, database=address.database, tables=tables)


def _tables(tables: Iterable[Any], columns: Iterable[Any], indexes: Iterable[Any], *, zero_dates: bool) -> tuple[Table, ...]:
    columns_of = defaultdict[tuple[str, str], list[Column]](list)
    for schema, table, *column in columns:
        columns_of[schema, table].append(_column(column, zero_dates=zero_dates))
    parts_of = defaultdict[tuple[str, str], dict[str, list[str | None]]](dict)
    for schema, table, index, name, part in indexes:
        parts_of[schema, table].setdefault(index, []).append(name if part is None else None)
    return tuple(
        Table(
            schema=schema,
            name=name,
            kind=Kind.FOREIGN if (engine or "").upper() in _ELSEWHERE else _KINDS[kind],
            columns=tuple(columns_of[schema, name]),
            unique=tuple(_indexes(parts_of[schema, name])),
            is_divided="partitioned" in (options or ""),
        )
        for schema, name, kind, engine, options in tables
        # Of the further kinds, a MariaDB sequence is no table, and the rest is the server's own.
        if kind in _KINDS
    )


def _indexes(parts: dict[str, list[str | None]]) -> Iterable[Index]:
    for name, columns in parts.items():
        whole = [column for column in columns if column is not None]
        if len(whole) == len(columns):
            yield Index(name=name, columns=tuple(whole), primary=name == _PRIMARY)


def _column(row: list[Any], *, zero_dates: bool) -> Column:
    name, type_, shown, nullable, default, extra, precision, scale = row
    type_, shown, extra = type_.lower(), shown.lower(), (extra or "").upper()
    mapped = map_type(type_, shown, precision, scale)
    # DEFAULT_GENERATED is only a default that is an expression.
    generated = Generated.VIRTUAL if "VIRTUAL" in extra else Generated.STORED if "STORED GENERATED" in extra else Generated.NO
    return Column(
        name=name,
        type=type_,
        shown=shown,
        nullable=nullable == "YES",
        dms=None if mapped is None else mapped.type,
        generated=generated,
        zero_dates=type_ in _TIMES and (zero_dates or "0000-00-00" in str(default)),
    )
