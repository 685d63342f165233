"""The values that existing rows get when a column is added (``columns[].backfill``)."""

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.changes.mapping import backfill_text
from dms_iceberg.config.model import Mode
from dms_iceberg.failpoints import failpoint
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.silver.memory.cleaning import MADE_BY_KEY
from dms_iceberg.silver.schema.diff import AddColumn
from dms_iceberg.silver.table import BACKFILL_PROPERTY, TargetTable
from dms_iceberg.sql.quoting import quote

BACKFILL_KEY = "dms-iceberg.backfill"
"""Summary key of a snapshot that gave existing rows the value of a new column: that column's name."""


def unseen(target: TargetTable, branch: str | None, columns: Iterable[AddColumn]) -> dict[str, str]:
    """Return the summary entries of a snapshot after which ``columns`` exist, which no merged file had; empty before the first file.

    They are the progress, in which the columns with a backfill have not been seen yet, and `MADE_BY_KEY` of a load that is being built.
    """
    progress = target.progress(branch)
    if progress.is_empty:
        return {}
    seen = {column.name.lower(): "" for column in columns if column.backfill is not None} | dict(progress.first_seen)
    # A load that is being built has the digest of its configuration beside its progress.
    made = next((one.summary for one in target.lineage(branch) if PROGRESS_KEY in one.summary), {})
    summary = {MADE_BY_KEY: made[MADE_BY_KEY]} if MADE_BY_KEY in made else {}
    return {PROGRESS_KEY: attrs.evolve(progress, first_seen=seen).to_json(), **summary}


def backfill(transaction: Transaction, column: AddColumn, target: TargetTable, mode: Mode, summary: Mapping[str, str]) -> list[str]:
    """Give the rows of a transaction the value of a new column, and return the SQL.

    Args:
        transaction: the transaction that adds the column.
        column: the new column.
        target: the table.
        mode: its mode.
        summary: the result of `unseen` for all new columns.
    """
    statement = column.backfill_sql(target.sql_name, mode)
    if column.backfill is None or statement is None:
        return []
    failpoint("before-backfill", target.name)
    mark = {BACKFILL_KEY: column.name, **summary}
    if transaction.head() is None:
        # No row to fill, but from now on a NULL is the source's own.
        transaction.touch(mark)
    else:
        transaction.execute(lambda name: column.backfill_sql(name, mode) or "", mark)
    failpoint("after-backfill", target.name)
    done = {"snapshot": transaction.head(), "value": backfill_text(column.backfill)}
    transaction.set_properties({BACKFILL_PROPERTY + column.name: json.dumps(done, separators=(",", ":"))})
    return [statement]


def lost_backfills(target: TargetTable, branch: str | None = None) -> tuple[AddColumn, ...]:
    """Return columns to backfill again: main was rolled back to before a backfill, or a branch was begun before it.

    Then the column exists without its values.
    """
    done = {key: json.loads(text) for key, text in target.properties().items() if key.startswith(BACKFILL_PROPERTY)}
    lost = {
        key.removeprefix(BACKFILL_PROPERTY): one["value"] for key, one in done.items() if target.is_off_the_line(one["snapshot"], branch)
    }
    missing = _without_backfill(target, lost, branch) if lost else set()
    types = target.column_types() if missing else {}
    return tuple(AddColumn(name, types[name], lost[name]) for name in sorted(missing))


def restore_backfills(target: TargetTable, columns: Sequence[AddColumn], mode: Mode, branch: str | None = None) -> list[str]:
    """Backfill ``columns`` (`lost_backfills`) again in one commit, and return the SQL.

    Raises:
        PlanIsStaleError: another writer committed meanwhile.
    """
    head = target.head(branch)
    transaction = target.transaction(head.id if head else None, branch)
    summary = unseen(target, branch, columns)
    for column in columns:
        backfill(transaction, column, target, mode, summary)
    target.commit(transaction)
    return restore_statements(target.sql_name, columns, mode, branch)


def restore_statements(sql_name: str, columns: Iterable[AddColumn], mode: Mode, branch: str | None = None) -> list[str]:
    """Return the SQL that `restore_backfills` runs."""
    name = sql_name if branch is None else f"{sql_name}.{quote(f'branch_{branch}')}"
    return [statement for column in columns if (statement := column.backfill_sql(name, mode)) is not None]


def _without_backfill(target: TargetTable, names: Iterable[str], branch: str | None) -> set[str]:
    """Return the columns among ``names`` that no ancestor backfilled; none if expiry has removed ancestors, so that it is unknown."""
    missing = set(names) & set(target.column_types())
    oldest = None
    for oldest in target.lineage(branch):
        missing.discard(oldest.summary.get(BACKFILL_KEY, ""))
    return set() if oldest is not None and oldest.parent_id is not None else missing
