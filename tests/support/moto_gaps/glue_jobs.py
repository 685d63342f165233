"""Glue's jobs: changes in place and stopping."""

from typing import Any

from moto.core.responses import ActionResult
from moto.glue.models import Action, FakeJob, Predicate
from moto.glue.responses import GlueResponse

from support.moto_gaps.patching import Function, around, operation, snake

_UNCHANGEABLE = ("Name", "CreatedOn", "LastModifiedOn", "AllocatedCapacity")
_DEFAULTS: dict[str, Any] = {"ExecutionProperty": {}, "DefaultArguments": {}, "ExecutionClass": "STANDARD"}


def close_gaps() -> None:
    """Patch ``aws_glue_job`` and ``aws_glue_trigger``: moto can make them but not change them."""
    _changes()

    @operation(GlueResponse)
    def batch_stop_job_run(self: GlueResponse) -> ActionResult:
        name, wanted = self._get_param("JobName"), self._get_param("JobRunIds")
        stopped = [run for run in self.glue_backend.get_job(name).job_runs if run.job_run_id in wanted]
        for run in stopped:
            run.status = "STOPPED"
        return ActionResult({"SuccessfulSubmissions": [{"JobName": name, "JobRunId": run.job_run_id} for run in stopped], "Errors": []})

    @around(FakeJob, "as_dict")
    def as_dict(original: Function, job: FakeJob) -> dict[str, Any]:
        # Only Spark jobs have an execution class; moto gives one to all, and the plan wants to remove it.
        found: dict[str, Any] = original(job)
        if (job.command or {}).get("Name") == "pythonshell":
            found.pop("ExecutionClass", None)
        return found


def _changes() -> None:
    @operation(GlueResponse)
    def update_job(self: GlueResponse) -> ActionResult:
        job, update = self.glue_backend.get_job(self._get_param("JobName")), self._get_param("JobUpdate")
        # As on AWS an update replaces the whole definition: what it does not name is gone.
        for name in job.as_dict():
            if name not in _UNCHANGEABLE:
                setattr(job, snake(name), update.get(name, _DEFAULTS.get(name)))
        return ActionResult({"JobName": job.name})

    @operation(GlueResponse)
    def update_trigger(self: GlueResponse) -> ActionResult:
        trigger, update = self.glue_backend.get_trigger(self._get_param("Name")), self._get_param("TriggerUpdate")
        trigger.schedule, trigger.description = update.get("Schedule", trigger.schedule), update.get("Description", trigger.description)
        if "Actions" in update:
            trigger.actions = [Action(action) for action in update["Actions"]]
        if update.get("Predicate"):
            trigger.predicate = Predicate(update["Predicate"])
        return ActionResult({"Trigger": trigger.as_dict()})
