"""What every step of a batch is given: the job and the plan."""

from collections.abc import Sequence

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.progress import Progress
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.plan import FileBatch
from dms_iceberg.staging.store import ObjectStore


@attrs.frozen(eq=False)
class Job:
    """What every step of every table needs."""

    spark: SparkSession
    config: Config
    store: ObjectStore
    run_id: str


@attrs.frozen
class Planned:
    """The next batch of a table, and the state of the table it was planned on.

    Attributes:
        head: id of the snapshot ``progress`` was read from, None for a table without one.
        loads: all LOAD files as listed.
    """

    batch: FileBatch
    progress: Progress
    head: int | None
    loads: Sequence[BronzeFile]


class PlanIsStaleError(Exception):
    """Somebody committed to the table after the batch was planned: plan again."""
