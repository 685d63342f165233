"""The protocol in a world that does everything AWS may do: no file is lost, no run is one too many, and waiting kills no message.

The real handler runs in `trigger.world`. To show that the model would notice, rules that look right and are not must lose a file in it.
"""

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import decision
import handler
from batch import Answer, Message
from handler import Trigger
from trigger.world import ALL, FOREVER, NO_ANSWER, Plan, Visit, World

HOURS = 3600
ERRORS = (
    "ThrottlingException",
    "OperationTimeoutException",
    "ResourceNumberLimitExceededException",
    "InternalServiceException",
    "EntityNotFoundException",
    "AccessDeniedException",
    NO_ANSWER,
)

tables = st.integers(0, 1)
seconds = st.integers(0, 90)
plans = st.builds(
    Plan,
    boots=st.integers(0, 60),
    lists=st.tuples(st.integers(0, 120), st.integers(0, 120)),
    merges=st.one_of(st.integers(20, 300), st.sampled_from([5 * HOURS])),
)
visits = st.fixed_dictionaries(
    {
        # Seconds that pass before each step, whether files appear in them, and whether a second function runs from begin to end.
        "steps": st.tuples(*[st.tuples(st.integers(0, 30), st.none() | tables, st.booleans())] * 3),
        "dies": st.sampled_from([None, None, None, 0, 1, 2]),
        "errors": st.tuples(*[st.sampled_from([None, None, None, *ERRORS])] * 2),
        "lag": st.integers(0, 5),
    }
)


class Model(RuleBasedStateMachine):
    """Files appear, messages are delivered, runs come and go; at the end time passes until nothing is left to happen."""

    @initialize(
        skews=st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
        tells_begin=st.booleans(),
        healthy=st.booleans(),
        gap=st.sampled_from([0, 0, 5, 360]),
    )
    def begin(self, skews: tuple[int, int], tells_begin: bool, healthy: bool, gap: int) -> None:
        self.world = World(skews, tells_begin, healthy, gap)

    @rule(table=tables, delay=st.sampled_from([0, 1, 5, 60, 600]), copies=st.integers(1, 2))
    def file_appears(self, table: int, delay: int, copies: int) -> None:
        self.world.write(table, delay, copies)

    @rule(passed=st.one_of(seconds, st.sampled_from([600, 2 * HOURS])))
    def time_passes(self, passed: int) -> None:
        self.world.now += passed

    @rule(plan=plans, visit=visits, limit=st.integers(1, 5), newest_first=st.booleans(), again=st.booleans())
    def function_is_called(self, plan: Plan, visit: dict[str, Any], limit: int, newest_first: bool, again: bool) -> None:
        self.world.plan = plan
        happens = tuple((lambda step=step: self.happens(*step),) for step in visit["steps"])
        self.world.deliver(Visit(happens, visit["dies"], visit["errors"], visit["lag"]), limit, newest_first=newest_first, again=again)

    def happens(self, passed: int, table: int | None, second: bool) -> None:
        self.world.now += passed
        if table is not None:
            self.world.write(table)
        # Of two calls at once, either each step of one comes before the other's, or one lies between two steps of the other: this.
        if second and len(self.world.visits) == 1:
            self.world.deliver(limit=3, newest_first=True)

    @rule(plan=plans, arguments=st.sampled_from([ALL, ALL | {"--table": "public.t0"}, ALL | {"--command": "maintain"}]))
    def others_start_a_run(self, plan: Plan, arguments: dict[str, str]) -> None:
        self.world.plan = plan
        self.world.run_by_others(arguments)

    @rule(fails=st.booleans())
    def run_fails(self, fails: bool) -> None:
        runs = [run for run in self.world.runs if run.ends_at > self.world.now]
        if not self.world.healthy and runs and fails:
            runs[-1].plan = Plan(runs[-1].plan.boots, runs[-1].plan.lists, runs[-1].plan.merges, "FAILED")
        elif not self.world.healthy and runs:
            runs[-1].stopped_at = self.world.now

    @invariant()
    def no_message_dies_of_waiting(self) -> None:
        assert not self.world.dead

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.plan = Plan(0, (0, 0), 20)  # The least a run can see.
        before = len(self.world.runs)
        self.world.settle()
        if self.world.healthy:
            # The third is for a run of others that Glue refused: it failed as well.
            assert len(self.world.runs) - before <= 3
        elif any(run.stopped_at < FOREVER for run in self.world.runs):
            # What is left by a run that somebody stopped is picked up by the next run, if only that of the wake-up. Failures ask for it.
            self.world.wake_up()
            self.world.settle()
        assert not self.world.lost()
        assert not self.world.dead


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=300, stateful_step_count=30)


class WrongRules:
    """Rules that look right."""

    def covers_while_active(self: Any, existed_at: datetime) -> bool:
        return bool(self.merges_all and self.is_active)

    def covers_without_slack(self: Any, existed_at: datetime) -> bool:
        return bool(self.merges_all and self.started_on >= existed_at)

    def covers_in_any_state(self: Any, existed_at: datetime) -> bool:
        return bool(self.merges_all and self.started_on - decision.SLACK >= existed_at)

    def any_run_merges_all(*_: object) -> bool:
        return True

    def keeps_the_oldest(self: Any, left: list[Message], why: decision.Judgement, facts: object) -> Answer:
        return Answer(why.level, why.outcome, {}, min(left, key=lambda message: message.newest))

    def keeps_none(self: Any, left: list[Message], why: decision.Judgement, facts: object) -> Answer:
        return Answer(why.level, why.outcome)


