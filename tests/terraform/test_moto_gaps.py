"""Gaps of moto that `support.moto_gaps` closes, as a client of AWS sees them. No Terraform.

Only what no example shows: what is refused, functions that run, what a role may do, and changes that no example makes.
"""

import io
import json
import time
import zipfile
from typing import Any

import pytest
from botocore.exceptions import ClientError

from support.local_aws import LocalAws, local_aws
from support.moto_gaps import dms_serverless


def test_stale_version_of_a_glue_table_is_refused(aws: LocalAws, account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_database(DatabaseInput={"Name": "d"})
    glue.create_table(DatabaseName="d", TableInput={"Name": "t"})
    version = glue.get_table(DatabaseName="d", Name="t")["Table"]["VersionId"]
    glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)
    with pytest.raises(ClientError, match="ConcurrentModificationException"):
        glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)


def test_connection_can_be_changed_and_deleted(aws: LocalAws, account: str) -> None:
    glue = aws.client("glue", account)
    made = {"Name": "c", "ConnectionType": "NETWORK", "ConnectionProperties": {}}
    glue.create_connection(ConnectionInput=made)
    glue.update_connection(Name="c", ConnectionInput=made | {"Description": "to the database"})
    found = glue.get_connection(Name="c")["Connection"]
    assert (found["ConnectionType"], found["Description"]) == ("NETWORK", "to the database")
    glue.delete_connection(ConnectionName="c")
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        glue.delete_connection(ConnectionName="c")


