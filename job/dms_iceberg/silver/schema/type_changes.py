"""``type_changes``: what happens to values of a new type that their column cannot be widened to."""

import re
from collections.abc import Mapping, Sequence

import attrs

from dms_iceberg.changes.clean import condition_columns
from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.config.model import Column, NullInUpdate, SchemaChanges, Table, TypeChanges
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.schema.diff import SchemaPlan, Types
from dms_iceberg.sql.types import VOID, common, fits, stored, widens

_SEPARATOR = "__"
_LONGEST = 60


def column_for(name: str, type_: str) -> str:
    """Return the name of the column that takes values of ``type_`` beside column ``name``: ``amount__decimal_12_2``."""
    return name + _SEPARATOR + re.sub(r"[^a-z0-9]+", "_", type_.lower()).strip("_")[:_LONGEST]


def policy(table: Table, column: SilverColumn) -> TypeChanges:
    """Return the policy for a column: its own, else the table's."""
    return column.declared.type_changes or table.type_changes


def with_new_columns(
    table: Table,
    columns: Sequence[SilverColumn],
    sources: Sequence[Mapping[str, str]],
    wanted: Mapping[str, str],
    existing: Types | None,
    *,
    ntz: bool,
) -> tuple[tuple[SilverColumn, ...], Types]:
    """Return the columns and their wanted types, with a further column for each type that needs one by the policy ``new_column``.

    Further columns that the table already has are among them, whether these files have values for them or not.
    """
    result: list[SilverColumn] = []
    types = dict(wanted)
    taken = {column.name.lower() for column in columns}
    for column in columns:
        if existing is None or not _may_split(table, column):
            result.append(column)
            continue
        found = [type_ for source in sources for name, type_ in source.items() if name.lower() == (column.source or "").lower()]
        family = _family(column.name, existing, taken)
        for type_ in found if family else []:
            _place("timestamp_ntz" if ntz and type_ == "timestamp" else stored(type_), family, column.name, taken)
        if len(family) < 2:
            result.append(column)
            continue
        names = tuple(family)
        result.append(attrs.evolve(column, name=names[0], family=names))
        result += [SilverColumn(name, column.source, False, Column(name=name), family=names) for name in names[1:]]
        types = {name: type_ for name, type_ in types.items() if name != column.name} | family
    return tuple(result), types


def _may_split(table: Table, column: SilverColumn) -> bool:
    """Whether a column may have further ones for other types.

    Not keys, columns that conditions or ``track_columns`` read, columns that updates may leave out, and columns with a declared type. If
    the schema policy holds the structure, only columns that declare ``type_changes`` themselves.
    """
    if policy(table, column) is not TypeChanges.NEW_COLUMN or column.source is None or column.type is not None or column.is_key:
        return False
    if column.declared.type_changes is None and table.schema_changes is not SchemaChanges.EVOLVE:
        return False
    if column.declared.null_in_update is NullInUpdate.KEEP:
        return False
    return column.name.lower() not in {name.lower() for name in (*condition_columns(table), *table.track_columns)}


def _family(name: str, existing: Types, taken: set[str]) -> Types:
    """Return the column and the table's further columns for other types of it, with their types."""
    own = {one: type_ for one, type_ in existing.items() if one.lower() == name.lower()}
    prefix = name.lower() + _SEPARATOR
    derived = {one: type_ for one, type_ in existing.items() if one.lower().startswith(prefix) and one.lower() not in taken}
    return own | {one: type_ for one, type_ in derived.items() if _has_derived_name(one, name, type_)} if own else {}


def _has_derived_name(one: str, name: str, type_: str) -> bool:
    """Whether a column has the name that `column_for` returns for its type, or for a type that was widened to it."""
    word = type_.partition("(")[0]
    narrower = {"bigint": "int", "double": "float"}.get(type_, type_)
    starts = {column_for(name, type_).lower(), column_for(name, narrower).lower()}
    return one.lower() in starts or (word == "decimal" and one.lower().startswith(column_for(name, word).lower()))


def _place(type_: str, family: Types, name: str, taken: set[str]) -> None:
    """Find a column for values of a type: one that holds them, one that can be widened to hold them, else a new one."""
    if type_ == VOID or any(fits(type_, has) for has in family.values()):
        return
    for one, has in family.items():
        wider = common(type_, has)
        if wider is not None and widens(has, wider):
            family[one] = wider
            return
    new = column_for(name, type_)
    if new.lower() not in taken and new.lower() not in {one.lower() for one in family}:
        family[new] = type_


def refuse_changed_types(table: Table, columns: Sequence[SilverColumn], plan: SchemaPlan) -> None:
    """Apply the policy ``fail``.

    Raises:
        SchemaChangeError: a column with this policy cannot hold the type of its values.
    """
    failing = {column.name for column in columns if policy(table, column) is TypeChanges.FAIL}
    found = [change for change in plan.incompatible if change.name in failing]
    if found:
        raise SchemaChangeError(
            f"{table.source}: type_changes is 'fail' and "
            + "; ".join(f"column {one.name} is {one.file_type} in the files and {one.table_type} in {table.target}" for one in found)
            + ", which cannot be widened to it. Correct the source; or set type_changes to 'quarantine' (what does not fit) or "
            "'new_column'. Nothing was written."
        )
