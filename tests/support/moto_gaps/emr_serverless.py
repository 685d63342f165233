"""EMR Serverless: states of applications and runs, what AWS refuses, idempotency tokens, and what moto drops of a request.

moto calls every application started and every run a success. Here a run is RUNNING until it is cancelled or a test says how it ended; a
cancelled one is CANCELLING at the first look and CANCELLED at the next.
"""

from datetime import UTC, datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.emrserverless.exceptions import ValidationException
from moto.emrserverless.models import Application, EMRServerlessBackend, JobRun
from moto.emrserverless.responses import EMRServerlessResponse

from support.moto_gaps.patching import Function, around

_ENDED = frozenset({"SUCCESS", "FAILED", "CANCELLED"})


def close_gaps() -> None:
    """Patch ``aws_emrserverless_application``, and runs for the function that starts them."""
    _applications()
    _starts()
    _ends()


def _applications() -> None:
    @around(Application, "__init__")
    def init(original: Function, application: Any, **given: Any) -> None:
        original(application, **given)
        application.state = "CREATED"
        _touch(application, created=True)

    @around(EMRServerlessResponse, "create_application")
    def create_application(original: Function, responses: Any) -> ActionResult:
        result: ActionResult = original(responses)
        made = responses.emrserverless_backend.applications[result.result["applicationId"]]  # type: ignore[index]
        made.architecture = responses._get_param("architecture")
        return result

    @around(EMRServerlessResponse, "update_application")
    def update_application(original: Function, responses: Any) -> ActionResult:
        result: ActionResult = original(responses)
        changed = responses.emrserverless_backend.applications[responses._get_param("applicationId")]
        changed.release_label = responses._get_param("releaseLabel") or changed.release_label
        return result

    @around(EMRServerlessBackend, "start_application")
    def start_application(original: Function, backend: Any, application_id: str) -> None:
        original(backend, application_id)
        _touch(backend.applications[application_id])

    @around(EMRServerlessBackend, "stop_application")
    def stop_application(original: Function, backend: Any, application_id: str) -> None:
        active = [run.id for run in backend.job_runs.get(application_id, []) if run.state not in _ENDED]
        if active:
            raise ValidationException(f"Application {application_id} has active job runs: {', '.join(active)}")
        original(backend, application_id)
        _touch(backend.applications[application_id])


def _starts() -> None:
    @around(JobRun, "__init__")
    def init(original: Function, run: Any, **given: Any) -> None:
        original(run, **given)
        run.state, run.attempt = "RUNNING", 1
        _touch(run, created=True)

    @around(EMRServerlessBackend, "start_job_run")
    def start_job_run(original: Function, backend: Any, **given: Any) -> Any:
        runs = backend.job_runs.setdefault(given["application_id"], [])
        for run in runs:
            if run.client_token == given["client_token"]:
                return run
        started = original(backend, **given)
        # Autostart.
        if backend.applications[given["application_id"]].state != "STARTED":
            backend.start_application(given["application_id"])
        return started

    @around(EMRServerlessResponse, "start_job_run")
    def start(original: Function, responses: Any) -> ActionResult:
        result: ActionResult = original(responses)
        run = _run(responses, result.result["jobRunId"])  # type: ignore[index]
        if hasattr(run, "mode"):  # another start with its token
            return result
        run.mode, run.retry_policy = responses._get_param("mode"), responses._get_param("retryPolicy")
        # 0 is for ever, which moto takes for nothing said.
        run.execution_timeout_minutes = responses._get_param("executionTimeoutMinutes")
        return result


def _ends() -> None:
    @around(EMRServerlessBackend, "cancel_job_run")
    def cancel_job_run(original: Function, backend: Any, application_id: str, job_run_id: str) -> Any:
        answer = original(backend, application_id, job_run_id)
        run = backend.get_job_run(application_id, job_run_id)
        run.state = "CANCELLING"
        _touch(run)
        return answer

    @around(EMRServerlessBackend, "list_job_runs")
    def list_job_runs(original: Function, backend: Any, application_id: str, **given: Any) -> Any:
        backend.job_runs.setdefault(application_id, [])
        found = original(backend, application_id, **given)
        shown = [(run, run.state) for run in found]
        answer = [_seen(run, state) for run, state in shown]
        for run, state in shown:
            if state == "CANCELLING":
                run.state = "CANCELLED"
                _touch(run)
        return answer


def _seen(run: Any, state: str) -> Any:
    """Return a run as it was when it was looked at."""
    seen = object.__new__(JobRun)
    seen.__dict__ |= run.__dict__ | {"state": state}
    return seen


def _run(responses: Any, run_id: str) -> Any:
    return responses.emrserverless_backend.get_job_run(responses._get_param("applicationId"), run_id)


def _touch(changed: Any, *, created: bool = False) -> None:
    changed.updated_at = datetime.now(UTC).replace(tzinfo=None)
    if created:
        changed.created_at = changed.updated_at