def after_the_last_listing(world: World) -> None:
    world.write(0)
    world.deliver()
    world.now = 60  # The run began at 30 and lists for the last time at 35 and 50; it ends at 80.
    world.write(0)
    world.deliver()


def clocks_apart(world: World) -> None:
    world.skews, world.plan = (-4, 4), Plan(0, (0, 0), 60)
    world.write(0)
    world.deliver()  # The run lists at 0; Glue says that it began at 4.
    world.now = 1
    world.write(0)  # S3 says -3.
    world.deliver()


def refused_run_of_a_schedule(world: World) -> None:
    world.tells_failures = False  # The event would ask for another run, late.
    world.write(0)
    world.deliver()
    world.now = 60
    world.write(0, delay=20)
    world.now = 75
    world.run_by_others(ALL)  # Glue lists a FAILED run that began at 75.
    world.now = 80
    world.deliver()


def run_of_one_table(world: World) -> None:
    world.write(1, delay=30)
    world.now = 15
    world.run_by_others(ALL | {"--table": "public.t0"})
    world.now = 30
    world.deliver()


def run_that_glue_does_not_list_yet(world: World) -> None:
    world.plan = Plan(0, (0, 0), 60)
    world.now = 80
    world.write(0)
    world.now = 95
    world.run_by_others(ALL)
    world.now = 96
    world.write(0)
    world.deliver(Visit(lag=5))


@pytest.mark.parametrize(
    ("scene", "owner", "name", "wrong"),
    [
        (after_the_last_listing, decision.Run, "covers", WrongRules.covers_while_active),
        (after_the_last_listing, Trigger, "_wait", WrongRules.keeps_none),
        (clocks_apart, decision.Run, "covers", WrongRules.covers_without_slack),
        (refused_run_of_a_schedule, decision.Run, "covers", WrongRules.covers_in_any_state),
        (run_of_one_table, handler, "merges_all", WrongRules.any_run_merges_all),
        (run_that_glue_does_not_list_yet, Trigger, "_wait", WrongRules.keeps_the_oldest),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_rules_that_look_right_lose_files(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[World], None], owner: object, name: str, wrong: object
) -> None:
    def play() -> World:
        world = World()
        scene(world)
        world.settle()
        return world

    assert not play().lost()
    monkeypatch.setattr(owner, name, wrong)
    assert play().lost()


class TestNumbers:
    """What the promises come to, in numbers."""

    def test_a_thousand_files_in_a_minute_are_a_handful_of_runs(self) -> None:
        world = World()
        for n in range(1000):
            world.now = n * 0.06
            world.write(n % 2)
            if n % 50 == 49:
                world.deliver(limit=10)
        world.settle()
        assert not world.lost()
        assert len(world.runs) <= 3

    def test_five_hours_of_load_with_a_file_every_second(self) -> None:
        world = World(plan=Plan(30, (5, 5), 5 * HOURS))
        world.write(0)
        world.deliver()
        world.plan = Plan()
        for second in range(1, 5 * HOURS, 10):
            for n in range(10):
                world.now = second + n
                world.write(n % 2)
            world.deliver()
        kept = len(world.waiting)
        world.settle()
        assert not world.lost()
        assert not world.dead
        assert len(world.runs) <= 4
        assert kept < 100

    @pytest.mark.parametrize("days", [0.2, 1, 7])
    def test_a_message_outlives_any_run(self, days: float) -> None:
        world = World(plan=Plan(0, (0, 0), int(timedelta(days=days).total_seconds())))
        world.write(0)
        world.deliver()
        world.now += 1
        world.write(0)
        world.settle()
        assert not world.dead
        assert not world.lost()
        assert len(world.runs) == 2
        assert world.runs[1].asked_at - world.runs[0].ends_at <= 900

    def test_a_file_during_a_run_of_two_minutes_waits_less_than_two_more(self) -> None:
        world = World(plan=Plan(30, (5, 5), 85))
        world.write(0)
        world.deliver()
        world.now += 5
        world.write(0)
        world.settle()
        assert world.runs[1].asked_at - world.runs[0].ends_at <= 120

    def test_a_repeated_message_starts_nothing(self) -> None:
        world = World()
        world.write(0)
        world.now += 20
        world.deliver()
        world.now += 6 * HOURS
        world.deliver(again=True)
        assert world.letters[0].receives == 2
        assert len(world.runs) == 1


@pytest.mark.parametrize("told", [False, True])
def test_a_run_that_fails_is_followed_by_another_because_its_failure_is_told(told: bool) -> None:
    world = World(tells_failures=told, plan=Plan(ends="FAILED"))
    world.write(0)
    world.deliver()
    world.plan = Plan()
    world.settle()
    assert bool(world.lost()) is not told


def test_a_job_that_always_fails_is_tried_less_and_less() -> None:
    world = World(plan=Plan(ends="FAILED"))
    world.write(0)
    while world.now < 2 * 24 * HOURS:
        world.deliver()
        world.now += 60
    pauses = [round((later.asked_at - earlier.ends_at) / 60) for earlier, later in itertools.pairwise(world.runs)]
    assert pauses[:7] == [6, 11, 21, 41, 81, 161, 321]
    assert set(pauses[7:]) == {361}
