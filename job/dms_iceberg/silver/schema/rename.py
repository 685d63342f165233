"""Declared renames (``columns[].renamed_from``) in a table that still has the old names: no value is rewritten."""

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.failpoints import failpoint
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.silver.memory.cleaning import UNFILLED, Cleaning
from dms_iceberg.silver.memory.key import KEY_PROPERTY
from dms_iceberg.silver.memory.withheld import LEFT_OUT, WITHHELD_PROPERTY, Withheld
from dms_iceberg.silver.table import ADDED_PROPERTY, BACKFILL_PROPERTY, BEFORE_PROPERTY, TargetTable
from dms_iceberg.sql.quoting import quote

_OF_COLUMNS = (ADDED_PROPERTY, BACKFILL_PROPERTY)
"""Prefixes of table properties that end with the name of a column."""


@attrs.frozen
class RenameColumn:
    """A column that gets another name."""

    old: str
    new: str

    def sql(self, table: str) -> str:
        """The ALTER statement."""
        return f"ALTER TABLE {table} RENAME COLUMN {quote(self.old)} TO {quote(self.new)}"


def renames(table: Table, existing: Iterable[str]) -> list[RenameColumn]:
    """Return the declared renames that are still to be done in a table with the columns ``existing``."""
    names = {name.lower(): name for name in existing}
    return [
        RenameColumn(names[column.renamed_from.lower()], column.name)
        for column in table.columns
        if column.renamed_from and column.renamed_from.lower() in names and column.name.lower() not in names
    ]


def renamed_properties(done: Sequence[RenameColumn], properties: Mapping[str, str]) -> dict[str, str]:
    """Return the table properties that contain the name of a renamed column, with its new name."""
    new = {one.old.lower(): one.new for one in done}
    changed = {prefix + one.new: properties[old] for one in done for prefix in _OF_COLUMNS if (old := prefix + one.old) in properties}
    if KEY_PROPERTY in properties:
        key = [new.get(name.lower(), name) for name in json.loads(properties[KEY_PROPERTY])]
        changed[KEY_PROPERTY] = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    recorded, withheld = Cleaning.from_properties(properties), Withheld.from_properties(properties)
    if recorded is not None:
        columns = {new.get(name, name).lower(): text for name, text in recorded.columns.items()}
        # What was merged while the new name was held back is not in the column.
        merged = withheld.held.items() if withheld is not None else ()
        held = {name for one, names in merged if withheld is not None and withheld.sources.get(one) == LEFT_OUT for name in names}
        columns |= {one.new.lower(): UNFILLED for one in done if one.old.lower() in held}
        followed = {new.get(name, name).lower(): old for name, old in recorded.renames.items()}
        # Files from before an earlier rename may still be read.
        followed |= {one.old.lower(): recorded.renames[one.old.lower()] for one in done if one.old.lower() in recorded.renames}
        followed |= {one.new.lower(): one.old.lower() for one in done}
        changed |= attrs.evolve(recorded, columns=columns, renames=followed).to_properties()
    if withheld is not None:
        changed[WITHHELD_PROPERTY] = withheld.renamed(new).to_text()
    for name, text in properties.items():
        if name.startswith(BEFORE_PROPERTY):
            before = json.loads(text)
            changed[name] = json.dumps(before | renamed_properties(done, before), separators=(",", ":"))
    return changed


def renamed(types: Mapping[str, str], done: Sequence[RenameColumn]) -> dict[str, str]:
    """Return ``types`` by the column names after the renames."""
    names = {one.old: one.new for one in done}
    return {names.get(name, name): type_ for name, type_ in types.items()}


def renamed_progress(progress: Progress, done: Sequence[RenameColumn]) -> Progress:
    """Return ``progress`` with ``first_seen`` by the column names after the renames."""
    names = {one.old.lower(): one.new.lower() for one in done}
    return attrs.evolve(progress, first_seen={names.get(name, name): first for name, first in progress.first_seen.items()})


def rename_columns(target: TargetTable, found: Sequence[RenameColumn]) -> list[str]:
    """Do declared renames (`renames`) in one commit, and return their SQL.

    The commit adds a snapshot, because readers of the newest snapshot, such as gold models, read with that snapshot's columns.

    Raises:
        PlanIsStaleError: another writer committed meanwhile.
    """
    head, properties = target.head(), target.properties()
    transaction = target.transaction(head.id if head else None)
    for one in found:
        transaction.rename_column(one.old, one.new)
    target.record_properties(transaction, renamed_properties(found, properties))
    transaction.remove_properties([name for one in found for prefix in _OF_COLUMNS if (name := prefix + one.old) in properties])
    if head is not None:
        transaction.touch({PROGRESS_KEY: renamed_progress(target.progress(), found).to_json()})
    target.commit(transaction)
    failpoint("after-evolve", target.name)
    return [one.sql(target.sql_name) for one in found]
