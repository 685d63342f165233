"""What every step of a batch is given: the job and the plan."""

from collections.abc import Sequence

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.progress import Progress
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.plan import FileBatch
from dms_iceberg.staging.store import ObjectStore


@attrs.frozen
class OperatorsWord:
    """What the files of a reload do not tell.

    Attributes:
        load_complete: source names of tables whose full load is complete, though no change has followed.
        reload_started: 17 digits, when the chosen tables were loaded again in place; "" for never.
    """

    load_complete: frozenset[str] = frozenset()
    reload_started: str = ""


NOTHING_SAID = OperatorsWord()


@attrs.frozen(eq=False)
class Job:
    """What every step of every table needs.

    Attributes:
        operator: what the operator says of reloads.
    """

    spark: SparkSession
    config: Config
    store: ObjectStore
    run_id: str
    operator: OperatorsWord = NOTHING_SAID


@attrs.frozen
class Standing:
    """A line of a table's snapshots: main, or the branch on which a reload is being built.

    Attributes:
        progress: how far the line has come.
        head: id of its newest snapshot, None before the first.
        branch: name of the branch, None for main.
    """

    progress: Progress
    head: int | None
    branch: str | None = None


@attrs.frozen
class Planned:
    """The next batch of a table, and the state of the table it was planned on.

    Attributes:
        standing: the line of snapshots that the batch goes to.
        main: id of main's newest snapshot, None without one.
        loads: all LOAD files as listed.
    """

    batch: FileBatch
    standing: Standing
    main: int | None
    loads: Sequence[BronzeFile]

    @property
    def progress(self) -> Progress:
        """How far the line has come."""
        return self.standing.progress


class PlanIsStaleError(Exception):
    """Somebody committed to the table after the batch was planned: plan again."""
