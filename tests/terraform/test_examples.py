"""The examples, applied to the local AWS: what the API then says, a second plan, a change in place, and the end.

The stages of all examples run side by side; a test says which stage it looks at.
"""

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from botocore.exceptions import ClientError

from dms_emulator.postgres import LocalPostgres
from dms_iceberg import __version__
from dms_iceberg.config.parse import parse_config
from support.local_aws import REGION
from support.moto_gaps import dms_serverless
from support.terraform import baseline
from support.terraform.after_apply import starts, status
from support.terraform.arrivals import check, replication_documents
from support.terraform.chain import (
    CHANGES,
    LINES,
    ORDERS,
    TABLES,
    local_dms,
    outcomes,
    read_by_spark,
    read_with_pyiceberg,
    source_rows,
    start_runs_at_once,
    until,
    words_of_the_function,
)
from support.terraform.example_stacks import SHORTEST
from support.terraform.lives import chosen
from support.terraform.load_complete import dms_has_loaded, markers, tell_state_change, way_of_state_changes
from support.terraform.secret_values import secret_values

if TYPE_CHECKING:
    from support.terraform.lives import Life, Lives

BASELINES = Path(__file__).parents[1] / "baselines"
pytestmark = pytest.mark.timeout(1800)
examples = pytest.mark.parametrize("example", chosen())


@pytest.fixture
def applied(lives: "Lives", example: str) -> "Life":
    return lives.at("apply", example)


@pytest.fixture
def changed(lives: "Lives", example: str) -> "Life":
    return lives.at("change", example)


@pytest.fixture
def replicating(applied: "Life") -> "Life":
    if applied.pipeline["replication"] is None:
        pytest.skip("this example has no replication")
    return applied


@pytest.mark.parametrize("example", [SHORTEST])
def test_stack_of_0_1_0_keeps_every_resource(applied: "Life") -> None:
    """``DMS_ICEBERG_BASELINE=1`` writes the file anew: `make baseline` does it for a release."""
    file = BASELINES / "0.1.0" / "stack.json.xz"
    if os.environ.get("DMS_ICEBERG_BASELINE"):
        file = BASELINES / __version__ / "stack.json.xz"
        baseline.save(applied, file)
    actions = baseline.actions(applied, file)
    assert len(actions) > 40
    gone = {address.removeprefix("module.pipeline.module.") for address, done in actions.items() if "delete" in done or "forget" in done}
    # Names are hashes: that of a code object of the code, the endpoint's of the secret's address, which is another in this world.
    assert {address for address in gone if ".aws_s3_object.code[" not in address} <= {
        "replication[0].aws_dms_endpoint.source",
        "replication[0].terraform_data.changed[0]",
        "trigger.aws_lambda_invocation.replication[0]",
    }


