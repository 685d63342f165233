"""What a table remembers of its masks and columns, or for one of an earlier version what can be found out; and the guard that uses it."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.key_columns import silver_key
from dms_iceberg.config.model import BronzeFormat, Mask, SchemaChanges, Table
from dms_iceberg.config.salts import resolved_salts
from dms_iceberg.errors import BronzeError, SchemaChangeError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.analysis import masked_types
from dms_iceberg.silver.branch_summary import branch_summary
from dms_iceberg.silver.cleaning import Cleaning
from dms_iceberg.silver.earlier_masks import withheld_of_earlier
from dms_iceberg.silver.held_columns import (
    FoundNames,
    Held,
    held_columns,
    is_guarded,
    left_to_policy,
    recorded_held,
    secret_columns,
    without_held,
)
from dms_iceberg.silver.lines_seen import lines_seen
from dms_iceberg.silver.name_changes import structures
from dms_iceberg.silver.publish_guard import refuse_published
from dms_iceberg.silver.rename import renamed_properties, renames
from dms_iceberg.silver.schema_diff import Types
from dms_iceberg.silver.seen_columns import Seen
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.silver.table_memory import Memory
from dms_iceberg.silver.text_types import are_text, first_types
from dms_iceberg.silver.withheld import LEFT_OUT, Withheld
from dms_iceberg.sql.mask_text import is_plain
from dms_iceberg.sql.types import VOID


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

    Reads nothing but the table's properties, except for a table of an earlier version: then two merged files are inspected.
    Where the table's present rows stay, the caller calls `refuse_mixed_key` as well.

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
    memory = _with_text_types(here, groups, _recalled(here, names)) if target.exists() and target.head() is not None else Memory()
    main = memory.withheld
    summary = branch_summary(target, branch) if branch is not None else {}
    memory = attrs.evolve(memory, seen=Seen.from_properties(summary, otherwise=memory.seen))
    built = Withheld.from_properties(summary)
    if built is not None:
        memory = attrs.evolve(memory, withheld=built, texts={**memory.texts, **_texts(built)})
    held = {**recorded_held(here.table, main), **_held(here, groups, foreseen or memory, since, is_reload=branch is not None)}
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
        found = FoundNames(*structures(groups, since))
    elif is_guarded(table):
        there = {*seen.names, *(name.lower() for name in existing)}
        is_first_load = since == "" and not is_reload
        found = FoundNames(lines=lines_seen(groups, secret_columns(table, known.withheld), there, is_first_load=is_first_load))
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
        names = [name for name, _ in _Merged(here).newest_columns()]
    withheld = Withheld.from_properties(properties)
    withheld = withheld if withheld is not None else _of_earlier(here, properties)
    refuse_published(table, withheld, None)
    if names:
        refuse_published(without_held(table, recorded_held(table, withheld)), withheld, names)


def _of_earlier(here: TableContext, properties: Mapping[str, str]) -> Withheld:
    made = Cleaning.from_properties(properties)
    return withheld_of_earlier(here.table, made, here.target.column_types()) if made is not None else Withheld()


def _recalled(here: TableContext, names: Sequence[str]) -> Memory:
    properties = here.target.properties()
    withheld, seen = Withheld.from_properties(properties), Seen.from_properties(properties)
    if withheld is None:
        return _found_out(here, names, seen)
    return Memory(withheld, seen, _texts(withheld))


def _texts(withheld: Withheld) -> dict[str, str]:
    return {**{name: made.text for name, made in withheld.masks.items() if made.text}, **withheld.texts}


def _found_out(here: TableContext, names: Sequence[str], seen: Seen) -> Memory:
    withheld = _of_earlier(here, here.target.properties())
    merged = _Merged(here)
    if new := _newly_kept(here.table, names, here.target.column_types()):
        # A column that files had before, and that the table lacks, was left out.
        left_out = new & {name.lower() for name, type_ in merged.newest_columns() if type_ != VOID}
        withheld = attrs.evolve(withheld, sources={**dict.fromkeys(left_out, LEFT_OUT), **withheld.sources})
    texts, mixed = _hashed_texts(here, merged)
    return Memory(withheld, seen, texts, mixed, is_earlier=True)


def _newly_kept(table: Table, names: Sequence[str], existing: Collection[str]) -> set[str]:
    """Return undeclared source columns that silver would get now; empty for other schema policies, which keep columns out anyway."""
    if table.schema_changes is not SchemaChanges.EVOLVE:
        return set()
    declared, there = {column.name.lower() for column in table.columns}, {name.lower() for name in existing}
    kept = {column.name.lower() for column in silver_columns(table, names)} - declared
    return kept - there


class _Merged:
    """The earliest and the newest merged file of a table, as far as bronze still has them; opened only when needed."""

    def __init__(self, here: TableContext) -> None:
        self._context, self._table = here.context, here.table
        self._progress: Progress = here.target.progress()

    def ends(self) -> list[BronzeFile]:
        """Return the earliest and the newest file, only one if they are the same, none if there is none."""
        if self._progress.epoch != self._context.config.bronze.epoch:
            return []
        listing = self._context.listing(self._table, self._progress)
        merged = sorted(file for file in listing if isinstance(file, BronzeFile) and self._progress.holds(file))
        return [merged[0], merged[-1]] if len(merged) > 1 else merged

    def opened(self, file: BronzeFile) -> list[ReadGroup]:
        """Open a file; returns nothing for a damaged one."""
        try:
            return open_files(self._context, self._table, [file])
        except BronzeError:
            return []

    def newest_columns(self) -> list[tuple[str, str]]:
        """Return name and Spark type of the newest file's source columns."""
        return [column for file in self.ends()[-1:] for group in self.opened(file) for column in group.columns.source]


