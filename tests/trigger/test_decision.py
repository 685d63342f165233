"""Which runs cover a file, and for how long a message waits."""

from datetime import datetime, timedelta, timezone

import pytest

from decision import SLACK, Run, active_run, is_covered, is_followed, judge, merges_all, pause, rest, wait_seconds
from support.notifications import CONFIG_URI, NOON

MAX_RECEIVES = 1000
"""What SQS allows and README.md of the function asks for."""


def run(state: str = "RUNNING", began: timedelta = SLACK, *, all_: bool = True) -> Run:
    return Run("jr_1", state, NOON + began, all_)


class TestCovered:
    @pytest.mark.parametrize("state", ["STARTING", "RUNNING", "SUCCEEDED"])
    def test_by_a_run_that_began_after_the_file(self, state: str) -> None:
        assert is_covered(NOON, [run(state)])

    @pytest.mark.parametrize("state", ["STARTING", "RUNNING", "SUCCEEDED"])
    def test_not_by_one_that_began_before_whatever_its_state(self, state: str) -> None:
        assert not is_covered(NOON, [run(state, timedelta(seconds=-1))])

    def test_not_when_the_clocks_may_be_wrong(self) -> None:
        assert not is_covered(NOON, [run(began=SLACK - timedelta(microseconds=1))])

    @pytest.mark.parametrize("state", ["WAITING", "STOPPING", "STOPPED", "FAILED", "TIMEOUT", "ERROR", "EXPIRED", "SOMETHING_NEW"])
    def test_not_by_a_run_that_may_never_have_listed_a_file(self, state: str) -> None:
        assert not is_covered(NOON, [run(state)])

    def test_not_by_a_run_that_does_something_else(self) -> None:
        assert not is_covered(NOON, [run(all_=False)])

    def test_one_of_many_is_enough(self) -> None:
        assert is_covered(NOON, [run("FAILED"), run("RUNNING", -SLACK), run("SUCCEEDED")])

    @pytest.mark.parametrize("time", [datetime.max, datetime.min])
    @pytest.mark.parametrize("hours", [-23, 0, 23])
    def test_any_time_can_be_compared(self, time: datetime, hours: int) -> None:
        existed_at = time.replace(tzinfo=timezone(timedelta(hours=hours)))
        assert is_covered(existed_at, [run()]) is (time == datetime.min)


class TestActive:
    @pytest.mark.parametrize("state", ["STARTING", "RUNNING", "STOPPING", "WAITING"])
    def test_states(self, state: str) -> None:
        assert active_run([run("SUCCEEDED"), run(state)]) == run(state)

    @pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "STOPPED", "TIMEOUT", "ERROR", "EXPIRED"])
    def test_over(self, state: str) -> None:
        assert active_run([run(state)]) is None

    def test_runs_of_something_else_are_left_to_glue(self) -> None:
        assert active_run([run(all_=False)]) is None


def named(id_: str, state: str, began: timedelta = SLACK, *, all_: bool = True) -> Run:
    return Run(id_, state, NOON + began, all_)


class TestFollowed:
    def test_not_by_itself(self) -> None:
        assert not is_followed("jr_1", NOON, [named("jr_1", "FAILED", -SLACK / 2)])

    @pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED"])
    def test_by_a_later_run_however_it_ended(self, state: str) -> None:
        assert is_followed("jr_1", NOON, [named("jr_2", state), named("jr_1", "FAILED", -SLACK * 9)])

    def test_by_an_active_run_whenever_it_began(self) -> None:
        assert is_followed("jr_1", NOON, [Run("jr_2", "STARTING", None, True)])

    def test_not_by_an_earlier_run(self) -> None:
        assert not is_followed("jr_1", NOON, [named("jr_0", "SUCCEEDED", -SLACK * 2)])

    @pytest.mark.parametrize("state", ["SUCCEEDED", "RUNNING"])
    def test_not_by_a_run_that_does_something_else(self, state: str) -> None:
        assert not is_followed("jr_1", NOON, [named("jr_2", state, all_=False)])


