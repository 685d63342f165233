"""The life of one serverless replication on the local AWS: Terraform describes it, the function starts, resumes and stops it.

One stack goes through all steps once; the tests look at what was found on the way. What AWS does between a start and "running", and what it
refuses, are ours (`support.moto_gaps.dms_serverless`).
"""

import json
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from support.local_aws import REGION
from support.moto_gaps import dms_serverless
from support.terraform.after_apply import deliver, settle, starts, status, waiting
from support.terraform.chain import words_of_the_function
from support.terraform.example_stacks import World, minimal
from support.terraform.lives import Life
from support.terraform.stack import Stack

if TYPE_CHECKING:
    from support.local_aws import LocalAws

pytestmark = [pytest.mark.release, pytest.mark.timeout(1500)]

CONFIG = "module.pipeline.module.replication[0].aws_dms_replication_config.this[0]"


@attrs.define
class Step:
    """What was found after a step."""

    states: list[str]
    starts: list[str]
    errors: list[dict[str, Any]]
    drift: list[str] | None = None
    runs: int = 0
    left: int = 0


@attrs.define
class Story:
    """The steps by name."""

    life: Life
    steps: dict[str, Step] = attrs.field(factory=dict)
    said: Counter[str] = attrs.field(factory=Counter)
    """The errors in the log so far."""

    def apply(self, *options: str, **given: Any) -> str:
        """Apply other inputs of the root module; return the ARN of the replication."""
        given = {"trigger": {"min_minutes_between_runs": 0}} | given
        arguments = "".join(f"  {key} = {json.dumps(value)}\n" for key, value in given.items())
        self.life.stack.override("call", f'module "pipeline" {{\n{arguments}}}\n')
        self.life.stack.run("apply", "-auto-approve", "-input=false", *options)
        self.life.outputs = self.life.stack.outputs()
        return self.arn

    @property
    def arn(self) -> str:
        return str(self.life.pipeline["replication"]["arn"])

    def note(self, name: str, states: list[str], *, drift: bool = False) -> None:
        said = Counter(line for line in words_of_the_function(self.life).splitlines() if '"level": "ERROR"' in line)
        errors = [json.loads(line) for line in (said - self.said).elements()]
        self.said = said
        found = self.life.stack.drift() if drift else None
        left = waiting(self.life.world, self.life.pipeline)
        self.steps[name] = Step(states, starts(self.life.world, self.arn), errors, found, len(self.runs()), left)

    def runs(self) -> list[dict[str, Any]]:
        return list(self.life.client("glue").get_job_runs(JobName=self.life.pipeline["merge_job"]["name"])["JobRuns"])

    def look(self) -> str:
        return status(self.life.world, self.arn)

    def put(self) -> None:
        """DMS writes a file of the full load."""
        bucket, folder = self.life.pipeline["bronze_uri"].removeprefix("s3://").split("/", 1)
        self.life.client("s3").put_object(Bucket=bucket, Key=f"{folder}public/orders/LOAD00000001.parquet", Body=b"rows")


@pytest.fixture(scope="module")
def story(terraform: None, aws: "LocalAws", tmp_path_factory: pytest.TempPathFactory) -> Story:
    world = World(aws, aws.new_account(), aws.new_account(), tmp_path_factory.mktemp("starter"))
    stack = Stack("examples/minimal", world.folder, world.aws, world.account)
    story = Story(Life("minimal", world, stack))
    (stack.folder / "zz.auto.tfvars.json").write_text(json.dumps(minimal(world)))
    story.apply()
    _first_start(story)
    _change(story)
    _interrupted_apply(story)
    _stop(story)
    _replacement(story)
    return story


def _first_start(story: Story) -> None:
    before = story.look()
    dms_serverless.let_starts_take(story.life.world.account, REGION, story.arn, 6)
    deliver(story.life.pipeline)
    starting = story.look()
    story.note("apply", [before, starting])
    written = datetime.now(UTC)
    story.put()
    story.note("files while it starts", [story.look()])
    assert max(run["StartedOn"] for run in story.runs()) >= written, "a run that begins after the file"
    time.sleep(6)
    settle(story.life.world, story.life.pipeline)
    dms_serverless.let_starts_take(story.life.world.account, REGION, story.arn, 0)
    story.note("first start", [story.look()])


