"""PostgreSQL as a source whose rows are compared."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import attrs

from dms_iceberg.dms.postgres import Choices, built_in
from dms_iceberg.dms.type_mapping import Mapped
from dms_iceberg.dms.types import DmsType, Kind
from dms_iceberg.source.address import Address
from dms_iceberg.source.errors import SourceError
from dms_iceberg.source.postgres import Refusal, close, columns_sql, connect, roll_back, translated
from dms_iceberg.source.quoting import quote_postgres as quote
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.facts import Facts, postgres_doubts
from dms_iceberg.verify.source import Throttle, no_such_table

# Settings of the transaction, as a pooler may give each transaction another session. They make texts of values what the columns' SQL
# expects, whatever the settings of the server and the role are; let no object of a user's take the name of a built-in one; and let the
# server refuse to hide rows.
_SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "search_path": "pg_catalog",
    "row_security": "off",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
_BEGIN = "; ".join(
    ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *(f"SET LOCAL {name} = '{value}'" for name, value in _SETTINGS.items())]
)
_TABLE = """
    SELECT c.oid::int8, c.relkind::text, row_security_active(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name
"""
_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index", "c": "a composite type"}
_CLOCK = "to_char({} AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS')"
_SERVER = (
    "SELECT pg_is_in_recovery(), oid::text, current_setting('track_commit_timestamp') FROM pg_database WHERE datname = current_database()"
)
_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"
# What was written to disk, as a crash may lose the rest. The name of a file of the log begins with the timeline.
_LOG_END = """
    SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
"""
_REPLAYED = f"SELECT {_CLOCK.format('pg_last_xact_replay_timestamp()')}"
_COMMITTED = f"SELECT {_CLOCK.format('timestamp')} FROM pg_last_committed_xact()"
# With track_activities off, a session shows when it began, and nothing later.
_WAITING_SINCE = _CLOCK.format("min(coalesce(state_change, backend_start))")
_WAITING = f"SELECT coalesce({_WAITING_SINCE}, '') FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
_HIDES_WAITS = """
    SELECT current_setting('synchronous_standby_names') <> '' AND NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
"""
_SUBSCRIBED = "SELECT count(*) FROM pg_subscription_rel WHERE srrelid = {oid}"
_CHILDREN = "SELECT count(*) FROM pg_inherits JOIN pg_class c ON c.oid = inhparent WHERE c.oid = {oid} AND c.relkind = 'r'"
_FOREIGN_PARTS = "SELECT count(*) FROM pg_partition_tree({oid}) t JOIN pg_class c ON c.oid = t.relid WHERE c.relkind = 'f'"
_COLUMNS = columns_sql("attrelid = :oid")
# Types whose cast to text gives the same as their output function. That of char(n) drops the padding, as DMS does.
_CAST = frozenset(
    (
        *("text", "varchar", "bpchar", "name", "json", "jsonb", "uuid", "int2", "int4", "int8", "oid", "numeric", "float4", "float8"),
        *("bool", "bytea", "date", "timestamp", "timestamptz", "time", "timetz"),
    )
)
# Spark cannot read Parquet's TIME, so a mapping rule makes it a string there.
_PARQUET, _TEXT = Choices(time_as_string=True), Choices()
_ANY = Mapped(DmsType(Kind.STRING))
_CURSOR, _ENUM = "dms_iceberg_verify", "e"
# Rows per round trip: few at first, because a row may have megabytes; then as many as have about this many characters.
_FIRST_FETCH, _MOST_FETCHED, _FETCHED_CHARACTERS = 100, 10_000, 4 << 20


def map_column(name: str, type_: str, modifier: int, shown: str, kind: str = _ENUM) -> SourceColumn:
    """Return how a column is read.

    Args:
        type_: name of a built-in type, "" for any other.
        modifier: ``atttypmod``.
        shown: the type as `format_type` shows it.
        kind: ``typtype``.
    """
    column = quote(name)
    if type_ == "money":
        # As a number, which does not depend on the server's locale.
        sql = f"{column}::numeric::text"
    elif type_ in _CAST:
        sql = f"{column}::text"
    else:
        # Arrays, enums, ranges, addresses, composites: the text of the type's output function, which a cast need not give (inet). For a
        # composite with a NULL field, both IS NULL and IS NOT NULL are false.
        sql = f"CASE WHEN num_nulls({column}) = 0 THEN format('%s', {column}) END"
    # What the cast of a text to money means depends on the locale; that of a number does not.
    shown = f"numeric::{shown}" if type_ == "money" else shown
    if not type_ and kind != _ENUM:
        # Its operators may be in a schema that is not in the search path.
        shown = ""
    return SourceColumn.of(name, sql, built_in(type_, modifier, _PARQUET) or _ANY, shown, built_in(type_, modifier, _TEXT) or _ANY)


def row_sql(expressions: Sequence[str]) -> str:
    """Return the SQL of a row as a JSON array of texts. An ARRAY may have any number of elements; a function has at most 100 arguments."""
    return f"array_to_json(ARRAY[{', '.join(expressions)}]::text[])::text"


def lookup_sql(row: str, table: str, keys: Sequence[SourceColumn]) -> str:
    """Return the SELECT of the rows whose key is in the parameters ``key0``, ``key1``, ...: an array of texts for each key column.

    The texts are cast, not the columns, so that the query can use the primary key's index. A key without a ``lookup_type`` is compared as
    text.
    """
    names = ", ".join(f"t.{quote(key.name)}" if key.lookup_type else key.sql for key in keys)
    values = ", ".join(
        f"decode(k.k{n}, 'hex')" if key.type == "binary" else f"k.k{n}::{key.lookup_type or 'text'}" for n, key in enumerate(keys)
    )
    arrays = ", ".join(f":key{n}::text[]" for n in range(len(keys)))
    aliases = ", ".join(f"k{n}" for n in range(len(keys)))
    return f"SELECT {row} FROM {table} t WHERE ({names}) IN (SELECT {values} FROM unnest({arrays}) k({aliases}))"


class PostgresSource:
    """One connection to the server.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """

    def __init__(self, address: Address, throttle: Throttle) -> None:
        self.throttle, self.name = throttle, address.place
        self.connection = connect(address, "verify")

    @contextmanager
    def transaction(self, what: str) -> Iterator[None]:
        """Run a read-only transaction with the settings of a comparison; ``what`` is named in errors."""
        try:
            with translated(what, self.connection):
                self.connection.execute_simple(_BEGIN)
                yield
        finally:
            roll_back(self.connection)

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of an ordinary or partitioned table."""
        with self.transaction(f"{schema}.{table}"):
            oid, _ = self.relation(schema, table)
            rows = self.connection.run(_COLUMNS, oid=oid)
        return tuple(
            attrs.evolve(map_column(name, type_, modifier, shown, kind), generated=bool(generated))
            for _, name, _, generated, type_, modifier, shown, _, kind, _ in rows
        )

    def relation(self, schema: str, table: str) -> tuple[int, str]:
        """Return oid and kind (``r`` or ``p``) of a table, within a transaction.

        Raises:
            SourceError: there is no such table, it is another relation, or row level security hides rows of it.
        """
        found = self.connection.run(_TABLE, schema=schema, name=table)
        if not found:
            raise no_such_table(f"{schema}.{table}", "USAGE on the schema and SELECT on the table")
        oid, kind, hides_rows = found[0]
        if kind not in ("r", "p"):
            raise SourceError(
                f"{schema}.{table}: is {_KINDS.get(kind, 'no table')} at the source (relkind {kind}), not the table whose changes DMS "
                "captures. Name in --source the database that has the table itself."
            )
        if hides_rows:
            raise SourceError(
                f"{schema}.{table}: row level security hides rows of it from this user (row_security_active), so it cannot be compared. "
                "Read it as a user with BYPASSRLS, or as its owner where the security is not forced."
            )
        return oid, kind

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> "PostgresReader":
        """Return a reader of the table, in its own snapshot."""
        return PostgresReader(self, schema, table, expressions)

    def close(self) -> None:
        """Close the connection."""
        close(self.connection)


class PostgresReader:
    """A table in a REPEATABLE READ READ ONLY transaction, read through a server-side cursor."""

    def __init__(self, source: PostgresSource, schema: str, table: str, expressions: Sequence[str]) -> None:
        self._source, self._schema, self._relation, self._name = source, schema, table, f"{schema}.{table}"
        self._table, self._oid = "", 0
        self._row = row_sql(expressions)
        self.clock = ""

    def __enter__(self) -> Self:
        try:
            with translated(self._name, self._source.connection):
                self._run(_BEGIN)
                # When the transaction began, which is before its snapshot.
                ((self.clock,),) = self._run(f"SELECT {_CLOCK.format('now()')}")
                self._oid, kind = self._source.relation(self._schema, self._relation)
        except BaseException:
            roll_back(self._source.connection)
            raise
        # DMS captures the rows of tables that inherit from this one as theirs; a partitioned table has no rows of its own.
        self._table = f"{'ONLY ' if kind == 'r' else ''}{quote(self._schema)}.{quote(self._relation)}"
        return self

    def __exit__(self, *_: object) -> None:
        roll_back(self._source.connection)

    def _run(self, statement: str, **parameters: object) -> list[Any]:
        connection = self._source.connection
        # Without parameters, a colon in a name must not be taken for a placeholder.
        found = connection.run(statement, **parameters) if parameters else connection.execute_simple(statement).rows
        return list(found or [])

    def facts(self) -> Facts:
        """Return what the server shows of itself, the database and the table."""
        with translated(self._name, self._source.connection):
            ((standby, database, tracked),) = self._run(_SERVER)
            system = self._tried(_SYSTEM)
            end, timeline = self._tried(_LOG_END) or ("", "") if not standby else ("", "")
            committed = self._tried(_REPLAYED if standby else _COMMITTED) if standby or tracked == "on" else None
            waiting = self._tried(_WAITING)
            ((hides_waits,),) = self._run(_HIDES_WAITS)
            counts = [self._tried(query.format(oid=self._oid)) for query in (_SUBSCRIBED, _CHILDREN, _FOREIGN_PARTS)]
        subscribed, has_children, foreign_parts = (None if count is None else bool(count[0]) for count in counts)
        return Facts(
            engine="postgresql",
            identity={"system identifier": system[0] if system else "", "timeline": timeline, "database oid": database},
            position={"WAL position": int(end)} if end else None,
            committed=(committed or ("",))[0] or "",
            is_copy=standby or bool(subscribed),
            doubts=postgres_doubts(
                standby=standby,
                subscribed=subscribed,
                has_children=has_children,
                foreign_parts=foreign_parts,
                hides_waits=hides_waits,
            ),
            waiting_since=waiting[0] if waiting else "",
        )

    def _tried(self, statement: str) -> Sequence[Any] | None:
        """Return the only row of a statement; None where the server refuses it, or has no such function."""
        self._run("SAVEPOINT tried")
        try:
            (row,) = self._run(statement)
        except Refusal:
            self._run("ROLLBACK TO SAVEPOINT tried")
            return None
        return list(row)

    def rows(self) -> Iterator[str]:
        """Yield every row, in the order that is cheapest for the server."""
        with translated(self._name, self._source.connection):
            self._run(f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR SELECT {self._row} FROM {self._table} t")
            size = _FIRST_FETCH
            while rows := self._run(f"FETCH FORWARD {size} FROM {_CURSOR}"):
                texts = [row[0] for row in rows]
                size = min(_MOST_FETCHED, max(1, _FETCHED_CHARACTERS * len(texts) // (sum(map(len, texts)) or 1)))
                yield from texts
                self._source.throttle.passed(len(texts))
            self._run(f"CLOSE {_CURSOR}")

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the rows that have one of ``keys``."""
        statement = lookup_sql(self._row, self._table, columns)
        with translated(self._name, self._source.connection):
            parameters = {f"key{n}": [key[n] for key in keys] for n in range(len(columns))}
            yield from (row[0] for row in self._run(statement, **parameters))
            self._source.throttle.passed(len(keys))
