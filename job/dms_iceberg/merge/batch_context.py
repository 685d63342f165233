"""What every step of merging a batch receives."""

from collections.abc import Callable, Sequence

import attrs
from pyspark.sql import DataFrame

from dms_iceberg.changes.frames import Cleaner, ReadGroup
from dms_iceberg.changes.identity import clock_prefix
from dms_iceberg.changes.shape import Shape
from dms_iceberg.changes.unshared import reached_without
from dms_iceberg.context import BatchPlan
from dms_iceberg.silver.table_context import TableContext

Transform = Callable[[DataFrame], DataFrame]
"""Takes cleaned changes, and returns them with columns changed or added, or with changes of older files."""


@attrs.frozen(eq=False)
class BatchContext(TableContext):
    """A batch that is being merged into its table.

    Attributes:
        planned: the batch, and the state of the table that it was planned on.
        groups: its files, or records of the quarantine, opened.
        shape: the silver columns of its rows.
        not_direct: why it cannot be written directly, as far as a trial has shown; None without one.
    """

    planned: BatchPlan
    groups: Sequence[ReadGroup]
    shape: Shape
    not_direct: str | None = None

    def stored(self) -> DataFrame:
        """Return the rows that the batch is merged into; the branch of a rebuild has none, and does not exist, before its first batch."""
        state = self.planned.branch_state
        return self.target.rows().where("false") if state.head is None else self.target.rows(state.branch)

    def clean(self, *, with_record: bool = False, with_images: bool = False) -> DataFrame:
        """Return the cleaned changes of the batch; see `Cleaner.clean` for the options."""
        cleaner = Cleaner(self.context, self.table, self.shape, self.planned.progress.load)
        return cleaner.clean(self.groups, with_record=with_record, with_images=with_images)

    def reached_without(self, high: str) -> dict[str, str]:
        """Return, by silver column, the clock up to which changes may be merged without it once the batch is (`unshared.reached_without`).

        Args:
            high: the highest position of the batch, "" for none.
        """
        clock, known = clock_prefix(high, self.planned.progress.load), self.target.added_columns()
        return reached_without(self.shape, self.groups, self.context.config.bronze.format, known, clock) if high else known
