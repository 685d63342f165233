"""PostgreSQL's catalog: the tables, their columns, and whether they can be captured."""

from collections.abc import Sequence
from typing import Any

import attrs
import psycopg
from psycopg import sql

from dms_emulator.errors import EmulatorError
from dms_emulator.layout import Column, TableLayout
from dms_emulator.pgoutput import Relation, RelationColumn
from dms_emulator.postgres_types import TypeMap
from dms_emulator.settings import EmulatorSettings, Profile
from dms_emulator.source import SourceTable, split_name

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


_LEAVES = """
    select n.nspname::text || '.' || c.relname::text
    from pg_partition_tree(%s::oid::regclass) t join pg_class c on c.oid = t.relid join pg_namespace n on n.oid = c.relnamespace
    where t.isleaf order by 1
"""


class PostgresCatalog:
    """The catalog as a connection sees it.

    Args:
        connection: in autocommit mode.
        settings: profile and type mapping.
    """

    def __init__(self, connection: "psycopg.Connection[Any]", settings: EmulatorSettings) -> None:
        self.connection = connection
        self._settings = settings
        self._types = TypeMap(settings, connection)

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
        oid, kind, identity, persistence, has_key = row
        if kind == "p":
            # DMS's user guide: not supported as such; the log has changes under the names of the partitions.
            leaves = ", ".join(leaf for (leaf,) in self.connection.execute(_LEAVES, (oid,)))
            return f"{name}: is a partitioned table, whose rows are in its partitions. Capture these instead: {leaves or 'it has none yet'}"
        if kind != "r":
            # Views and foreign tables: DMS does not support them with PostgreSQL.
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
