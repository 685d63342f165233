"""Source columns that are held back: each came in files that lack a column which silver masks or leaves out, so it may be that one renamed.

Such a column is left out of silver, as by ``drop``, until the document says what it is (``new_columns``).
"""

from collections.abc import Collection, Mapping, Sequence

import attrs

from dms_iceberg.config.choices import NewColumns
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import OtherColumns, SchemaChanges, Table
from dms_iceberg.config.named_columns import declared_sources, table_path
from dms_iceberg.config.problems import quoted
from dms_iceberg.config.publish import published_columns
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.memory.name_changes import Structure
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import LEFT_OUT, Withheld, to_be_masked

Held = Mapping[str, tuple[str, ...]]
"""By source column in lower case, that is held back: the withheld columns, in lower case, of which it may be one."""


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


def told_columns(table: Table, names: Collection[str] = (), held: Collection[str] = ()) -> set[str]:
    """Return, in lower case, the source columns of which the document says what they are.

    Args:
        table: the table's configuration.
        names: columns of files. A former name (``renamed_from``) that files have beside the present one is another column's there.
        held: columns that are held back. One that a rename names has had both names, one after the other.
    """
    others = {old.lower() for old, new in former_names(table) if old.lower() in names and new.lower() in {*names} - {*held}}
    said = {name.lower() for name in (*table.drop, *published_columns(table))} | declared_sources(table)
    return said | ({one.renamed_from.lower() for one in table.columns if one.renamed_from is not None} - others)


def recorded_held(table: Table, withheld: Withheld, seen: Seen) -> Held:
    """Return the columns that earlier batches have held back, and that the document does not name yet."""
    if table.new_columns is NewColumns.ADD:
        return {}
    told = told_columns(table, seen.names, withheld.held)
    return {name: lacking for name, lacking in withheld.held.items() if name not in told}


@attrs.frozen
class Lines:
    """What a file of JSON lines shows: a line may omit what is NULL, so its columns are known by their values. Names are in lower case.

    Attributes:
        names: columns with a value.
        beside: by new column, the withheld ones that have a value in a row together with it.
        is_first: it is of the table's first load, which shows one moment.
    """

    names: frozenset[str]
    beside: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    is_first: bool = False


@attrs.frozen
class FoundNames:
    """The source columns of a batch's files.

    Attributes:
        ordered: those of new files in the order of the files (`name_changes.structures`).
        late: those of files whose place among the merged ones does not show.
        lines: files of JSON lines, in their order; then there are no others.
    """

    ordered: Sequence[Structure] = ()
    late: Sequence[Structure] = ()
    lines: Sequence[Lines] = ()

    @property
    def names(self) -> frozenset[str]:
        """All of them, in lower case."""
        return frozenset().union(*self.ordered, *self.late, *(one.names for one in self.lines))


@attrs.define
class _Follower:
    """Follows files one after the other, so that it does not matter in which batches they come.

    Attributes:
        secrets: the withheld columns, those that are held back included: such a one may be renamed in its turn.
        told: columns of which the document says what they are.
        known: columns that a file or silver had.
        present: those of them that the file before had.
        held: what is held back.
    """

    secrets: set[str]
    told: set[str]
    known: set[str]
    present: set[str]
    held: dict[str, tuple[str, ...]]

    def file(self, one: Structure) -> None:
        """Follow a file that has all of its columns: what appears in it, new or not, may be what vanishes with it."""
        if self.present:
            for name in one.keys() - self.present:
                self._hold(name, self.present - one.keys())
        self.known |= one.keys()
        self.present = set(one)

    def late(self, one: Structure) -> None:
        """Judge a file without a place: what is new in it may be any column that it lacks, also one that is gone by now."""
        for name in one.keys() - self.known:
            self._hold(name, self.known - one.keys())

    def lines(self, one: Lines) -> None:
        """Follow a file of JSON lines: what is new in it may be any column that no row has beside it, as nothing shows that one is gone."""
        for name in () if one.is_first else one.names - self.known:
            self._hold(name, (self.known | one.names) - one.beside.get(name, frozenset()))
        self.known |= one.names

    def _hold(self, name: str, lacking: Collection[str]) -> None:
        found = self.secrets & (set(lacking) - {name})
        if found and name not in self.told and (name in self.held or name not in self.secrets):
            self.held[name] = tuple(sorted({*self.held.get(name, ()), *found}))


def held_columns(table: Table, withheld: Withheld, seen: Seen, found: FoundNames, existing: Collection[str]) -> Held:
    """Return the columns of files to hold back, and those that are held back already.

    Args:
        table: the table's configuration.
        withheld: what the table withholds.
        seen: the columns that merged files have had.
        found: the columns of the batch's files.
        existing: silver's columns.

    Raises:
        SchemaChangeError: such a column belongs to the key, so it cannot be left out.
    """
    recorded = recorded_held(table, withheld, seen)
    if not is_guarded(table):
        return recorded
    known = {*seen.names, *(name.lower() for name in existing)}
    names = seen.names | found.names
    secrets, told = secret_columns(table, withheld, names), told_columns(table, names, recorded)
    one = _Follower(secrets, told, known, set(seen.names - seen.gone), dict(recorded))
    for structure in found.ordered:
        one.file(structure)
        one.secrets |= set(one.held)
    for structure in found.late:
        one.late(structure)
    for lines in found.lines:
        # A line does not show that a column is not there yet; the first file of a table has only its own.
        one.known |= {*to_be_masked(table)} if one.known else set()
        one.lines(lines)
        one.secrets |= set(one.held)
    held = one.held
    if table.schema_changes is SchemaChanges.STRICT and existing:
        # A file with another column stops the table.
        there = {name.lower() for name in (*existing, *recorded)}
        held = {name: lacking for name, lacking in held.items() if name in there}
    _refuse_key(table, held)
    return held


def is_guarded(table: Table) -> bool:
    """Whether new columns of a table may have to be held back."""
    return table.new_columns is NewColumns.HOLD and table.other_columns is OtherColumns.KEEP


def secret_columns(table: Table, withheld: Withheld, names: Collection[str]) -> set[str]:
    """Return, in lower case, the source columns that a table masks or leaves out, or shall; ``names`` are columns that files have."""
    # A masked expression comes in the place of a source column of its name.
    replaced = {one.name.lower() for one in table.columns if one.expr is not None and one.mask is not None} & {*names}
    secrets = {*withheld.sources, *to_be_masked(table), *replaced, *(name.lower() for name in table.drop)}
    return secrets - {name.lower() for name in (*published_columns(table), *(old for old, _ in former_names(table)))}


def _refuse_key(table: Table, held: Held) -> None:
    for name in table.key:
        if name.lower() in held:
            raise SchemaChangeError(
                f"{table_path(table)}.key: the column {name!r} comes in files that no longer have {quoted(held[name.lower()])}, which "
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
        f"{quoted(lacking)}, which {table.target} masks or leaves out, so it may be that column under a new name. Say what it is: if it "
        f'was renamed, write {renamed}; if readers may see it, write {{"name": "{name}"}} in {path}.columns. Rows that are merged before '
        f"get its values by run with --rebuild {table.source}."
    )
