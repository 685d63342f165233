"""What DMS says of a replication and its tables, and the events of its changes of state, in the shapes of its reference."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

TASK = "arn:aws:dms:eu-central-1:123456789012:task:AAAABBBB0CCCCDDDDEEEEE1FFFF2GGG3FFFFFF3"
SERVERLESS = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2"
STARTED, ENDED = datetime(2026, 3, 14, 11, 50, tzinfo=UTC), datetime(2026, 3, 14, 11, 58, tzinfo=UTC)


def statistics(name: str, state: str = "Table completed", rows: int = 3, **given: Any) -> dict[str, Any]:
    """One table of `DescribeTableStatistics`."""
    schema, table = name.split(".", 1)
    found = {"SchemaName": schema, "TableName": table, "TableState": state, "FullLoadRows": rows, "FullLoadErrorRows": 0}
    times = {"FullLoadStartTime": STARTED, "FullLoadEndTime": ENDED}
    return {name: value for name, value in (found | times | given).items() if value is not None}


def state_change(arn: str = TASK, **given: Any) -> str:
    """An event of EventBridge, after the example in the user guide (CHAP_EventBridge.html)."""
    serverless = ":replication-config:" in arn
    event = {
        "version": "0",
        "id": "11a11b11-222b-333a-44d4-01234a5b67890",
        "detail-type": f"DMS Replication{'' if serverless else ' Task'} State Change",
        "source": "aws.dms",
        "account": "123456789012",
        "time": "2026-03-14T12:00:00Z",
        "region": "eu-central-1",
        "resources": [arn],
        "detail": {
            "type": "ReplicationTask",
            "category": "StateChange",
            "eventType": "REPLICATION_TASK_STOPPED",
            "eventId": "DMS-EVENT-0079",
            "detailMessage": "Stop Reason FULL_LOAD_ONLY_FINISHED",
        },
    }
    return json.dumps(event | given)


class FakeDms:
    """A replication that says what a test wants. ``pages``: its tables, as many at once as DMS may give."""

    def __init__(self, *pages: Iterable[dict[str, Any]], status: str = "stopped", reason: str = "FULL_LOAD_ONLY_FINISHED") -> None:
        self.pages, self.status, self.reason = [list(page) for page in pages] or [[]], status, reason
        self.type = "full-load"
        self.error: Exception | None = None
        self.asked: list[str] = []

    def _replication(self, name: str, only: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked.append(only[0]["Values"][0])
        if self.error is not None:
            raise self.error
        reason = f"Stop Reason {self.reason}" if self.reason else None
        return {name: self.type, "Status": self.status, **({"StopReason": reason} if reason else {})}

    def describe_replication_tasks(self, *, Filters: list[dict[str, Any]], WithoutSettings: bool) -> dict[str, Any]:
        return {"ReplicationTasks": [self._replication("MigrationType", Filters)]}

    def describe_replications(self, *, Filters: list[dict[str, Any]]) -> dict[str, Any]:
        return {"Replications": [self._replication("ReplicationType", Filters)]}

    def _page(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        number = int(arguments.get("Marker", 0))
        more = {"Marker": str(number + 1)} if number + 1 < len(self.pages) else {}
        return {name: self.pages[number], **more}

    def describe_table_statistics(self, **arguments: Any) -> dict[str, Any]:
        assert arguments["ReplicationTaskArn"] == TASK
        return self._page("TableStatistics", arguments)

    def describe_replication_table_statistics(self, **arguments: Any) -> dict[str, Any]:
        assert arguments["ReplicationConfigArn"] == SERVERLESS
        return self._page("ReplicationTableStatistics", arguments)
