"""The function that keeps one watch on EMR Serverless, against an EMR Serverless in plain Python."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from watch_starter import Starter, StarterError
from watching import Application, Run, decide, pause, token

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STARTED = Application("app", "STARTED", NOON - 60 * MINUTE)
EVENT = {"application_id": "app", "version": "v1", "run": {"name": "shop-watch", "mode": "STREAMING", "tags": {"team": "data"}}}


def run(state: str, version: str = "v1", ago: int = 60, name: str = "r1") -> Run:
    return Run(name, state, version, NOON - ago * MINUTE)


def decision(runs: list[Run], application: Application = STARTED, *, applied: bool = False) -> tuple[str, tuple[str, ...]]:
    found = decide(runs, application, "v1", NOON, applied=applied)
    return found.action, found.cancelled


@pytest.mark.parametrize("state", ["SUBMITTED", "PENDING", "SCHEDULED", "QUEUED", "RUNNING", "PAUSED"])
def test_active_watch_of_this_version_goes_on_and_another_is_cancelled(state: str) -> None:
    assert decision([run(state)]) == ("keep", ())
    assert decision([run(state, "v0")]) == ("cancel", ("r1",))


def test_while_one_ends_no_other_starts() -> None:
    assert decision([run("CANCELLING", "v0")], applied=True) == ("wait", ())
    assert decision([run("RUNNING", name="r2"), run("CANCELLING", "v0")]) == ("wait", ())


@pytest.mark.parametrize("state", ["CANCELLED", "SUCCESS"])
def test_after_an_end_another_starts_at_once(state: str) -> None:
    assert decision([]) == ("start", ())
    assert decision([run(state, ago=0)]) == ("start", ())


def test_of_several_only_the_newest_goes_on() -> None:
    assert decision([run("RUNNING", name="r3"), run("RUNNING", name="r2"), run("RUNNING", name="r1")]) == ("cancel", ("r2", "r1"))


def test_failures_are_followed_after_a_pause_that_doubles() -> None:
    assert [pause(n) // MINUTE for n in (1, 2, 3, 4, 5, 99)] == [5, 10, 20, 40, 60, 60]
    once, twice = [run("FAILED", ago=6)], [run("FAILED", ago=6), run("FAILED", ago=90)]
    assert decision(once) == ("start", ())
    assert decision(twice) == ("wait", ())
    assert decision([*twice[:1], run("CANCELLED"), run("FAILED")]) == ("start", ()), "counted back to the last other end"


def test_other_code_is_tried_at_once_after_a_failure() -> None:
    assert decision([run("FAILED", "v0", ago=0)]) == ("start", ())
    assert decision([run("FAILED", "v1", ago=0)]) == ("wait", ())


def test_application_that_terraform_may_be_changing_is_left_alone() -> None:
    stopped = Application("app", "STOPPED", NOON - 2 * MINUTE)
    assert decision([], stopped) == ("wait", ())
    assert decision([], stopped, applied=True) == ("start", ())
    assert decision([], Application("app", "STOPPED", NOON - 4 * MINUTE)) == ("start", ())
    assert decision([], Application("app", "STOPPING", NOON), applied=True) == ("wait", ())


class Emr:
    """One application and its runs; a run is RUNNING at once, and a cancelled one ends when a minute passes."""

    def __init__(self) -> None:
        self.state, self.changed = "CREATED", NOON - 60 * MINUTE
        self.runs: list[dict[str, Any]] = []
        self.tokens: dict[str, str] = {}
        self.now = NOON
        self.most = 0
        self.errors: list[str] = []
        self.refused: dict[str, list[str]] = {}
        """Errors of single calls, by method."""
        self.behind = False
        """Whether lists and descriptions do not yet know the newest run."""

    def tick(self, seconds: float = 60) -> None:
        self.now += timedelta(seconds=seconds)
        for one in self.runs:
            if one["state"] == "CANCELLING":
                one.update(state="CANCELLED", updatedAt=self.now)
        if self.state == "STOPPING":
            self.state, self.changed = "STOPPED", self.now

    def end(self, state: str) -> None:
        self.runs[-1].update(state=state, updatedAt=self.now)

    def active(self) -> list[str]:
        return [one["id"] for one in self.runs if one["state"] in ("RUNNING", "CANCELLING")]

    def _answers(self, call: str = "") -> None:
        if self.refused.get(call):
            raise ClientError({"Error": {"Code": self.refused[call].pop(0), "Message": "m"}}, call)
        if self.errors:
            raise ClientError({"Error": {"Code": self.errors.pop(0), "Message": "m"}}, "Call")

    def list_applications(self, *, states: list[str], nextToken: str = "") -> dict[str, Any]:
        self._answers()
        first = {"applications": [{"id": "other", "name": "shop-watch"}], "nextToken": "2"}
        return {"applications": [{"id": "app", "name": "shop-watch"}]} if nextToken else first

    def get_application(self, *, applicationId: str) -> dict[str, Any]:
        self._answers()
        tags = {"dms-iceberg:watch": "shop-watch"} if applicationId == "app" else {}
        return {"application": {"state": self.state, "updatedAt": self.changed, "tags": tags}}

    def stop_application(self, *, applicationId: str) -> None:
        self._answers("stop")
        assert not self.active()
        self.state = "STOPPING"

    def list_job_runs(
        self, *, applicationId: str, maxResults: int, states: list[str] | None = None, nextToken: str = "0"
    ) -> dict[str, Any]:
        known = self.runs[: -1 if self.behind else None]
        found = [one for one in known if states is None or one["state"] in states]
        at = int(nextToken)
        return {"jobRuns": found[at : at + 2]} | ({"nextToken": str(at + 2)} if at + 2 < len(found) else {})

    def get_job_run(self, *, applicationId: str, jobRunId: str) -> dict[str, Any]:
        return {"jobRun": next(one for one in self.runs if one["id"] == jobRunId)}

    def start_job_run(self, *, clientToken: str, name: str, mode: str, tags: dict[str, str], applicationId: str) -> dict[str, Any]:
        self._answers("start")
        if clientToken not in self.tokens:
            self.tokens[clientToken] = f"run{len(self.runs)}"
            times = {"createdAt": self.now, "updatedAt": self.now}
            self.runs.append({"id": self.tokens[clientToken], "name": name, "state": "RUNNING", "tags": tags, **times})
            self.state = "STARTED"
            self.most = max(self.most, len(self.active()))
        return {"jobRunId": self.tokens[clientToken]}

    def cancel_job_run(self, *, applicationId: str, jobRunId: str) -> None:
        self._answers("cancel")
        next(one for one in self.runs if one["id"] == jobRunId)["state"] = "CANCELLING"


@pytest.fixture
def emr() -> Emr:
    return Emr()


@pytest.fixture
def ask(emr: Emr) -> Callable[..., dict[str, Any]]:
    starter = Starter(emr, clock=lambda: emr.now, sleep=emr.tick)
    return lambda version="v1", **more: starter.answer({**EVENT, "version": version, **more})


Ask = Callable[..., dict[str, Any]]


def test_starts_one_and_keeps_it(emr: Emr, ask: Ask) -> None:
    assert ask(tf={"action": "create"})["outcome"] == "start"
    emr.tick()
    kept = ask()
    assert (kept["outcome"], kept["running"], kept["failed"], len(emr.runs)) == ("keep", 1, 0, 1)
    assert emr.runs[0]["tags"] == {"team": "data", "dms-iceberg:version": "v1"}


def test_two_functions_that_look_at_once_start_one(emr: Emr, ask: Ask) -> None:
    first = ask()
    emr.behind = True
    assert ask()["run_id"] == first["run_id"]
    assert len(emr.runs) == 1
    assert token("app", "") != token("app", "run0") != token("other", "run0")


def test_other_version_takes_over_after_the_end_of_the_former(emr: Emr, ask: Ask) -> None:
    ask()
    assert ask("v2", tf={"action": "update"})["cancelled"] == ["run0"]
    assert ask("v2")["outcome"] == "wait"
    emr.tick()
    assert ask("v2")["outcome"] == "start"
    assert (emr.active(), emr.most) == (["run1"], 1)
    emr.tick()
    assert ask("v2")["outcome"] == "keep"


def test_runs_by_hand_are_none_of_its_business(emr: Emr, ask: Ask) -> None:
    emr.runs.append({"id": "mine", "name": "doctor", "state": "RUNNING", "createdAt": NOON, "updatedAt": NOON})
    assert ask()["outcome"] == "start"
    assert [one["state"] for one in emr.runs] == ["RUNNING", "RUNNING"]


def test_a_failed_watch_is_counted_and_started_again(emr: Emr, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    ask()
    emr.end("FAILED")
    waits = ask()
    assert (waits["outcome"], waits["failed"], waits["running"]) == ("wait", 1, 0)
    emr.tick(301)
    assert ask()["outcome"] == "start"
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["watch"] * 3


@pytest.mark.parametrize("state", ["SUCCESS", "CANCELLED"])
def test_a_watch_that_ends_at_once_is_not_started_each_minute(emr: Emr, ask: Ask, state: str) -> None:
    for _ in range(60):
        if ask()["outcome"] == "start":
            emr.tick(10)
            emr.end(state)
        emr.tick(60)
    assert len(emr.runs) == 12
    ask()
    emr.end(state)
    assert ask("v2")["outcome"] == "start", "other code is tried at once"
    emr.end(state)
    assert ask("v2", tf={"action": "update"})["outcome"] == "start", "as after an apply"


def test_many_former_runs_do_not_hide_the_active_one(emr: Emr, ask: Ask) -> None:
    for _ in range(7):
        ask()
        emr.tick(301)
        emr.end("CANCELLED")
    ask()
    emr.tick()
    assert ask()["outcome"] == "keep"
    assert emr.most == 1


@pytest.mark.parametrize("event", [{"tf": {"action": "delete"}}, {"halt": "shop-watch"}])
def test_before_destroy_and_change_all_runs_end_and_the_application_stops(emr: Emr, ask: Ask, event: dict[str, Any]) -> None:
    ask()
    emr.runs.append({"id": "mine", "name": "doctor", "state": "RUNNING", "createdAt": NOON, "updatedAt": NOON})
    ask(**event)
    assert (emr.state, emr.active()) == ("STOPPED", [])
    assert ask()["outcome"] == "wait", "the schedule starts nothing while Terraform changes the application"
    assert ask(tf={"action": "update"})["outcome"] == "start"


@pytest.mark.parametrize("call", ["cancel", "stop"])
@pytest.mark.parametrize("code", ["ValidationException", "ConflictException", "ThrottlingException"])
def test_halt_goes_on_after_an_error_that_passes(emr: Emr, ask: Ask, call: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    ask()
    emr.runs.append({"id": "mine", "name": "doctor", "state": "PAUSED", "createdAt": NOON, "updatedAt": NOON})
    emr.refused[call] = [code]
    assert ask(tf={"action": "delete"})["outcome"] == "halt"
    assert (emr.state, [one["state"] for one in emr.runs]) == ("STOPPED", ["CANCELLED"] * 2)
    assert [json.loads(line)["level"] for line in capsys.readouterr().out.splitlines()] == ["INFO", "WARNING", "INFO"]


def test_halt_that_may_not_be_is_an_error_at_once(emr: Emr, ask: Ask) -> None:
    ask()
    emr.refused["cancel"] = ["AccessDeniedException"]
    with pytest.raises(StarterError, match="AccessDeniedException"):
        ask(tf={"action": "delete"})


@pytest.mark.parametrize("more", [{}, {"tf": {"action": "update"}}])
def test_start_beside_another_waits(emr: Emr, ask: Ask, more: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    emr.refused["start"] = ["ConflictException"]
    assert ask(**more)["outcome"] == "wait"
    assert json.loads(capsys.readouterr().out)["level"] == "INFO"


def test_run_that_has_just_ended_keeps_no_other_from_being_cancelled(emr: Emr, ask: Ask) -> None:
    ask()
    emr.runs.append(emr.runs[0] | {"id": "run1"})
    emr.refused["cancel"] = ["ValidationException"]
    with pytest.raises(StarterError, match="ValidationException"):
        ask("v2")
    assert sorted(one["state"] for one in emr.runs) == ["CANCELLING", "RUNNING"]


def test_application_that_is_gone_needs_no_halt(emr: Emr, ask: Ask) -> None:
    emr.errors = ["ResourceNotFoundException"]
    assert ask(tf={"action": "delete"})["outcome"] == "halt"


def test_run_that_does_not_end_is_an_error_that_says_what_to_do(emr: Emr, ask: Ask) -> None:
    ask()

    def sleep(seconds: float) -> None:
        emr.now += timedelta(seconds=seconds)

    starter = Starter(emr, clock=lambda: emr.now, sleep=sleep)
    with pytest.raises(StarterError, match=r"application app: not stopped after 780 s.*list-job-runs --application-id app"):
        starter.answer({**EVENT, "tf": {"action": "delete"}})


def test_rights_that_do_not_hold_yet_are_waited_for_by_terraform_only(emr: Emr, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    emr.errors = ["AccessDeniedException"] * 3
    assert ask(tf={"action": "create"})["outcome"] == "start"
    emr.errors = ["AccessDeniedException"]
    with pytest.raises(StarterError, match=r"AccessDeniedException.*apply Terraform again"):
        ask()
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (line["level"], line["outcome"]) == ("ERROR", "failed")
    emr.errors = ["AccessDeniedException"] * 99
    with pytest.raises(StarterError, match="AccessDeniedException"):
        ask(tf={"action": "update"})
