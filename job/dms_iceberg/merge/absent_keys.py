"""Updates and deletes of keys that the table does not have: where most find no row, keys of load and changes are written in two forms.

The count costs nothing: a batch counts the keys that should have a row, and Iceberg counts the rows that were replaced. It is a lower
bound. Batches in which such a key is nothing unusual are not counted.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice, takewhile

from dms_iceberg.changes.identity import clock_prefix, known_clock
from dms_iceberg.config.model import Change, Table
from dms_iceberg.context import BatchPlan
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.direct.delta import REPLACED_KEY
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.present_rows import hides_rows
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.quarantine.open_count import count_resolved_since
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, DELETE, POSITION
from dms_iceberg.sql.quoting import timestamp_literal

BEGINS = "_cdc_begins"
"""Aggregate over the changes of a key: whether the first one brings a row there."""
ASKED_KEY = "dms-iceberg.asked-rows"
"""In the summary of a batch's snapshot: how many keys should have had a row, and how many latest changes the batch had; a JSON list."""
_ASKED = "_cdc_asked"
_MOST_SNAPSHOTS = 50
"""So many of the newest snapshots are looked at: each takes a millisecond or two."""
_SHARE = 0.8
"""A smaller share of the keys that updates and deletes named is not reported."""
_FEWEST = 2
"""Nor is a smaller number: one key alone shows nothing about the form of keys."""


def loaded_until_sql(planned: BatchPlan) -> str:
    """SQL over changes that is true for those that were committed after the last LOAD file, which may hold the rest already."""
    loaded_until = max((file.modified for file in planned.loads), default="")
    return f"coalesce({COMMITTED_AT} > {timestamp_literal(loaded_until)}, false)" if loaded_until else "true"


def asked_figures(planned: BatchPlan, change: Change) -> dict[str, str]:
    """Aggregate over collapsed keys, as input of `asked_property`: how many should have a row in the table."""
    if change.orders_by_file:
        # The close time of a file does not tell whether its changes are from before the load.
        return {}
    # A row that was deleted during the load may be missing there; one that was updated then was read before or after.
    return {_ASKED: f"count_if(NOT {BEGINS} AND {POSITION} IS NOT NULL AND (NOT {DELETE} OR {loaded_until_sql(planned)}))"}


def asked_property(batch: BatchContext, merge_input: MergeInput) -> dict[str, str]:
    """Return the entry for the summary of a batch's snapshot; empty for a batch in which an absent key is nothing unusual.

    Such are: of a table that was never loaded or leaves rows out; with older or repeated changes, or a truncate; of a load, rebuild or
    replay.
    """
    planned, mode = batch.planned, table_mode(batch.table.mode)
    is_usual = mode.keeps_every_change or hides_rows(batch.table) or merge_input.late or planned.is_replay or bool(planned.following)
    is_loaded = bool(planned.progress.loads.entries or planned.progress.loads.segments)
    is_first = planned.branch_state.head is None or planned.branch_state.branch is not None or not is_loaded
    # Changes up to this clock may be written again: their deletes find no row.
    is_repeated = clock_prefix(merge_input.row_counts.low, planned.progress.load) <= known_clock(planned.progress)
    if is_usual or is_first or is_repeated or not merge_input.figures.get(_ASKED):
        return {}
    return {ASKED_KEY: json.dumps([int(merge_input.figures[_ASKED]), merge_input.row_counts.latest])}


def absent_keys(summary: Mapping[str, str]) -> tuple[int, int]:
    """Return how many keys should have had a row before a batch, and how many at least had none, by its snapshot's summary."""
    if ASKED_KEY not in summary:
        return 0, 0
    asked, latest = json.loads(summary[ASKED_KEY])
    return asked, max(0, asked - replaced_rows(summary, latest))


def absent_warning(table: Table, counts: Iterable[tuple[int, int]]) -> str | None:
    """Return what to say of batches with these `absent_keys`, None if there is nothing to say."""
    every = list(counts)
    asked, absent = sum(one for one, _ in every), sum(one for _, one in every)
    if absent < max(_FEWEST, asked * _SHARE):
        return None
    return (
        f"{table.source}: {absent:,} of {asked:,} keys that updates and deletes named had no row in {table.target} when their files "
        "were merged. If a file with their inserts is late, silver is right once it is merged. Otherwise the rows of the load stay as they "
        "were, and an updated row is there twice. Mostly load and changes then write the key in two forms: a GUID in capitals and in "
        "small letters, CHAR with and without its blanks, numbers with other zeros. Compare a key of a LOAD file and of a change "
        "file; give the key one form in silver (trim, or expr such as lower(id)), and build the table again with run --rebuild "
        f"{table.source}. Other causes: key names other columns than the source's key, the files have no before-image of a key that "
        "changed, or the task's own filter lets rows in by an update. verify tells which rows are wrong."
    )


def absent_warnings(here: TableContext, quarantined: int | None) -> list[str]:
    """Return `absent_warning` of the newest snapshots, if any.

    A change finds no row of a key while the row that it should find is in quarantine. So rows that are open now count against the absent
    keys, and rows that were open at one of these snapshots and are resolved by now.

    Args:
        here: the table, refreshed; it exists.
        quarantined: open rows of its quarantine, None if there are some.
    """
    # The content of a reload or rebuild begins with a snapshot without a row.
    newest = list(takewhile(lambda one: one.summary.get("total-records") != "0", islice(here.target.lineage(), _MOST_SNAPSHOTS)))
    counts = [absent_keys(one.summary) for one in newest]
    text = absent_warning(here.table, counts)
    if text is None or quarantined is None:
        return []
    replays = [Progress.from_json(one.summary[PROGRESS_KEY]).replay for one in newest if PROGRESS_KEY in one.summary]
    try:
        rejected = quarantined + count_resolved_since(here, replays[0], replays[-1])
    except NotPossibleError:
        return []
    return [text] if sum(absent for _, absent in counts) > rejected else []


def replaced_rows(summary: Mapping[str, str], latest: int) -> int:
    """Return how many rows of the table a MERGE has deleted or replaced; for copy-on-write this assumes that no row was deleted."""
    if REPLACED_KEY in summary:
        return int(summary[REPLACED_KEY])
    if deletes := int(summary.get("added-position-deletes", 0)):
        # New delete files take over the deletes of those that they replace.
        return deletes - int(summary.get("removed-position-deletes", 0))
    removed = int(summary.get("deleted-records", 0))
    return latest - int(summary.get("added-records", 0)) + removed if removed else 0