def test_trigger_can_be_changed_and_a_run_stopped(aws: LocalAws, account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_job(Name="j", Role="r", Command={"Name": "glueetl"})
    glue.create_trigger(Name="t", Type="SCHEDULED", Schedule="cron(0 * * * ? *)", Actions=[{"JobName": "j"}])
    glue.update_trigger(Name="t", TriggerUpdate={"Schedule": "cron(30 * * * ? *)"})
    assert glue.get_trigger(Name="t")["Trigger"]["Schedule"] == "cron(30 * * * ? *)"
    run = glue.start_job_run(JobName="j")["JobRunId"]
    glue.batch_stop_job_run(JobName="j", JobRunIds=[run])
    assert glue.get_job_run(JobName="j", RunId=run)["JobRun"]["JobRunState"] == "STOPPED"


S3_SETTINGS = {"BucketName": "bronze", "ServiceAccessRoleArn": "arn:aws:iam::1:role/dms", "CdcMaxBatchInterval": 60}


def endpoint(dms: Any, name: str = "target") -> str:
    made = dms.create_endpoint(EndpointIdentifier=name, EndpointType="target", EngineName="s3", S3Settings=S3_SETTINGS)
    return str(made["Endpoint"]["EndpointArn"])


def test_subnet_group_keeps_its_subnets(aws: LocalAws, account: str) -> None:
    dms = aws.client("dms", account)
    name = {"ReplicationSubnetGroupIdentifier": "g", "ReplicationSubnetGroupDescription": "d"}
    dms.create_replication_subnet_group(**name, SubnetIds=["subnet-a", "subnet-b"], Tags=[{"Key": "k", "Value": "v"}])
    dms.modify_replication_subnet_group(**name, SubnetIds=["subnet-a", "subnet-c"])
    [group] = dms.describe_replication_subnet_groups()["ReplicationSubnetGroups"]
    assert [subnet["SubnetIdentifier"] for subnet in group["Subnets"]] == ["subnet-a", "subnet-c"]
    tags = dms.list_tags_for_resource(ResourceArn=f"arn:aws:dms:us-east-1:{account}:subgrp:g")["TagList"]
    assert [(tag["Key"], tag["Value"]) for tag in tags] == [("k", "v")]


def test_task_reaches_its_states_and_is_changed_when_stopped(aws: LocalAws, account: str) -> None:
    dms = aws.client("dms", account)
    target = endpoint(dms)
    source = dms.create_endpoint(EndpointIdentifier="source", EndpointType="source", EngineName="postgres")["Endpoint"]["EndpointArn"]
    instance = dms.create_replication_instance(ReplicationInstanceIdentifier="i", ReplicationInstanceClass="dms.t3.small")
    made = dms.create_replication_task(
        ReplicationTaskIdentifier="t",
        SourceEndpointArn=source,
        TargetEndpointArn=target,
        ReplicationInstanceArn=instance["ReplicationInstance"]["ReplicationInstanceArn"],
        MigrationType="full-load-and-cdc",
        TableMappings="{}",
        CdcStartPosition="0/0",
    )["ReplicationTask"]
    arn = made["ReplicationTaskArn"]

    def task() -> dict[str, Any]:
        found: dict[str, Any] = dms.describe_replication_tasks()["ReplicationTasks"][0]
        return found

    assert (task()["Status"], task()["CdcStartPosition"], json.loads(task()["ReplicationTaskSettings"])) == ("ready", "0/0", {})
    dms.start_replication_task(ReplicationTaskArn=arn, StartReplicationTaskType="start-replication")
    assert task()["Status"] == "running"
    with pytest.raises(ClientError, match="is running"):
        dms.modify_replication_task(ReplicationTaskArn=arn, TableMappings='{"rules": []}')
    with pytest.raises(ClientError, match="cannot be modified"):
        dms.modify_endpoint(EndpointArn=target, S3Settings={"CdcMaxBatchInterval": 10})
    dms.stop_replication_task(ReplicationTaskArn=arn)
    dms.modify_replication_task(ReplicationTaskArn=arn, TableMappings='{"rules": []}')
    assert (task()["Status"], task()["TableMappings"]) == ("stopped", '{"rules": []}')


def serverless(dms: Any, kind: str) -> dict[str, Any]:
    made = dms.create_replication_config(
        ReplicationConfigIdentifier="shop",
        SourceEndpointArn="arn:aws:dms:us-east-1:1:endpoint:S",
        TargetEndpointArn=endpoint(dms),
        ComputeConfig={"MaxCapacityUnits": 2},
        ReplicationType=kind,
        TableMappings="{}",
        Tags=[{"Key": "k", "Value": "v"}],
    )
    return dict(made["ReplicationConfig"])


def test_serverless_replication(aws: LocalAws, account: str) -> None:
    dms = aws.client("dms", account)
    made = serverless(dms, "cdc")
    arn = made["ReplicationConfigArn"]
    assert dms.describe_replications()["Replications"][0]["Status"] == "created"
    with pytest.raises(ClientError, match="is in CREATED state and cannot stop"):
        dms.stop_replication(ReplicationConfigArn=arn)
    dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="start-replication")
    with pytest.raises(ClientError, match="is in RUNNING state and cannot be modified"):
        dms.modify_replication_config(ReplicationConfigArn=arn, ReplicationType="full-load")
    with pytest.raises(ClientError, match="cannot be modified"):
        dms.modify_endpoint(EndpointArn=made["TargetEndpointArn"], S3Settings={"CdcMaxBatchInterval": 10})
    dms.stop_replication(ReplicationConfigArn=arn)
    dms.modify_endpoint(EndpointArn=made["TargetEndpointArn"], S3Settings={"CdcMaxBatchInterval": 10})
    dms.modify_replication_config(ReplicationConfigArn=arn, ComputeConfig={"MaxCapacityUnits": 4})
    for refused in (
        lambda: dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="resume-processing"),
        lambda: dms.stop_replication(ReplicationConfigArn=arn),
        lambda: dms.modify_replication_config(ReplicationConfigArn=arn, ReplicationType="full-load"),
    ):
        with pytest.raises(ClientError, match="is in MODIFYING state and cannot "):
            refused()
    assert dms.describe_replications()["Replications"][0]["Status"] == "modifying"
    time.sleep(dms_serverless.SECONDS_OF_MODIFYING)
    assert dms.describe_replications()["Replications"][0]["Status"] == "stopped"
    dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="resume-processing")
    assert dms.describe_replications()["Replications"][0]["Status"] == "running"
    [found] = dms.describe_replication_configs()["ReplicationConfigs"]
    assert (found["ComputeConfig"]["MaxCapacityUnits"], found["ReplicationType"], found["ReplicationSettings"]) == (4, "cdc", "{}")
    with pytest.raises(ClientError, match="is in RUNNING state and cannot start"):
        dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="resume-processing")
    with pytest.raises(ClientError, match="is in RUNNING state and cannot be deleted"):
        dms.delete_replication_config(ReplicationConfigArn=arn)
    dms.stop_replication(ReplicationConfigArn=arn)
    dms.delete_replication_config(ReplicationConfigArn=arn)
    with pytest.raises(ClientError, match="could not be found"):
        dms.describe_replication_configs(Filters=[{"Name": "replication-config-arn", "Values": [arn]}])


