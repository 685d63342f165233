"""The starter in the real handler: what it asks DMS for, in which order, how long it waits, and what it says."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

import handler
from events import Bronze
from handler import Trigger
from settings import Settings
from starter import Starter
from support.dms_words import SERVERLESS
from support.notifications import CONFIG_URI, NOON, message
from trigger.conftest import LogLines

PREFIX = "dms/shop/epoch-2/"
LOAD_FILE, MARKER = f"{PREFIX}public/orders/LOAD00000001.parquet", f"{PREFIX}_load_complete/public/orders.json"
CLOCK = '{"source": "aws.events", "detail-type": "Scheduled Event", "time": "2026-03-14T12:00:00Z", "detail": {}}'


def refusal(code: str, operation: str = "StartReplication") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "as wished"}}, operation)


class World:
    """One replication, a bucket and a queue. ``passes``: what DMS does between two looks, by state."""

    def __init__(self, status: str = "created", kind: str = "full-load-and-cdc", *, start: bool | None = True) -> None:
        self.found: dict[str, Any] = {"ReplicationType": kind, "Status": status}
        self.settings = Settings(
            "shop-merge", CONFIG_URI, Bronze("bronze", PREFIX), "https://queue", "https://dead", SERVERLESS, start=start
        )
        self.passes: dict[str, str] = {}
        self.fails = 0
        self.keys: list[str] = []
        self.page = 2
        self.asked: list[str] = []
        self.hidden: list[int] = []
        self.sent: list[tuple[dict[str, Any], int]] = []
        self.errors: dict[str, Exception] = {}
        self.now = NOON

    # DMS

    def describe_replications(self, *, Filters: list[dict[str, Any]]) -> dict[str, Any]:
        assert Filters == [{"Name": "replication-config-arn", "Values": [SERVERLESS]}]
        self._may_fail("describe")
        found = dict(self.found)
        self.found["Status"] = self.passes.get(found["Status"], found["Status"])
        return {"Replications": [found] if found["Status"] else []}

    def has_loaded(self, **further: Any) -> None:
        """Let it be one whose first load was complete."""
        self.found |= {
            "RecoveryCheckpoint": "checkpoint:V1#1",
            "ReplicationStats": {"FullLoadFinishDate": NOON, "TablesLoaded": 1},
        } | further

    def start_replication(self, *, ReplicationConfigArn: str, StartReplicationType: str) -> None:
        assert ReplicationConfigArn == SERVERLESS
        self._may_fail("start")
        self.asked.append(StartReplicationType)
        self.fails -= 1
        if self.fails >= 0:
            self.found |= {"Status": "failed", "FailureMessages": ["no route to host"]}
        else:
            self.has_loaded(Status="initializing")
            self.passes |= {"initializing": "running"}

    def stop_replication(self, *, ReplicationConfigArn: str) -> None:
        assert ReplicationConfigArn == SERVERLESS
        self.asked.append("stop")
        self.found["Status"] = "stopping"
        self.passes["stopping"] = "stopped"

    # S3

    def list_objects_v2(self, *, Bucket: str, Prefix: str, StartAfter: str) -> dict[str, Any]:
        assert (Bucket, Prefix) == ("bronze", PREFIX)
        self._may_fail("list")
        keys = sorted(key for key in self.keys if key > StartAfter)
        return {"Contents": [{"Key": key} for key in keys[: self.page]], "IsTruncated": len(keys) > self.page}

    # Glue and SQS

    def get_job_runs(self, **_: object) -> dict[str, Any]:
        return {"JobRuns": []}

    def start_job_run(self, **_: object) -> dict[str, Any]:
        self.asked.append("run")
        return {"JobRunId": "jr_1"}

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:
        self.hidden.append(VisibilityTimeout)

    def send_message(self, *, QueueUrl: str, MessageBody: str, DelaySeconds: int) -> None:
        assert QueueUrl == "https://queue"
        self._may_fail("send")
        self.sent.append((json.loads(MessageBody), DelaySeconds))

    def _may_fail(self, what: str) -> None:
        if what in self.errors:
            raise self.errors[what]

    # Terraform and Lambda

    def trigger(self) -> Trigger:
        clock: Callable[[], datetime] = lambda: self.now  # noqa: E731
        starter = None if self.settings.start is None else Starter(self, self, self.settings, clock)
        return Trigger(self, self, self.settings, starter=starter, clock=clock)

    def applied(self, *, run: bool = False) -> list[dict[str, Any]]:
        """Terraform has applied something; return the messages in the queue."""
        self.trigger().applied(run=run, sleep=lambda _: None)
        return [message(json.dumps(body), f"m-{number}") for number, (body, _) in enumerate(self.sent)]

    def deliver(self, body: str = "", receives: int = 1) -> bool:
        """Hand one message to a new process; return whether it comes again."""
        told = body or json.dumps({"source": "dms-iceberg", "detail-type": "Replication Wanted", "time": NOON.isoformat(), "detail": {}})
        return bool(self.trigger().handle([message(told, receives=receives)])["batchItemFailures"])

    def settle(self, most: int = 60) -> int:
        """Deliver the message until it is done; return how often."""
        for receives in range(1, most):
            if not self.deliver(receives=receives):
                return receives
        raise AssertionError(f"still in the queue after {most} receives")


def levels(lines: list[dict[str, Any]]) -> list[str]:
    return [line["level"] for line in lines if line["event"] == "replication"]


def test_a_new_replication_is_started_and_followed_until_it_runs(log_lines: LogLines) -> None:
    world = World()
    assert world.settle() == 3
    assert world.asked == ["start-replication"]
    assert world.hidden == [30, 50]
    lines = [line for line in log_lines() if line["event"] == "replication"]
    assert [(line["outcome"], line["status"], line["level"]) for line in lines] == [
        ("start-replication", "created", "INFO"),
        ("wait", "initializing", "INFO"),
        ("done", "running", "INFO"),
    ]


def test_a_changed_replication_is_resumed_once_it_is_modified() -> None:
    world = World("modifying")
    world.has_loaded()
    assert [world.deliver(receives=n) for n in (1, 2, 3)] == [True] * 3
    assert world.asked == []
    world.found["Status"] = "stopped"
    world.keys = [LOAD_FILE]
    world.settle()
    assert world.asked == ["resume-processing"]


def test_a_start_that_fails_is_tried_again_less_and_less_often_and_is_an_error(log_lines: LogLines) -> None:
    world = World()
    world.fails = 3
    world.settle()
    assert world.asked == ["start-replication"] * 4
    assert world.hidden[:4] == [30, 250, 350, 450]
    lines = [line for line in log_lines() if line["level"] == "ERROR"]
    assert [line["failures"] for line in lines] == [["no route to host"]] * 3
    assert all("tried again" in line["advice"] for line in lines)


def test_one_that_failed_before_the_apply_is_tried_at_once_and_is_no_error_yet(log_lines: LogLines) -> None:
    world = World("failed")
    world.has_loaded()
    world.settle()
    assert world.asked == ["resume-processing"]
    assert "ERROR" not in levels(log_lines())


@pytest.mark.parametrize("key", [LOAD_FILE, MARKER, f"{PREFIX}public/orders/2026/03/14/11/20260314-115959123.parquet"])
@pytest.mark.parametrize("kind", ["full-load", "full-load-and-cdc", "cdc"])
def test_a_replaced_replication_never_loads_into_an_epoch_that_has_files(key: str, kind: str, log_lines: LogLines) -> None:
    world = World(kind=kind)
    world.keys = [f"{PREFIX}awsdms_suspended_tables/LOAD0000000{n}.parquet" for n in range(5)] + [key]
    assert all(world.deliver(receives=n) for n in range(1, 9))
    assert world.asked == []
    assert set(world.hidden) == {3600}
    lines = log_lines()
    assert set(levels(lines)) == {"ERROR"}
    assert "load_epoch" in next(line["advice"] for line in lines if line["event"] == "replication")


def test_an_interrupted_first_load_is_never_resumed(log_lines: LogLines) -> None:
    world = World("stopped")
    world.found["ReplicationStats"] = {"FullLoadStartDate": NOON, "TablesLoaded": 1, "TablesQueued": 9}
    world.keys = [LOAD_FILE]
    assert all(world.deliver(receives=n) for n in (1, 2))
    assert (world.asked, set(world.hidden)) == ([], {3600})
    lines = [line for line in log_lines() if line["event"] == "replication"]
    assert [line["level"] for line in lines] == ["ERROR"] * 2
    assert lines[0]["load_statistics"] == {"FullLoadFinishDate": "missing", "TablesLoaded": 1, "TablesLoading": 0, "TablesQueued": 9}
    assert "load_epoch" in lines[0]["advice"]


@pytest.mark.parametrize(
    ("reason", "seconds", "asked"),
    [
        ("NORMAL", 61, []),
        ("NORMAL", 60, ["resume-processing"]),
        ("NORMAL", -300, ["resume-processing"]),
        ("FATAL_ERROR", 61, ["resume-processing"]),
    ],
)
def test_a_stop_by_hand_after_the_apply_stays(reason: str, seconds: int, asked: list[str], log_lines: LogLines) -> None:
    """A message that waited, or that SQS delivers again. Terraform's own stop comes before it."""
    world = World("stopped")
    world.has_loaded(StopReason=f"Stop Reason {reason}", ReplicationLastStopTime=NOON + timedelta(seconds=seconds))
    assert world.deliver() is bool(asked)
    assert world.asked == asked
    [line] = [line for line in log_lines() if line["event"] == "replication"]
    assert ("commands.resume" in line["advice"]) is not bool(asked)
    assert line["level"] == ("WARNING" if not asked else "INFO")


