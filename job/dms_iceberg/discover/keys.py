"""The key of a table: its primary key, else a unique index by which the log identifies rows. Never a guess. Pure."""

import attrs

from dms_iceberg.discover.catalog import Generated, Identity, Index, Table
from dms_iceberg.discover.proposal import shown, shown_names
from dms_iceberg.source.address import Engine
from dms_iceberg.source.quoting import quote_name

_NO_CHANGES = "PostgreSQL tells DMS of no updates and deletes, which silver would never get"
_TEST_DECODING = (
    "REPLICA IDENTITY FULL: AWS supports it with the plugin test_decoding only (source_database.postgres.plugin); the module's is pglogical"
)


@attrs.frozen(kw_only=True)
class Key:
    """A table's key: its columns, where they are from, and what a person should know of it."""

    columns: tuple[str, ...]
    origin: str
    notes: tuple[str, ...] = ()


def key_of(engine: Engine, table: Table) -> Key | str:
    """Return the key of a table; a text why there is none, and what to do."""
    computed = {column.name for column in table.columns if column.generated is not Generated.NO}
    if named := [name for index in table.unique if index.primary for name in index.columns if name in computed]:
        return f"its primary key has columns that the database computes, and changes may come without them: {shown_names(named)}"
    unique = _usable(table)
    primary = next((index for index in unique if index.primary), None)
    full = (_TEST_DECODING,) if engine is Engine.POSTGRESQL and table.identity is Identity.FULL else ()
    if table.identity is Identity.NOTHING:
        return f"REPLICA IDENTITY NOTHING: {_NO_CHANGES}. Do: {alter(engine, table)} REPLICA IDENTITY DEFAULT"
    if table.identity is Identity.INDEX:
        return _key_of_identity(engine, table, primary)
    if primary is not None and not (primary.deferrable and table.identity is Identity.PRIMARY_KEY):
        return Key(columns=primary.columns, origin="primary key", notes=full)
    others = sorted((index for index in unique if not index.deferrable), key=lambda index: (len(index.columns), index.name))
    if table.identity is Identity.PRIMARY_KEY:
        return _without_identity(engine, table, primary, others)
    if not others:
        return _no_key(engine, table)
    return _other_key(engine, table, others[0], full)


def _usable(table: Table) -> list[Index]:
    """Return the unique indexes over columns that are never NULL, and that the database does not compute."""
    stored = {column.name for column in table.columns if not column.nullable and column.generated is Generated.NO}
    return [index for index in table.unique if stored.issuperset(index.columns)]


def _key_of_identity(engine: Engine, table: Table, primary: Index | None) -> Key | str:
    (index,) = (index for index in table.unique if index.identity)
    if primary is not None and set(primary.columns) != set(index.columns):
        return (
            f"REPLICA IDENTITY USING INDEX {shown(index.name)}: deletes have {shown_names(index.columns)}, and DMS looks for the primary "
            f"key, {shown_names(primary.columns)}. Do: {alter(engine, table)} REPLICA IDENTITY DEFAULT"
        )
    if primary is not None:
        return Key(columns=primary.columns, origin="primary key")
    if index not in _usable(table):
        return f"its REPLICA IDENTITY, the index {shown(index.name)}, is over a column that the database computes. Give it a primary key"
    return _other_key(engine, table, index)


def _other_key(engine: Engine, table: Table, index: Index, notes: tuple[str, ...] = ()) -> Key | str:
    if engine is Engine.POSTGRESQL and (arrays := [column.name for column in table.columns if column.shown.endswith("[]")]):
        return (
            f"no primary key, and AWS suspends such tables where they have arrays: {shown_names(arrays)}. Do: {alter(engine, table)} ADD "
            f"PRIMARY KEY USING INDEX {_in_sql(engine, index.name)}"
        )
    origin = f"unique index {shown(index.name)} on columns that are NOT NULL; there is no primary key"
    return Key(columns=index.columns, origin=origin, notes=(*notes, _note(engine)))


def _without_identity(engine: Engine, table: Table, primary: Index | None, others: list[Index]) -> str:
    if primary is not None:
        return (
            f"its primary key is DEFERRABLE, so the log has no key of deleted rows: {_NO_CHANGES}. Make it NOT DEFERRABLE, or give the "
            "table REPLICA IDENTITY FULL and DMS the plugin test_decoding"
        )
    if not others:
        return _no_key(engine, table)
    index = others[0]
    return (
        f"no primary key: {_NO_CHANGES}. The unique index {shown(index.name)} ({shown_names(index.columns)}) can become it. Do: "
        f"{alter(engine, table)} ADD PRIMARY KEY USING INDEX {_in_sql(engine, index.name)}"
    )


def _no_key(engine: Engine, table: Table) -> str:
    why = _NO_CHANGES if engine is Engine.POSTGRESQL else "the job cannot tell which row a change is of"
    return (
        f"no key, neither a primary key nor a unique index on columns that are NOT NULL: {why}. Do: {alter(engine, table)} ADD PRIMARY "
        "KEY (columns that identify a row)"
    )


def _note(engine: Engine) -> str:
    if engine is Engine.POSTGRESQL:
        return "AWS asks for a primary key: without one try updates and deletes, and compare with `verify`"
    return 'without a primary key let DMS write all before-images (replication.before_images = "all"): a changed key may leave the old row'


def alter(engine: Engine, table: Table) -> str:
    """Return the beginning of a statement that changes a table."""
    return f"ALTER TABLE {_in_sql(engine, table.schema)}.{_in_sql(engine, table.name)}"


def _in_sql(engine: Engine, name: str) -> str:
    return quote_name(engine, name) if name.isprintable() else "..."