def test_deprovisioned_replication_can_only_be_deleted(aws: LocalAws, account: str) -> None:
    """What AWS says of it locks Terraform, which stops before it modifies or deletes: `commands.delete` is the way out."""
    dms = aws.client("dms", account)
    arn = serverless(dms, "full-load")["ReplicationConfigArn"]
    dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="start-replication")
    dms_serverless.let_say(account, "us-east-1", arn, "deprovisioned", "Stop Reason FULL_LOAD_ONLY_FINISHED", [])
    for refused in (
        lambda: dms.stop_replication(ReplicationConfigArn=arn),
        lambda: dms.modify_replication_config(ReplicationConfigArn=arn, ComputeConfig={"MaxCapacityUnits": 4}),
        lambda: dms.start_replication(ReplicationConfigArn=arn, StartReplicationType="resume-processing"),
    ):
        with pytest.raises(ClientError, match="is in DEPROVISIONED state and cannot "):
            refused()
    dms.delete_replication_config(ReplicationConfigArn=arn)
    with pytest.raises(ClientError, match="could not be found"):
        dms.describe_replication_configs(Filters=[{"Name": "replication-config-arn", "Values": [arn]}])


def test_serverless_replication_says_what_a_test_lets_it_say(aws: LocalAws, account: str) -> None:
    dms, started = aws.client("dms", account), 1_773_489_000
    arn = serverless(dms, "full-load")["ReplicationConfigArn"]
    assert dms.describe_replication_table_statistics(ReplicationConfigArn=arn)["ReplicationTableStatistics"] == []
    table = {"SchemaName": "public", "TableName": "orders", "TableState": "Table completed", "FullLoadStartTime": started}
    dms_serverless.let_say(account, "us-east-1", arn, "stopped", "Stop Reason FULL_LOAD_ONLY_FINISHED", [table])
    [found] = dms.describe_replications()["Replications"]
    assert (found["Status"], found["StopReason"]) == ("stopped", "Stop Reason FULL_LOAD_ONLY_FINISHED")
    [told] = dms.describe_replication_table_statistics(ReplicationConfigArn=arn)["ReplicationTableStatistics"]
    assert (told["TableState"], told["FullLoadStartTime"].timestamp()) == ("Table completed", started)

    iam = aws.client("iam", account)
    role = str(
        iam.create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": []}))["Role"]["Arn"]
    )
    allowed = [{"Effect": "Allow", "Action": "dms:DescribeReplicationTableStatistics", "Resource": arn}]
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": allowed}))
    mine = aws.client_of(role, "dms")
    assert mine.describe_replication_table_statistics(ReplicationConfigArn=arn)["ReplicationTableStatistics"]
    with pytest.raises(ClientError, match="not authorized"):
        mine.describe_replication_table_statistics(ReplicationConfigArn=arn + "x")


TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})


def role_with(aws: LocalAws, account: str, *allowed: str) -> str:
    """Make a role that may do what is said as `action on resource`."""
    iam = aws.client("iam", account)
    role = str(iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"])
    pairs = [one.split(" on ") for one in allowed]
    statements = [{"Effect": "Allow", "Action": action, "Resource": resource} for action, resource in pairs]
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements}))
    return role


HANDLER = """
import json, os, boto3
def handler(event, context):
    print("seen", len(event["Records"]))
    bucket = os.environ["BUCKET"]
    for record in event["Records"]:
        boto3.client("s3").put_object(Bucket=bucket, Key=record["messageId"], Body=record["body"])
    bad = [record["messageId"] for record in event["Records"] if record["body"] == "bad"]
    if any(record["body"] == "crash" for record in event["Records"]):
        raise ValueError("as asked")
    return {"batchItemFailures": [{"itemIdentifier": one} for one in bad]}
"""


def test_function_runs_in_its_own_account_and_reports_failed_messages(aws: LocalAws, account: str) -> None:
    bucket = f"function-{account}"
    # Another server of this process comes and goes, as in the tests of `verify`: functions still call this one.
    with local_aws():
        pass
    aws.client("s3", account).create_bucket(Bucket=bucket)
    role = role_with(aws, account, f"sqs:* on arn:aws:sqs:us-east-1:{account}:q", f"s3:PutObject on arn:aws:s3:::{bucket}/*")
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("index.py", HANDLER)
    functions = aws.client("lambda", account)
    made = functions.create_function(
        FunctionName="f",
        Runtime="python3.13",
        Role=role,
        Handler="index.handler",
        Timeout=30,
        Code={"ZipFile": zipped.getvalue()},
        Environment={"Variables": {"BUCKET": bucket}},
        LoggingConfig={"LogFormat": "JSON", "LogGroup": "/aws/lambda/f"},
    )
    functions.update_function_configuration(FunctionName="f", Timeout=40)
    found = functions.get_function_configuration(FunctionName="f")
    assert (found["LoggingConfig"]["LogFormat"], found["Timeout"]) == ("JSON", 40)
    sqs = aws.client("sqs", account)
    queue = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    functions.create_event_source_mapping(
        FunctionName=made["FunctionArn"],
        EventSourceArn=f"arn:aws:sqs:us-east-1:{account}:q",
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )

    sqs.send_message(QueueUrl=queue, MessageBody="good")
    sqs.send_message(QueueUrl=queue, MessageBody="bad")
    stored = aws.client("s3", account).list_objects_v2(Bucket=bucket)["Contents"]
    assert len(stored) == 2
    [left] = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    assert left["Body"] == "bad"

    answer = functions.invoke(FunctionName="f", Payload=json.dumps({"Records": [{"messageId": "m", "body": "crash"}]}))
    assert answer["FunctionError"]
    assert "as asked" in json.loads(answer["Payload"].read())["errorMessage"]


