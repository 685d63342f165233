"""Read the catalog of a PostgreSQL, in three queries of one read-only transaction, however many tables there are."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from dms_iceberg.discover.catalog import Catalog, Column, Generated, Identity, Index, Kind, Table
from dms_iceberg.dms.postgres import Choices, built_in, user_defined
from dms_iceberg.source.address import Address, Engine
from dms_iceberg.source.postgres import close, columns_sql, connect, roll_back, translated

# Not user's: the server's own schemas, what an extension has made, DMS's own tables.
_RELATIONS: Final = r"""
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relname !~* '^awsdms_'
      AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
"""
_TABLES: Final = f"""
    SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text, c.relreplident::text,
           CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid)::int8 END,
           EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid IN ({_RELATIONS}) ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""
_COLUMNS: Final = columns_sql(f"attrelid IN ({_RELATIONS})")
# A column number of 0 is an expression.
_INDEXES: Final = f"""
    SELECT i.indrelid::int8, x.relname::text, i.indisprimary, NOT i.indimmediate, i.indisreplident,
           array_agg(a.attname::text ORDER BY k.place)
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
      AND i.indrelid IN ({_RELATIONS})
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2
"""
_SESSION: Final = ("SET statement_timeout = 0", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_KINDS: Final = {"r": Kind.TABLE, "p": Kind.PARTITIONED, "v": Kind.VIEW, "m": Kind.MATERIALIZED_VIEW, "f": Kind.FOREIGN}
_IDENTITIES: Final = {"d": Identity.PRIMARY_KEY, "i": Identity.INDEX, "f": Identity.FULL, "n": Identity.NOTHING}
_GENERATED: Final = {"": Generated.NO, "s": Generated.STORED, "v": Generated.VIRTUAL}
# As a task with the settings of this project's modules writes them.
_CHOICES: Final = Choices()


def read_postgres(address: Address) -> Catalog:
    """Return the tables of a database.

    Raises:
        SourceError: the server cannot be reached or read.
    """
    connection = connect(address, "discover", _SESSION)
    try:
        with translated("the catalog", connection):
            tables, columns, indexes = (connection.run(query) for query in (_TABLES, _COLUMNS, _INDEXES))
    finally:
        roll_back(connection)
        close(connection)
    return Catalog(engine=Engine.POSTGRESQL, database=address.database, tables=_tables(tables, columns, indexes))


def _tables(tables: list[Any], columns: Iterable[Any], indexes: Iterable[Any]) -> tuple[Table, ...]:
    columns_of, indexes_of = defaultdict[int, list[Column]](list), defaultdict[int, list[Index]](list)
    for oid, *column in columns:
        columns_of[oid].append(_column(*column))
    for oid, name, primary, deferrable, identity, names in indexes:
        indexes_of[oid].append(Index(name=name, columns=tuple(names), primary=primary, deferrable=deferrable, identity=identity))
    names_of = {oid: f"{schema}.{name}" for oid, schema, name, *_ in tables}
    partitions_of = defaultdict[int, list[str]](list)
    for oid, *_, kind, _, _, root, _ in tables:
        if root is not None and kind != "p":
            partitions_of[root].append(names_of[oid])
    return tuple(
        Table(
            schema=schema,
            name=name,
            kind=_kind(kind, persistence, is_partition=root is not None),
            columns=tuple(columns_of[oid]),
            unique=tuple(indexes_of[oid]),
            identity=_identity(identity, indexes_of[oid]),
            parent="" if root is None else names_of.get(root, ""),
            partitions=tuple(partitions_of[oid]),
            has_children=has_children,
        )
        for oid, schema, name, kind, persistence, identity, root, has_children in tables
        # A partitioned partition holds no rows; the table at the root names those that do.
        if root is None or kind != "p"
    )


def _kind(kind: str, persistence: str, *, is_partition: bool) -> Kind:
    if persistence == "u" and kind == "r":
        return Kind.UNLOGGED
    return Kind.PARTITION if is_partition and kind == "r" else _KINDS[kind]


def _identity(word: str, indexes: list[Index]) -> Identity:
    identity = _IDENTITIES[word]
    # Once its index is dropped, USING INDEX is the same as NOTHING.
    return Identity.NOTHING if identity is Identity.INDEX and not any(index.identity for index in indexes) else identity


def _column(name: str, not_null: bool, generated: str, built: str, modifier: int, shown: str, *type_: str) -> Column:
    plain, kind, category = type_
    mapped = built_in(built, modifier, _CHOICES) or user_defined(kind, category, plain, _CHOICES)
    return Column(
        name=name,
        type=plain,
        shown=shown,
        nullable=not not_null,
        built_in=built != "",
        dms=mapped.type,
        has_precision=plain != "numeric" or modifier >= 0,
        generated=_GENERATED[generated],
    )
