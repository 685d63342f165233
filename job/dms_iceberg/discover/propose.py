"""From a table's catalog to its proposal: an entry with reasons, or the reasons why there is none. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dms_iceberg.bronze.reserved_names import is_reserved
from dms_iceberg.config.check_context import TAKEN_COLUMNS
from dms_iceberg.config.named_columns import meant_by
from dms_iceberg.discover.catalog import Catalog, Column, Generated, Kind, Table
from dms_iceberg.discover.keys import Key, alter, key_of
from dms_iceberg.discover.names import NOT_TRANSFORMED, is_image, key_problems, table_problems
from dms_iceberg.discover.needs import Need
from dms_iceberg.discover.needs_mysql import mysql_need
from dms_iceberg.discover.needs_postgres import postgres_need
from dms_iceberg.discover.proposal import Declared, Entry, LeftOut, Proposal, grouped, shown, shown_names
from dms_iceberg.source.address import Engine

_NEEDS = {Engine.POSTGRESQL: postgres_need, Engine.MYSQL: mysql_need}
_LOBS = {
    Engine.POSTGRESQL: (
        "LOBs: a value over DMS's limit (lob_max_size_kb) fails the load; lob_sizes_sql shows the largest. An update that leaves a long "
        "value as it is may come without it: null_in_update"
    ),
    Engine.MYSQL: "LOBs: a value over DMS's limit (lob_max_size_kb) is cut; lob_sizes_sql shows the largest",
}
_NO_LOG = {
    Kind.VIEW: "a view: the log has the changes of its tables only. Take these, and make the view a gold model",
    Kind.MATERIALIZED_VIEW: "a materialized view: the log has the changes of its tables only. Take these, and make it a gold model",
    Kind.FOREIGN: "a foreign table: its rows change outside of this server, whose log does not have them. Replicate the server that has",
    Kind.SYSTEM_VERSIONED: "a system-versioned table, which AWS does not support",
}
_GENERATED = {
    Generated.VIRTUAL: "computed by the database when it is read, so changes do not have it; compute it with expr",
    Generated.STORED: "computed by the database, so changes may come without it; compute it with expr",
}
_DIVIDED = "has partitions: DDL of partitions suspends the table (AWS: skipTableSuspensionForPartitionDdl)"
_HIDDEN = (
    "named like a before-image, so it cannot be declared, and without a sequence in the files it is not in silver; rename it, or choose "
    "another before_image_prefix"
)
_MANY = 5


def propose(catalog: Catalog, tables: Sequence[Table]) -> tuple[Proposal, ...]:
    """Return a proposal for each of ``tables``, in their order."""
    folded = Counter(table.full_name.casefold() for table in tables)
    return tuple(_propose(catalog.engine, table, alone=folded[table.full_name.casefold()] == 1) for table in tables)


def _propose(engine: Engine, table: Table, *, alone: bool) -> Proposal:
    if (why := _why_no_changes(engine, table)) is not None:
        return LeftOut(table=table.full_name, reasons=(why,))
    problems = table_problems(table)
    if not alone:
        problems.append("another table has this name but for case, which AWS does not support. Choose one with --table, or rename one")
    key = key_of(engine, table)
    if isinstance(key, str):
        return LeftOut(table=table.full_name, reasons=(*problems, key))
    needs = {column.name: _NEEDS[engine](column) for column in table.columns}
    problems += key_problems(table, key.columns)
    problems += [
        f"the key column {shown(name)} is {needs[name].why}, which the module cannot ask of key columns. Change the type at the source"
        for name in key.columns
        if needs[name].as_text
    ]
    if problems:
        return LeftOut(table=table.full_name, reasons=tuple(problems))
    return _entry(engine, table, key, needs)


def _why_no_changes(engine: Engine, table: Table) -> str | None:
    if table.kind is Kind.PARTITIONED:
        count = len(table.partitions)
        named = shown_names(table.partitions[:_MANY]) + (f" and {count - _MANY} more" if count > _MANY else "")
        return (
            "a partitioned table: AWS does not support them, and the log has changes under the names of the partitions: "
            f"{named or 'there are none yet'}. Take these with --table, and unite them in a gold model"
        )
    if table.kind is Kind.UNLOGGED:
        return f"an unlogged table: the log has no changes of it. Do: {alter(engine, table)} SET LOGGED"
    return _NO_LOG.get(table.kind)


def _entry(engine: Engine, table: Table, key: Key, needs: dict[str, Need]) -> Entry:
    kept = [column for column in table.columns if column.generated is Generated.NO and not is_reserved(column.name)]
    dropped = [*_dropped(table), *_untransformed(kept, needs)]
    gone = {name for name, _ in dropped}
    kept = [column for column in kept if column.name not in gone]
    as_text = [(column.name, needs[column.name].why) for column in kept if needs[column.name].as_text]
    # A run would take a name in drop that files lack for a misspelling of such a column, unless the entry names it.
    meant = {like: name for name, _ in dropped for like in meant_by(name, (column.name for column in kept)) if like not in key.columns}
    declared, hidden = _declared(kept, needs, {name.lower() for name in (*key.columns, *gone)}, meant)
    lobs = [(column.name, _LOBS[engine]) for column in kept if needs[column.name].is_lob]
    notes = [(column.name, note) for column in kept for note in needs[column.name].notes]
    unfit = [(name, f"as a key: {needs[name].unfit_key}") for name in key.columns if needs[name].unfit_key]
    return Entry(
        table=table.full_name,
        key=key.columns,
        key_from=key.origin,
        declared=declared,
        dropped=tuple(dropped),
        as_text=tuple(as_text),
        notes=(*key.notes, *_table_notes(table), *grouped([*unfit, *hidden, *notes, *lobs])),
    )


def _table_notes(table: Table) -> Iterator[str]:
    if table.parent:
        yield f"a partition of {shown(table.parent)}"
    if table.has_children:
        yield "other tables inherit from it, whose rows the full load may read as well: compare with `verify`"
    if table.is_divided:
        yield _DIVIDED


def _dropped(table: Table) -> Iterator[tuple[str, str]]:
    for column in table.columns:
        if column.generated is not Generated.NO:
            yield column.name, _GENERATED[column.generated]
        elif is_reserved(column.name):
            yield column.name, "a name that Spark or the job needs; a mapping rule of DMS can rename it"


def _untransformed(columns: Iterable[Column], needs: dict[str, Need]) -> Iterator[tuple[str, str]]:
    for column in columns:
        if needs[column.name].as_text and set(column.name) & set(NOT_TRANSFORMED):
            yield column.name, f"{needs[column.name].why}, and DMS transforms no column with {' '.join(NOT_TRANSFORMED)} in its name"


def _declared(
    columns: Sequence[Column], needs: dict[str, Need], mentioned: set[str], meant: Mapping[str, str]
) -> tuple[tuple[Declared, ...], list[tuple[str, str]]]:
    """Return the entries of ``columns`` in the columns' order, and the columns that would be taken for before-images, with that reason.

    Args:
        mentioned: the source columns, in lower case, that the entry names elsewhere: their before-images would be no columns.
        meant: columns whose names resemble that of a dropped one, each with that.
    """
    taken = {column.name.casefold() for column in columns} | TAKEN_COLUMNS
    declared: dict[str, Declared] = {}
    hidden: list[tuple[str, str]] = []
    # A column comes before what is named like its before-image, which is longer.
    for column in sorted(columns, key=lambda column: len(column.name)):
        need, base = needs[column.name], is_image(column.name)
        wanted = need.type or _is_taken(column.name) or (base is not None and column.name.lower() not in mentioned) or column.name in meant
        if not wanted:
            continue
        if base in mentioned:
            hidden.append((column.name, _HIDDEN))
            continue
        name = _free_name(column.name, taken)
        declared[column.name] = Declared(
            name=name,
            source="" if name == column.name else column.name,
            type=need.type,
            why=_why(column, need, name, meant.get(column.name, "")),
        )
        taken.add(name.casefold())
        mentioned.add(column.name.lower())
    return tuple(declared[column.name] for column in columns if column.name in declared), hidden


def _is_taken(name: str) -> bool:
    return name.casefold() in TAKEN_COLUMNS


def _free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name for silver: the source's, unless it cannot be declared; then one that no other column has."""
    if not _is_taken(name) and name.isprintable():
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "column"
    free = plain
    number = 2
    while free.casefold() in taken or is_reserved(free) or is_image(free) is not None:
        free, number = f"{plain}_{number}", number + 1
    return free


def _why(column: Column, need: Need, name: str, like: str) -> str:
    reasons = [need.why] if need.type else []
    if name != column.name:
        reasons.append("its name cannot be that of a silver column")
    elif is_image(column.name) is not None:
        reasons.append("named like a before-image, so it must be declared")
    if like:
        reasons.append(f"named like {shown(like)} in drop, so declared: it is meant to be there")
    return "; ".join(reasons)