def _change(story: Story) -> None:
    # As if S3 had told nobody.
    bucket = story.life.pipeline["buckets"]["bronze"]["name"]
    s3 = story.life.client("s3")
    told = {"QueueConfigurations": s3.get_bucket_notification_configuration(Bucket=bucket)["QueueConfigurations"]}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    story.put()
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=told)

    with pytest.MonkeyPatch.context() as patch:
        # Until it is told to end, however slow this machine is.
        patch.setattr(dms_serverless, "SECONDS_OF_MODIFYING", 3600.0)
        story.apply(replication={"max_capacity_units": 16, "max_full_load_subtasks": 4})
    modified = story.look()
    deliver(story.life.pipeline)
    story.note("modifying", [modified, story.look()])
    dms_serverless.let_starts_fail(story.life.world.account, REGION, story.arn, 2)
    dms_serverless.let_modifying_end(story.life.world.account, REGION, story.arn)
    settle(story.life.world, story.life.pipeline)
    story.note("change", [story.look()], drift=True)


def _interrupted_apply(story: Story) -> None:
    settings = {"max_capacity_units": 64}
    story.apply(f"-target={CONFIG}", replication=settings)
    time.sleep(dms_serverless.SECONDS_OF_MODIFYING)
    deliver(story.life.pipeline)
    story.note("interrupted", [story.look()])
    story.apply(replication=settings)
    settle(story.life.world, story.life.pipeline)
    story.note("next apply", [story.look()])


def _stop(story: Story) -> None:
    story.apply(replication={"start": False})
    settle(story.life.world, story.life.pipeline)
    story.note("stop", [story.look()], drift=True)


def _replacement(story: Story) -> None:
    story.apply(f"-replace={CONFIG}", replication={})
    deliver(story.life.pipeline)
    time.sleep(1)
    deliver(story.life.pipeline)
    story.note("replaced", [story.look()])
    story.apply(load_epoch=2)
    settle(story.life.world, story.life.pipeline)
    story.note("next epoch", [story.look()])


def test_terraform_starts_nothing_and_waits_for_nothing(story: Story) -> None:
    assert story.steps["apply"].states == ["created", "initializing"]
    assert story.steps["apply"].starts == ["start-replication"]
    assert story.steps["first start"].states == ["running"]


def test_an_apply_asks_for_a_run_and_so_do_files_that_come_while_dms_starts(story: Story) -> None:
    assert story.steps["apply"].runs == 1
    assert story.steps["files while it starts"].states == ["initializing"]
    assert story.steps["files while it starts"].runs == 2


def test_change_of_settings_is_one_apply(story: Story) -> None:
    assert story.steps["modifying"].states == ["modifying", "modifying"]
    assert (story.steps["change"].states, story.steps["change"].drift) == (["running"], [])
    assert story.steps["modifying"].starts == ["start-replication"]
    assert story.steps["modifying"].errors == []


def test_files_that_nobody_was_told_of_are_found_after_the_next_apply(story: Story) -> None:
    assert story.steps["modifying"].runs > story.steps["first start"].runs


def test_failed_start_is_reported_and_tried_again(story: Story) -> None:
    step = story.steps["change"]
    assert step.starts == ["start-replication", *["resume-processing"] * 3]
    assert [line["failures"] for line in step.errors] == [["Test Endpoint failed: Application-Status: 1020912"]] * 2


def test_what_an_interrupted_apply_left_stopped_is_resumed_by_the_next(story: Story) -> None:
    assert story.steps["interrupted"].states == ["stopped"]
    assert story.steps["next apply"].states == ["running"]


def test_start_false_stops_it(story: Story) -> None:
    assert (story.steps["stop"].states, story.steps["stop"].drift, story.steps["stop"].errors) == (["stopped"], [], [])


def test_replacement_within_an_epoch_is_never_started(story: Story) -> None:
    step = story.steps["replaced"]
    assert (step.states, step.starts) == (["created"], [])
    assert {line["outcome"] for line in step.errors} == {"refuse"}
    assert "load_epoch" in step.errors[0]["advice"]
    assert step.left == 1, "it is reported until somebody acts"


def test_next_epoch_is_loaded(story: Story) -> None:
    step = story.steps["next epoch"]
    assert (step.states, step.starts) == (["running"], ["start-replication"])


def test_no_start_but_the_first_of_an_epoch_was_a_first_one(story: Story) -> None:
    assert story.steps["stop"].starts.count("start-replication") == 1
    assert {kind for step in story.steps.values() for kind in step.starts} == {"start-replication", "resume-processing"}
