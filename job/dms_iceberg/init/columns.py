"""Which columns of a table need a declaration: by the source's catalog, or as a suggestion by the values of samples. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence

import attrs

from dms_iceberg.discover.catalog import Column, Table
from dms_iceberg.discover.names import is_image
from dms_iceberg.discover.proposal import Declared, Entry
from dms_iceberg.init.role import Samples
from dms_iceberg.init.samples import Sample, all_values
from dms_iceberg.init.texts import cut_at, money_expression, money_scale
from dms_iceberg.verify.columns import spark_type

_WALL_CLOCK = "DMS writes a wall clock like an instant in UTC: declare this where the source's column has no time zone"
_INSTANT = "text in these files: declare this where the source's column has a time zone, and timestamp_ntz where it has none"
_MOST_DIGITS = 38
"""Of a decimal of Spark."""
_AS_TEXT = "text in these files: declare the type that it has at the source, such as this"
_BOOLEAN = "texts that are true and false only: declare this where it is a boolean at the source"
_UNREADABLE = (
    "Spark cannot read a TIME of Parquet. To have it in silver, give the task a mapping rule (change-data-type, to string) and load the "
    "table again"
)
_LOB = (
    "several values fill the same number of whole KB, and none is longer: DMS has probably cut them (LobMaxSize). Raise it, and load the "
    "table again"
)
_ROUNDED = "a numeric without precision of PostgreSQL, if it is one, is rounded to 6 decimals by DMS"
_MONEY = (
    "amounts with a currency sign or commas, as money of PostgreSQL: text in silver. Declare this where the point is the decimal sign, "
    "as it seems"
)
_FORMS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("boolean", re.compile("true|false|t|f").fullmatch),
    ("bigint", re.compile("[+-]?(?:0|[1-9][0-9]{0,17})").fullmatch),
    ("date", re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch),
    ("timestamp", re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}.*").fullmatch),
    ("decimal", re.compile("[+-]?[0-9]+[.][0-9]+").fullmatch),
    ("double", re.compile("[+-]?[0-9.]+[eE][+-]?[0-9]+").fullmatch),
)


@attrs.frozen(kw_only=True)
class Needs:
    """What the columns of a table need, as in `Entry`."""

    declared: tuple[Declared, ...] = ()
    suggested: tuple[Declared, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


def by_values(columns: Sequence[str], samples: Samples, contradicted: Sequence[str]) -> Needs:
    """Return what the samples show, where there is no catalog.

    Args:
        contradicted: columns that are named like before-images and are the source's own.
    """
    declared = [Declared(name=name, why="named like a before-image, so it must be declared") for name in contradicted]
    suggested, dropped, notes = list[Declared](), list[tuple[str, str]](), list[tuple[str, str]]()
    for name in columns:
        values = [value for value in all_values(samples.both, name) if value]
        type_ = _type(name, samples)
        if type_.startswith("<"):
            dropped.append((name, _UNREADABLE))
        elif found := _suggestion(name, type_, values):
            suggested.append(found)
        notes += [(name, note) for note in _notes(type_, values)]
    # Those of one reason together.
    order = list(dict.fromkeys(one.why for one in suggested))
    return Needs(
        declared=tuple(declared),
        suggested=tuple(sorted(suggested, key=lambda one: order.index(one.why))),
        dropped=tuple(dropped),
        notes=tuple(notes),
    )


def _type(name: str, samples: Samples) -> str:
    """Return the type that a column has in the newest file with it; "" for texts."""
    newest: Sequence[Sample] = (*reversed(samples.changes), *samples.load)
    return next((one.type_of(name) for one in newest if name in one.names), "")


def _suggestion(name: str, type_: str, values: Sequence[str]) -> Declared | None:
    if type_ == "timestamp":
        return Declared(name=name, type="timestamp_ntz", why=_WALL_CLOCK)
    if type_ not in ("", "string") or not values:
        return None
    form = next((form for form, fits in _FORMS if all(map(fits, values))), "")
    if not form and (money := _money(name, values, _MONEY)):
        return money
    if form == "boolean":
        return Declared(name=name, type=form, why=_BOOLEAN)
    if type_ == "string" or not form:
        return None
    if form == "timestamp":
        return Declared(name=name, type=form, why=_INSTANT)
    if form == "decimal":
        whole, scale = (max(len(value.lstrip("+-").partition(".")[place].strip()) for value in values) for place in (0, 2))
        if whole + scale > _MOST_DIGITS:
            return None
        form = f"decimal({_MOST_DIGITS},{scale})"
    return Declared(name=name, type=form, why=_AS_TEXT)


def _money(name: str, values: Sequence[str], why: str) -> Declared | None:
    scale = money_scale(values)
    type_ = f"decimal({_MOST_DIGITS},{scale})"
    return None if scale is None else Declared(name=name, expression=money_expression(name), type=type_, why=why)


def _notes(type_: str, values: Sequence[str]) -> Iterator[str]:
    if type_.startswith("uint"):
        yield "unsigned: decimal(20,0) in silver" if type_ == "uint64" else "unsigned: the next wider signed type in silver"
    if type_ == "decimal(28,6)":
        yield _ROUNDED
    if type_ == "decimal(38,4)":
        yield "money of PostgreSQL, if it is that: decimal(38,4) in silver"
    if type_ in ("", "string", "binary"):
        yield from _cut(type_, values)


def _cut(type_: str, values: Sequence[str]) -> Iterator[str]:
    if kilobytes := cut_at(values, hexadecimal=type_ == "binary"):
        yield f"{_LOB} ({kilobytes:,} KB)"


def by_catalog(entry: Entry, table: Table, columns: Sequence[str], samples: Samples) -> Needs:
    """Return what the catalog says, as far as the files have it: of text files the type of each column.

    Args:
        entry: what `discover` proposes for the table.
        columns: the source's columns that the files have.
    """
    there = {name.casefold() for name in columns}
    # One that is declared for its likeness to a dropped column needs none here: what files lack is not in drop.
    declared = {(one.source or one.name).casefold(): one for one in entry.declared if one.type or one.source or is_image(one.name)}
    dropped = [(name, why) for name, why in entry.dropped if name.casefold() in there]
    gone = {name.casefold() for name, _ in dropped}
    for column in table.columns:
        folded, type_ = column.name.casefold(), _type(column.name, samples)
        if folded in gone or folded not in there:
            continue
        if type_.startswith("<"):
            dropped.append((column.name, _UNREADABLE))
        elif folded not in declared and (wanted := _wanted(column, type_)):
            why = f"{column.shown} at the source, and text in these files"
            values = [value for value in all_values(samples.both, column.name) if value]
            declared[folded] = _money(column.name, values, why) or Declared(name=column.name, type=wanted, why=why)
    unreadable = {name.casefold() for name, _ in dropped}
    kept = [declared[one] for one in (column.name.casefold() for column in table.columns) if one in declared and one in there - unreadable]
    return Needs(declared=tuple(kept), dropped=tuple(dropped), notes=(*_strangers(table, columns), *_all_cut(columns, samples)))


def _all_cut(columns: Sequence[str], samples: Samples) -> Iterator[tuple[str, str]]:
    for name in columns:
        if (type_ := _type(name, samples)) in ("", "string", "binary"):
            values = [value for value in all_values(samples.both, name) if value]
            yield from ((name, note) for note in _cut(type_, values))


def _wanted(column: Column, in_file: str) -> str:
    """Return the type to declare for a text: of Parquet only where DMS is known to write a text, such as for booleans of PostgreSQL."""
    type_ = "string" if column.dms is None else spark_type(column.dms)
    if type_ in ("string", "binary") or in_file not in ("", "string"):
        return ""
    return type_ if in_file == "" or type_ == "boolean" else ""


def _strangers(table: Table, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    known = {column.name.casefold() for column in table.columns}
    for name in columns:
        if name.casefold() not in known:
            yield name, "in the files and not in the catalog: dropped at the source since, or added by a mapping rule"
    there = {name.casefold() for name in columns}
    for column in table.columns:
        if column.name.casefold() not in there:
            yield column.name, "in the catalog and not in the sampled files: added since, or removed by a mapping rule"