def test_function_needs_rights_on_its_queue(aws: LocalAws, account: str) -> None:
    role = role_with(aws, account, "sqs:ReceiveMessage on *")
    made = aws.client("lambda", account).create_function(
        FunctionName="f", Runtime="python3.13", Role=role, Handler="index.handler", Code={"ZipFile": b""}
    )
    aws.client("sqs", account).create_queue(QueueName="q")
    with pytest.raises(ClientError, match="role may not call DeleteMessage"):
        aws.client("lambda", account).create_event_source_mapping(
            FunctionName=made["FunctionArn"], EventSourceArn=f"arn:aws:sqs:us-east-1:{account}:q"
        )


def test_role_may_do_what_its_policies_allow(aws: LocalAws, account: str) -> None:
    s3, bucket = aws.client("s3", account), f"judged-{account}"
    key = aws.client("kms", account).create_key()["KeyMetadata"]["Arn"]
    s3.create_bucket(Bucket=bucket)
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}}
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
    role = role_with(
        aws,
        account,
        f"s3:*Object on arn:aws:s3:::{bucket}/bronze/*",
        f"s3:ListBucket on arn:aws:s3:::{bucket}",
        f"kms:GenerateDataKey on {key}",
        f"glue:GetTable on arn:aws:glue:us-east-1:{account}:catalog",
        f"glue:GetTable on arn:aws:glue:us-east-1:{account}:database/silver",
        f"glue:GetTable on arn:aws:glue:us-east-1:{account}:table/silver/*",
        f"glue:StartJobRun on arn:aws:glue:us-east-1:{account}:job/merge",
    )
    own = aws.client_of(role, "s3")
    own.put_object(Bucket=bucket, Key="bronze/a", Body=b"x")
    assert own.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
    for refused in (
        lambda: own.put_object(Bucket=bucket, Key="silver/a", Body=b"x"),
        lambda: own.get_object(Bucket=bucket, Key="bronze/a"),  # allowed, were it not for the key
        lambda: own.get_bucket_policy(Bucket=bucket),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            refused()

    glue = aws.client("glue", account)
    for database in ("silver", "gold"):
        glue.create_database(DatabaseInput={"Name": database})
        glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    glue.create_job(Name="merge", Role="r", Command={"Name": "glueetl"})
    own_glue = aws.client_of(role, "glue")
    assert own_glue.get_table(DatabaseName="silver", Name="t")["Table"]["Name"] == "t"
    own_glue.start_job_run(JobName="merge")
    for refused in (
        lambda: own_glue.get_table(DatabaseName="gold", Name="t"),
        lambda: own_glue.delete_table(DatabaseName="silver", Name="t"),
        lambda: own_glue.start_job_run(JobName="other"),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            refused()


def test_policies_of_bucket_and_key_can_refuse_their_deletion(aws: LocalAws, account: str) -> None:
    s3, kms = aws.client("s3", account), aws.client("kms", account)
    everybody = {"Effect": "Deny", "Principal": "*"}
    refused = everybody | {"Action": ["s3:DeleteBucket", "s3:DeleteBucketPolicy"], "Resource": "arn:aws:s3:::guarded"}
    kept = everybody | {"Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"], "Resource": "arn:aws:s3:::guarded/kept"}
    over_tls = everybody | {"Action": "s3:*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    s3.create_bucket(Bucket="guarded")
    for key in ("kept", "other"):
        s3.put_object(Bucket="guarded", Key=key, Body=b"x")
    s3.put_bucket_policy(Bucket="guarded", Policy=json.dumps({"Version": "2012-10-17", "Statement": [refused, kept, over_tls]}))
    s3.delete_object(Bucket="guarded", Key="other")
    with pytest.raises(ClientError, match="403"):
        s3.delete_object(Bucket="guarded", Key="kept")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_bucket_policy(Bucket="guarded")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_bucket(Bucket="guarded")
    s3.put_bucket_policy(Bucket="guarded", Policy=json.dumps({"Version": "2012-10-17", "Statement": [over_tls]}))
    s3.delete_object(Bucket="guarded", Key="kept")
    s3.delete_bucket_policy(Bucket="guarded")
    s3.delete_bucket(Bucket="guarded")

    statement = everybody | {"Principal": {"AWS": "*"}, "Action": "kms:ScheduleKeyDeletion", "Resource": "*"}
    key = kms.create_key(Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))["KeyMetadata"]["KeyId"]
    with pytest.raises(ClientError, match="AccessDenied"):
        kms.schedule_key_deletion(KeyId=key)
    kms.put_key_policy(KeyId=key, PolicyName="default", Policy=json.dumps({"Version": "2012-10-17", "Statement": []}))
    kms.schedule_key_deletion(KeyId=key)
    assert kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion"


def test_watch_of_emr_serverless(aws: LocalAws, account: str) -> None:
    """What the function that keeps a watch running relies on."""
    iam, emr = aws.client("iam", account), aws.client("emr-serverless", account)
    role = iam.create_role(RoleName="job", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    made = emr.create_application(name="w", releaseLabel="emr-7.12.0", type="SPARK", architecture="X86_64")
    identity, start = made["applicationId"], {"executionRoleArn": role, "name": "w", "tags": {"v": "1"}}
    found = emr.get_application(applicationId=identity)["application"]
    assert (found["state"], found["architecture"]) == ("CREATED", "X86_64")
    assert emr.list_job_runs(applicationId=identity)["jobRuns"] == []

    first = emr.start_job_run(applicationId=identity, clientToken="a", mode="STREAMING", executionTimeoutMinutes=0, **start)["jobRunId"]
    assert emr.start_job_run(applicationId=identity, clientToken="a", **start)["jobRunId"] == first
    run = emr.get_job_run(applicationId=identity, jobRunId=first)["jobRun"]
    assert (run["state"], run["mode"], run["executionTimeoutMinutes"], run["tags"]) == ("RUNNING", "STREAMING", 0, {"v": "1"})
    for refused in (emr.stop_application, emr.delete_application, emr.update_application):
        with pytest.raises(ClientError, match="ValidationException"):
            refused(applicationId=identity)

    emr.cancel_job_run(applicationId=identity, jobRunId=first)
    seen = [emr.list_job_runs(applicationId=identity)["jobRuns"][0]["state"] for _ in range(2)]
    assert seen == ["CANCELLING", "CANCELLED"]
    emr.stop_application(applicationId=identity)
    emr.update_application(applicationId=identity, releaseLabel="emr-7.13.0")
    assert emr.get_application(applicationId=identity)["application"]["releaseLabel"] == "emr-7.13.0"
    assert emr.start_job_run(applicationId=identity, clientToken="b", **start)["jobRunId"] != first
    assert emr.get_application(applicationId=identity)["application"]["state"] == "STARTED"


def test_start_of_a_run_asks_for_the_right_to_hand_over_its_role(aws: LocalAws, account: str) -> None:
    iam, emr = aws.client("iam", account), aws.client("emr-serverless", account)
    role, starter = (iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]["Arn"] for name in ("job", "starter"))
    made = emr.create_application(name="w", releaseLabel="emr-7.12.0", type="SPARK")
    start = {"applicationId": made["applicationId"], "clientToken": "a", "executionRoleArn": role}
    rights: list[dict[str, Any]] = [
        {"Action": "emr-serverless:GetApplication", "Resource": made["arn"]},
        {"Action": "emr-serverless:StartJobRun", "Resource": made["arn"]},
        {"Action": "emr-serverless:TagResource", "Resource": f"{made['arn']}/jobruns/*"},
        {"Action": "iam:PassRole", "Resource": role},
    ]
    for count in range(1, len(rights) + 1):
        policy = {"Version": "2012-10-17", "Statement": [right | {"Effect": "Allow"} for right in rights[:count]]}
        iam.put_role_policy(RoleName="starter", PolicyName="p", PolicyDocument=json.dumps(policy))
        client = aws.client_of(starter, "emr-serverless")
        if count < len(rights):
            with pytest.raises(ClientError, match=rights[count]["Action"]):
                client.start_job_run(**start)
        else:
            assert client.start_job_run(**start)["jobRunId"]
