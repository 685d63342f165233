"""Schema policy, and carrying a schema plan out."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.changes.frames import ReadGroup, Shape
from dms_iceberg.changes.mapping import SilverColumn, backfill_text, silver_columns
from dms_iceberg.config.model import Column, Mode, SchemaChanges, Table
from dms_iceberg.config.place import ICEBERG_COLUMNS, RESERVED_PREFIX
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.faults import reach
from dms_iceberg.identifiers import quote
from dms_iceberg.target.cleaning import Cleaning
from dms_iceberg.target.commit import Draft
from dms_iceberg.target.metadata import own_columns
from dms_iceberg.target.rename import renames
from dms_iceberg.target.schema_diff import AddColumn, Incompatible, SchemaPlan, Types, diff, wanted_types
from dms_iceberg.target.table import BACKFILL_PROPERTY, TargetTable
from dms_iceberg.target.type_changes import refuse_changed_types, with_new_columns

BACKFILL_KEY = "dms-iceberg.backfill"
"""Summary key of a snapshot that gave existing rows the value of a new column: that column's name."""


@attrs.frozen
class Evolution:
    """What a batch does to its table's schema, and how its rows are shaped for it. ``warnings`` is what a reader of the table must know."""

    plan: SchemaPlan
    shape: Shape
    warnings: tuple[str, ...] = ()


def plan_evolution(
    table: Table, groups: Sequence[ReadGroup], expressions: Mapping[str, str], existing: Types | None, *, ntz: bool
) -> Evolution:
    """Compare files, configuration and table, and apply the table's policy.

    Raises:
        SchemaChangeError: the policy is strict and something changed, a declared type contradicts the table, or a name is Iceberg's own.
    """
    names = list(dict.fromkeys(name for group in groups for name in group.columns.names))
    columns = silver_columns(table, names)
    _refuse_pending_renames(table, existing or {})
    sources = [dict(group.columns.source) for group in groups]
    wanted = wanted_types(columns, sources, expressions, ntz=ntz)
    columns, wanted = with_new_columns(table, columns, sources, wanted, existing, ntz=ntz)
    plan = diff(columns, wanted, existing)
    _refuse_reserved(table, columns)
    _refuse_untyped(table, columns, plan)
    _refuse_contradiction(table, columns, plan)
    refuse_changed_types(table, columns, plan)
    refused: dict[int, str] = {}
    if existing is not None and table.schema_changes is not SchemaChanges.EVOLVE:
        plan, refused, columns = _hold_structure(table, columns, groups, plan, existing, ntz=ntz)
    if existing is not None:
        service = {name for group in groups for name in group.columns.service}
        columns = (*columns, *_orphans(table, names, service, columns, existing))
        plan = attrs.evolve(plan, target_types={**existing_types(columns, existing), **plan.target_types})
    exact = frozenset(change.name for change in plan.incompatible)
    _refuse_own_names(table, columns)
    typed = tuple(column for column in columns if column.name in plan.target_types)
    renamed = {c.name: _table_spelling(c.name, existing) for c in typed}
    shape = Shape(
        tuple(attrs.evolve(c, name=renamed[c.name]) for c in typed),
        {renamed[name]: type_ for name, type_ in plan.target_types.items()},
        frozenset(_table_spelling(name, existing) for name in exact),
        refused,
        registers=table.mode is Mode.SOFT_DELETE,
    )
    return Evolution(plan, shape, tuple(_still_there(table, c.name) for c in typed if c.retired and not c.name.startswith(RESERVED_PREFIX)))


def _refuse_pending_renames(table: Table, existing: Types) -> None:
    due = renames(table, existing)
    if due:
        raise SchemaChangeError(
            f'tables."{table.source}".columns: {table.target} still has the column {due[0].old!r} that the configuration renames to '
            f"{due[0].new!r} (renamed_from). The next run does it: run the job first."
        )


def _refuse_own_names(table: Table, columns: Sequence[SilverColumn]) -> None:
    own = {name.lower() for name in own_columns(table.mode)}
    taken = [column.name for column in columns if column.name.lower() in own]
    if taken:
        raise SchemaChangeError(
            f'tables."{table.source}": the source has a column {taken[0]!r}, a name that mode {table.mode} has for a column of its own. '
            f"Rename it in silver with columns[].name and from, or drop it."
        )


def _table_spelling(name: str, existing: Types | None) -> str:
    return next((column for column in existing or {} if column.lower() == name.lower()), name)


def existing_types(columns: Sequence[SilverColumn], existing: Types) -> Types:
    """Return the table's types under the names that ``columns`` use."""
    by_name = {name.lower(): type_ for name, type_ in existing.items()}
    return {column.name: by_name[column.name.lower()] for column in columns if column.name.lower() in by_name}


