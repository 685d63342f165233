"""Rows of the quarantine that nothing can open again: a replay resolved them, and every remaining snapshot of silver descends from it.

The table of replays keeps which rows a replay resolved, because a rebuild writes a row that it rejects again under the same id.
"""

from datetime import UTC, datetime, timedelta

from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.quarantine.rejected_rows import chain
from dms_iceberg.quarantine.tables import change_quarantine, quarantine_part, quarantine_table, replays_name, replays_table
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.quoting import string_literal

_MARGIN = timedelta(hours=1)
"""Clocks of two machines are assumed to differ by less."""


def count_resolved(here: TableContext) -> int:
    """Return how many rows of a table's quarantine can be deleted for good."""
    context, table, found = here.context, here.table, _condition(here)
    return context.spark.table(quarantine_table(context.config, table)).where(found).count() if found else 0


def remove_resolved(here: TableContext) -> int:
    """Delete these rows; return how many."""
    context, table, found = here.context, here.table, _condition(here)
    if not found:
        return 0
    count = context.spark.table(quarantine_table(context.config, table)).where(found).count()
    change_quarantine(context.spark, context.config, table, lambda name: f"DELETE FROM {name} WHERE {found}")
    return count


def _condition(here: TableContext) -> str:
    """Return a SQL condition for these rows, "" if there are none."""
    context, table, silver = here.context, here.table, here.target
    replays = quarantine_part(context.spark, context.config, table, replays_name(context.config, table))
    if not silver.exists() or replays is None:
        return ""
    silver.refresh()
    head = replays.head()
    carriers = [one for one in silver.snapshots() if PROGRESS_KEY in one.summary]
    if head is None or not carriers:
        return ""
    rows = replays.rows_at(head.id)
    parents = {row.replay: row.parent for row in rows.select("replay", "parent").distinct().collect()}
    chains = [set(chain(parents, Progress.from_json(one.summary[PROGRESS_KEY]).replay)) for one in carriers]
    # Main can be rolled back to any of these snapshots, and a branch may become main.
    common = set.intersection(*chains)
    if not common:
        return ""
    resolved = f"SELECT id FROM {replays_table(context.config, table)} WHERE replay IN ({', '.join(map(string_literal, sorted(common)))})"
    # A row that a rebuild rejected again since then is another row under the same id.
    before = datetime.fromtimestamp(min(one.timestamp_ms for one in carriers) / 1000, UTC) - _MARGIN
    return f"quarantined_at < TIMESTAMP '{before:%Y-%m-%d %H:%M:%S}' AND id IN ({resolved})"
