"""A full load that is complete, as DMS says it to an applied stack: its event, and its answers to whoever asks."""

import json
from typing import TYPE_CHECKING, Any

from support.dms_words import ENDED, STARTED, state_change, statistics
from support.local_aws import REGION
from support.moto_gaps import dms_serverless

if TYPE_CHECKING:
    from support.terraform.lives import Life


def dms_has_loaded(life: "Life", *names: str) -> None:
    """Let the serverless replication of a stack have loaded tables, and no others."""
    times = {"FullLoadStartTime": STARTED.timestamp(), "FullLoadEndTime": ENDED.timestamp()}
    tables = [statistics(name, "Table completed" if name in names else "Table error", **times) for name in life.pipeline["targets"]]
    reason = "Stop Reason FULL_LOAD_ONLY_FINISHED"
    dms_serverless.let_say(life.world.account, REGION, life.pipeline["replication"]["arn"], "stopped", reason, tables)


def tell_state_change(life: "Life", arn: str) -> None:
    """Send the event that DMS sends."""
    event = json.loads(state_change(arn))
    entry = {"Source": event["source"], "DetailType": event["detail-type"], "Detail": json.dumps(event["detail"]), "Resources": [arn]}
    life.client("events").put_events(Entries=[entry])


def markers(life: "Life") -> list[str]:
    """Return the tables of which bronze says that their load is complete."""
    bucket, folder = life.pipeline["bronze_uri"].removeprefix("s3://").split("/", 1)
    found = life.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{folder}_load_complete/").get("Contents", [])
    return [one["Key"].removeprefix(f"{folder}_load_complete/").removesuffix(".json").replace("/", ".", 1) for one in found]


def way_of_state_changes(life: "Life") -> dict[str, Any]:
    """Return what lets events of the replication through: the rule's pattern, whom it may be sent by, and what the function may do then."""
    events, queue = life.client("events"), life.pipeline["trigger"]["queue"]
    rules = [events.describe_rule(Name=name) for name in events.list_rule_names_by_target(TargetArn=queue["arn"])["RuleNames"]]
    [rule] = [one for one in rules if "aws.dms" in one.get("EventPattern", "")]
    policy = life.client("sqs").get_queue_attributes(QueueUrl=queue["url"], AttributeNames=["Policy"])["Attributes"]["Policy"]
    senders = [
        one for one in json.loads(policy)["Statement"] if rule["Arn"] == one.get("Condition", {}).get("ArnEquals", {}).get("aws:SourceArn")
    ]
    function = life.client("lambda").get_function(FunctionName=life.pipeline["trigger"]["function"]["name"])["Configuration"]
    role = function["Role"].rsplit("/", 1)[1]
    statements = life.client("iam").get_role_policy(RoleName=role, PolicyName="trigger")["PolicyDocument"]["Statement"]
    return {
        "pattern": json.loads(rule["EventPattern"]),
        "senders": [(one["Principal"], one["Action"], one["Resource"]) for one in senders],
        "asked": function["Environment"]["Variables"]["REPLICATION_ARN"],
        "rights": {action: one["Resource"] for one in statements for action in one["Action"] if action.startswith(("dms:", "s3:", "kms:"))},
    }
