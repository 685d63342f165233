"""Applies the schema policy, and carries out a schema plan."""

from collections.abc import Collection, Mapping, Sequence

import attrs

from dms_iceberg.bronze.before_images import image_warnings, silver_images
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.identity import is_identified
from dms_iceberg.changes.mapping import SilverColumn, silver_columns
from dms_iceberg.changes.shape import Refused, Shape
from dms_iceberg.config.check_context import ICEBERG_COLUMNS, RESERVED_PREFIX, TAKEN_COLUMNS
from dms_iceberg.config.model import Change, Column, SchemaChanges, Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.config.types import value_problem
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.silver.memory.cleaning import UNFILLED, Cleaning
from dms_iceberg.silver.memory.late_declarations import unfilled
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import Withheld
from dms_iceberg.silver.schema.backfill import backfill, unseen
from dms_iceberg.silver.schema.diff import AddColumn, Incompatible, SchemaPlan, Types, diff, wanted_types
from dms_iceberg.silver.schema.rename import renames
from dms_iceberg.silver.schema.type_changes import refuse_changed_types, with_new_columns
from dms_iceberg.silver.table import ADDED_PROPERTY, TargetTable


@attrs.frozen
class Evolution:
    """What a batch changes in its table's schema, and the shape of its rows for that schema. ``warnings`` are for the operator."""

    plan: SchemaPlan
    shape: Shape
    warnings: tuple[str, ...] = ()


def plan_evolution(
    table: Table, groups: Sequence[ReadGroup], expressions: Mapping[str, str], existing: Types | None, *, change: Change, ntz: bool
) -> Evolution:
    """Compare files, configuration and table, and apply the table's schema policy.

    Args:
        table: the table's configuration.
        groups: the batch, opened.
        expressions: types of expressions without a declared type.
        existing: Spark types by column of the table, None when it does not exist.
        change: the configuration of change files.
        ntz: undeclared Parquet timestamps are wall clocks.

    Raises:
        SchemaChangeError: the policy is strict and something changed, a declared type contradicts the table, a type is unknown, a declared
            rename is still to be done, or a name is reserved by Iceberg, Spark or the table's mode.
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
    _refuse_backfills(table, columns, plan)
    refuse_changed_types(table, columns, plan)
    refused: dict[int, Refused] = {}
    if existing is not None and table.schema_changes is not SchemaChanges.EVOLVE:
        plan, refused, columns = _hold_structure(table, columns, groups, plan, existing, ntz=ntz)
    images = silver_images(existing or (), change, table, names)
    if existing is not None:
        service = {name for group in groups for name in group.columns.service}
        columns = (*columns, *_orphans(table, names, {*service, *images}, columns, existing))
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
        keeps_deleted=table_mode(table.mode).keeps_deleted,
    )
    retired = [c.name for c in typed if c.retired and not c.name.startswith(RESERVED_PREFIX)]
    warnings = image_warnings(
        table, change, (group.columns.like_images for group in groups), {c: images[c] for c in retired if c in images}
    )
    return Evolution(plan, shape, (*warnings, *(_still_there(table, name) for name in retired if name not in images)))


def _refuse_pending_renames(table: Table, existing: Types) -> None:
    due = renames(table, existing)
    if due:
        raise SchemaChangeError(
            f'tables."{table.source}".columns: {table.target} still has the column {due[0].old!r} that the configuration renames to '
            f"{due[0].new!r} (renamed_from). The next run does it: run the job first."
        )


def _refuse_own_names(table: Table, columns: Sequence[SilverColumn]) -> None:
    own = {name.lower() for name in table_mode(table.mode).own_columns}
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
    """Columns of the table without a value in the batch: these files no longer have them, or the configuration leaves them out."""
    named = {column.name.lower() for column in columns}
    present = {name.lower() for name in (*source, *service)}
    return [_orphan(table, source, present, name, type_) for name, type_ in existing.items() if name.lower() not in named]


def _orphan(table: Table, source: Sequence[str], present: Collection[str], name: str, type_: str) -> SilverColumn:
    """Return the column as a copy, if older files may still have it; else retired, so that no file's value reaches it, masked or not."""
    if name.lower() not in present and not name.startswith(RESERVED_PREFIX) and is_kept(table, source, name):
        return SilverColumn(name, name, False, Column(name=name))
    return SilverColumn(name, None, False, Column(name=name, type=type_), retired=True)


