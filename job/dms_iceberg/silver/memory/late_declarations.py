"""Declarations that came after the rows they concern: renames that cannot be done in place any more, and columns that older rows lack."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Column, Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item, quoted
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.memory.cleaning import UNFILLED, Cleaning, declared_renames, other_cleaning
from dms_iceberg.silver.memory.held_columns import held_warnings, recorded_held
from dms_iceberg.silver.memory.name_changes import RETURNED_PROPERTY, returned_warning
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import LEFT_OUT, Withheld
from dms_iceberg.silver.schema.first_seen import known_before
from dms_iceberg.silver.schema.rename import renamed, renamed_progress, renamed_properties, renames
from dms_iceberg.silver.table import TargetTable


def refuse_late_renames(table: Table, properties: Mapping[str, str], existing: Iterable[str]) -> None:
    """Refuse a declared rename in a table that has a column of either name, unless it was made by it: values cannot change columns.

    Args:
        table: the table's configuration.
        properties: the table's.
        existing: its columns.

    Raises:
        SchemaChangeError: there is such a rename.
    """
    recorded = Cleaning.from_properties(properties)
    if recorded is None:
        return
    there = {name.lower(): name for name in existing}
    for index, column in enumerate(table.columns):
        new, old = column.name.lower(), (column.renamed_from or column.name).lower()
        if old != new and old in there and new in there and recorded.renames.get(new) != old:
            raise SchemaChangeError(
                f"{_rename_path(table, index)}: {table.target} has both {there[old]!r} and {there[new]!r}, so the rename cannot be done in "
                f"place: rows that were merged before it was declared keep their value in {there[old]!r}. Nothing was written. If files "
                f"never have both names, run with --rebuild {table.source}, which reads {column.renamed_from!r} of older files as "
                f"{column.name!r}. If the source had columns of both names at a time, let DMS load the table into a new load epoch without "
                "renamed_from. To keep the two columns as they are, take renamed_from out."
            )


def refuse_both_names(table: Table, groups: Sequence[ReadGroup], made: Cleaning | None) -> None:
    """Refuse files with both names of a declared rename, unless the rename came before them: which of the two is the column is not known.

    Where it came before, the source uses the old name for another column (`changes.present_names`).

    Args:
        table: the table's configuration.
        groups: the first files of a content, opened; rows of JSON lines are judged one by one.
        made: what the table's content was made with; None if there is none, or nothing is known of it.

    Raises:
        SchemaChangeError: there are such files.
    """
    for index, column in enumerate(table.columns):
        old, new = column.renamed_from, column.source_name
        if old is None or new is None or old.lower() == new.lower():
            continue
        if made is not None and made.renames.get(column.name.lower()) == old.lower():
            continue
        one, both = _first_files(groups, {old.lower(), new.lower()})
        if both and not (one and min(one) < min(both)):
            raise SchemaChangeError(
                f"{_rename_path(table, index)}: {min(both).key} has both the column {old!r} and {new!r}, and nothing shows whether {new!r} "
                f"is the renamed column there, or another one that had this name before it. Nothing was written. Let DMS load the table "
                f"into a new load epoch without renamed_from: its files have present names only. If the source uses {old!r} for another "
                "column since the rename, take renamed_from out."
            )


def refuse_reused_names(table: Table, ordered: Sequence[SchemaGroup], seen: Seen) -> None:
    """Refuse files with the old name of a declared rename alone, after files with both: the old name is that of another column there.

    By the names of one file it is the renamed column (`changes.present_names`). Then the other column's values would come into that one,
    and nothing would show that it is gone, or has got another name.

    Args:
        table: the table's configuration.
        ordered: the files that come after the merged ones, in their order.
        seen: the columns of merged files.
    """
    for index, column in enumerate(table.columns):
        old, new = column.renamed_from, column.source_name
        if old is None or new is None or old.lower() == new.lower():
            continue
        pair = {old.lower(), new.lower()}
        had_both = pair <= seen.names - seen.gone
        for group in ordered:
            there = pair & {name.lower() for name in group.names}
            if had_both and there == {old.lower()}:
                raise SchemaChangeError(
                    f"{_rename_path(table, index)}: {group.files[0].key} has the column {old!r} and no longer {new!r}, after files with "
                    f"both, so {old!r} is another column there, and not {column.name!r} before its rename. Nothing was written. Take "
                    f"renamed_from out: {table.target} has both columns already. To make its older rows again later, let DMS load the "
                    "table into a new load epoch."
                )
            had_both = there == pair


def _first_files(groups: Sequence[ReadGroup], names: set[str]) -> tuple[list[BronzeFile], list[BronzeFile]]:
    found: dict[int, list[BronzeFile]] = {1: [], 2: []}
    for group in groups:
        there = names & {name.lower() for name in group.group.names}
        if there:
            found[len(there)] += group.group.files
    return found[1], found[2]


def _rename_path(table: Table, index: int) -> str:
    return f"{item(below(table_path(table), 'columns'), index)}.renamed_from"


def unfilled(table: Table, added: Iterable[str], withheld: Withheld, seen: Seen) -> set[str]:
    """Return those of the columns that are ``added`` to a table, in lower case, whose values merged files have had."""
    declared = {column.name.lower(): column for column in table.columns}
    return {name.lower() for name in added if _was_there(declared.get(name.lower(), Column(name=name)), withheld, seen)}


def _was_there(column: Column, withheld: Withheld, seen: Seen) -> bool:
    if column.source_name is None:
        return any(name.lower() in seen.names for name in referenced_columns(column.expr or ""))
    names = {column.source_name.lower(), (column.renamed_from or column.source_name).lower()}
    if any(name in withheld.sources and name in seen.names for name in names):
        return True
    # A column of its own name, that was not withheld, had no value that showed its type.
    return column.source_name.lower() in seen.names and column.source_name.lower() != column.name.lower()


def as_declared(cleaning: Cleaning, table: Table, withheld: Withheld, existing: Collection[str]) -> Cleaning:
    """Return what a table's rows were made with, with the declarations that concern no older row."""
    there = {name.lower() for name in existing}
    new = {name: old for name, old in declared_renames(table).items() if not (name in there and old in there)}
    late = dict.fromkeys(_left_behind(cleaning, table, withheld, there), UNFILLED)
    tracked = cleaning.tracked or Cleaning.of(table).tracked
    return attrs.evolve(cleaning, columns={**cleaning.columns, **late}, renames={**cleaning.renames, **new}, tracked=tracked)


