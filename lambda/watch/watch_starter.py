"""Keeps exactly one watch running on EMR Serverless; README.md beside this file has the infrastructure that it needs.

Events: the schedule's and Terraform's have ``application_id``, ``version`` and ``run`` (the parameters of StartJobRun). Terraform adds
``tf.action`` (`aws_lambda_invocation`): at ``delete`` the watch is cancelled and the application stopped, as before a change of the
application, for which Terraform sends ``halt``: its name.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from watching import ENDED, Application, Run, decide, failures, token

VERSION_TAG = "dms-iceberg:version"
WATCH_TAG = "dms-iceberg:watch"
_RUNS_A_PAGE = 50
_LONGEST_HALT = 780
_LONGEST_GRANT = 90
"""Seconds until the rights of a role that was made a moment ago hold everywhere."""
_STEP = 5
_ADVICE = {
    "AccessDeniedException": "Allow the function's role the actions that lambda/watch/README.md lists: apply Terraform again.",
    "ResourceNotFoundException": "The application is not in this account and Region any more: apply Terraform again.",
    "ValidationException": "EMR Serverless refuses the run: compare the error with the inputs of the module emr-serverless.",
    "ConflictException": "Nothing to do unless it goes on: EMR Serverless is changing something. The next minute looks again.",
    "ServiceQuotaExceededException": "Have the quota of vCPUs of EMR Serverless raised, or give the watch less capacity.",
}
_PASSES_AT_HALT = frozenset(
    {"ValidationException", "ConflictException", "ThrottlingException", "ResourceNotFoundException", "InternalServerException"}
)
"""A run ends between the list and its cancelling; the schedule starts one before the application is stopped. The next look sees both."""
_UNKNOWN = "Nothing to do unless it goes on; then mend the cause it names. The function looks again every minute."


class Emr(Protocol):
    """The part of the client of EMR Serverless that is used."""

    def list_applications(self, **given: Any) -> Mapping[str, Any]:
        """List applications."""

    def get_application(self, *, applicationId: str) -> Mapping[str, Any]:
        """Describe an application."""

    def stop_application(self, *, applicationId: str) -> object:
        """Stop an application without active runs."""

    def list_job_runs(self, **given: Any) -> Mapping[str, Any]:
        """List runs."""

    def get_job_run(self, *, applicationId: str, jobRunId: str) -> Mapping[str, Any]:
        """Describe a run."""

    def start_job_run(self, **given: Any) -> Mapping[str, Any]:
        """Start a run."""

    def cancel_job_run(self, *, applicationId: str, jobRunId: str) -> object:
        """Cancel a run."""


class StarterError(Exception):
    """The watch could not be brought into the wanted state; the message says why, and what to do."""


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Answer one event. Lambda calls this."""
    config = Config(connect_timeout=3, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})
    return Starter(boto3.client("emr-serverless", config=config)).answer(event)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Starter:
    """Brings about one watch of the wanted version, or none. All its state is in EMR Serverless."""

    emr: Emr
    clock: Callable[[], datetime] = _now
    sleep: Callable[[float], None] = time.sleep

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one event; returns what was done. Raises `StarterError`."""
        action = event.get("tf", {}).get("action")
        try:
            if "halt" in event:
                return self._halt(self._find(str(event["halt"])))
            if action == "delete":
                return self._halt(str(event["application_id"]))
            return self._ensure(event, applied=action is not None)
        except ClientError as error:
            _fail(error)

    def _ensure(self, event: Mapping[str, Any], *, applied: bool) -> dict[str, Any]:
        """Look, and do the one thing that is next. A minute later the schedule looks again."""
        identity, version, run = str(event["application_id"]), str(event["version"]), dict(event["run"])
        application = self._granted(lambda: self._application(identity)) if applied else self._application(identity)
        runs = self._runs(identity, str(run["name"]))
        decision = decide(runs, application, version, self.clock(), applied=applied)
        facts: dict[str, Any] = {"outcome": decision.action, "why": decision.why, "version": version}
        if decision.action == "cancel":
            self._cancel(identity, decision.cancelled)
            facts["cancelled"] = list(decision.cancelled)
        if decision.action == "start":
            newest = token(identity, runs[0].id if runs else "")
            start = {**run, "applicationId": identity, "clientToken": newest, "tags": {**run.get("tags", {}), VERSION_TAG: version}}
            try:
                started = self._granted(lambda: self.emr.start_job_run(**start)) if applied else self.emr.start_job_run(**start)
                facts["run_id"] = started["jobRunId"]
            except ClientError as error:
                if _code(error) != "ConflictException":
                    raise
                facts |= {"outcome": "wait", "why": f"another call has just started a watch: {error}"}
        if runs:
            newest_run = runs[0]
            facts["last"] = {"run_id": newest_run.id, "state": newest_run.state, "attempt": newest_run.attempt}
            facts["running"] = int(decision.action == "keep" and newest_run.state == "RUNNING")
            facts["failed"] = int(failures(runs) > 0)
        _log("INFO", **facts)
        return facts

    def _halt(self, identity: str | None) -> dict[str, Any]:
        """Cancel what is active on an application, stop it, and wait for that: only then can it be changed or deleted.

        Raises:
            StarterError: it takes too long.
        """
        if identity is None:
            return _said("halt", "there is no application yet")
        began, last = self.clock(), ""
        while (waited := self.clock() - began) < timedelta(seconds=_LONGEST_HALT):
            try:
                state = self._state(identity)
                if state in ("CREATED", "STOPPED", "TERMINATED"):
                    return _said("halt", f"the application is {state}", application_id=identity, waited=int(waited.total_seconds()))
                active = [one for one in self._list_runs(identity) if one["state"] not in ENDED]
                self._cancel(identity, [one["id"] for one in active if one["state"] != "CANCELLING"])
                if not active and state == "STARTED":
                    self.emr.stop_application(applicationId=identity)
            except ClientError as error:
                if _code(error) not in _PASSES_AT_HALT:
                    raise
                last = f" ({error})"
                _log("WARNING", outcome="halt", error=str(error), advice="Nothing to do: it is tried again.")
            self.sleep(_STEP)
        raise StarterError(
            f"application {identity}: not stopped after {_LONGEST_HALT} s{last}, so it can be neither changed nor deleted. Look for runs "
            f"that are still active (aws emr-serverless list-job-runs --application-id {identity}), then apply or destroy again"
        )

    def _cancel(self, identity: str, runs: Sequence[str]) -> None:
        """Cancel runs. One that cannot be, as it has just ended, keeps none of the others; the first error is raised after all."""
        errors = []
        for one in runs:
            try:
                self.emr.cancel_job_run(applicationId=identity, jobRunId=one)
            except ClientError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _state(self, identity: str) -> str:
        """Return the state of an application; `TERMINATED` if it is no more."""
        try:
            return self._application(identity).state
        except ClientError as error:
            if _code(error) != "ResourceNotFoundException":
                raise
            return "TERMINATED"

    def _find(self, name: str) -> str | None:
        """Return the id of the application of a watch; None if there is none. Raises `StarterError` if there are several."""
        found: list[str] = []
        given: dict[str, Any] = {"states": ["CREATING", "CREATED", "STARTING", "STARTED", "STOPPING", "STOPPED"]}
        while True:
            page = self._granted(lambda: self.emr.list_applications(**given))
            named = [one["id"] for one in page["applications"] if one.get("name") == name]
            found += [one for one in named if self._tags(one).get(WATCH_TAG) == name]
            if not page.get("nextToken"):
                break
            given["nextToken"] = page["nextToken"]
        if len(found) > 1:
            raise StarterError(
                f"applications {', '.join(found)}: all are called {name}, with the tag {WATCH_TAG}. Delete those that are not in use"
            )
        return found[0] if found else None

    def _tags(self, identity: str) -> Mapping[str, str]:
        tags: Mapping[str, str] = self.emr.get_application(applicationId=identity)["application"].get("tags", {})
        return tags

    def _application(self, identity: str) -> Application:
        found = self.emr.get_application(applicationId=identity)["application"]
        return Application(identity, found["state"], found["updatedAt"])

    def _runs(self, identity: str, name: str) -> list[Run]:
        """Return the runs of the watch, the newest first."""
        found = [one for one in self._list_runs(identity) if one.get("name") == name]
        found.sort(key=lambda one: one["createdAt"], reverse=True)
        return [self._run(identity, one, asked=one["state"] not in ENDED or one is found[0]) for one in found]

    def _list_runs(self, identity: str, **given: Any) -> list[Mapping[str, Any]]:
        """Return all of them: the order is documented nowhere, and the token of the first start must not come again."""
        found: list[Mapping[str, Any]] = []
        while True:
            page = self.emr.list_job_runs(applicationId=identity, maxResults=_RUNS_A_PAGE, **given)
            found += page["jobRuns"]
            if not page.get("nextToken"):
                return found
            given["nextToken"] = page["nextToken"]

    def _run(self, identity: str, found: Mapping[str, Any], *, asked: bool) -> Run:
        # A list has no tags. The version counts of runs that are active, and of the newest.
        tags = self.emr.get_job_run(applicationId=identity, jobRunId=found["id"])["jobRun"].get("tags", {}) if asked else {}
        return Run(found["id"], found["state"], tags.get(VERSION_TAG, ""), found["updatedAt"], found.get("attempt", 1), found["createdAt"])

    def _granted(self, call: Callable[[], Any]) -> Any:
        """Call until the rights hold that Terraform has granted a moment ago."""
        for _ in range(0, _LONGEST_GRANT, _STEP):
            try:
                return call()
            except ClientError as error:
                if _code(error) != "AccessDeniedException":
                    raise
            self.sleep(_STEP)
        return call()


def _said(outcome: str, why: str, **facts: Any) -> dict[str, Any]:
    _log("INFO", outcome=outcome, why=why, **facts)
    return {"outcome": outcome, "why": why, **facts}


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])


def _fail(error: ClientError) -> NoReturn:
    advice = _ADVICE.get(_code(error), _UNKNOWN)
    _log("ERROR", outcome="failed", error=str(error), advice=advice)
    raise StarterError(f"{error}. {advice}") from error


def _log(level: str, **facts: Any) -> None:
    # Not with logging: its lines are JSON only with one of Lambda's log formats.
    sys.stdout.write(json.dumps({"level": level, "event": "watch", **facts}) + "\n")
