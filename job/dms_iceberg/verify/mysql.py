"""MySQL and MariaDB as a source whose rows are compared."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

import attrs
import pymysql
import pymysql.constants.ER
import pymysql.cursors

from dms_iceberg.dms.mysql import map_type, text_sql
from dms_iceberg.source.address import Address
from dms_iceberg.source.errors import SourceError
from dms_iceberg.source.mysql import READING_SESSION, SESSION_VALUES, close, connect, roll_back, translated
from dms_iceberg.sql.quoting import quote  # MySQL quotes names as Spark does.
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.facts import Facts, Statement, longest_write, mysql_doubts, mysql_identity, mysql_is_copy, mysql_position
from dms_iceberg.verify.source import Throttle, no_such_table

_TABLE = "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_COLUMNS = """
    SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE, EXTRA FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_KINDS: Final = frozenset({"BASE TABLE", "SYSTEM VERSIONED"})
# Their rows are in another server or in a file.
_ELSEWHERE: Final = frozenset({"FEDERATED", "CONNECT", "SPIDER"})
_GENERATED: Final = ("VIRTUAL", "STORED GENERATED", "PERSISTENT")
# A proxy may give a transaction another session than the one that was set up.
_SESSION: Final = f"SHOW SESSION VARIABLES WHERE Variable_name IN ({', '.join(map(repr, SESSION_VALUES))})"
_SERVER: Final = """
    SHOW GLOBAL VARIABLES WHERE Variable_name IN (
        'server_uuid', 'server_id', 'hostname', 'port', 'read_only', 'super_read_only', 'innodb_read_only', 'gtid_executed',
        'gtid_binlog_pos', 'wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode', 'version')
"""
# The first is MariaDB's, with every source of the replica; then MySQL 8.0.22 and later; then earlier ones.
_REPLICAS: Final = ("SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
# Refused without the right PROCESS, without which the list of statements would have the user's own ones only.
_LOCKING: Final = "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_lock_structs > 0 OR trx_rows_modified > 0"
_STATEMENTS: Final = """
    SELECT ID, TIME, LEFT(INFO, 1000) FROM information_schema.PROCESSLIST WHERE INFO IS NOT NULL AND ID <> CONNECTION_ID()
"""
_AGO: Final = "SELECT DATE_FORMAT(SYSDATE(6) - INTERVAL %s SECOND, '%%Y%%m%%d%%H%%i%%s%%f')"
_LONG_AGO: Final = "00010101" + "0" * 12
_NO_RIGHT: Final = frozenset({1045, 1142, 1227})
_GEOMETRY = "geometry, of which nobody has said in which form DMS writes it"
_BATCH = 1000


def map_column(name: str, type_: str, shown: str, precision: int | None, scale: int | None) -> SourceColumn:
    """Return how a column is read.

    Args:
        type_: ``DATA_TYPE``.
        shown: ``COLUMN_TYPE``, which has UNSIGNED and lengths.
    """
    column, type_, shown = f"t.{quote(name)}", type_.lower(), shown.lower()
    mapped = map_type(type_, shown, precision, scale)
    if mapped is None:
        return SourceColumn(name, "NULL", "binary", unknown=_GEOMETRY)
    return SourceColumn.of(name, text_sql(column, type_, shown, mapped), mapped)


def row_sql(expressions: Sequence[str]) -> str:
    """Return the SQL of a row as a JSON array of texts."""
    return f"CAST(JSON_ARRAY({', '.join(expressions)}) AS CHAR)"


def lookup_sql(row: str, table: str, keys: Sequence[SourceColumn], count: int) -> str:
    """Return the SELECT of the rows that have one of ``count`` keys, with a placeholder for every key value in turn."""
    names = ", ".join(f"t.{quote(key.name)}" for key in keys)
    marks = ", ".join("UNHEX(%s)" if key.type == "binary" else "%s" for key in keys)
    # With values, the driver would take any other percent sign for a placeholder.
    doubled = f"SELECT {row} FROM {table} t WHERE ({names}) IN ".replace("%", "%%")
    return f"{doubled}({', '.join([f'({marks})'] * count)})"


class MySqlSource:
    """One connection to the server.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """

    def __init__(self, address: Address, throttle: Throttle) -> None:
        self.throttle, self.name = throttle, address.place
        self.connection = connect(address, READING_SESSION)

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of a table that the user may see; MySQL's databases are the schemas."""
        with translated(f"{schema}.{table}"), self.connection.cursor() as cursor:
            cursor.execute(_TABLE, (schema, table))
            kinds = cursor.fetchall()
            cursor.execute(_COLUMNS, (schema, table))
            found = cursor.fetchall()
        if not kinds or not found:
            raise no_such_table(f"{schema}.{table}", "SELECT on the table")
        _refuse_other_kind(f"{schema}.{table}", *kinds[0])
        return tuple(
            attrs.evolve(map_column(*row), generated=any(word in (extra or "").upper() for word in _GENERATED)) for *row, extra in found
        )

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> "MySqlReader":
        """Return a reader of the table, in its own snapshot."""
        return MySqlReader(self, schema, table, expressions)

    def close(self) -> None:
        """Close the connection."""
        close(self.connection)


def _refuse_other_kind(name: str, kind: str, engine: str | None) -> None:
    elsewhere = (engine or "").upper() in _ELSEWHERE
    if kind not in _KINDS or elsewhere:
        raise SourceError(
            f"{name}: is {f'a table of the engine {engine}' if elsewhere else f'a {kind.lower()}'} at the source, not the table whose "
            "changes DMS captures. Name in --source the server that has the table itself."
        )


def _replicas(cursor: Any) -> int | None:
    """Return from how many sources the server replicates; None where the user may not see it."""
    for statement in _REPLICAS:
        try:
            cursor.execute(statement)
            return len(cursor.fetchall())
        except pymysql.MySQLError as error:
            if error.args and error.args[0] in _NO_RIGHT:
                return None
            if not error.args or error.args[0] != pymysql.constants.ER.PARSE_ERROR:
                raise
    return None


def _writing_since(cursor: Any) -> str | None:
    """Return since when the oldest statement that may write has been running, 20 digits; "" without one; None where it is hidden."""
    try:
        cursor.execute(_LOCKING)
    except pymysql.MySQLError as error:
        if error.args and error.args[0] in _NO_RIGHT:
            return None
        raise
    locking = {thread for (thread,) in cursor.fetchall()}
    cursor.execute(_STATEMENTS)
    seconds = longest_write(Statement(int(time or 0), str(text), thread in locking) for thread, time, text in cursor.fetchall())
    if seconds is None:
        return ""
    cursor.execute(_AGO, (seconds,))
    # A session may set its time to any other, and the server counts from there.
    return str(cursor.fetchone()[0] or _LONG_AGO)


class MySqlReader:
    """A table in a read-only transaction, whose snapshot begins with the first read, read through an unbuffered cursor."""

    def __init__(self, source: MySqlSource, schema: str, table: str, expressions: Sequence[str]) -> None:
        self._source, self._name = source, f"{schema}.{table}"
        self._table = f"{quote(schema)}.{quote(table)}"
        self._row = row_sql(expressions)
        self.clock = ""

    def __enter__(self) -> Self:
        with translated(self._name), self._source.connection.cursor() as cursor:
            cursor.execute("START TRANSACTION READ ONLY")
            # In the session's zone, which is UTC. Unlike UTC_TIMESTAMP, it does not depend on a time that the session was given.
            cursor.execute("SELECT DATE_FORMAT(SYSDATE(6), '%Y%m%d%H%i%s%f')")
            self.clock = str(cursor.fetchone()[0])
            cursor.execute(_SESSION)
            wrong = [f"{name} {value!r}" for name, value in cursor.fetchall() if value != SESSION_VALUES[name]]
        if wrong:
            raise SourceError(
                f"{self._name}: the session of the transaction is not the one that was set up ({', '.join(wrong)}), so its texts are not "
                "certain. A proxy stands between, and spreads transactions over sessions: name the server itself in --source."
            )
        return self

    def __exit__(self, *_: object) -> None:
        roll_back(self._source.connection)

    def facts(self) -> Facts:
        """Return what the server shows of itself; a user without the right to see replication is a doubt of its own."""
        with translated(self._name), self._source.connection.cursor() as cursor:
            cursor.execute(_SERVER)
            variables = {str(name): str(value) for name, value in cursor.fetchall()}
            # SHOW cuts values to 1,024 characters (MySQL manual, "SHOW VARIABLES").
            for name in [name for name in ("gtid_executed", "gtid_binlog_pos") if name in variables]:
                cursor.execute(f"SELECT @@GLOBAL.{name}")
                variables[name] = str(cursor.fetchone()[0])
            replicas = _replicas(cursor)
            writing = _writing_since(cursor)
        return Facts(
            engine="mysql" if "server_uuid" in variables else "mariadb",
            identity=mysql_identity(variables),
            position=mysql_position(variables),
            is_copy=mysql_is_copy(variables, replicas),
            doubts=mysql_doubts(variables, replicas, hides_statements=writing is None),
            waiting_since=writing or "",
        )

    def rows(self) -> Iterator[str]:
        """Yield every row, in the order of the primary key, as InnoDB stores them."""
        yield from self._select(f"SELECT {self._row} FROM {self._table} t", None)

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the rows that have one of ``keys``."""
        yield from self._select(lookup_sql(self._row, self._table, columns, len(keys)), [value for key in keys for value in key])

    def _select(self, statement: str, values: Sequence[str] | None) -> Iterator[str]:
        with translated(self._name), self._source.connection.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(statement, values)
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    if row[0] is None:
                        raise SourceError(f"{self._name}: a row is longer than max_allowed_packet of the server; raise that setting")
                    yield row[0]
                self._source.throttle.passed(len(rows))