def _orphans(
    table: Table, source: Sequence[str], service: Collection[str], columns: Sequence[SilverColumn], existing: Types
) -> list[SilverColumn]:
    """Columns of the table that the batch gives no value: these files have them no longer, or the configuration leaves them out."""
    named = {column.name.lower() for column in columns}
    present = {name.lower() for name in (*source, *service)}
    return [_orphan(table, source, present, name, type_) for name, type_ in existing.items() if name.lower() not in named]


def _orphan(table: Table, source: Sequence[str], present: Collection[str], name: str, type_: str) -> SilverColumn:
    """The column as older files may still have it, or retired: then no file's value may get in, least of all one to be masked now."""
    if name.lower() not in present and not name.startswith(RESERVED_PREFIX) and is_kept(table, source, name):
        return SilverColumn(name, name, False, Column(name=name))
    return SilverColumn(name, None, False, Column(name=name, type=type_), retired=True)


def is_kept(table: Table, source: Sequence[str], name: str) -> bool:
    """Whether silver would have a column of the table's, if the files had it beside ``source``."""
    others = [one for one in source if one.lower() != name.lower()]
    named = {column.name.lower() for column in silver_columns(table, [*others, name])}
    return name.lower() in named


def _still_there(table: Table, name: str) -> str:
    return (
        f"{table.source}: {table.target} has the column {name!r}, which the configuration leaves out. It is NULL in every row that is "
        "written from now on; other rows keep their values. When no reader needs it any more, remove it with ALTER TABLE ... DROP COLUMN; "
        "its values are gone for good when the snapshots before that have expired."
    )


def _refuse_reserved(table: Table, columns: Sequence[SilverColumn]) -> None:
    """Names in the configuration were checked with it; those of kept columns are the files'."""
    for column in columns:
        if column.name.lower() in ICEBERG_COLUMNS:
            raise SchemaChangeError(
                f'tables."{table.source}".columns: the source has a column {column.name!r}, a name of Iceberg\'s own columns, so that '
                f"{table.target} could not be read with it. Give it another name in silver, such as "
                f'{{"name": "{column.name.strip("_")}_of_source", "from": "{column.name}"}}; or leave it out with drop, or with a DMS '
                "mapping rule (rename or remove-column). Nothing was written."
            )


def _refuse_untyped(table: Table, columns: Sequence[SilverColumn], plan: SchemaPlan) -> None:
    untyped = [c.name for c in columns if c.source is None and c.name not in plan.target_types]
    nowhere = [c.name for c in columns if c.is_key and c.source is not None and c.name not in plan.target_types]
    if nowhere:
        raise SchemaChangeError(
            f"{table.source}: key column {nowhere[0]!r} is NULL in every row of these files, so its type is not known and the table cannot "
            f'be made. Declare the type in tables."{table.source}".columns, or correct the files.'
        )
    if untyped:
        raise SchemaChangeError(
            f'tables."{table.source}".columns: the type of the expression {untyped[0]!r} cannot be found, because it reads a column that '
            "none of these files has. Correct the column's name in expr; or, if the source adds that column later, declare the "
            "expression's type."
        )


def _refuse_contradiction(table: Table, columns: Sequence[SilverColumn], plan: SchemaPlan) -> None:
    declared = {column.name: column for column in columns if column.type is not None}
    for change in plan.incompatible:
        if change.name in declared:
            raise SchemaChangeError(
                f'tables."{table.source}".columns: {change.name!r} is declared as {change.file_type}, but column {change.name!r} of '
                f"{table.target} is "
                f"{change.table_type}, which Iceberg cannot widen to it (it can: int to bigint, float to double, a decimal's precision). "
                "Declare the table's type, give the column a new name, or load the table into a new target."
            )


def _hold_structure(
    table: Table, columns: tuple[SilverColumn, ...], groups: Sequence[ReadGroup], plan: SchemaPlan, existing: Types, *, ntz: bool
) -> tuple[SchemaPlan, dict[int, str], tuple[SilverColumn, ...]]:
    """Apply the policies that keep undeclared columns as they are; what the configuration declares is always done."""
    declared = {column.name.lower() for column in table.columns}
    declared |= {name.lower() for column in columns if column.name.lower() in declared for name in column.family}
    changes = [op for op in (*plan.operations, *plan.incompatible) if op.name.lower() not in declared]
    if not changes:
        return plan, {}, columns
    if table.schema_changes is SchemaChanges.STRICT:
        raise SchemaChangeError(
            f"{table.source}: schema_changes is 'strict' and the files differ from {table.target}: "
            + "; ".join(_describe(change) for change in changes)
            + ". Declare the columns, drop them, or set schema_changes to 'evolve'. Nothing was written."
        )
    refused = {}
    for number, group in enumerate(groups):
        own = diff(silver_columns(table, group.columns.names), _own_types(table, group, ntz=ntz), existing)
        hits = [c for c in (*own.operations, *own.incompatible) if c.name.lower() not in declared]
        if hits:
            refused[number] = "schema_change: " + "; ".join(_describe(change) for change in hits)
    held = {change.name for change in changes}
    kept = tuple(op for op in plan.operations if op.name not in held)
    added = {change.name for change in changes if isinstance(change, AddColumn)}
    types = {name: type_ for name, type_ in plan.target_types.items() if name not in added}
    types |= {name: type_ for name, type_ in existing_types(columns, existing).items() if name in held}
    return SchemaPlan(types, kept, plan.incompatible), refused, tuple(c for c in columns if c.name not in added)