def test_dms_own_tables_are_no_load_of_the_epoch() -> None:
    world = World()
    world.keys = [f"{PREFIX}awsdms_suspended_tables/LOAD0000000{n}.parquet" for n in range(5)]
    world.settle()
    assert world.asked == ["start-replication"]


def test_nothing_is_started_where_bronze_cannot_be_listed(log_lines: LogLines) -> None:
    world = World()
    world.errors["list"] = refusal("AccessDenied", "ListObjectsV2")
    assert all(world.deliver(receives=n) for n in range(1, 7))
    assert world.asked == []
    assert levels(log_lines()) == ["WARNING"] * 3 + ["ERROR"] * 3


class TestUnwanted:
    def test_is_stopped_and_followed(self) -> None:
        world = World("running", start=False)
        world.settle()
        assert world.asked == ["stop"]

    def test_is_stopped_after_a_start_that_is_under_way(self) -> None:
        world = World("initializing", start=False)
        world.passes = {"initializing": "provisioning_capacity", "provisioning_capacity": "running"}
        world.settle()
        assert world.asked == ["stop"]

    @pytest.mark.parametrize("status", ["created", "stopped", "failed"])
    def test_stays_as_it_is(self, status: str) -> None:
        world = World(status, start=False)
        assert not world.deliver()
        assert not world.deliver(CLOCK)
        assert world.asked == ["run"]


