"""Gaps of moto that `support.moto_gaps` closes, as a client of AWS sees them: DMS. No Terraform."""

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from support.moto_gaps import dms_serverless

if TYPE_CHECKING:
    from support.local_aws import LocalAws

S3_SETTINGS = {"BucketName": "bronze", "ServiceAccessRoleArn": "arn:aws:iam::1:role/dms", "CdcMaxBatchInterval": 60}


def endpoint(dms: Any, name: str = "target") -> str:
    made = dms.create_endpoint(EndpointIdentifier=name, EndpointType="target", EngineName="s3", S3Settings=S3_SETTINGS)
    return str(made["Endpoint"]["EndpointArn"])


def test_subnet_group_keeps_its_subnets(aws: "LocalAws", account: str) -> None:
    dms = aws.client("dms", account)
    name = {"ReplicationSubnetGroupIdentifier": "g", "ReplicationSubnetGroupDescription": "d"}
    dms.create_replication_subnet_group(**name, SubnetIds=["subnet-a", "subnet-b"], Tags=[{"Key": "k", "Value": "v"}])
    dms.modify_replication_subnet_group(**name, SubnetIds=["subnet-a", "subnet-c"])
    [group] = dms.describe_replication_subnet_groups()["ReplicationSubnetGroups"]
    assert [subnet["SubnetIdentifier"] for subnet in group["Subnets"]] == ["subnet-a", "subnet-c"]
    tags = dms.list_tags_for_resource(ResourceArn=f"arn:aws:dms:us-east-1:{account}:subgrp:g")["TagList"]
    assert [(tag["Key"], tag["Value"]) for tag in tags] == [("k", "v")]


def test_task_reaches_its_states_and_is_changed_when_stopped(aws: "LocalAws", account: str) -> None:
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


def test_serverless_replication(aws: "LocalAws", account: str) -> None:
    dms = aws.client("dms", account)
    made = dms.create_replication_config(
        ReplicationConfigIdentifier="shop",
        SourceEndpointArn="arn:aws:dms:us-east-1:1:endpoint:S",
        TargetEndpointArn=endpoint(dms),
        ComputeConfig={"MaxCapacityUnits": 2},
        ReplicationType="cdc",
        TableMappings="{}",
        Tags=[{"Key": "k", "Value": "v"}],
    )["ReplicationConfig"]
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


def test_serverless_replication_says_what_a_test_lets_it_say(aws: "LocalAws", account: str) -> None:
    dms, started = aws.client("dms", account), 1_773_489_000
    made = dms.create_replication_config(
        ReplicationConfigIdentifier="shop",
        SourceEndpointArn="arn:aws:dms:us-east-1:1:endpoint:S",
        TargetEndpointArn=endpoint(dms),
        ComputeConfig={"MaxCapacityUnits": 2},
        ReplicationType="full-load",
        TableMappings="{}",
    )["ReplicationConfig"]
    arn = made["ReplicationConfigArn"]
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