def _left_behind(cleaning: Cleaning, table: Table, withheld: Withheld, existing: Collection[str]) -> list[str]:
    """Return columns of a table whose present or former names, by a rename that was declared later, it has left out.

    Of a name that is masked the column itself has the values, whatever silver calls it.
    """
    late = {name for name, old in declared_renames(table).items() if cleaning.renames.get(name) != old}
    found = []
    for column in table.columns:
        names = {name.lower() for name in (column.renamed_from, column.source_name) if name is not None}
        if column.name.lower() in late & set(existing) and any(withheld.sources.get(name) == LEFT_OUT for name in names):
            found.append(column.name.lower())
    return found


def unfilled_warning(table: Table, names: Collection[str]) -> str:
    """Return the warning about columns that older rows lack."""
    return (
        f"{table.source}: older rows of {table.target} are NULL (or have the backfill) in {quoted(sorted(names))}, though their "
        "files have the values: silver got the column after these files were merged. To make all rows again from bronze run with "
        f"--rebuild {table.source}."
    )


def late_backfills(table: Table, progress: Progress, existing: Collection[str]) -> list[str]:
    """Return a warning for each ``backfill`` that was declared after the column was merged."""
    there = {name.lower() for name in existing}
    if progress.is_empty:
        return []
    late = [name for name, first in known_before(table, progress).items() if first is None and name in there]
    return [
        f"{table.source}: the backfill of {name!r} was declared after {table.target} had the column: rows from before the source added it "
        f"stay NULL. To give them the backfill run with --rebuild {table.source}; if all rows had the column, remove the backfill."
        for name in late
    ]


def standing_warnings(target: TargetTable, table: Table) -> list[str]:
    """Return what older rows of a table do not follow, or lack, after the declared renames. Most of it ends with a rebuild or a load."""
    types, properties = target.column_types(), target.properties()
    found = renames(table, types)
    properties, columns = properties | renamed_properties(found, properties), renamed(types, found)
    made, withheld = Cleaning.from_properties(properties), Withheld.from_properties(properties) or Withheld()
    warnings = [other_cleaning(table, properties, columns)]
    if made is not None:
        there = {name.lower() for name in columns}
        late = {name for name, text in made.columns.items() if text == UNFILLED and name in there}
        late |= {*_left_behind(made, table, withheld, there)}
        warnings += [unfilled_warning(table, late)] if late else []
        warnings += late_backfills(table, renamed_progress(target.progress(), found), columns)
    warnings += held_warnings(table, withheld, recorded_held(table, withheld, Seen.from_properties(properties)))
    returned = json.loads(properties.get(RETURNED_PROPERTY, "[]"))
    if returned and not table_mode(table.mode).is_log:
        warnings.append(returned_warning(table.source, table.target, returned))
    return [text for text in warnings if text is not None]