def is_kept(table: Table, source: Sequence[str], name: str) -> bool:
    """Whether silver would keep a column of the table if the files had it beside ``source``."""
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
    """Refuse reserved names of kept columns, which come from the files; names in the configuration were checked with it."""
    for column in columns:
        if column.name.lower() in TAKEN_COLUMNS:
            owner = "Iceberg" if column.name.lower() in ICEBERG_COLUMNS else "Spark"
            raise SchemaChangeError(
                f'tables."{table.source}".columns: the source has a column {column.name!r}, a name of {owner}\'s own columns, so that '
                f"{table.target} could not be read or merged with it. Give it another name in silver, such as "
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


def _refuse_backfills(table: Table, columns: Sequence[SilverColumn], plan: SchemaPlan) -> None:
    """Refuse a backfill that is no value of an undeclared type: SQL would make it NULL, or another number."""
    for index, column in enumerate(table.columns):
        if column.backfill is None or column.type is not None:
            continue
        type_ = next((plan.target_types[one.name] for one in columns if one.declared is column and one.name in plan.target_types), "string")
        if type_ != "string" and (problem := value_problem(column.backfill, type_)) is not None:
            raise SchemaChangeError(
                f"{item(below(table_path(table), 'columns'), index)}.backfill: the column {column.name!r} has the type {type_}, and the "
                f"backfill {problem}. Nothing was written. Correct it, or declare a type."
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
) -> tuple[SchemaPlan, dict[int, Refused], tuple[SilverColumn, ...]]:
    """Apply the policies that do not change undeclared columns; changes that the configuration declares are always made."""
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
        own_columns = silver_columns(table, group.columns.names)
        sources = {column.name: column.source or column.name for column in own_columns}
        own = diff(own_columns, _own_types(table, group, ntz=ntz), existing)
        hits = [c for c in (*own.operations, *own.incompatible) if c.name.lower() not in declared]
        if hits:
            refused[number] = Refused({sources[change.name]: _describe(change) for change in hits})
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


def evolve(target: TargetTable, table: Table, plan: SchemaPlan, planned_on: int | None, reached: str) -> tuple[str, ...]:
    """Carry out the operations of ``plan``, backfills included, in one commit, and return their SQL.

    ``reached`` is the clock of the newest merged change (`known_clock`), "" for none: changes up to it were merged without new columns.

    Raises:
        PlanIsStaleError: another writer committed after snapshot ``planned_on``, on which the plan was computed.
    """
    transaction = target.transaction(planned_on)
    statements = [operation.sql(target.sql_name) for operation in plan.operations]
    added = [one for one in plan.operations if isinstance(one, AddColumn)]
    summary = unseen(target, None, added)
    for operation in plan.operations:
        if isinstance(operation, AddColumn):
            transaction.add_column(operation.name, operation.type)
            statements += backfill(transaction, operation, target, table.mode, summary)
            if reached and is_identified(table):
                transaction.set_properties({ADDED_PROPERTY + operation.name: reached})
        else:
            transaction.widen_column(operation.name, operation.new)
    recorded = Cleaning.from_properties(target.properties())
    if recorded is not None and added:
        names, properties = [one.name for one in added], target.properties()
        late = unfilled(table, names, Withheld.from_properties(properties) or Withheld(), Seen.from_properties(properties))
        recorded = recorded.plus(Cleaning.of(table), names)
        recorded = attrs.evolve(recorded, columns={**recorded.columns, **dict.fromkeys(late, UNFILLED)})
        target.record_properties(transaction, recorded.to_properties())
    target.commit(transaction)
    failpoint("after-evolve", target.name)
    return tuple(statements)
