"""DMS: tasks on an instance reach a state, can be changed, and give back what they were told."""

import json
from typing import Any

from moto.dms.exceptions import InvalidResourceStateFault, ResourceNotFoundFault
from moto.dms.models import DatabaseMigrationServiceBackend, FakeReplicationTask
from moto.dms.responses import DatabaseMigrationServiceResponse as Responses

from support.moto_gaps.patching import Function, around, operation

_NEXT = {"creating": "ready", "modifying": "ready", "starting": "running", "stopping": "stopped"}
_CHANGEABLE = {
    "TableMappings": "table_mappings",
    "ReplicationTaskSettings": "replication_task_settings",
    "MigrationType": "migration_type",
}
_KEPT = ("CdcStartPosition", "CdcStopPosition", "TaskData")


def _task(responses: Responses) -> Any:
    task = responses.dms_backend.replication_tasks.get(responses._get_param("ReplicationTaskArn"))
    if not task:
        raise ResourceNotFoundFault("Replication task could not be found.")
    return task


def endpoints_of_running_tasks(responses: Responses) -> set[str]:
    """Return the ARNs of the endpoints that running tasks use."""
    running = [task for task in responses.dms_backend.replication_tasks.values() if task.status == "running"]
    return {arn for task in running for arn in (task.source_endpoint_arn, task.target_endpoint_arn)}


def close_gaps() -> None:
    """Patch ``aws_dms_replication_task``."""
    _states_and_settings()
    _operations()


def _states_and_settings() -> None:
    @around(FakeReplicationTask, "__init__")
    def init(original: Function, task: Any, **given: Any) -> None:
        # AWS answers with the settings as JSON, never with nothing; the provider parses them.
        given["replication_task_settings"] = given.get("replication_task_settings") or "{}"
        original(task, **given)
        task.given = {}

    @around(FakeReplicationTask, "to_dict")
    def to_dict(original: Function, task: Any) -> dict[str, Any]:
        return {**original(task), **task.given}

    @around(DatabaseMigrationServiceBackend, "describe_replication_tasks")
    def describe_replication_tasks(original: Function, backend: Any, filters: Any, max_records: Any) -> Any:
        # Without it a task stays in `creating` for ever.
        found = original(backend, filters, max_records)
        for task in found:
            task.status = _NEXT.get(task.status, task.status)
        return found


def _operations() -> None:
    @around(Responses, "create_replication_task")
    def create_replication_task(original: Function, self: Responses) -> str:
        created = json.loads(original(self))["ReplicationTask"]
        task: Any = self.dms_backend.replication_tasks[created["ReplicationTaskArn"]]
        task.given = {name: value for name in _KEPT if (value := self._get_param(name))}
        return json.dumps({"ReplicationTask": task.to_dict()})

    @operation(Responses)
    def modify_replication_task(self: Responses) -> str:
        task = _task(self)
        if task.status == "running":
            raise InvalidResourceStateFault("Replication task is running")
        for name, attribute in _CHANGEABLE.items():
            if self._get_param(name):
                setattr(task, attribute, self._get_param(name))
        if self._get_param("CdcStartPosition"):
            task.given["CdcStartPosition"] = self._get_param("CdcStartPosition")
        return json.dumps({"ReplicationTask": task.to_dict()})

    @operation(Responses)
    def describe_table_statistics(self: Responses) -> str:
        return json.dumps({"ReplicationTaskArn": _task(self).arn, "TableStatistics": []})
