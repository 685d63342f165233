"""Which source columns appear, vanish and come back from file to file: the traces of a rename that nobody has declared. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import Table
from dms_iceberg.config.problems import quoted
from dms_iceberg.silver.memory.seen_columns import Seen

RETURNED_PROPERTY = "dms-iceberg.returned-columns"
"""Table property with the source columns, as JSON, that files had again after files without them; a load replaces the rows."""

Structure = Mapping[str, str]
"""The source columns of files that have the same ones: their names by the names in lower case."""


@attrs.frozen
class Switch:
    """Columns that a file is the first to have, and those that it no longer has. Neither is empty."""

    appeared: tuple[str, ...]
    vanished: tuple[str, ...]


@attrs.frozen
class NameChanges:
    """What files tell, one after the other.

    Attributes:
        switches: where columns appeared and others vanished.
        returned: columns, in lower case, that came back after files without them.
        gone: seen columns, in lower case, that the last file lacks.
    """

    switches: tuple[Switch, ...] = ()
    returned: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()


def structure(group: ReadGroup) -> Structure:
    """Return the source columns of a group of files."""
    return {name.lower(): name for name in group.columns.names}


def in_order(groups: Sequence[ReadGroup], since: str | None) -> tuple[list[ReadGroup], list[ReadGroup]]:
    """Return groups in the order of their files, each as often as it begins; and those with files that have no place in it.

    Late files show an older structure, and have none.

    Args:
        groups: the batch, opened.
        since: the close time of the newest merged file, "" before the first; None if no file comes after merged ones.
    """
    files = sorted((file, number) for number, one in enumerate(groups) for file in one.group.files)
    new = [since is not None and (not since or (file.is_cdc and file.order > since)) for file, _ in files]
    order = [number for (_, number), is_new in zip(files, new, strict=True) if is_new]
    late = {number for (_, number), is_new in zip(files, new, strict=True) if not is_new} | {*range(len(groups))} - {*order}
    ordered = [groups[now] for before, now in zip([None, *order], order, strict=False) if now != before]
    return ordered, [groups[number] for number in sorted(late)]


def structures(
    groups: Sequence[ReadGroup], since: str | None, table: Table, seen: Seen, held: Iterable[str]
) -> tuple[list[Structure], list[Structure]]:
    """Return the structures of groups `in_order`, as `without_reused_names` has them, and of those without a place."""
    ordered, late = in_order(groups, since)
    found, _ = without_reused_names([(one.group.names, structure(one)) for one in ordered], table, seen, held)
    return found, [*map(structure, late)]


def without_reused_names(
    files: Iterable[tuple[Iterable[str], Structure]], table: Table, seen: Seen, held: Iterable[str]
) -> tuple[list[Structure], Seen]:
    """Leave out, of files that come one after the other, a renamed column of which one has the former name alone after the present one.

    By its names such a file is from before the rename (``renamed_from``). By its place it is not: the source has undone the rename, or it
    uses the former name for another column, so the renamed one may have a third name.

    Args:
        files: the names of each file as it has them, and its structure.
        table: the table's configuration.
        seen: the columns of merged files.
        held: columns that were held back until now, so merged files have had these names.

    Returns:
        the structures, and what is known of merged files after these.
    """
    renamed = [(old.lower(), new.lower()) for old, new in former_names(table)]
    own, found = {*seen.own, *held}, list[Structure]()
    for names, one in files:
        there = {name.lower() for name in names}
        reused = {new for old, new in renamed if old in there and new not in there and new in own}
        own |= {new for _, new in renamed if new in there}
        found.append({name: text for name, text in one.items() if name not in reused})
    return found, attrs.evolve(seen, own=frozenset(own))


def before_return(groups: Sequence[ReadGroup], names: Collection[str]) -> int:
    """Return how many files come before the first that has one of ``names`` again, after files without it; 0 if none has.

    Before it, the name was that of another column.
    """
    files = sorted((file, number) for number, one in enumerate(groups) for file in one.group.files)
    had, lost = set[str](), set[str]()
    for place, (_, number) in enumerate(files):
        there = {*names} & structure(groups[number]).keys()
        if lost & there:
            return place
        lost = had - there
        had |= there
    return 0


def follow(seen: Seen, found: Sequence[Structure]) -> NameChanges:
    """Return what files with the structures ``found`` tell after those that were merged before."""
    switches: list[Switch] = []
    known, gone, returned = set(seen.names), set(seen.gone), set[str]()
    for one in found:
        new, lacking = set(one) - known, known - gone - set(one)
        if known and new and lacking:
            switches.append(Switch(tuple(one[name] for name in one if name in new), tuple(sorted(lacking))))
        returned |= gone & set(one)
        gone = (gone | lacking) - set(one)
        known |= set(one)
    return NameChanges(tuple(switches), frozenset(returned), frozenset(gone))


def follow_lines(seen: Seen, found: Sequence[Structure]) -> NameChanges:
    """Do the same for JSON lines. A line may omit what is NULL, so only a column that no line of the batch has may have vanished."""
    every = {name: text for one in found for name, text in one.items()}
    new, lacking = [name for name in every if name not in seen.names], sorted(seen.names - set(every))
    switches = (Switch(tuple(every[name] for name in new), tuple(lacking)),) if seen.names and new and lacking else ()
    return NameChanges(switches)


def rename_questions(source: str, switches: Sequence[Switch], told: Collection[str]) -> list[str]:
    """Return a warning for each switch that may be a rename.

    Args:
        source: the source table.
        switches: what the files tell.
        told: columns, in lower case, that the configuration names, or that are held back (`silver.memory.held_columns`).
    """
    found = []
    for one in switches:
        appeared = [name for name in one.appeared if name.lower() not in told]
        if appeared:
            found.append(
                f"{source}: files have the new column{'s' * (len(appeared) > 1)} {quoted(appeared)}, and no longer "
                f"{quoted(one.vanished)}. If the source renamed a column, declare it before the files are merged, so that its values stay "
                f'together: {{"name": "{appeared[0]}", "renamed_from": "{one.vanished[0]}"}} in tables."{source}".columns. Once they are '
                f"merged, that needs run with --rebuild {source}."
            )
    return found


def returned_warning(source: str, target: str, returned: Collection[str]) -> str:
    """Return the warning about columns that came back, as long as the table remembers them."""
    return (
        f"{source}: files have {quoted(sorted(returned))} again, after files without. If the source dropped the column and added it anew, "
        f"rows of {target} that have not changed since still have the value from before. Compare with the source (verify), or let DMS load "
        f"the table into a new load epoch. To keep these values, without a warning: ALTER TABLE ... UNSET TBLPROPERTIES "
        f"('{RETURNED_PROPERTY}')."
    )