@examples
class TestApplied:
    def test_second_plan_is_empty(self, applied: "Life") -> None:
        assert applied.drift == []

    def test_stack_whose_root_module_called_the_pipeline_only_moves(self, applied: "Life") -> None:
        moves = applied.stack.moves("module.pipeline.module.pipeline", "module.pipeline")
        former = [one for one in moves if one.startswith("module.pipeline.")]
        assert len(former) > 40
        assert [one for one in former if not one.startswith("module.pipeline.module.pipeline.")] == []
        assert {actions for _, (_, [actions]) in moves.items()} == {"no-op"}
        assert {address for address, _ in moves.values()} == set(applied.stack.resources())

    def test_buckets_are_closed_and_encrypted(self, applied: "Life") -> None:
        checked = set()
        for role, bucket in applied.pipeline["buckets"].items():
            if bucket["name"].startswith("exports-"):  # somebody else's
                continue
            checked.add(role)
            s3 = applied.world.aws.client("s3", bucket["name"].rsplit("-", 1)[1])
            policy = json.loads(s3.get_bucket_policy(Bucket=bucket["name"])["Policy"])
            [deny] = [one for one in policy["Statement"] if one["Effect"] == "Deny" and "Condition" in one]
            assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            assert sorted(deny["Resource"]) == [bucket["arn"], f"{bucket['arn']}/*"]
            assert all(s3.get_public_access_block(Bucket=bucket["name"])["PublicAccessBlockConfiguration"].values())
            rule = s3.get_bucket_encryption(Bucket=bucket["name"])["ServerSideEncryptionConfiguration"]["Rules"][0]
            key = rule["ApplyServerSideEncryptionByDefault"].get("KMSMasterKeyID")
            assert key == bucket["kms_key_arn"], role
            assert key == applied.pipeline["unmasked_kms_key_arn" if role in ("bronze", "quarantine") else "kms_key_arn"], role
        if applied.example in ("minimal", "mysql", "aurora-postgresql-serverless"):  # the others bring their key, or have none
            assert applied.pipeline["unmasked_kms_key_arn"] != applied.pipeline["kms_key_arn"]
        assert checked >= {"silver", "quarantine", "artifacts"}

    def test_new_files_reach_the_function(self, applied: "Life") -> None:
        trigger, bronze = applied.pipeline["trigger"], applied.pipeline["buckets"]["bronze"]["name"]
        queue = applied.client("sqs").get_queue_attributes(QueueUrl=trigger["queue"]["url"], AttributeNames=["All"])["Attributes"]
        assert json.loads(queue["RedrivePolicy"])["deadLetterTargetArn"] == trigger["dead_letter_queue"]["arn"]
        [mapping] = applied.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        assert (mapping["EventSourceArn"], mapping["FunctionArn"]) == (trigger["queue"]["arn"], trigger["function"]["arn"])
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        if applied.example == "bring-your-own-dms":
            rules = applied.client("events").list_rule_names_by_target(TargetArn=trigger["queue"]["arn"])["RuleNames"]
            patterns = [applied.client("events").describe_rule(Name=name).get("EventPattern") for name in rules]
            assert any(pattern and json.loads(pattern)["detail"]["bucket"]["name"] == [bronze] for pattern in patterns)
        elif applied.example != "mysql":  # which is merged by the clock
            owner = applied.world.lake_account if applied.example == "cross-account" else applied.world.account
            s3 = applied.world.aws.client("s3", owner)
            [told] = s3.get_bucket_notification_configuration(Bucket=bronze)["QueueConfigurations"]
            assert (told["QueueArn"], told["Events"]) == (trigger["queue"]["arn"], ["s3:ObjectCreated:*"])
            [prefix] = told["Filter"]["Key"]["FilterRules"]
            assert applied.pipeline["bronze_uri"] == f"s3://{bronze}/{prefix['Value']}"

    def test_job_gets_its_document(self, applied: "Life") -> None:
        told = applied.pipeline["merge_job"]
        job = applied.client("glue").get_job(JobName=told["name"])["Job"]
        assert job["DefaultArguments"] == told["arguments"]
        assert (job["Role"], job["ExecutionProperty"]["MaxConcurrentRuns"]) == (told["role_arn"], 1)
        bucket, key = job["DefaultArguments"]["--config"].removeprefix("s3://").split("/", 1)
        document = applied.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
        assert document == applied.pipeline["config_json"]
        config = parse_config(json.loads(document))
        assert {name: str(table.target) for name, table in config.tables.items()} == applied.pipeline["targets"]
        for name, uri in zip(("job", "requirements"), job["DefaultArguments"]["--extra-py-files"].split(","), strict=True):
            bucket, key = uri.removeprefix("s3://").split("/", 1)
            assert f"/code/{name}-" in key and applied.client("s3").head_object(Bucket=bucket, Key=key)["ContentLength"] > 1_000_000

    def test_dms_reads_by_secret_and_writes_what_the_job_expects(self, replicating: "Life") -> None:
        endpoints = {one["EndpointType"].lower(): one for one in replicating.client("dms").describe_endpoints()["Endpoints"]}
        source, target = endpoints["source"], endpoints["target"]["S3Settings"]
        settings = source.get("PostgreSQLSettings") or source["MySQLSettings"]
        assert settings["SecretsManagerSecretId"]
        assert not source.get("Password")
        assert not settings.get("Password")
        folder = replicating.pipeline["bronze_uri"].removeprefix("s3://").split("/", 1)[1].rstrip("/")
        assert (target["BucketName"], target["BucketFolder"]) == (replicating.pipeline["buckets"]["bronze"]["name"], folder)
        assert (target["DataFormat"], target["IncludeOpForFullLoad"], target["TimestampColumnName"]) == ("parquet", True, "dms_commit_ts")
        assert (target["DatePartitionEnabled"], target.get("DatePartitionTimezone") or "UTC") == (True, "UTC")

    def test_dms_gets_rules_and_settings_that_lose_nothing(self, replicating: "Life") -> None:
        rules, settings = replication_documents(replicating)
        assert rules == json.loads(replicating.pipeline["replication"]["table_mappings_json"])["rules"]
        assert settings == json.loads(replicating.pipeline["replication"]["task_settings_json"])
        chosen_tables = {
            ".".join((one["object-locator"]["schema-name"], one["object-locator"]["table-name"]))
            for one in rules
            if one["rule-type"] == "selection"
        }
        # In DMS's patterns an underscore stands for any character.
        assert {name.replace("[_]", "_") for name in chosen_tables} == set(replicating.pipeline["targets"])
        expressions = {one["expression"] for one in rules if one.get("rule-action") == "add-column"}
        assert expressions == {"$AR_H_CHANGE_SEQ", "$AR_H_STREAM_POSITION"}
        before = [one["before-image-def"]["column-filter"] for one in rules if one.get("rule-action") == "add-before-image-columns"]
        assert before
        assert set(before) == {"pk-only"}
        assert settings["TargetMetadata"]["BatchApplyEnabled"] is False
        assert settings["TargetMetadata"]["FullLobMode"] is False
        assert settings["FullLoadSettings"]["TargetTablePrepMode"] == "DO_NOTHING"
        ddl = settings["ChangeProcessingDdlHandlingPolicy"]
        assert (ddl["HandleSourceTableTruncated"], ddl["HandleSourceTableDropped"]) == (False, False)

    def test_function_hears_of_the_replication_and_may_ask_it(self, replicating: "Life") -> None:
        way, arn = way_of_state_changes(replicating), replicating.pipeline["replication"]["arn"]
        assert (way["pattern"]["source"], way["pattern"]["resources"], way["asked"]) == (["aws.dms"], [arn], arn)
        assert way["senders"] == [({"Service": "events.amazonaws.com"}, "sqs:SendMessage", replicating.pipeline["trigger"]["queue"]["arn"])]
        state, tables = ("Tasks", "Table") if replicating.example == "mysql" else ("s", "ReplicationTable")
        bronze = replicating.pipeline["bronze_uri"].replace("s3://", "arn:aws:s3:::")
        starts = {
            "minimal": {"dms:StartReplication": [arn], "s3:ListBucket": [replicating.pipeline["buckets"]["bronze"]["arn"]]},
            "mysql": {},
        }
        assert way["rights"] == starts.get(replicating.example, {"dms:StopReplication": [arn]}) | {
            f"dms:DescribeReplication{state}": ["*"],
            f"dms:Describe{tables}Statistics": [arn],
            "s3:PutObject": [f"{bronze}_load_complete/*"],
            "kms:GenerateDataKey": [replicating.pipeline["unmasked_kms_key_arn"]],
        }

    def test_function_has_started_what_terraform_describes(self, replicating: "Life") -> None:
        if replicating.example == "mysql":
            pytest.skip("Terraform starts a task")
        arn = replicating.pipeline["replication"]["arn"]
        wanted = (["start-replication"], "running") if replicating.example == "minimal" else ([], "created")
        assert (starts(replicating.world, arn), status(replicating.world, arn)) == wanted

    def test_alarms_tell_the_topic(self, applied: "Life") -> None:
        alarms = applied.client("cloudwatch").describe_alarms()["MetricAlarms"]
        kinds = {name: kind for kind, name in applied.pipeline["alarms"]["names"].items()}
        assert {one["AlarmName"] for one in alarms} == {name for name in applied.pipeline["alarms"]["names"].values() if name}
        assert all(one["AlarmActions"] == [applied.pipeline["alarms"]["topic_arn"]] for one in alarms)
        assert all(one["AlarmDescription"].endswith(f" What to do: docs/operations.md#{kinds[one['AlarmName']]}") for one in alarms)

    def test_resources_say_what_they_are_for(self, applied: "Life") -> None:
        name = json.loads(applied.pipeline["config_json"])["pipeline"]
        mute = [
            address
            for address, values in applied.stack.resources().items()
            if address.startswith("module.pipeline") and values.get("description", "said") in ("", None, "Managed by Terraform")
        ]
        assert mute == []
        nameless = [
            address
            for address, values in applied.stack.resources().items()
            if address.startswith("module.pipeline")
            and isinstance(values.get("name"), str)
            and name not in values["name"]
            # Databases and tables have the names that readers see; a claim has that of the folder.
            and not address.startswith(("module.pipeline.module.lake.aws_glue", "module.pipeline.module.lake.aws_ssm_parameter"))
            and "aws_iam_role_policy" not in address
        ]
        assert nameless == []

    def test_no_secret_in_state_plan_or_log(self, applied: "Life") -> None:
        hidden = secret_values(applied)
        assert len(hidden) == {"aurora-postgresql-serverless": 2, "bring-your-own-dms": 0}.get(applied.example, 1)
        seen = applied.stack.places_of(applied.pipeline["merge_job"]["name"])
        assert {"terraform.tfstate", "tests.tfplan", "log"} <= set(seen), "the search finds what is there"
        for value in hidden:
            assert len(value) > 30
            assert applied.stack.places_of(value) == []


