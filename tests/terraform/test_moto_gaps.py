"""Gaps of moto that `support.moto_gaps` closes, as a client of AWS sees them: all services but DMS and Lambda. No Terraform."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from support.local_aws import LocalAws


def test_queue_keeps_its_policy_and_writes_redrive_policies_without_blanks(aws: "LocalAws", account: str) -> None:
    sqs = aws.client("sqs", account)
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    dead_arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 5}, separators=(",", ":"))
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]})
    queue = sqs.create_queue(QueueName="files", Attributes={"RedrivePolicy": redrive, "Policy": policy})["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "60"})
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert (found["RedrivePolicy"], found["Policy"], found["VisibilityTimeout"]) == (redrive, policy, "60")

    allow = json.dumps({"redrivePermission": "denyAll"})
    sqs.set_queue_attributes(QueueUrl=dead, Attributes={"RedriveAllowPolicy": allow})
    assert json.loads(sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["All"])["Attributes"]["RedriveAllowPolicy"])
    sqs.set_queue_attributes(QueueUrl=dead, Attributes={"RedriveAllowPolicy": ""})
    assert "RedriveAllowPolicy" not in sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["All"])["Attributes"]


def test_parameters_of_a_group_are_the_users(aws: "LocalAws", account: str) -> None:
    rds = aws.client("rds", account)
    rds.create_db_parameter_group(DBParameterGroupName="g", DBParameterGroupFamily="postgres16", Description="d")
    parameter = {"ParameterName": "rds.logical_replication", "ParameterValue": "1", "ApplyMethod": "pending-reboot"}
    rds.modify_db_parameter_group(DBParameterGroupName="g", Parameters=[parameter])
    [found] = rds.describe_db_parameters(DBParameterGroupName="g")["Parameters"]
    assert (found["ParameterName"], found["Source"]) == ("rds.logical_replication", "user")


def test_second_revoke_of_a_permission_fails(aws: "LocalAws", account: str) -> None:
    lake_formation = aws.client("lakeformation", account)
    grant = {
        "Principal": {"DataLakePrincipalIdentifier": f"arn:aws:iam::{account}:role/r"},
        "Resource": {"Database": {"Name": "silver"}},
        "Permissions": ["DESCRIBE"],
    }
    lake_formation.grant_permissions(**grant)
    lake_formation.revoke_permissions(**grant)
    with pytest.raises(ClientError, match="No permissions revoked"):
        lake_formation.revoke_permissions(**grant)


def test_statement_with_a_condition_does_not_lock_a_bucket(aws: "LocalAws", account: str) -> None:
    s3 = aws.client("s3", account)
    bucket = f"bucket-{account}"
    s3.create_bucket(Bucket=bucket)
    deny: dict[str, Any] = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    conditional = deny | {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [conditional]}))
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [conditional, deny]}))
    with pytest.raises(ClientError, match="Forbidden"):
        s3.get_object(Bucket=bucket, Key="k")


def test_stale_version_of_a_glue_table_is_refused(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_database(DatabaseInput={"Name": "d"})
    glue.create_table(DatabaseName="d", TableInput={"Name": "t"})
    version = glue.get_table(DatabaseName="d", Name="t")["Table"]["VersionId"]
    glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)
    with pytest.raises(ClientError, match="ConcurrentModificationException"):
        glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)


def test_connection_can_be_changed_and_deleted(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    made = {"Name": "c", "ConnectionType": "NETWORK", "ConnectionProperties": {}}
    glue.create_connection(ConnectionInput=made)
    glue.update_connection(Name="c", ConnectionInput=made | {"Description": "to the database"})
    found = glue.get_connection(Name="c")["Connection"]
    assert (found["ConnectionType"], found["Description"]) == ("NETWORK", "to the database")
    glue.delete_connection(ConnectionName="c")
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        glue.delete_connection(ConnectionName="c")


def test_update_of_a_job_replaces_its_definition(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    command = {"Name": "glueetl", "ScriptLocation": "s3://b/merge.py"}
    glue.create_job(Name="j", Role="r", Command=command, GlueVersion="5.0", Timeout=60, DefaultArguments={"--config": "a"})
    glue.update_job(JobName="j", JobUpdate={"Role": "r", "Command": command, "GlueVersion": "5.1", "DefaultArguments": {"--config": "b"}})
    found = glue.get_job(JobName="j")["Job"]
    assert (found["GlueVersion"], found["DefaultArguments"], found.get("Timeout")) == ("5.1", {"--config": "b"}, None)


def test_trigger_can_be_changed_and_a_run_stopped(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_job(Name="j", Role="r", Command={"Name": "glueetl"})
    glue.create_trigger(Name="t", Type="SCHEDULED", Schedule="cron(0 * * * ? *)", Actions=[{"JobName": "j"}])
    glue.update_trigger(Name="t", TriggerUpdate={"Schedule": "cron(30 * * * ? *)"})
    assert glue.get_trigger(Name="t")["Trigger"]["Schedule"] == "cron(30 * * * ? *)"
    run = glue.start_job_run(JobName="j")["JobRunId"]
    glue.batch_stop_job_run(JobName="j", JobRunIds=[run])
    assert glue.get_job_run(JobName="j", RunId=run)["JobRun"]["JobRunState"] == "STOPPED"


def test_rules_of_a_security_group_keep_their_descriptions(aws: "LocalAws", account: str) -> None:
    ec2 = aws.client("ec2", account)
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    group, other = (ec2.create_security_group(GroupName=name, Description="d", VpcId=vpc)["GroupId"] for name in "ab")
    prefix_list = ec2.describe_prefix_lists()["PrefixLists"][0]["PrefixListId"]
    port = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443}
    to_group = port | {"UserIdGroupPairs": [{"GroupId": other, "Description": "to a group"}]}
    to_list = port | {"PrefixListIds": [{"PrefixListId": prefix_list, "Description": "to a list"}]}
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[to_group])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[to_list])
    rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])["SecurityGroupRules"]
    assert {rule.get("Description") for rule in rules} == {None, "to a group", "to a list"}


def test_event_reaches_the_queues_of_rules_that_match_it(aws: "LocalAws", account: str) -> None:
    events, sqs = aws.client("events", account), aws.client("sqs", account)
    topic = aws.client("sns", account).create_topic(Name="t")["TopicArn"]
    arn = "arn:aws:dms:us-east-1:1:task:T"
    patterns = {"ours": {"source": ["aws.dms"], "resources": [arn]}, "other": {"source": ["aws.dms"], "resources": [arn + "x"]}}
    queues = {}
    for name in ("ours", "other", "clock"):
        queues[name] = sqs.create_queue(QueueName=name)["QueueUrl"]
        when = {"ScheduleExpression": "rate(1 hour)"} if name == "clock" else {"EventPattern": json.dumps(patterns[name])}
        events.put_rule(Name=name, **when)
        target = sqs.get_queue_attributes(QueueUrl=queues[name], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_targets(Rule=name, Targets=[{"Id": "topic", "Arn": topic}, {"Id": "queue", "Arn": target}])
    events.put_events(Entries=[{"Source": "aws.dms", "DetailType": "D", "Detail": "{}", "Resources": [arn]}])
    got = {name: sqs.receive_message(QueueUrl=url).get("Messages", []) for name, url in queues.items()}
    assert {name: len(messages) for name, messages in got.items()} == {"ours": 1, "other": 0, "clock": 0}
    told = json.loads(got["ours"][0]["Body"])
    assert (told["source"], told["detail-type"], told["resources"]) == ("aws.dms", "D", [arn])
    assert len(events.list_targets_by_rule(Rule="ours")["Targets"]) == 2
