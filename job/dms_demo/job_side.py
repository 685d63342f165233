"""The job: a watch in a thread of its own, and the sums of what it reports."""

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from dms_iceberg.bronze.keys import table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.config.model import Config
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.silver.row_counts import RowCounts
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.watch.run import Watch


class JobSide:
    """Watches the shop's files from the beginning of the context to `end`, or to the end of the context."""

    def __init__(self, spark: SparkSession, config: Config) -> None:
        self._spark = spark
        self._config = config
        self._batches: dict[str, list[BatchReport]] = {name: [] for name in config.tables}
        self._watch = Watch(spark, config, listener=lambda table, batch: self._batches[table].append(batch))
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        pool = self._stack.enter_context(ThreadPoolExecutor(1, "watch"))
        self._stack.callback(self._watch.stop)
        self._ended: Future[list[str]] = pool.submit(lambda: asyncio.run(self._watch.run()))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raise the error that ended the watch too early, if any."""
        if self._ended.done():
            self._ended.result()
            raise RuntimeError("the watch ended although nobody asked it to")

    def end(self) -> None:
        """Let the watch end after the batches at hand."""
        self._watch.stop()
        self._ended.result()

    @property
    def errors(self) -> dict[str, str]:
        """By table, the error of its last turn; empty without errors."""
        return {name: table.error for name, table in self._watch.tables.items() if table.error}

    @property
    def has_unmerged_files(self) -> bool:
        """Whether there are files that are not merged; of a table with an error none is expected."""
        watched = self._batches.keys() - self.errors.keys()
        return any(sum(batch.files for batch in self._batches[name]) < self._files(name) for name in watched)

    def _files(self, name: str) -> int:
        table, bronze = self._config.tables[name], self._config.bronze
        prefix = table_prefix(table.schema_name, table.table_name)
        return len(list(list_files(open_store(bronze.uri), prefix, "", bronze.format)))

    @property
    def batches(self) -> int:
        """Number of batches, all tables."""
        return sum(map(len, self._batches.values()))

    @property
    def schema_changes(self) -> list[str]:
        """The SQL statements with which the job evolved tables."""
        return [statement for batches in self._batches.values() for batch in batches for statement in batch.ddl]

    def books(self, table: str) -> RowCounts:
        """Return the sums of a table's batches after its full load."""
        return sum((batch for batch in self._batches[table] if not batch.is_load), RowCounts())

    def loads(self, table: str) -> int:
        """Return the number of rows in a table's full load."""
        return sum(batch.applied for batch in self._batches[table] if batch.is_load)

    @property
    def loaded(self) -> int:
        """Rows of the full load, all tables."""
        return sum(self.loads(table) for table in self._batches)

    @property
    def applied(self) -> int:
        """Changes applied, all tables."""
        return sum(self.books(table).applied for table in self._batches)

    @property
    def lag_text(self) -> str:
        """The median lag of the newest batches, as the job reports it."""
        newest = [batches[-1].lag_p50_seconds for batches in self._batches.values() if batches]
        known = [lag for lag in newest if lag is not None]
        return f"{max(known):.1f} s" if known else "-"

    def snapshot_count(self) -> int:
        """Snapshots of all tables."""
        tables = (TargetTable(self._spark, self._config.catalog.name, table.target) for table in self._config.tables.values())
        return sum(table.snapshot_count() for table in tables)