class TestErrors:
    def test_a_state_that_has_just_changed_is_waited_for(self, log_lines: LogLines) -> None:
        world = World()
        world.errors["start"] = refusal("InvalidResourceStateFault")
        assert world.deliver()
        assert levels(log_lines()) == ["INFO"]
        world.errors.clear()
        world.settle()
        assert world.asked == ["start-replication"]

    @pytest.mark.parametrize(
        ("error", "level"),
        [
            (refusal("ThrottlingException"), "WARNING"),
            (ConnectTimeoutError(endpoint_url="https://dms"), "WARNING"),
            (refusal("AccessDeniedException"), "ERROR"),
            (refusal("KMSKeyNotAccessibleFault"), "ERROR"),
        ],
    )
    def test_others_keep_the_message(self, error: Exception, level: str, log_lines: LogLines) -> None:
        world = World()
        world.errors["start"] = error
        assert world.deliver(receives=4)
        assert levels(log_lines()) == [level]

    @pytest.mark.parametrize("what", ["describe", "start"])
    def test_that_should_pass_and_do_not_are_errors_at_last(self, what: str, log_lines: LogLines) -> None:
        world = World()
        world.errors[what] = ConnectTimeoutError(endpoint_url="https://dms")
        assert all(world.deliver(receives=n) for n in (24, 25, 900))
        assert levels(log_lines()) == ["WARNING", "ERROR", "ERROR"]

    def test_a_part_that_the_replication_misses_is_named(self, log_lines: LogLines) -> None:
        world = World()
        world.errors["start"] = refusal("ResourceNotFoundFault")
        assert all(world.deliver(receives=n) for n in (7, 8))
        world.deliver(CLOCK)
        lines = [line for line in log_lines() if line["event"] == "replication"]
        assert [line["level"] for line in lines] == ["WARNING", "ERROR", "ERROR"]
        assert all(part in line["advice"] for line in lines for part in ("endpoint", "subnet group", "secret"))

    def test_of_rights_that_iam_does_not_know_yet_are_warnings(self, log_lines: LogLines) -> None:
        world = World()
        world.errors["describe"] = refusal("AccessDeniedException", "DescribeReplications")
        assert world.deliver()
        assert levels(log_lines()) == ["WARNING"]

    def test_a_state_that_dms_never_leaves_becomes_one(self, log_lines: LogLines) -> None:
        world = World("failed")
        world.found["FailureMessages"] = ["no route to host"]
        world.errors["start"] = refusal("InvalidResourceStateFault")
        assert all(world.deliver(receives=n) for n in (24, 25, 200))
        lines = [line for line in log_lines() if line["event"] == "replication"]
        assert [line["level"] for line in lines] == ["INFO", "ERROR", "ERROR"]
        assert (lines[1]["status"], lines[1]["failures"]) == ("failed", ["no route to host"])
        assert "AWS Support" in lines[1]["advice"]

    def test_a_deprovisioned_one_that_dms_does_not_start_is_to_be_deleted(self, log_lines: LogLines) -> None:
        world = World("deprovisioned", "cdc")
        world.found["RecoveryCheckpoint"] = "checkpoint:V1#1"
        world.errors["start"] = refusal("InvalidResourceStateFault")
        assert all(world.deliver(receives=n) for n in (1, 4))
        lines = [line for line in log_lines() if line["event"] == "replication"]
        assert [line["level"] for line in lines] == ["INFO", "ERROR"]
        assert "commands.delete" in lines[1]["advice"] and "load_epoch" in lines[1]["advice"]

    def test_a_first_start_that_dms_takes_no_more_asks_for_the_next_epoch(self, log_lines: LogLines) -> None:
        world = World("failed")
        world.errors["start"] = refusal("InvalidParameterCombinationException")
        assert world.deliver()
        assert world.hidden == [3600]
        [line] = [line for line in log_lines() if line["event"] == "replication"]
        assert line["level"] == "ERROR"
        assert "load_epoch" in line["advice"] and "_load_complete" not in line["advice"]

    def test_one_that_is_not_known_says_nothing_of_markers(self, log_lines: LogLines) -> None:
        world = World()
        world.errors["start"] = refusal("KMSKeyNotAccessibleFault")
        world.deliver()
        [line] = [line for line in log_lines() if line["event"] == "replication"]
        assert "_load_complete" not in line["advice"]

    @pytest.mark.parametrize("how", ["error", "nothing"])
    def test_a_wanted_replication_that_is_not_there_is_waited_for_and_missed(self, how: str, log_lines: LogLines) -> None:
        world = World("" if how == "nothing" else "created")
        if how == "error":
            world.errors["describe"] = refusal("ResourceNotFoundFault", "DescribeReplications")
        assert all(world.deliver(receives=n) for n in (1, 7, 8))
        assert world.asked == []
        lines = [line for line in log_lines() if line["event"] == "replication"]
        assert [(line["level"], line["status"]) for line in lines] == [("WARNING", "absent"), ("WARNING", "absent"), ("ERROR", "absent")]
        world.deliver(CLOCK)
        assert levels(log_lines()) == ["ERROR"]

    def test_an_unwanted_replication_that_is_not_there_is_as_wished(self) -> None:
        assert not World("", start=False).deliver()

    def test_a_state_that_does_not_pass_becomes_one(self, log_lines: LogLines) -> None:
        world = World("modifying")
        assert world.deliver(receives=24)
        assert world.deliver(receives=25)
        assert levels(log_lines()) == ["INFO", "ERROR"]


