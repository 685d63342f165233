"""Start, resume, stop, wait or refuse: every state of a replication, wanted or not, with files in its epoch and without."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from decision import lasts_too_long
from loads import FirstLoad, Replication
from starting import DONE, REFUSE, RESUME, START, STOP, WAIT, has_failed, is_missed, is_new, next_step, pause, stands_still
from support.notifications import NOON

BOTH, LOAD, CHANGES = "full-load-and-cdc", "full-load", "cdc"
PASSING = (
    "creating",
    "modifying",
    "initializing",
    "testing_connection",
    "provisioning_capacity",
    "stopping",
    "deprovisioning",
    "a new state",
)


LOADED, NOT_LOADED = FirstLoad(has_finish_date=True, loaded=10), FirstLoad(loaded=1, queued=9)


def replication(status: str, kind: str = BOTH, *, has_run: bool = False, reason: str = "", load: FirstLoad = LOADED) -> Replication:
    return Replication(kind, status, reason, has_run, load=load)


@pytest.mark.parametrize(
    ("found", "has_files", "step"),
    [
        (replication("created"), False, START),
        (replication("ready"), False, START),
        (replication("created", LOAD), False, START),
        (replication("created", CHANGES), False, START),
        # Its first start failed before anything was read.
        (replication("failed"), False, START),
        (replication("stopped", has_run=True), True, RESUME),
        (replication("stopped", has_run=True), False, RESUME),
        (replication("failed", has_run=True), True, RESUME),
        (replication("failed"), True, RESUME),
        (replication("deprovisioned", CHANGES, has_run=True), True, RESUME),
        # What AWS calls one after a change of its settings is not documented.
        (replication("ready", has_run=True), True, RESUME),
        # Replaced within its epoch.
        (replication("created"), True, REFUSE),
        (replication("ready", CHANGES), True, REFUSE),
        (replication("created", LOAD), True, REFUSE),
        # Not resumable.
        (replication("failed", LOAD, has_run=True), True, REFUSE),
        (replication("stopped", LOAD), True, REFUSE),
        (replication("stopped", LOAD, has_run=True, reason="FULL_LOAD_ONLY_FINISHED"), True, DONE),
        (replication("deprovisioned", LOAD, has_run=True, reason="FULL_LOAD_ONLY_FINISHED"), True, DONE),
        # Stopped within the first load.
        (replication("stopped", has_run=True, load=NOT_LOADED), True, REFUSE),
        (replication("failed", has_run=True, load=NOT_LOADED), False, REFUSE),
        (replication("failed", load=FirstLoad()), True, REFUSE),
        (replication("stopped", has_run=True, load=FirstLoad(has_finish_date=True, loaded=9, queued=1)), True, REFUSE),
        (replication("stopped", has_run=True, load=FirstLoad(has_finish_date=True, loaded=9, loading=1)), True, REFUSE),
        (replication("ready", has_run=True, load=FirstLoad(loaded=10)), True, REFUSE),
        (replication("stopped", CHANGES, has_run=True, load=FirstLoad()), True, RESUME),
        (replication("absent"), False, WAIT),
        (replication("running"), True, DONE),
        (replication("deleting"), True, DONE),
        *((replication(status), True, WAIT) for status in PASSING),
    ],
)
def test_a_replication_that_should_run(found: Replication, has_files: bool, step: str) -> None:
    assert next_step(found, wanted=True, has_files=has_files).does == step


@pytest.mark.parametrize("kind", [BOTH, LOAD, CHANGES])
@pytest.mark.parametrize("has_run", [False, True])
@pytest.mark.parametrize("status", ["created", "ready", "stopped", "failed", "deprovisioned", "running", "deleting", *PASSING])
def test_no_route_to_a_second_load_of_an_epoch(kind: str, has_run: bool, status: str) -> None:
    """With files in the epoch, or a place in the source, nothing is ever started from the beginning."""
    for has_files in (True, False):
        step = next_step(replication(status, kind, has_run=has_run), wanted=True, has_files=has_files)
        assert step.does in {START, RESUME, WAIT, DONE, REFUSE}
        if has_files or has_run:
            assert step.does != START
        if not has_files and not has_run:
            assert step.does not in {RESUME, REFUSE}
        assert bool(step.advice) == (step.does == REFUSE)


@pytest.mark.parametrize(
    ("status", "step"),
    [("running", STOP), ("deleting", DONE), ("absent", DONE)]
    + [(status, DONE) for status in ("created", "ready", "stopped", "failed", "deprovisioned")]
    + [(status, WAIT) for status in PASSING],
)
def test_a_replication_that_should_not_run(status: str, step: str) -> None:
    assert next_step(replication(status, has_run=True), wanted=False, has_files=True).does == step


def test_advice_says_what_to_do() -> None:
    replaced = next_step(replication("created"), wanted=True, has_files=True)
    over = next_step(replication("failed", LOAD, has_run=True), wanted=True, has_files=True)
    assert "has replaced" in replaced.advice
    assert "cannot resume" in over.advice
    interrupted = next_step(replication("stopped", has_run=True, load=NOT_LOADED), wanted=True, has_files=True)
    assert "first load was not complete" in interrupted.advice
    assert all("load_epoch" in step.advice for step in (replaced, over, interrupted))
    away = next_step(replication("deprovisioned", has_run=True, load=FirstLoad()), wanted=True, has_files=True)
    assert "commands.delete" in away.advice and "commands.delete" not in interrupted.advice


class TestHasRun:
    @pytest.mark.parametrize(
        ("described", "has_run"),
        [
            ({}, False),
            ({"ReplicationStats": {}, "RecoveryCheckpoint": ""}, False),
            ({"ReplicationStats": {"TablesLoaded": 0, "FreshStartDate": NOON}}, False),
            ({"ReplicationLastStopTime": NOON}, False),
            ({"ReplicationStats": {"FullLoadStartDate": NOON}}, True),
            ({"ReplicationStats": {"FullLoadFinishDate": NOON}}, True),
            ({"ReplicationStats": {"TablesLoaded": 1}}, True),
            ({"RecoveryCheckpoint": "checkpoint:V1#1"}, True),
            ({"ReplicationType": CHANGES, "ReplicationStats": {"FreshStartDate": NOON}}, True),
            ({"ReplicationType": CHANGES, "ReplicationLastStopTime": NOON}, True),
            ({"ReplicationType": CHANGES}, False),
        ],
    )
    def test_follows_from_what_dms_describes(self, described: dict[str, Any], has_run: bool) -> None:
        assert Replication.of({"ReplicationType": BOTH, "Status": "stopped"} | described).has_run is has_run

    def test_of_a_replication_that_failed(self) -> None:
        found = Replication.of({"Status": "failed", "FailureMessages": ["no route"], "ReplicationLastStopTime": NOON})
        assert (found.failures, found.stopped_at) == (("no route",), NOON)


class TestPause:
    def test_grows_with_each_receive_and_more_after_failures(self) -> None:
        starting, failed = replication("initializing"), replication("failed")
        wait, again = next_step(starting, wanted=True, has_files=False), next_step(failed, wanted=True, has_files=False)
        assert [pause(wait, starting, n) for n in (1, 2, 40, 100)] == [30, 50, 810, 900]
        assert [pause(again, failed, n) for n in (1, 2, 40, 100)] == [150, 250, 4050, 4500]

    def test_after_the_last_step_there_is_none(self) -> None:
        found = replication("running")
        assert pause(next_step(found, wanted=True, has_files=True), found, 7) == 0

    def test_after_a_refusal_an_hour(self) -> None:
        found = replication("created")
        assert pause(next_step(found, wanted=True, has_files=True), found, 1) == 3600

    def test_what_failed_before_does_not_slow_a_start(self) -> None:
        found = replication("initializing", reason="FATAL_ERROR")
        assert not has_failed(found)
        assert has_failed(replication("stopped", reason="FATAL_ERROR"))

    def test_a_state_that_should_pass_is_an_error_after_two_hours(self) -> None:
        step = next_step(replication("modifying"), wanted=True, has_files=True)
        waited = sum(pause(step, replication("modifying"), n) for n in range(1, 25))
        assert timedelta(hours=1, minutes=30) < timedelta(seconds=waited) < timedelta(hours=2)
        assert [lasts_too_long(receives) for receives in (24, 25)] == [False, True]

    def test_absence_is_an_error_after_minutes(self) -> None:
        found = replication("absent")
        step = next_step(found, wanted=True, has_files=False)
        waited = sum(pause(step, found, n) for n in range(1, 8))
        assert timedelta(minutes=8) < timedelta(seconds=waited) < timedelta(minutes=12)
        assert [is_missed(receives) for receives in (7, 8)] == [False, True]


@pytest.mark.parametrize(
    ("status", "stopped", "stands"),
    [
        ("stopped", NOON - timedelta(minutes=31), True),
        ("stopped", NOON - timedelta(minutes=29), False),
        ("failed", None, True),
        ("running", NOON - timedelta(hours=9), False),
        ("modifying", NOON - timedelta(hours=9), False),
    ],
)
@pytest.mark.parametrize(("has_run", "load"), [(True, LOADED), (True, NOT_LOADED), (False, FirstLoad())])
def test_standing_still(status: str, stopped: datetime | None, stands: bool, has_run: bool, load: FirstLoad) -> None:
    """Whether it would be resumed, started for the first time, or refused."""
    found = Replication(BOTH, status, "", has_run=has_run, stopped_at=stopped, load=load)
    assert stands_still(found, next_step(found, wanted=True, has_files=True), NOON) is stands


def test_first_load_is_read_of_the_statistics() -> None:
    said = {"FullLoadFinishDate": NOON, "TablesLoaded": 3, "TablesLoading": 1, "TablesQueued": 2}
    found = Replication.of({"Status": "stopped", "ReplicationStats": said}).load
    assert found == FirstLoad(has_finish_date=True, loaded=3, loading=1, queued=2)
    assert found.facts == {"FullLoadFinishDate": "given", "TablesLoaded": 3, "TablesLoading": 1, "TablesQueued": 2}
    assert Replication.of({"Status": "stopped"}).load.facts["FullLoadFinishDate"] == "missing"


def test_new_is_what_dms_never_started() -> None:
    assert [is_new(replication(status)) for status in ("created", "ready", "stopped", "failed")] == [True, True, False, False]
    assert not is_new(replication("ready", has_run=True))
    assert not is_new(Replication(BOTH, "ready", "NORMAL", stopped_at=NOON)), "stopped, perhaps by a person"
