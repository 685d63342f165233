"""Gaps of moto that `support.moto_gaps` closes, as a client of AWS sees them: functions that run, and what a role may do. No Terraform."""

import io
import json
import zipfile
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from support.local_aws import local_aws

if TYPE_CHECKING:
    from support.local_aws import LocalAws

TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})


def role_with(aws: "LocalAws", account: str, *allowed: str) -> str:
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


def test_function_runs_in_its_own_account_and_reports_failed_messages(aws: "LocalAws", account: str) -> None:
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


def test_function_needs_rights_on_its_queue(aws: "LocalAws", account: str) -> None:
    role = role_with(aws, account, "sqs:ReceiveMessage on *")
    made = aws.client("lambda", account).create_function(
        FunctionName="f", Runtime="python3.13", Role=role, Handler="index.handler", Code={"ZipFile": b""}
    )
    aws.client("sqs", account).create_queue(QueueName="q")
    with pytest.raises(ClientError, match="role may not call DeleteMessage"):
        aws.client("lambda", account).create_event_source_mapping(
            FunctionName=made["FunctionArn"], EventSourceArn=f"arn:aws:sqs:us-east-1:{account}:q"
        )


def test_role_may_do_what_its_policies_allow(aws: "LocalAws", account: str) -> None:
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