class TestClock:
    """What an interrupted apply left behind."""

    @pytest.mark.parametrize("status", ["created", "ready"])
    def test_one_that_was_stopped_is_not_new_whatever_its_state(self, status: str, log_lines: LogLines) -> None:
        world = World(status)
        world.found |= {"ReplicationLastStopTime": NOON - timedelta(hours=2), "StopReason": "Stop Reason NORMAL"}
        world.deliver(CLOCK)
        assert world.asked == ["run"]
        assert levels(log_lines()) == ["ERROR"]

    @pytest.mark.parametrize(("hours", "level"), [(1, "INFO"), (3, "ERROR")])
    def test_a_start_that_is_refused_for_hours_is_an_error(self, hours: int, level: str, log_lines: LogLines) -> None:
        world = World()
        world.found["ReplicationCreateTime"] = NOON - timedelta(hours=hours)
        world.errors["start"] = refusal("InvalidResourceStateFault")
        world.deliver(CLOCK)
        assert levels(log_lines()) == [level]

    @pytest.mark.parametrize(("hours", "level"), [(1, []), (3, ["ERROR"])])
    @pytest.mark.parametrize("status", ["modifying", "stopping", "deprovisioning", "creating", "initializing", "deleting", "a new state"])
    def test_a_state_that_should_pass_is_an_error_after_hours(self, status: str, hours: int, level: list[str], log_lines: LogLines) -> None:
        world = World(status)
        world.found["ReplicationUpdateTime"] = NOON - timedelta(hours=hours)
        world.deliver(CLOCK)
        assert levels(log_lines()) == level

    @pytest.mark.parametrize("status", ["running", "stopped"])
    def test_a_state_that_may_last_is_none(self, status: str, log_lines: LogLines) -> None:
        world = World(status)
        world.has_loaded(ReplicationUpdateTime=NOON - timedelta(days=9), ReplicationLastStopTime=NOON)
        world.deliver(CLOCK)
        assert levels(log_lines()) == []

    def test_a_replication_that_was_never_started_is_started(self) -> None:
        world = World()
        world.deliver(CLOCK)
        assert world.asked == ["run", "start-replication"]

    def test_one_whose_epoch_has_files_is_reported(self, log_lines: LogLines) -> None:
        world = World()
        world.keys = [LOAD_FILE]
        world.deliver(CLOCK)
        assert world.asked == ["run"]
        assert levels(log_lines()) == ["ERROR"]

    @pytest.mark.parametrize(("minutes", "level"), [(10, []), (45, ["ERROR"])])
    def test_one_that_has_stopped_is_reported_and_not_resumed(self, minutes: int, level: list[str], log_lines: LogLines) -> None:
        world = World("stopped")
        world.has_loaded(ReplicationLastStopTime=NOON - timedelta(minutes=minutes))
        world.deliver(CLOCK)
        assert world.asked == ["run"]
        assert levels(log_lines()) == level

    def test_a_first_start_that_failed_is_reported_as_well(self, log_lines: LogLines) -> None:
        world = World("failed")
        world.deliver(CLOCK)
        assert world.asked == ["run"]
        [line] = [line for line in log_lines() if line["event"] == "replication"]
        assert (line["level"], line["outcome"]) == ("ERROR", "stands_still")
        assert "commands.start" in line["advice"]

    def test_a_load_that_was_interrupted_is_reported_as_well(self, log_lines: LogLines) -> None:
        world = World("stopped")
        world.found["ReplicationStats"] = {"FullLoadStartDate": NOON, "TablesQueued": 9}
        world.deliver(CLOCK)
        [line] = [line for line in log_lines() if line["event"] == "replication"]
        assert (line["level"], line["outcome"]) == ("ERROR", "stands_still")
        assert "load_epoch" in line["advice"]

    @pytest.mark.parametrize(
        ("code", "level", "advice"),
        [
            ("AccessDeniedException", "ERROR", "dms:DescribeReplications"),
            ("InvalidResourceStateFault", "INFO", ""),
            ("ThrottlingException", "WARNING", "Nothing to do"),
        ],
    )
    def test_an_error_stops_no_run_and_is_judged_as_of_a_message(self, code: str, level: str, advice: str, log_lines: LogLines) -> None:
        world = World()
        world.errors["start" if code == "InvalidResourceStateFault" else "describe"] = refusal(code)
        world.deliver(CLOCK)
        assert world.asked == ["run"]
        [line] = [line for line in log_lines() if line["event"] == "replication"]
        assert line["level"] == level
        assert advice in line["advice"] and ("Allow" in line["advice"]) is (level == "ERROR")

    def test_a_clock_of_minutes_reports_once_an_hour(self, log_lines: LogLines) -> None:
        world = World("stopped")
        world.has_loaded(ReplicationLastStopTime=NOON - timedelta(hours=1))
        warm = world.trigger()
        for _ in range(121):
            warm.handle([message(CLOCK)])
            world.now += timedelta(minutes=1)
        assert levels(log_lines()) == ["ERROR"] * 3

    def test_a_message_of_an_apply_goes_before(self) -> None:
        world = World()
        [wanted] = world.applied()
        world.trigger().handle([wanted, message(CLOCK, "m-9")])
        assert world.asked == ["run", "start-replication"]


