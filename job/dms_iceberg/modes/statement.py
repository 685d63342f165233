"""What the statements of all modes share. Pure."""

from collections.abc import Sequence

import attrs

from dms_iceberg.sql.cdc_columns import CONTEXT, POSITION


@attrs.frozen
class MergeSource:
    """The rows that a MERGE writes.

    Attributes:
        view: name of the view with them.
        pruning: conditions on the target (alias ``t``) that hold for every key in the view.
        rewrite: column of the view that is true for rows to be written whatever positions the target's row has; None without one.
    """

    view: str
    pruning: Sequence[str] = ()
    rewrite: str | None = None

    def on(self, columns: Sequence[str]) -> str:
        """SQL of the ON clause by columns that identify a row."""
        return " AND ".join([*(f"t.{column} = s.{column}" for column in columns), *self.pruning])


def mergeable() -> str:
    """SQL for the latest changes that a MERGE gets: those of keys with a usable change that is not only read again from bronze.

    The comparison is true for every position. It is there because Spark builds a runtime bloom filter only over a side that it considers
    selective.
    """
    return f"{POSITION} >= '' AND NOT {CONTEXT}"
