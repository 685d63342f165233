"""Which tables' full load is complete: pure functions over what DMS reports about a replication and its tables. ADR 8 has the argument.

States of tables, stop reasons and members are those of the API's reference:
https://docs.aws.amazon.com/dms/latest/APIReference/API_TableStatistics.html,
https://docs.aws.amazon.com/dms/latest/APIReference/API_ReplicationTask.html and
https://docs.aws.amazon.com/dms/latest/APIReference/API_Replication.html.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

MARKER_FOLDER = "_load_complete/"
"""Folder of the markers, beside those of the schemas. The job reads them (``dms_iceberg.loads.load_marker``); a test compares the two."""

_LOADS = frozenset({"full-load", "full-load-and-cdc"})
_RUNS = "running"
_LONGEST_FAILURE = 500
_SECRET = re.compile(
    r"(://[^\s:/@]*:)[^\s/]+(?=@)|\b((?:password|pwd|secret)[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s;,&]+)", re.IGNORECASE
)
"""What follows a user's name in a URL, or the name of a password: drivers quote how they connect."""
_OVER = frozenset({"stopped", "deprovisioning", "deprovisioned"})
LOADED = frozenset({"FULL_LOAD_ONLY_FINISHED", "STOPPED_AFTER_FULL_LOAD", "STOPPED_AFTER_CACHED_EVENTS"})
"""Stop reasons that mean a complete load. NORMAL is not among them: DMS uses it for an operator's stop in the middle as well."""


@dataclass(frozen=True, slots=True)
class FirstLoad:
    """How far DMS says that a full load has come; the members of `ReplicationStats`.

    Attributes:
        has_finish_date: whether DMS gives a time at which it was finished.
    """

    has_finish_date: bool = False
    loaded: int = 0
    loading: int = 0
    queued: int = 0

    @classmethod
    def of(cls, statistics: Mapping[str, Any]) -> "FirstLoad":
        """Return it from `ReplicationStats`, which may be empty."""
        loaded, loading, queued = (int(statistics.get(name) or 0) for name in ("TablesLoaded", "TablesLoading", "TablesQueued"))
        return cls(bool(statistics.get("FullLoadFinishDate")), loaded, loading, queued)

    @property
    def is_over(self) -> bool:
        """Whether all tables were loaded. A stop may give a date as well, so that no table may be left."""
        return self.has_finish_date and not self.loading and not self.queued

    @property
    def facts(self) -> dict[str, Any]:
        """What it rests on, for the log, under DMS's names."""
        tables = {"TablesLoaded": self.loaded, "TablesLoading": self.loading, "TablesQueued": self.queued}
        return {"FullLoadFinishDate": "given" if self.has_finish_date else "missing", **tables}


@dataclass(frozen=True, slots=True)
class Replication:
    """A replication task, or a serverless replication, as DMS describes it.

    Attributes:
        has_run: whether a serverless one has begun to load, or to capture changes.
        failures: why it failed.
        stopped_at: when it stopped last; None if it never did, or DMS does not say.
        created_at: when it was created; None if DMS does not say.
        updated_at: when DMS changed it last; None if DMS does not say.
        load: how far its full load has come.
    """

    type: str
    status: str
    stop_reason: str
    has_run: bool = False
    failures: tuple[str, ...] = ()
    stopped_at: datetime | None = None
    load: FirstLoad = FirstLoad()
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "Replication":
        """Return a replication from the answer of `DescribeReplicationTasks` or `DescribeReplications`."""
        kind = described.get("MigrationType") or described.get("ReplicationType") or ""
        reason = (described.get("StopReason") or "").removeprefix("Stop Reason ")
        failures = tuple(_shown(one) for one in described.get("FailureMessages") or ())
        stopped_at, load = described.get("ReplicationLastStopTime"), FirstLoad.of(described.get("ReplicationStats") or {})
        times = (described.get("ReplicationCreateTime"), described.get("ReplicationUpdateTime"))
        return cls(kind, described.get("Status") or "", reason, _has_run(kind, described), failures, stopped_at, load, *times)

    @property
    def is_believed(self) -> bool:
        """Whether its tables' states count: it does a load, and it is running or has stopped because the load is done."""
        is_over = self.status in _OVER and self.stop_reason in LOADED
        return self.type in _LOADS and (self.status == _RUNS or is_over)

    @property
    def is_stopping(self) -> bool:
        """Whether DMS has not reported yet why it stops."""
        return self.type in _LOADS and self.status == "stopping"


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table that DMS has loaded.

    Attributes:
        began: when its load began, as ISO 8601: older files are of another load.
        ended: when it ended.
    """

    schema: str
    table: str
    rows: int
    began: str
    ended: str

    @property
    def key(self) -> str:
        """Key of its marker, relative to the folder of the load epoch."""
        return f"{MARKER_FOLDER}{self.schema}/{self.table}.json"

    def marker(self, epoch: int, said_by: str) -> bytes:
        """Return the content of the marker; ``said_by`` is the ARN of the replication."""
        document = {"schema": self.schema, "table": self.table, "epoch": epoch, "rows": self.rows}
        return json.dumps({**document, "began": self.began, "ended": self.ended, "said_by": said_by}).encode()


def _shown(failure: str) -> str:
    """Return a message of DMS for the log: short, and without passwords."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", failure)[:_LONGEST_FAILURE]


def _has_run(kind: str, described: Mapping[str, Any]) -> bool:
    """Whether a serverless replication has a place in the source, or a load that began.

    A fresh start alone counts only for one without a load: else it may have failed at its first connection, and DMS wants the next start to
    be a first one.
    """
    statistics = described.get("ReplicationStats") or {}
    counted = [described.get("RecoveryCheckpoint"), *map(statistics.get, ("FullLoadStartDate", "FullLoadFinishDate", "TablesLoaded"))]
    if kind == "cdc":
        counted += [statistics.get("FreshStartDate"), described.get("ReplicationLastStopTime")]
    return any(counted)


def loaded_tables(statistics: Iterable[Mapping[str, Any]]) -> list[LoadedTable]:
    """Return the tables whose load is complete and without errors, from a list of `TableStatistics`."""
    return [found for one in statistics if (found := _loaded(one)) is not None]


def _loaded(statistics: Mapping[str, Any]) -> LoadedTable | None:
    """Return a loaded table, None for others.

    A table of a task that only captures changes has no time at which it was loaded.
    """
    schema, table = statistics.get("SchemaName") or "", statistics.get("TableName") or ""
    began, ended = statistics.get("FullLoadStartTime"), statistics.get("FullLoadEndTime")
    if statistics.get("TableState") != "Table completed" or began is None or ended is None:
        return None
    if statistics.get("FullLoadErrorRows") or statistics.get("FullLoadCondtnlChkFailedRows"):
        return None
    if not schema or not table or "/" in schema + table:  # The job cannot split the path of such a folder.
        return None
    return LoadedTable(schema, table, int(statistics.get("FullLoadRows") or 0), began.isoformat(), ended.isoformat())
