"""The schema changes that a batch needs, as data: pure functions from types to operations."""

from collections.abc import Mapping, Sequence
from functools import reduce

import attrs

from dms_iceberg.changes.mapping import SilverColumn, backfill_text
from dms_iceberg.config.model import Mode
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import VOID, canonical, common, fits, stored, widens


@attrs.frozen
class AddColumn:
    """A column that the table lacks. ``backfill`` is the value that existing rows get, None for NULL."""

    name: str
    type: str
    backfill: str | int | float | bool | None = None

    def sql(self, table: str) -> str:
        """Return the ALTER statement."""
        return f"ALTER TABLE {table} ADD COLUMN {quote(self.name)} {self.type}"

    def backfill_sql(self, table: str, mode: Mode | None = None) -> str | None:
        """Return the UPDATE that gives existing rows the declared value, None without one.

        In a log of changes (mode ``append``) a delete has only its key, and a truncate nothing, whenever they are merged.
        """
        if self.backfill is None:
            return None
        value = f"CAST({string_literal(backfill_text(self.backfill))} AS {self.type})"
        with_values = table_mode(mode).has_values if mode is not None else ""
        rows = f" AND {with_values}" if with_values else ""
        return f"UPDATE {table} SET {quote(self.name)} = {value} WHERE {quote(self.name)} IS NULL{rows}"


@attrs.frozen
class WidenColumn:
    """A column that needs a wider type."""

    name: str
    old: str
    new: str

    def sql(self, table: str) -> str:
        """Return the ALTER statement."""
        return f"ALTER TABLE {table} ALTER COLUMN {quote(self.name)} TYPE {self.new}"


@attrs.frozen
class Incompatible:
    """A column whose values do not all fit the table's type, which cannot be widened to hold them."""

    name: str
    table_type: str
    file_type: str


Operation = AddColumn | WidenColumn
Types = dict[str, str]


@attrs.frozen
class SchemaPlan:
    """What to do before a batch is merged.

    Attributes:
        target_types: Spark type of each silver column once the operations are done.
        operations: ALTERs, in order.
        incompatible: columns that stay as they are although the files have another type.
    """

    target_types: Types
    operations: tuple[Operation, ...] = ()
    incompatible: tuple[Incompatible, ...] = ()


def wanted_types(
    columns: Sequence[SilverColumn], sources: Sequence[Mapping[str, str]], expressions: Mapping[str, str], *, ntz: bool
) -> Types:
    """Return the type that each silver column would have for these files alone.

    Args:
        columns: the silver columns.
        sources: Spark type by source column, for each group of files.
        expressions: types that Spark found for expressions without a declared type; without those that read a column which no file has.
        ntz: undeclared Parquet timestamps are wall clocks.

    A column without a declared type that no group has (or only as NULL) is left out: it has no type yet, or the table's.
    """
    types: Types = {}
    for column in columns:
        if column.type is not None:
            types[column.name] = stored(canonical(column.type))
            continue
        if column.source is None:
            if column.name in expressions:
                types[column.name] = stored(expressions[column.name])
            continue
        same = [(name, type_) for types_ in sources for name, type_ in types_.items() if name.lower() == column.source.lower()]
        found = [stored(type_) for _, type_ in same if type_ != VOID]
        if not found:
            continue
        if ntz:
            found = ["timestamp_ntz" if type_ == "timestamp" else type_ for type_ in found]
        types[column.name] = narrowest(found)
    return types


def narrowest(types: Sequence[str]) -> str:
    """Return the narrowest type that holds every value of all ``types`` (of one or more): text where no numeric type does.

    The table's own type decides later.
    """
    return reduce(lambda widest, type_: common(widest, type_) or "string", types)


def diff(columns: Sequence[SilverColumn], wanted: Mapping[str, str], existing: Mapping[str, str] | None) -> SchemaPlan:
    """Compare the types of the files with those of the table. Neither the order of columns nor the case of names counts.

    Args:
        columns: the silver columns.
        wanted: their types for the files (`wanted_types`).
        existing: Spark types by column of the table, None when it does not exist.
    """
    if existing is None:
        return SchemaPlan(dict(wanted))
    by_name = {name.lower(): (name, type_) for name, type_ in existing.items()}
    target: Types = {}
    operations: list[Operation] = []
    incompatible = []
    for column in columns:
        want = wanted.get(column.name)
        has = by_name.get(column.name.lower())
        if has is None:
            if want is not None:
                target[column.name] = want
                operations.append(AddColumn(column.name, want, column.declared.backfill))
            continue
        name, type_ = has
        target[column.name] = type_
        if want is None or fits(want, type_):
            continue
        wider = common(want, type_)
        if wider is not None and widens(type_, wider):
            target[column.name] = wider
            operations.append(WidenColumn(name, type_, wider))
        else:
            incompatible.append(Incompatible(name, type_, want))
    return SchemaPlan(target, tuple(operations), tuple(incompatible))