class TestRest:
    @pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "STOPPED"])
    def test_counts_from_the_beginning_of_the_last_run_however_it_ended(self, state: str) -> None:
        runs = [named("jr_2", state, timedelta(minutes=1)), named("jr_1", "SUCCEEDED", -timedelta(hours=1))]
        assert rest(runs, timedelta(minutes=5), NOON + timedelta(minutes=2)) == timedelta(minutes=4)

    def test_is_over(self) -> None:
        assert rest([named("jr_1", "SUCCEEDED", timedelta(0))], timedelta(minutes=5), NOON + timedelta(minutes=5)) == timedelta(0)

    def test_there_is_none_before_the_first_run_and_after_one_of_something_else(self) -> None:
        assert rest([], timedelta(minutes=5), NOON) == timedelta(0)
        assert rest([named("jr_1", "SUCCEEDED", all_=False)], timedelta(minutes=5), NOON) == timedelta(0)


class TestPause:
    @pytest.mark.parametrize(
        ("states", "minutes"),
        [
            ([], 5),
            (["FAILED"], 5),
            (["FAILED", "TIMEOUT"], 10),
            (["ERROR", "FAILED", "FAILED"], 20),
            (["FAILED", "SUCCEEDED", "FAILED"], 5),
            (["FAILED", "STOPPED", "FAILED"], 10),
            (["FAILED"] * 50, 360),
        ],
    )
    def test_doubles_with_each_failure_since_the_last_success(self, states: list[str], minutes: int) -> None:
        assert pause([named("jr", state) for state in states]) == timedelta(minutes=minutes)

    def test_runs_of_something_else_do_not_count(self) -> None:
        runs = [named("jr", "FAILED"), named("jr", "FAILED", all_=False), named("jr", "SUCCEEDED", all_=False), named("jr", "FAILED")]
        assert pause(runs) == timedelta(minutes=10)


class TestMergesAll:
    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"--command": "run", "--config": CONFIG_URI},
            {"--command": "watch", "--for": "3h", "--config": CONFIG_URI},
            {"--enable-metrics": "true", "--conf": "a=b", "--json": "true", "--TempDir": "s3://x/"},
        ],
    )
    def test_yes(self, arguments: dict[str, str]) -> None:
        assert merges_all(arguments, CONFIG_URI)

    @pytest.mark.parametrize(
        "arguments",
        [
            {"--table": "public.orders"},
            {"--table=public.orders": ""},
            {"--command": "validate"},
            {"--command": "run", "--config": "s3://artifacts/config/other.json"},
        ],
    )
    def test_no(self, arguments: dict[str, str]) -> None:
        assert not merges_all(arguments, CONFIG_URI)


class TestWait:
    def test_grows_from_half_a_minute_to_a_quarter_of_an_hour(self) -> None:
        waits = [wait_seconds(n) for n in range(1, MAX_RECEIVES)]
        assert waits == sorted(waits)
        assert (waits[0], waits[-1]) == (30, 900)

    def test_latency_after_a_run_stays_below_the_length_of_the_run(self) -> None:
        """Whoever waited m seconds for a run's end waits no more than m (and half a minute) longer."""
        waited = 0
        for n in range(1, MAX_RECEIVES):
            assert wait_seconds(n) <= waited + 30
            waited += wait_seconds(n)

    def test_outlasts_the_longest_run_of_glue_and_not_the_retention(self) -> None:
        waited = sum(wait_seconds(n) for n in range(1, MAX_RECEIVES))
        assert waited > timedelta(days=7, hours=5).total_seconds()
        # Batching windows, long polls and the function itself take up to a minute for each receive.
        assert waited + 60 * MAX_RECEIVES < timedelta(days=14).total_seconds()

    def test_a_count_that_is_missing_or_wrong_counts_as_the_first(self) -> None:
        assert wait_seconds(0) == wait_seconds(-1) == wait_seconds(1)


class TestJudge:
    def test_a_refused_second_run_is_no_error(self) -> None:
        assert judge("ConcurrentRunsExceededException").level == "INFO"

    @pytest.mark.parametrize(
        "code", ["ThrottlingException", "OperationTimeoutException", "ResourceNumberLimitExceededException", "InternalServiceException"]
    )
    def test_what_passes_waits(self, code: str) -> None:
        assert (judge(code).level, judge(code).outcome) == ("WARNING", "waiting")

    @pytest.mark.parametrize("code", ["EntityNotFoundException", "AccessDeniedException", "InvalidInputException", "NeverSeen"])
    def test_what_does_not_pass_needs_a_person(self, code: str) -> None:
        assert (judge(code).level, judge(code).outcome) == ("ERROR", "failed")

    def test_advice_names_what_to_change(self) -> None:
        assert "JOB_NAME" in judge("EntityNotFoundException").advice
        assert "glue:StartJobRun" in judge("AccessDeniedException").advice
        assert "quotas" in judge("ResourceNumberLimitExceededException").advice
