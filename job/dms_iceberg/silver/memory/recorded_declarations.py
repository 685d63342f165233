"""What a table remembers of its masks and columns, and the guard that uses it."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.config.salts import resolved_salts
from dms_iceberg.errors import BronzeError, SchemaChangeError
from dms_iceberg.silver.branch_summary import branch_summary
from dms_iceberg.silver.memory.held_columns import (
    FoundNames,
    Held,
    held_columns,
    is_guarded,
    left_to_policy,
    recorded_held,
    secret_columns,
    without_held,
)
from dms_iceberg.silver.memory.lines_seen import lines_seen
from dms_iceberg.silver.memory.name_changes import structures
from dms_iceberg.silver.memory.publish_guard import refuse_published
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.table_memory import Memory
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY, Withheld
from dms_iceberg.silver.schema.rename import renamed_properties, renames
from dms_iceberg.silver.table_context import TableContext


def source_names(groups: Iterable[ReadGroup]) -> list[str]:
    """Return the source columns of groups of files, each once."""
    return list(dict.fromkeys(name for group in groups for name in group.columns.names))


def guarded(
    here: TableContext,
    groups: Sequence[ReadGroup],
    branch: str | None = None,
    *,
    with_salts: bool = True,
    foreseen: Memory | None = None,
    since: str | None = None,
) -> Memory:
    """Check that the configuration publishes nothing that a table withholds, and return what the table remembers.

    Reads nothing but the table's properties.

    Args:
        here: the table.
        groups: the batch, opened.
        branch: the branch that the batch goes to, None for main.
        with_salts: read and check the contents of salts, too.
        foreseen: what the table will remember after batches that come before, where these are predicted.
        since: the close time of the newest merged file, "" before the first; None if the files do not come after merged ones.

    Raises:
        SchemaChangeError: something would be published (`refuse_published`), or a key column would have to be held back.
        ConfigError: a salt cannot be read.
    """
    target, names = here.target, source_names(groups)
    memory = _recalled(here) if target.exists() and target.head() is not None else Memory()
    main, recorded = memory.withheld, recorded_held(here.table, memory.withheld, memory.seen)
    summary = branch_summary(target, branch) if branch is not None else {}
    memory = attrs.evolve(memory, seen=Seen.from_properties(summary, otherwise=memory.seen))
    built = Withheld.from_properties(summary)
    if built is not None:
        memory = attrs.evolve(memory, withheld=built, texts={**memory.texts, **_texts(built)})
    held = {**recorded, **_held(here, groups, foreseen or memory, since, is_reload=branch is not None)}
    kept_out = left_to_policy(here.table, held, memory.withheld, target.column_types() if target.exists() else ())
    held = {name: lacking for name, lacking in held.items() if name not in kept_out}
    memory = attrs.evolve(memory, held=held, kept_out=kept_out)
    table = without_held(here.table, memory.held)
    refuse_published(table, main, names)
    if with_salts:
        memory = attrs.evolve(memory, salts=resolved_salts(table))
        refuse_published(table, main, names, memory.checks)
    return memory


def _held(here: TableContext, groups: Sequence[ReadGroup], known: Memory, since: str | None, *, is_reload: bool) -> Held:
    table, existing = here.table, here.target.column_types() if here.target.exists() else ()
    seen = known.seen.renamed(former_names(table))
    if here.context.config.bronze.format is not BronzeFormat.JSON:
        found = FoundNames(*structures(groups, since, table, seen, known.withheld.held))
    elif is_guarded(table):
        there = {*seen.names, *(name.lower() for name in existing)}
        is_first_load = since == "" and not is_reload
        secrets = secret_columns(table, known.withheld, {*seen.names, *(name.lower() for name in source_names(groups))})
        found = FoundNames(lines=lines_seen(groups, secrets, there, is_first_load=is_first_load))
    else:
        found = FoundNames()
    return held_columns(table, known.withheld, seen, found, existing)


def refuse_declared(here: TableContext) -> None:
    """Refuse a configuration that would publish something by its declarations, before a batch is planned and declared renames are done.

    A rename changes the table, so before one the newest merged file is inspected as well.

    Raises:
        SchemaChangeError: something would be published.
    """
    table, target = here.table, here.target
    if target.head() is None:
        return
    properties, names = target.properties(), None
    if any(column.renamed_from for column in table.columns) and (due := renames(table, target.column_types())):
        properties |= renamed_properties(due, properties)
        names = _newest_columns(here)
    withheld = _withheld(here, properties)
    refuse_published(table, withheld, None)
    if names:
        refuse_published(without_held(table, recorded_held(table, withheld, Seen.from_properties(properties))), withheld, names)


def _recalled(here: TableContext) -> Memory:
    properties = here.target.properties()
    withheld = _withheld(here, properties)
    return Memory(withheld, Seen.from_properties(properties), _texts(withheld))


def _withheld(here: TableContext, properties: Mapping[str, str]) -> Withheld:
    """Return what a table with a snapshot withholds; nothing before its first batch.

    Raises:
        SchemaChangeError: batches are merged, and the record is gone.
    """
    withheld = Withheld.from_properties(properties)
    if withheld is None and not here.target.progress().is_empty:
        raise SchemaChangeError(
            f"{here.target.name}: batches are merged, and the table property {WITHHELD_PROPERTY}, which records what the table masks and "
            "leaves out, is gone. Without it nothing shows what must not be published. Set it again to the value in a former metadata.json "
            f'of the table; or give tables."{here.table.source}" another target, and let the job make the table again. Nothing was written.'
        )
    return withheld if withheld is not None else Withheld()


def _texts(withheld: Withheld) -> dict[str, str]:
    return {**{name: made.text for name, made in withheld.masks.items() if made.text}, **withheld.texts}


def _newest_columns(here: TableContext) -> list[str]:
    """Return the source columns of the newest merged file, as far as bronze still has it."""
    progress = here.target.progress()
    if progress.epoch != here.context.config.bronze.epoch:
        return []
    listing = here.context.listing(here.table, progress)
    merged = [file for file in listing if isinstance(file, BronzeFile) and progress.holds(file)]
    try:
        return source_names(open_files(here.context, here.table, [max(merged)])) if merged else []
    except BronzeError:
        # It is merged: damage to it since then must not stop anything.
        return []
