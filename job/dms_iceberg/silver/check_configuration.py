"""Checks whether a table's configuration still fits the table, also when there is nothing to merge.

A batch checks it with its own files. Without a batch, the newest merged file is inspected: by `plan` each time, by a run and `status` once
for each change of configuration or table. The table remembers what it was checked with, so an idle table costs one comparison.
"""

import json
from collections.abc import Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.analysis import analysed_evolution, check_expressions
from dms_iceberg.silver.memory.held_columns import without_held
from dms_iceberg.silver.memory.recorded_declarations import guarded, source_names
from dms_iceberg.silver.memory.table_memory import Memory
from dms_iceberg.silver.schema.diff import Types
from dms_iceberg.silver.schema.evolve import plan_evolution
from dms_iceberg.silver.schema.switch_mode import silver_types
from dms_iceberg.silver.schema.unknown_columns import KnownTable, Lacking, by_hand, check_named
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.store import digest

CHECKED_PROPERTY = "dms-iceberg.checked"
"""Table property with a digest of the configuration and the schema that were found to fit."""

_VERSION = 1
"""Version of the check: a later version checks every table once more."""
_DIGEST_BYTES = 8


@attrs.frozen(eq=False)
class Checked:
    """The result of a check.

    Attributes:
        memory: what the table remembers.
        names: the source columns of the newest file.
        shape: the shape of its rows, None where bronze has no merged file any more.
        named: the columns that the configuration names and the file lacks.
        warnings: all warnings of the check.
    """

    memory: Memory
    names: Sequence[str] = ()
    shape: Shape | None = None
    named: Lacking = attrs.field(factory=Lacking)
    warnings: tuple[str, ...] = ()


def configuration_text(config: Config, table: Table) -> str:
    """Return everything in the configuration that determines a table's content, as text."""
    # Who says what the files have changes what is refused, and no content.
    bronze = attrs.asdict(config.bronze, filter=lambda field, _: field.name != "assumed")
    entry = attrs.asdict(table) | {"bronze": bronze, "timestamps": config.timestamps}
    return json.dumps(entry, sort_keys=True)


def checked_property(here: TableContext) -> dict[str, str]:
    """Return the table property which records that the configuration fits the table with its present schema."""
    schema = here.target.iceberg.schema().schemaId()
    text = f"{_VERSION} {schema} {configuration_text(here.context.config, here.table)}"
    return {CHECKED_PROPERTY: digest(text, _DIGEST_BYTES).hex()}


def is_checked(here: TableContext) -> bool:
    """Whether the table records that the configuration fits."""
    return checked_property(here).items() <= here.target.properties().items()


def check(here: TableContext, existing: Types, progress: Progress, *, with_salts: bool = True) -> Checked:
    """Check the configuration with the newest merged file.

    Args:
        here: the table.
        existing: its columns, after declared renames.
        progress: its progress.
        with_salts: read and check the contents of salts, too.

    Raises:
        DmsIcebergError: a batch of such files would fail.
    """
    context, table = here.context, here.table
    file, groups = _newest(context, table, progress, existing)
    memory = guarded(here, groups, with_salts=with_salts)
    names = source_names(groups)
    if file is None or not groups:
        typed = tuple(column for column in table.columns if column.type is not None)
        plan_evolution(attrs.evolve(table, columns=typed), (), {}, existing, change=context.config.bronze.change, ntz=False)
        return Checked(memory)
    known = KnownTable(existing, memory.seen, progress, is_new=False, held=memory.held)
    named = check_named(context, table, groups, [file], known)
    merged_as = without_held(table, memory.held)
    evolution = analysed_evolution(context, merged_as, groups, existing, memory.texts, memory.salts)
    check_expressions(context, groups, merged_as, evolution.shape)
    warnings = (*named.warnings, *evolution.warnings, *by_hand(table, evolution.shape, names, memory.seen))
    return Checked(memory, names, evolution.shape, named, warnings)


def _newest(context: RunContext, table: Table, progress: Progress, existing: Types) -> tuple[BronzeFile | None, list[ReadGroup]]:
    merged = [one for one in context.listing(table, progress) if isinstance(one, BronzeFile) and progress.holds(one)]
    if not merged:
        return None, []
    try:
        return max(merged), open_files(context, table, [max(merged)], existing)
    except BronzeError:
        # The file is merged: damage to it since then must not stop anything.
        return None, []


def check_changed(here: TableContext, progress: Progress) -> None:
    """Check a table that has nothing to merge, unless it was checked with this configuration, and record the check in the table.

    Raises:
        DmsIcebergError: a batch would fail.
        PlanIsStaleError: another writer committed meanwhile.
    """
    table, target = here.table, here.target
    head = target.head() if target.exists() else None
    if head is None or is_checked(here):
        return
    transaction = target.transaction(head.id)
    check(here, silver_types(target, table) or {}, progress)
    transaction.set_properties(checked_property(here))
    target.commit(transaction)
