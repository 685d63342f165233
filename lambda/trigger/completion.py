"""Writes down which full loads are complete: DMS is asked, and each table gets a marker in bronze, once per load epoch."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from events import Bronze
from loads import LoadedTable, Replication, loaded_tables

_PAGE = 500
"""The most that DMS gives at once."""
_WRITERS = 8
"""A thousand markers one after the other would take as long as the function may run."""


class Dms(Protocol):
    """What is used of the DMS client."""

    def describe_replication_tasks(self, *, Filters: list[dict[str, Any]], WithoutSettings: bool) -> Mapping[str, Any]:
        """Describe a task."""

    def describe_replications(self, *, Filters: list[dict[str, Any]]) -> Mapping[str, Any]:
        """Describe a serverless replication."""

    def describe_table_statistics(self, **arguments: Any) -> Mapping[str, Any]:
        """Describe the tables of a task."""

    def describe_replication_table_statistics(self, **arguments: Any) -> Mapping[str, Any]:
        """Describe the tables of a serverless replication."""


class S3(Protocol):
    """What is used of the S3 client."""

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, ContentType: str, IfNoneMatch: str) -> object:
        """Write an object, unless there is one."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What asking came to.

    Attributes:
        status: of the replication.
        tables: names of those that were written down now.
        known: how many are written down.
        unfinished: how many are not loaded, or not without errors.
        ask_again: it is stopping, so that it will tell more soon.
    """

    status: str = ""
    tables: tuple[str, ...] = ()
    known: int = 0
    unfinished: int = 0
    ask_again: bool = False


class LoadWatch:
    """Asks one replication, and remembers only what saves asking: markers lie in S3, and a second one is refused there."""

    def __init__(self, dms: Dms, s3: S3, bronze: Bronze, epoch: int, arn: str) -> None:
        self._dms = dms
        self._s3 = s3
        self._bronze = bronze
        self._epoch = epoch
        self._arn = arn
        self._is_serverless = ":replication-config:" in arn
        self._known: set[str] = set()
        self._is_done = False

    def note(self) -> Noted:
        """Ask, and write a marker for each table that is loaded and has none.

        DMS uploads a table's files before it tells that the table is loaded, so they are all there when the marker is. It is never
        written anew: its time tells the job which files of the load came after.

        Raises:
            ClientError: DMS or S3 refuses.
            BotoCoreError: no answer.
        """
        if self._is_done:
            return Noted(known=len(self._known))
        replication = self._describe()
        if not replication.is_believed:
            return Noted(replication.status, ask_again=replication.is_stopping)
        statistics = list(self._statistics())
        loaded = loaded_tables(statistics)
        new = [table for table in loaded if table.key not in self._known]
        with ThreadPoolExecutor(_WRITERS) as pool:
            written = list(pool.map(self._write, new))
        self._known.update(table.key for table in new)
        self._is_done = bool(statistics) and len(loaded) == len(statistics)
        names = tuple(f"{table.schema}.{table.table}" for table, is_new in zip(new, written, strict=True) if is_new)
        return Noted(replication.status, names, len(loaded), len(statistics) - len(loaded))

    def _describe(self) -> Replication:
        kind = "replication-config-arn" if self._is_serverless else "replication-task-arn"
        only = [{"Name": kind, "Values": [self._arn]}]
        if self._is_serverless:
            found = self._dms.describe_replications(Filters=only)["Replications"]
        else:
            found = self._dms.describe_replication_tasks(Filters=only, WithoutSettings=True)["ReplicationTasks"]
        return Replication.of(found[0] if found else {})

    def _statistics(self) -> Iterator[Mapping[str, Any]]:
        marker: dict[str, str] = {}
        while True:
            if self._is_serverless:
                answer = self._dms.describe_replication_table_statistics(ReplicationConfigArn=self._arn, MaxRecords=_PAGE, **marker)
                yield from answer.get("ReplicationTableStatistics", [])
            else:
                answer = self._dms.describe_table_statistics(ReplicationTaskArn=self._arn, MaxRecords=_PAGE, **marker)
                yield from answer.get("TableStatistics", [])
            if not answer.get("Marker"):
                return
            marker = {"Marker": answer["Marker"]}

    def _write(self, table: LoadedTable) -> bool:
        """Write a table's marker; False when it has one."""
        try:
            self._s3.put_object(
                Bucket=self._bronze.bucket,
                Key=self._bronze.prefix + table.key,
                Body=table.marker(self._epoch, self._arn),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in ("PreconditionFailed", "412"):
                return False
            raise
        return True
