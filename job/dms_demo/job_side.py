"""The job, run repeatedly in one warm Spark session, and the sums of its reports."""

from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.runs import run as runner
from dms_iceberg.runs.report import BatchReport, TableReport
from dms_iceberg.silver.row_counts import RowCounts
from dms_iceberg.silver.table import TargetTable


class JobSide:
    """Runs the job and sums up its reports.

    Attributes:
        runs: number of runs.
        schema_changes: the SQL statements with which it evolved tables.
        errors: by table, the error of its last run; empty without errors.
    """

    def __init__(self, spark: SparkSession, config: Config) -> None:
        self._spark = spark
        self._config = config
        self._batches: dict[str, list[BatchReport]] = {name: [] for name in config.tables}
        self.runs = 0
        self.schema_changes: list[str] = []
        self.errors: dict[str, str] = {}

    def run(self) -> bool:
        """Merge all new files; return whether there were any. A table's error is kept, and the next run tries again."""
        report = runner.run(self._spark, self._config)
        self.runs += 1
        for name, table in report.tables.items():
            self._take(name, table)
        return any(table.batches for table in report.tables.values())

    def _take(self, name: str, table: TableReport) -> None:
        self._batches[name] += table.batches
        self.schema_changes += table.ddl
        if table.error is not None:
            self.errors[name] = table.error
        else:
            self.errors.pop(name, None)

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
