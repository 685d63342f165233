"""Records which full loads are complete: asks DMS, and writes one marker per table and load epoch into bronze."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from clients import DescribesReplications, code_of, serverless_replication
from events import Bronze
from loads import LoadedTable, Replication, loaded_tables

_PAGE = 500
"""The maximum number of records that DMS returns at once."""
_WRITERS = 8
"""Writing a thousand markers one after the other would take as long as the function may run."""


class Dms(DescribesReplications, Protocol):
    """The part of the DMS client that is used."""

    def describe_replication_tasks(self, *, Filters: list[dict[str, Any]], WithoutSettings: bool) -> Mapping[str, Any]:
        """Describe a task."""

    def describe_table_statistics(self, **arguments: Any) -> Mapping[str, Any]:
        """Describe the tables of a task."""

    def describe_replication_table_statistics(self, **arguments: Any) -> Mapping[str, Any]:
        """Describe the tables of a serverless replication."""


class S3(Protocol):
    """The part of the S3 client that is used."""

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, ContentType: str, IfNoneMatch: str) -> object:
        """Write an object unless it exists."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The result of asking DMS.

    Attributes:
        status: of the replication.
        tables: names of the tables whose markers were written now.
        known: number of tables with a marker.
        unfinished: number of tables that are not loaded, or have errors.
        ask_again: whether the replication is stopping, so that DMS will soon report more.
    """

    status: str = ""
    tables: tuple[str, ...] = ()
    known: int = 0
    unfinished: int = 0
    ask_again: bool = False


class LoadWatch:
    """Asks DMS about one replication. It remembers only what saves requests: markers are in S3, which refuses a second one."""

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
        """Ask DMS, and write a marker for each loaded table that has none.

        DMS uploads a table's files before it reports the table as loaded, so all of them exist when the marker is written. A marker is
        never written again: its time shows the job which files of the load came later.

        Raises:
            ClientError: DMS or S3 refused a request.
            BotoCoreError: there was no answer.
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
        if self._is_serverless:
            return Replication.of(serverless_replication(self._dms, self._arn) or {})
        only = [{"Name": "replication-task-arn", "Values": [self._arn]}]
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
        """Write a table's marker; return False if it has one."""
        try:
            self._s3.put_object(
                Bucket=self._bronze.bucket,
                Key=self._bronze.prefix + table.key,
                Body=table.marker(self._epoch, self._arn),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if code_of(error) in ("PreconditionFailed", "412"):
                return False
            raise
        return True