def _hashed_texts(here: TableContext, merged: _Merged) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the types whose texts an earlier version has masked, and the columns whose files had another type later.

    That version masked the text of a value in the type of its file. In text formats all files have one type.
    """
    undeclared = [column for column in here.table.columns if column.mask not in (None, Mask.REDACT) and column.type is None]
    if not undeclared or here.context.config.bronze.format is not BronzeFormat.PARQUET:
        return {}, {}
    return _by_ends([masked_types(here.context, merged.opened(file), here.table) for file in merged.ends()])


def _with_text_types(here: TableContext, groups: Sequence[ReadGroup], memory: Memory) -> Memory:
    """Add the types whose texts an earlier version has given to columns that are text, which that version did not record."""
    table, existing = here.table, {name.lower(): type_ for name, type_ in here.target.column_types().items()}
    columns = are_text(silver_columns(table, source_names(groups)), existing)
    unknown = [name for name in first_types(columns, groups) if memory.texts.get(name, "string") == "string"]
    if not unknown or here.context.config.bronze.format is not BronzeFormat.PARQUET:
        return memory
    merged = _Merged(here)
    texts, mixed = _by_ends(
        [{name: type_ for name, type_ in _file_texts(here, merged, file).items() if name in unknown} for file in merged.ends()]
    )
    return attrs.evolve(memory, texts={**memory.texts, **texts}, mixed={**memory.mixed, **mixed})


def _file_texts(here: TableContext, merged: _Merged, file: BronzeFile) -> Types:
    groups, existing = merged.opened(file), {name.lower(): type_ for name, type_ in here.target.column_types().items()}
    return first_types(are_text(silver_columns(here.table, source_names(groups)), existing), groups)


def _by_ends(found: Sequence[Types]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the types of columns in the earliest file that has them, and the columns to which the newest one gives other texts."""
    texts = {name.lower(): type_ for types in reversed(found) for name, type_ in types.items()}
    later = {name.lower(): type_ for types in found for name, type_ in types.items()}
    return texts, {name: (type_, later[name]) for name, type_ in texts.items() if not is_plain(later[name], type_)}


def mixed_keys(here: TableContext) -> list[str]:
    """Return the key columns that an earlier version has filled with the texts of several types."""
    withheld, merged = Withheld.from_properties(here.target.properties()), _Merged(here)
    mixed = _hashed_texts(here, merged)[1] if withheld is None else {}
    if here.context.config.bronze.format is BronzeFormat.PARQUET:
        known = {name for name, type_ in _texts(withheld or Withheld()).items() if type_ != "string"}
        found = _by_ends([_file_texts(here, merged, file) for file in merged.ends()])[1]
        mixed |= {name: types for name, types in found.items() if name not in known}
    return [name for name in silver_key(here.table) if name.lower() in mixed]


def refuse_mixed_key(table: Table, memory: Memory) -> None:
    """Refuse a table whose key an earlier version has hashed, or written as text, in several ways; a rebuild makes all keys again.

    Raises:
        SchemaChangeError: the table is such a one.
    """
    for name in silver_key(table):
        if name.lower() in memory.mixed:
            first, later = memory.mixed[name.lower()]
            masked = any(column.mask and column.name.lower() == name.lower() for column in table.columns)
            kept, made, many = ("masked", "hashed", "hashes") if masked else ("text", "written", "texts")
            raise SchemaChangeError(
                f'tables."{table.source}".columns: the key column {name!r} of {table.target} is {kept}, and an earlier version has {made} '
                f"each value as the type of its file shows it: {first} in the first files and {later} in later ones. So one key has two "
                f"{many}, and changes do not find their rows. Make the table again with run --rebuild {table.source}: all {many} are made "
                f"of one text then, that of {first}. Nothing was written."
            )