class TestApplied:
    def test_asks_for_a_run_and_for_the_replication(self) -> None:
        world = World()
        both = world.applied(run=True)
        assert [(body["detail-type"], delay) for body, delay in world.sent] == [("Applied", 15), ("Replication Wanted", 15)]
        kept = world.trigger().handle(both)["batchItemFailures"]
        assert world.asked == ["run", "start-replication"]
        assert [one["itemIdentifier"] for one in kept] == ["m-1"]

    @pytest.mark.parametrize(
        ("asked", "sent"),
        [
            ({"run": True, "replication": False}, ["Applied"]),
            ({"run": False, "replication": True}, ["Replication Wanted"]),
            ({}, ["Applied", "Replication Wanted"]),
        ],
    )
    def test_asks_only_for_what_has_changed(self, asked: dict[str, bool], sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        world = World()
        monkeypatch.setattr(handler, "trigger", world.trigger)
        assert handler.handler({"applied": "a text"} | asked, None) == {"sent": sent}

    def test_asks_for_no_replication_where_somebody_else_starts_it(self) -> None:
        world = World(start=None)
        assert len(world.applied(run=True)) == 1
        assert not world.deliver()
        assert world.asked == []

    def test_is_tried_again_until_iam_knows_the_right(self) -> None:
        world, slept = World(), list[float]()

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            world.errors.clear()

        world.errors["send"] = refusal("AccessDenied", "SendMessage")
        assert world.trigger().applied(run=True, sleep=sleep) == ["Applied", "Replication Wanted"]
        assert slept == [8]

    def test_fails_the_apply_where_the_queue_stays_closed(self) -> None:
        world, slept = World(), list[float]()
        world.errors["send"] = refusal("AccessDenied", "SendMessage")
        with pytest.raises(RuntimeError, match=r"https://queue.*AccessDenied.*sqs:SendMessage.*apply again"):
            world.trigger().applied(run=True, sleep=slept.append)
        assert sum(slept) < 45, "the function has 60 s"

    def test_two_of_them_are_one(self) -> None:
        world = World()
        world.applied()
        both = [*world.applied()]
        assert len(both) == 2
        assert len(world.trigger().handle(both)["batchItemFailures"]) == 1
        assert world.asked == ["start-replication"]

    def test_event_that_is_neither_of_both_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"\['key1'\].*Allowed: Records"):
            handler.handler({"key1": "value1"}, None)


def test_setting_that_is_none_is_refused() -> None:
    names = ("JOB_NAME", "CONFIG_URI", "BRONZE_BUCKET", "QUEUE_URL", "DEAD_LETTER_QUEUE_URL")
    given = dict.fromkeys(names, "x")
    assert [Settings.from_environment(given | {"START_REPLICATION": text}).start for text in ("true", "false", "")] == [True, False, None]
    with pytest.raises(ValueError, match="START_REPLICATION is 'yes'"):
        Settings.from_environment(given | {"START_REPLICATION": "yes"})