def _own_types(table: Table, group: ReadGroup, *, ntz: bool) -> Types:
    columns = [c for c in silver_columns(table, group.columns.names) if c.source is not None or c.type is not None]
    return wanted_types(columns, [dict(group.columns.source)], {}, ntz=ntz)


def _describe(change: object) -> str:
    match change:
        case AddColumn(name, type_):
            return f"column {name} ({type_}) is new"
        case Incompatible(name, old, new):
            return f"column {name} is {new} in the files and {old} in the table"
        case _:
            return f"column {change.name} would widen from {change.old} to {change.new}"  # type: ignore[attr-defined]


def evolve(target: TargetTable, table: Table, plan: SchemaPlan, planned_on: int | None) -> tuple[str, ...]:
    """Carry out the operations of ``plan``, backfills included, in one commit, and return their SQL.

    Raises:
        PlanIsStaleError: somebody else committed after the plan was made on snapshot ``planned_on``.
    """
    draft = target.draft(planned_on)
    statements = [operation.sql(target.sql_name) for operation in plan.operations]
    for operation in plan.operations:
        if isinstance(operation, AddColumn):
            draft.add_column(operation.name, operation.type)
            statements += _backfill(draft, operation, target)
        else:
            draft.widen_column(operation.name, operation.new)
    made, added = Cleaning.from_properties(target.properties()), [one.name for one in plan.operations if isinstance(one, AddColumn)]
    if made is not None and added:
        target.tell_made(draft, made.plus(Cleaning.of(table), added).to_properties())
    target.publish(draft)
    reach("after-evolve", target.name)
    return tuple(statements)


def restore_backfills(target: TargetTable, branch: str | None = None) -> list[str]:
    """Backfill again where main was rolled back behind a backfill, or a branch was begun before it: the column is there, not its values.

    Returns:
        The SQL.
    """
    done = {key: json.loads(text) for key, text in target.properties().items() if key.startswith(BACKFILL_PROPERTY)}
    lost = {
        key.removeprefix(BACKFILL_PROPERTY): one["value"] for key, one in done.items() if target.is_off_the_line(one["snapshot"], branch)
    }
    missing = _without_backfill(target, lost, branch) if lost else set()
    if not missing:
        return []
    types = target.column_types()
    head = target.head(branch)
    draft = target.draft(head.id if head else None, branch)
    columns = [AddColumn(name, types[name], lost[name]) for name in sorted(missing)]
    for column in columns:
        _backfill(draft, column, target)
    target.publish(draft)
    name = target.sql_name if branch is None else f"{target.sql_name}.{quote(f'branch_{branch}')}"
    return [statement for column in columns if (statement := column.backfill_sql(name)) is not None]


def _without_backfill(target: TargetTable, names: Iterable[str], branch: str | None) -> set[str]:
    """Return the columns among ``names`` that no ancestor backfilled; none when expiry has cut the line before it can tell."""
    missing = set(names) & set(target.column_types())
    oldest = None
    for oldest in target.lineage(branch):
        missing.discard(oldest.summary.get(BACKFILL_KEY, ""))
    return set() if oldest is not None and oldest.parent_id is not None else missing


def _backfill(draft: Draft, column: AddColumn, target: TargetTable) -> list[str]:
    statement = column.backfill_sql(target.sql_name)
    if column.backfill is None or statement is None:
        return []
    reach("before-backfill", target.name)
    mark = {BACKFILL_KEY: column.name}
    if draft.head() is None:
        # No row to fill, but from now on a NULL is the source's own.
        draft.touch(mark)
    else:
        draft.execute(lambda name: column.backfill_sql(name) or "", mark)
    reach("after-backfill", target.name)
    done = {"snapshot": draft.head(), "value": backfill_text(column.backfill)}
    draft.set_properties({BACKFILL_PROPERTY + column.name: json.dumps(done, separators=(",", ":"))})
    return [statement]
