"""One table of a watch: a look for new files costs a listing from the frontier; a turn is one batch."""

import random
import time
from datetime import UTC, datetime
from threading import Lock

import structlog

from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext
from dms_iceberg.loads.epochs import branch_state
from dms_iceberg.progress.pending import next_truncate, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.retry import attempt
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import Listener, describe_end, maintain_after_run, open_rows_for_verdict, step
from dms_iceberg.runs.state import RunMemory
from dms_iceberg.runs.state_file import clear_error, write_state_file
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.store import ObjectStore

_LOG = structlog.get_logger("dms_iceberg")
FULL_LOOK_SECONDS = 60.0
"""A table is read this often even without new files: another writer may have rolled it back, or changed its properties."""
STATE_SECONDS = 60.0
"""How often a merged table is maintained, at most, and its state file is written; errors and recoveries are reported at once."""
LONGEST_BACK_OFF_SECONDS = 60.0
_SHORTEST_BACK_OFF_SECONDS = 1.0
_RANDOM = random.SystemRandom()


class WatchedTable:
    """Turns of one table; one thread at a time executes them.

    Its report covers the time since the state was last written, so that nothing grows with the age of the watch.
    """

    def __init__(self, context: RunContext, table: Table, state: ObjectStore, interval: float, listener: Listener | None) -> None:
        self._context, self._table, self._state, self._listener = context, table, state, listener
        self._interval = interval
        self._taking = Lock()
        self._report = TableReport(table=table.source, target=table.target)
        self._memory = RunMemory()
        self._began = self._maintained = time.monotonic()
        self._is_unmaintained = False
        self._reported_error: str | None = None
        self._is_first = True
        self._failures = 0
        self._known: Progress | None = None
        self._full_look_at = 0.0
        self._more = False

    @property
    def name(self) -> str:
        """The source table."""
        return self._table.source

    @property
    def error(self) -> str | None:
        """The error of the last turn."""
        return self._reported_error

    def turn(self, *, woken: bool = False) -> float:
        """Look for files and merge a batch of them; return the seconds until the next turn.

        An error is reported in log and state, not raised: the next turn tries again.

        Args:
            woken: whether a notification says that there is a new file.
        """
        with self._taking:
            started = time.monotonic()
            report = self._report
            report.error = None
            # After a full batch more files are pending: no listing is needed to know that.
            known, self._more = woken or self._more, False
            batches = len(report.batches)
            attempt(self._context, report, lambda: self._look(woken=known))
            took = time.monotonic() - started
            report.seconds += took
            self._failures = self._failures + 1 if report.error else 0
            self._is_unmaintained = self._is_unmaintained or len(report.batches) > batches
            self._report_turn()
            if report.error:
                self._known = None
                # Another writer may have created the table again; the catalog's cache would keep the old one.
                self._afresh().target.forget()
                return self._back_off()
            # Come back in time to report what was merged, even if no file comes.
            pause = min(self._interval, STATE_SECONDS) if self._report.batches else self._interval
            return 0.0 if self._more else max(0.0, pause - took)

    @property
    def maintenance_due(self) -> float | None:
        """When the table should be maintained next (`time.monotonic`); None without a batch since the last time, or with an error."""
        return self._maintained + STATE_SECONDS if self._is_unmaintained and not self._reported_error else None

    def maintain(self) -> None:
        """Maintain the table as after a run; an error becomes a warning."""
        with self._taking:
            report, before = self._report, len(self._report.warnings)
            self._is_unmaintained = False
            maintain_after_run(self._context, self._table, report)
            self._maintained = time.monotonic()
            if len(report.warnings) > before:
                self._write_state()

    def end(self) -> None:
        """Write the state of what was done since the last write."""
        with self._taking:
            if self._report.batches:
                self._write_state()

    def open_rows(self) -> int | None:
        """Return how many rows are open in quarantine, as `count_open`."""
        return open_rows_for_verdict(self._afresh())

    def _afresh(self) -> TableContext:
        return TableContext.of(self._context, self._table)

    @property
    def _is_due(self) -> bool:
        return time.monotonic() - self._began >= STATE_SECONDS

    def _look(self, *, woken: bool) -> None:
        if not (woken or time.monotonic() >= self._full_look_at or self._has_news()):
            return
        here = self._afresh()
        self._more = step(here, self._memory, self._report, self._listener)
        describe_end(here.target, self._report)
        found = branch_state(here)
        # The absence of files in the listing can complete a load on a branch, so a branch always gets a full look.
        self._known = found.progress if found.branch is None else None
        self._full_look_at = time.monotonic() + FULL_LOOK_SECONDS

    def _has_news(self) -> bool:
        """Whether bronze has anything that the table, as last seen, does not have."""
        if self._known is None:
            return True
        pending = pending_files(self._context.listing(self._table, self._known), self._known, self._table.source, datetime.now(UTC))
        new = any(file.version not in self._memory.skipped for file in pending.files)
        return new or next_truncate(pending.truncates, self._known) is not None

    def _report_turn(self) -> None:
        """Log when an error appears or ends, and write the state: at once for an error's change, otherwise periodically."""
        error, log = self._report.error, _LOG.bind(table=self.name, run_id=self._context.run_id)
        if error:
            log.error("table_failed", error=error, failures=self._failures)
        elif self._reported_error:
            log.info("table_recovered")
        changed = error != self._reported_error
        self._reported_error = error
        if self._is_first and not error:
            # Of a watch or run before this one, whose cause is gone.
            clear_error(self._state, self._context, self._table)
        self._is_first = False
        if changed or (self._is_due and (self._report.batches or error)):
            self._write_state()

    def _write_state(self) -> None:
        report = self._report
        write_state_file(self._state, self._context, self._table, report)
        self._report = TableReport(
            table=report.table,
            target=report.target,
            reported=frozenset(report.warnings),
            snapshot_id=report.snapshot_id,
            frontier=report.frontier,
        )
        self._began = time.monotonic()

    def _back_off(self) -> float:
        longest = min(LONGEST_BACK_OFF_SECONDS, _SHORTEST_BACK_OFF_SECONDS * 2.0 ** min(self._failures, 16))
        return longest * _RANDOM.uniform(0.5, 1.0)