@pytest.mark.release
@pytest.mark.parametrize("example", ["aurora-postgresql-serverless"])
def test_load_that_dms_calls_complete_is_noted_and_asks_for_a_run(applied: "Life") -> None:
    """Rule, queue, function, marker, notification, run: with the rights of their roles and no others."""
    arn, runs = applied.pipeline["replication"]["arn"], applied.client("glue").get_job_runs
    start_runs_at_once(applied)
    before = len(runs(JobName=applied.pipeline["merge_job"]["name"])["JobRuns"])
    [name] = list(applied.pipeline["targets"])[:1]
    dms_has_loaded(applied, name)
    tell_state_change(applied, arn + "x")
    assert markers(applied) == []
    tell_state_change(applied, arn)
    assert markers(applied) == [name], words_of_the_function(applied)
    assert len(runs(JobName=applied.pipeline["merge_job"]["name"])["JobRuns"]) == before + 1
    assert '"level": "ERROR"' not in words_of_the_function(applied)


@pytest.mark.long
@pytest.mark.parametrize("example", ["minimal"])
def test_changes_of_the_source_arrive_in_the_tables(applied: "Life", tmp_path: Path) -> None:
    """PostgreSQL, the local DMS, bronze, notification, queue, function, job, tables: nobody starts anything by hand, and no clock does.

    For AWS the replication is still starting while the files of its full load come. The function decides when a run begins, and Glue's part
    runs the job that Terraform described, with its own arguments, script and zips. DMS, function and job have the rights of their roles and
    no others.
    """
    from support.moto_gaps.lambda_functions import deliver_waiting
    from support.terraform.glue_runtime import glue_runtime

    life = applied
    job, queue = life.pipeline["merge_job"]["name"], life.pipeline["trigger"]["queue"]["arn"]
    orders, lines = life.pipeline["targets"]["public.orders"], life.pipeline["targets"]["public.order_lines"]
    with (
        LocalPostgres() as server,
        psycopg.connect(server.dsn(), autocommit=True) as source,
        glue_runtime(life.world.aws, life.world.account, tmp_path) as glue,
    ):
        source.execute(TABLES)
        start_runs_at_once(life)
        dms_serverless.let_say(life.world.account, REGION, life.pipeline["replication"]["arn"], "initializing", "", [])
        told = len(outcomes(life))
        with local_dms(life, server.dsn(), tmp_path) as dms:
            until("the full load's files ask for a run", lambda: len(outcomes(life)) >= told + 2, dms, tmp_path)
            assert len(glue.waiting(job)) == 1, "one run for a burst of files"
            [first] = glue.work(job)
            assert {name: table["applied"] for name, table in first["tables"].items()} == {"public.orders": 200, "public.order_lines": 600}

            source.execute(CHANGES)
            seen = len(outcomes(life))
            until("a change file asks for a run", lambda: len(outcomes(life)) > seen, dms, tmp_path)
            dms.send_signal(signal.SIGTERM)
            assert dms.wait(60) == 0, (tmp_path / "dms.log").read_text()

        dms_serverless.let_say(life.world.account, REGION, life.pipeline["replication"]["arn"], "running", "", [])
        deliver_waiting(queue)
        while glue.waiting(job):
            for report in glue.work(job):
                assert [table["error"] for table in report["tables"].values()] == [None, None]
            deliver_waiting(queue)
        left = life.client("sqs").get_queue_attributes(QueueUrl=life.pipeline["trigger"]["queue"]["url"], AttributeNames=["All"])
        assert left["Attributes"]["ApproximateNumberOfMessages"] == "0"
        expected = {orders: source_rows(source, "orders", ORDERS), lines: source_rows(source, "order_lines", LINES)}

    # What metrics count is in the log group that they look at.
    counted = [json.loads(line) for line in glue.output if line.startswith("{")]
    assert {"batch_merged", None} <= {line.get("event") for line in counted}

    # Whatever was said on the way holds no password; that the search finds something shows what it looked through.
    said = {"dms": (tmp_path / "dms.log").read_text(), "job": "".join(glue.said), "function": words_of_the_function(life)}
    for who, known in {"dms": "public.orders", "job": orders, "function": "started"}.items():
        assert known in said[who], who
    for value in secret_values(life):
        assert [who for who, words in said.items() if value in words] == []

    assert len(expected[orders]) == 192
    assert {table: read_with_pyiceberg(life, table) for table in expected} == expected
    assert read_by_spark(life, list(expected)) == expected


