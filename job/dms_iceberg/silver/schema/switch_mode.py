"""Changes the mode of a table that has rows: some changes are done in place, others are refused with an alternative."""

import json

from dms_iceberg.config.model import Table
from dms_iceberg.errors import TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.modes.lookup import MODES, mode_of, table_mode
from dms_iceberg.modes.metadata_columns import METADATA_COLUMNS
from dms_iceberg.modes.mirror import MIRROR
from dms_iceberg.modes.table_mode import TableMode
from dms_iceberg.silver.schema.diff import AddColumn, Types
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.cdc_columns import COMMITTED_AT

MODE_PROPERTY = "dms-iceberg.mode-switch"
_MARK = "dms-iceberg.mode"


def silver_types(target: TargetTable, table: Table) -> Types | None:
    """Return the silver columns, without those that the mode adds, of a table that has the declared mode or can be switched to it.

    Returns:
        Spark types by column; None when the table does not exist.

    Raises:
        TargetError: this package did not create the table, or it cannot be switched to the declared mode.
    """
    if not target.exists():
        return None
    types = target.all_columns()
    missing = [name for name in METADATA_COLUMNS if name not in types]
    if missing:
        raise TargetError(
            f"{target.sql_name}: exists but has no column {missing[0]}, so dms-iceberg did not create it and cannot know which changes "
            "it holds. Choose another target, or move the table away and let the full load be merged into a new one."
        )
    found, declared = mode_of(types), table_mode(table.mode)
    if found is not declared and not (found is MIRROR and declared.switch):
        switches = " or ".join(f"{MIRROR.name} to {name}" for name, mode in MODES.items() if mode.switch)
        raise TargetError(
            f'tables."{table.source}".mode: {target.name} is a table of mode {found.name}, which cannot become {table.mode} in place '
            f"(possible: {switches}). Go back to {found.name}, or give the table a new target: bronze is merged into that from the "
            "beginning."
        )
    if found is not declared:
        _refuse_taken_names(target, table, types)
    return {name: type_ for name, type_ in types.items() if name not in found.metadata_columns}


def _refuse_taken_names(target: TargetTable, table: Table, types: Types) -> None:
    own = {name.lower() for name in table_mode(table.mode).own_columns}
    taken = [name for name in types if name.lower() in own]
    if taken:
        raise TargetError(
            f'tables."{table.source}".mode: {target.name} has a column {taken[0]!r} from its source, a name that mode {table.mode} has for '
            "a column of its own. Give the table a new target, in which columns[] has another name for it."
        )


def switch_statements(target: TargetTable, table: Table) -> list[str]:
    """Return the SQL that switches an existing table to the declared mode; empty when it has the mode.

    Raises:
        TargetError: a row has no commit time, from which its version would be valid.
    """
    mode = table_mode(table.mode)
    if not mode.own_columns:
        return []
    added = [operation.sql(target.sql_name) for operation in _columns_to_add(target, table)]
    if added and mode.has_versions and target.rows().where(f"{COMMITTED_AT} IS NULL").head() is not None:
        raise TargetError(
            f'tables."{table.source}".mode: {target.name} has rows without a commit time ({COMMITTED_AT} is NULL), so nothing tells from '
            "when their versions are valid. Keep the mode, or let DMS load the table again into a new target, with the commit time "
            "(TimestampColumnName of the endpoint, bronze.change.timestamp_column)."
        )
    return added + _updates(target, table)


def switch_mode(target: TargetTable, table: Table, planned_on: int | None) -> tuple[str, ...]:
    """Switch an existing table to the declared mode, in one commit; return the SQL, empty when there was nothing to do.

    Raises:
        PlanIsStaleError: another writer committed after snapshot ``planned_on``, on which the switch was planned.
    """
    statements = switch_statements(target, table)
    if not statements:
        return ()
    transaction = target.transaction(planned_on)
    for column in _columns_to_add(target, table):
        transaction.add_column(column.name, column.type)
    if transaction.head() is not None:
        transaction.execute(lambda name: given_sql(name, table_mode(table.mode)), {_MARK: table.mode.value})
        transaction.set_properties(
            {MODE_PROPERTY: json.dumps({"snapshot": transaction.head(), "mode": table.mode.value}, separators=(",", ":"))}
        )
    target.commit(transaction)
    failpoint("after-evolve", target.name)
    return tuple(statements)


def given_sql(name: str, mode: TableMode) -> str:
    """Return the UPDATE that gives a mirror's rows their values in the columns of ``mode``.

    A row that has them already keeps them: the statement may run again after a rollback.
    """
    return f"UPDATE {name} SET {', '.join(f'{column} = {value}' for column, value in mode.switch.items())} WHERE {mode.mark} IS NULL"


def _columns_to_add(target: TargetTable, table: Table) -> list[AddColumn]:
    existing = target.all_columns()
    return [AddColumn(name, one.type) for name, one in table_mode(table.mode).own_columns.items() if name not in existing]


def _updates(target: TargetTable, table: Table) -> list[str]:
    if target.head() is None:
        return []
    done = target.properties().get(MODE_PROPERTY)
    # After a rollback to before the switch the columns still exist, without their values.
    lost = done is not None and target.is_off_the_line(json.loads(done)["snapshot"])
    return [given_sql(target.sql_name, table_mode(table.mode))] if _columns_to_add(target, table) or lost else []
