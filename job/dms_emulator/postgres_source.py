"""The source's catalog: its tables, their columns, and whether they can be captured."""

from collections.abc import Sequence
from typing import Any, Final

import attrs
import psycopg
from psycopg import sql
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from dms_emulator.errors import EmulatorError
from dms_emulator.layout import NOT_SUPPLIED, Column, TableLayout, Value
from dms_emulator.pgoutput import Relation, RelationColumn, Texts
from dms_emulator.postgres_replication import session_dsn
from dms_emulator.postgres_types import TypeMap
from dms_emulator.settings import EmulatorSettings, Profile
from dms_iceberg.dms.convert import Converter

# By default pgoutput omits generated columns, so DMS's files must not have them in LOAD files either.
_COLUMNS = """
    select attname::text, atttypid::int8, atttypmod,
           attnum = any(coalesce((select indkey::int2[] from pg_index where indrelid = attrelid and indisprimary), '{}'))
    from pg_attribute
    where attrelid = %s and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum
"""
_TABLE = """
    select c.oid::int8, c.relkind::text, c.relreplident::text, c.relpersistence::text,
           exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = %s and c.relname = %s
"""


_SLOT_BUSY_SECONDS: Final = 15


@attrs.frozen
class SourceTable:
    """A table at one moment, with the converters that turn its texts into values."""

    layout: TableLayout
    converters: tuple[Converter, ...]
    key_indexes: tuple[int, ...]

    @property
    def name(self) -> str:
        """``schema.table``."""
        return f"{self.layout.schema}.{self.layout.name}"

    def values(self, texts: Sequence[Any]) -> tuple[Value, ...]:
        """Return the values of a whole row."""
        return tuple(
            [
                text if text is None or convert is None or text is NOT_SUPPLIED else convert(text)
                for text, convert in zip(texts, self.converters, strict=True)
            ]
        )

    def key_values(self, texts: Texts) -> tuple[Value, ...]:
        """Return the values of the key columns, in the order of ``TableLayout.key_columns``."""
        keys = self.key_indexes
        pairs = [(texts[index], self.converters[index]) for index in keys]
        return tuple(text if text is None or convert is None or text is NOT_SUPPLIED else convert(text) for text, convert in pairs)

    def only_key(self, texts: Texts) -> Texts:
        """Return the row with every other column NULL."""
        row: Texts = [None] * len(texts)
        for index in self.key_indexes:
            row[index] = texts[index]
        return row


def split_name(name: str) -> tuple[str, str]:
    """Return schema and table of ``schema.table``.

    Raises:
        EmulatorError: there is no dot.
    """
    schema, dot, table = name.partition(".")
    if not dot or not schema or not table:
        raise EmulatorError(f"table {name!r}: expected schema.table")
    return schema, table


