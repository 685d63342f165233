"""Source columns that are held back: each came in files that lack a column which silver masks or leaves out, so it may be that one renamed.

Such a column is left out of silver, as by ``drop``, until the document says what it is (``new_columns``).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product

import attrs

from dms_iceberg.config.choices import NewColumns
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import OtherColumns, SchemaChanges, Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.publish import published_columns
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.name_changes import Structure
from dms_iceberg.silver.seen_columns import Seen
from dms_iceberg.silver.withheld import LEFT_OUT, Withheld, to_be_masked

Held = Mapping[str, tuple[str, ...]]
"""By source column in lower case, that is held back: the withheld columns, in lower case, of which it may be one."""
Lacks = Callable[[int, str, str], bool]
"""Whether files of the structure with this number have the one column without the other, both in lower case."""


def without_held(table: Table, held: Collection[str]) -> Table:
    """Return the configuration by which a batch is merged: columns that are held back are dropped."""
    return attrs.evolve(table, drop=(*table.drop, *sorted(held))) if held else table


def left_to_policy(table: Table, held: Held, withheld: Withheld, existing: Collection[str]) -> Held:
    """Return those of ``held`` that the schema policy keeps out of a table that exists, as long as it is the policy.

    A file with such a column has another structure: its rows go to quarantine, and a replay by another policy must hold the column back.
    """
    if table.schema_changes is SchemaChanges.EVOLVE or not existing:
        return {}
    there = {name.lower() for name in existing} | {name for name, form in withheld.sources.items() if form == LEFT_OUT}
    return {name: lacking for name, lacking in held.items() if name not in there}


def told_columns(table: Table) -> set[str]:
    """Return, in lower case, the source columns of which the document says what they are."""
    names = [*table.drop, *published_columns(table), *(name for one in table.columns for name in (one.source_name, one.renamed_from))]
    return {name.lower() for name in names if name is not None}


def recorded_held(table: Table, withheld: Withheld) -> Held:
    """Return the columns that earlier batches have held back, and that the document does not name yet."""
    if table.new_columns is NewColumns.ADD:
        return {}
    told = told_columns(table)
    return {name: lacking for name, lacking in withheld.held.items() if name not in told}


@attrs.frozen
class FoundNames:
    """The source columns of a batch's files.

    Attributes:
        structures: those of each group.
        ordered: those of new files in the order of the files (`name_changes.structures`); empty where files do not show their columns.
        lacks: for files whose rows may omit columns; None where each file has all of its columns.
    """

    structures: Sequence[Structure]
    ordered: Sequence[Structure] = ()
    lacks: Lacks | None = None


def newly_held(table: Table, withheld: Withheld, seen: Seen, found: FoundNames, existing: Collection[str]) -> Held:
    """Return the columns of files to hold back.

    Args:
        table: the table's configuration.
        withheld: what the table withholds.
        seen: the columns that merged files have had.
        found: the columns of the batch's files.
        existing: silver's columns.

    Raises:
        SchemaChangeError: such a column belongs to the key, so it cannot be left out.
    """
    if table.new_columns is NewColumns.ADD or table.other_columns is not OtherColumns.KEEP:
        return {}
    secrets = {*withheld.sources, *to_be_masked(table), *(name.lower() for name in table.drop)}
    secrets -= {name.lower() for name in (*published_columns(table), *(old for old, _ in former_names(table)))}
    told = told_columns(table)
    known = {*seen.names, *(name.lower() for name in existing)}
    new = dict.fromkeys(name for one in found.structures for name in one if name not in known)
    switched = list(_switched(seen, found.ordered))
    held: dict[str, tuple[str, ...]] = {}
    while True:
        pairs = [*_new_names(list(new), secrets, seen, found), *((name, one) for name, one in switched if one in secrets)]
        pairs = [(name, one) for name, one in pairs if name not in secrets and name not in told]
        for name, secret in pairs:
            held[name] = tuple(sorted({*held.get(name, ()), secret}))
        if not pairs:
            break
        # What is held back may be renamed in its turn.
        secrets |= set(held)
    if table.schema_changes is SchemaChanges.STRICT and existing:
        # A file with another column stops the table.
        held = {name: lacking for name, lacking in held.items() if name in {one.lower() for one in existing}}
    _refuse_key(table, held)
    return held


def _new_names(new: Sequence[str], secrets: Collection[str], seen: Seen, found: FoundNames) -> Iterator[tuple[str, str]]:
    """Yield columns that no file had before, with each secret that their files lack and others had: merged ones, or some of the batch."""
    files = found.structures
    is_without = found.lacks or (lambda number, _, secret: secret not in files[number])
    for name in new:
        before = (one for one in secrets if one in seen.names - seen.gone or any(one in other and name not in other for other in files))
        for secret in before:
            if any(name in one and is_without(number, name, secret) for number, one in enumerate(files)):
                yield name, secret


def _switched(seen: Seen, ordered: Sequence[Structure]) -> Iterator[tuple[str, str]]:
    """Yield the columns that a file has and the one before lacks, new or not, with each that the one before has and the file lacks."""
    before = set(seen.names - seen.gone) or set(ordered[0] if ordered else ())
    for one in ordered:
        yield from product(set(one) - before, before - set(one))
        before = set(one)


def _refuse_key(table: Table, held: Held) -> None:
    for name in table.key:
        if name.lower() in held:
            raise SchemaChangeError(
                f"{table_path(table)}.key: the column {name!r} comes in files that no longer have {_listed(held[name.lower()])}, which "
                f"{table.target} masks or leaves out, so it may be that column under a new name. Nothing was written. Say what it is in "
                f'{table_path(table)}.columns: {{"name": "{name}"}} shows it, with "mask" it is masked.'
            )


def held_warnings(table: Table, withheld: Withheld, held: Held) -> list[str]:
    """Return a warning for each column that is held back."""
    return [_warning(table, withheld, name, lacking) for name, lacking in held.items()]


def _warning(table: Table, withheld: Withheld, name: str, lacking: Sequence[str]) -> str:
    path, first = table_path(table), lacking[0]
    is_dropped = first in {one.lower() for one in table.drop} or withheld.sources.get(first) == LEFT_OUT
    renamed = (
        f'"{name}" in {path}.drop' if is_dropped else f'{{"name": "{name}", "renamed_from": "{first}"}} with its mask in {path}.columns'
    )
    return (
        f"{table.source}: the column {name!r} is held back from {table.target} (new_columns): it came in files that no longer have "
        f"{_listed(lacking)}, which {table.target} masks or leaves out, so it may be that column under a new name. Say what it is: if it "
        f'was renamed, write {renamed}; if readers may see it, write {{"name": "{name}"}} in {path}.columns. Rows that are merged before '
        f"get its values by run with --rebuild {table.source}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