@pytest.mark.release
@examples
class TestChanged:
    """A dozen inputs at once, in place."""

    def test_plan_after_the_change_is_empty(self, changed: "Life") -> None:
        assert changed.changed_drift == []

    def test_nothing_that_holds_data_was_replaced(self, changed: "Life") -> None:
        before, after = changed.outputs["pipeline"], changed.changed_outputs["pipeline"]
        for name in ("buckets", "kms_key_arn", "unmasked_kms_key_arn", "bronze_uri", "databases"):
            assert before[name] == after[name]

    def test_change_has_arrived(self, changed: "Life") -> None:
        check(changed)

    def test_configuration_keeps_its_place(self, changed: "Life") -> None:
        """A run that was started just before finds a document where it was told to look."""
        before, after = changed.outputs["pipeline"], changed.changed_outputs["pipeline"]
        assert before["merge_job"]["config_uri"] == after["merge_job"]["config_uri"]
        assert before["config_json"] != after["config_json"]


@pytest.mark.release
@examples
class TestDestroyed:
    def test_nothing_is_left(self, lives: "Lives", example: str) -> None:
        life = lives.at("destroy", example)
        assert life.left == {}
        buckets = {one["Name"] for one in life.client("s3").list_buckets()["Buckets"]}
        assert {name for name in buckets if not name.startswith(("exports-", "access-logs-"))} == set()
        with pytest.raises(ClientError, match="EntityNotFoundException"):
            life.client("glue").get_job(JobName=life.outputs["pipeline"]["merge_job"]["name"])