class Source:
    """An ordinary connection to the source, for its catalog, publication and slot.

    Raises:
        EmulatorError: the source cannot be reached.
    """

    def __init__(self, dsn: str, settings: EmulatorSettings) -> None:
        self._dsn = session_dsn(dsn)
        self._settings = settings
        try:
            self.connection = psycopg.connect(self._dsn, autocommit=True)
        except psycopg.OperationalError as error:
            raise EmulatorError(f"source: cannot connect: {str(error).strip()}") from None
        self._types = TypeMap(settings, self.connection)

    def snapshot_connection(self, snapshot: str | None) -> "psycopg.Connection[tuple[Any, ...]]":
        """Return a read-only connection that sees the tables as in an exported snapshot; None: as they are now."""
        connection = psycopg.connect(self._dsn)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if snapshot is not None:
            connection.execute(sql.SQL("set transaction snapshot {}").format(sql.Literal(snapshot)))
        return connection

    def check(self, names: Sequence[str]) -> None:
        """Check that every table can be captured.

        Raises:
            EmulatorError: some cannot; the message names each, and what to do.
        """
        problems = [problem for name in names if (problem := self._problem(name)) is not None]
        if problems:
            raise EmulatorError("source: these tables cannot be captured:\n  " + "\n  ".join(problems))

    def _problem(self, name: str) -> str | None:
        row = self.connection.execute(_TABLE, split_name(name)).fetchone()
        if row is None:
            return f"{name}: does not exist, or the user may not see it"
        _, kind, identity, persistence, has_key = row
        if kind != "r":
            # Partitioned tables, views and foreign tables: DMS does not support them with PostgreSQL.
            return f"{name}: is not an ordinary table (pg_class.relkind = {kind!r})"
        if persistence != "p":
            return f"{name}: is not logged; make it so with ALTER TABLE ... SET LOGGED"
        if not has_key:
            return (
                f"{name}: has no primary key. DMS ignores its updates and deletes, and while it is published"
                " the application's own UPDATE and DELETE would fail. Add a primary key or leave the table out"
            )
        if self._settings.profile is Profile.MYSQL and identity != "f":
            quoted = sql.Identifier(*split_name(name)).as_string(self.connection)
            return f"{name}: profile mysql needs whole rows: ALTER TABLE {quoted} REPLICA IDENTITY FULL"
        return None

    def table(self, name: str) -> SourceTable:
        """Return a table as the catalog shows it now.

        Raises:
            EmulatorError: it does not exist.
        """
        schema, table = split_name(name)
        row = self.connection.execute(_TABLE, (schema, table)).fetchone()
        if row is None:
            raise EmulatorError(f"source: table {name} does not exist")
        columns = [RelationColumn(*column) for column in self.connection.execute(_COLUMNS, (row[0],))]
        return self._source_table(schema, table, columns)

    def related(self, relation: Relation) -> SourceTable:
        """Return a table as the stream describes it."""
        columns: Sequence[RelationColumn] = relation.columns
        if relation.identity == "f":
            # With REPLICA IDENTITY FULL every column is marked: only the catalog knows the key.
            keys = {row[0] for row in self.connection.execute(_COLUMNS, (relation.oid,)) if row[3]}
            columns = [attrs.evolve(column, in_identity=column.name in keys) for column in columns]
        return self._source_table(relation.schema, relation.name, columns)

    def _source_table(self, schema: str, name: str, columns: Sequence[RelationColumn]) -> SourceTable:
        mapped = [self._types.map(column.type_oid, column.type_modifier) for column in columns]
        layout = TableLayout(
            schema,
            name,
            [Column(c.name, m.type, c.in_identity) for c, m in zip(columns, mapped, strict=True)],
        )
        return SourceTable(layout, tuple(m.converter for m in mapped), layout.key_indexes)

    def publish(self, names: Sequence[str]) -> None:
        """Create the publication, or set the tables of an existing one.

        It must exist before the slot: decoding uses the catalog as of that position, and PostgreSQL 18 silently skips changes
        from before the publication. An existing one is not created again: a statement of another session that writes to the
        table at that moment would fail (``cache lookup failed for publication``).
        """
        name = sql.Identifier(self._settings.slot)
        tables = sql.SQL(", ").join(sql.Identifier(*split_name(table)) for table in names)
        found = self.connection.execute(
            "select 1 from pg_publication where pubname = %s and not puballtables", (self._settings.slot,)
        ).fetchone()
        if found is None:
            self.unpublish()
            self.connection.execute(sql.SQL("create publication {} for table only {}").format(name, tables))
            return
        whole = "publish = 'insert, update, delete, truncate', publish_via_partition_root = false"
        self.connection.execute(sql.SQL("alter publication {} set table only {}").format(name, tables))
        self.connection.execute(sql.SQL("alter publication {} set ({})").format(name, sql.SQL(whole)))

    def unpublish(self) -> None:
        """Drop the publication if it exists."""
        name = sql.Identifier(self._settings.slot)
        self.connection.execute(sql.SQL("drop publication if exists {}").format(name))

    def confirmed_lsn(self) -> str | None:
        """Return the position up to which the slot was confirmed; None if there is no such slot."""
        query = "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = %s"
        row = self.connection.execute(query, (self._settings.slot,)).fetchone()
        return None if row is None else str(row[0])

    def drop_slot(self) -> None:
        """Drop the slot if it exists; wait for the server process of a connection that was just closed to release it."""
        for attempt in Retrying(
            retry=retry_if_exception_type(psycopg.errors.ObjectInUse),
            stop=stop_after_delay(_SLOT_BUSY_SECONDS),
            wait=wait_fixed(0.1),
            reraise=True,
        ):
            with attempt:
                self._drop_slot()

    def _drop_slot(self) -> None:
        self.connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s",
            (self._settings.slot,),
        )

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
