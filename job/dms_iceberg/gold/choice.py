"""Which way of refreshing a model costs less: estimated from what Iceberg's metadata tells. Pure."""

import attrs

from dms_iceberg.config.model import Refresh

# Seconds on two cores. `_READ`, and the sum of `_FIND` and `_REPLACE`, fit single runs on a busy machine (benchmarks/README.md); how that
# sum is divided, and the others, are assumed. With more cores rows cost less, the fixed parts do not: the full way is cheaper then.
_FULL = 0.3
"""Any full refresh: a statement with one commit."""
_FIND = 1.5
"""Any search for changed groups: Spark jobs over the files that came or went, and over delete files."""
_REPLACE = 2.5
"""Any replacement of groups: a MERGE, which plans and reads twice as often as a full refresh."""
_READ = 0.25e-6
"""A row that is read: a few of its columns."""
_WRITE = 0.8e-6
"""A row of the model that is written."""
_FILE = 1e-3
"""A data file that is planned in the driver, once for each of two snapshots."""
_SHARE = 0.2
"""Of the cost of a full refresh, so much at most is spent on the search for groups, as the refresh may turn out to be full after it."""


@attrs.frozen(kw_only=True)
class Figures:
    """What is known of a refresh. The three last are found out one after the other, and None until then.

    Attributes:
        rows: rows of the table that the model reads.
        files: its data files.
        model_rows: rows of the model before.
        searched: rows of the files in which changed groups are looked for.
        read: rows of the files that may hold rows of changed groups.
        rewritten: rows of the model's files that may hold changed groups.
    """

    rows: int
    files: int
    model_rows: int
    searched: int | None = None
    read: int | None = None
    rewritten: int | None = None


@attrs.frozen
class Choice:
    """The way that costs less, as far as is known, and why."""

    refresh: Refresh
    reason: str


def choose(known: Figures) -> Choice:
    """Return the way that costs less. What is not known yet counts as the least that is possible."""
    full = _FULL + known.rows * _READ + known.model_rows * _WRITE
    search = _FIND + known.files * 2 * _FILE + (known.searched or 0) * _READ
    if known.read is None or known.rewritten is None:
        if search > full * _SHARE:
            found = "" if known.searched is None else f" ({known.searched:,} are in files with changes)"
            return Choice(Refresh.FULL, f"to look for changed groups costs too much beside reading all {known.rows:,} rows{found}")
        return Choice(Refresh.INCREMENTAL, f"to look for changed groups costs little beside reading all {known.rows:,} rows")
    groups = _REPLACE + known.read * _READ + known.rewritten * _WRITE
    of_groups = f"about {groups:.1f} s for the changed groups ({known.read:,} rows to read, {known.rewritten:,} to write)"
    of_all = f"{full:.1f} s for all ({known.rows:,} and {known.model_rows:,})"
    return Choice(Refresh.INCREMENTAL if groups < full else Refresh.FULL, f"{of_groups}, {of_all}")
