"""The examples as tests apply them: what each needs to be there before, and the change that is then made in place."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.local_aws import LocalAws
from support.terraform.stack import Stack

PASSWORD = "a-password-that-must-be-nowhere-but-in-its-secret"
"""Of the databases that exist before the example."""


@attrs.frozen
class World:
    """Where an example is applied."""

    aws: LocalAws
    account: str
    lake_account: str
    folder: Path

    def client(self, service: str) -> Any:
        """Return a client of the example's account."""
        return self.aws.client(service, self.account)

    def database(self) -> dict[str, Any]:
        """Make the surroundings of a database that exists: VPC, subnets, group and secret; returns the usual variables."""
        ec2 = self.client("ec2")
        vpc = ec2.create_vpc(CidrBlock="10.30.0.0/16")["Vpc"]["VpcId"]
        ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
        subnets = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.30.{i}.0/24", AvailabilityZone=f"us-east-1{zone}")["Subnet"]["SubnetId"]
            for i, zone in enumerate("ab")
        ]
        secret = {"username": "dms", "password": PASSWORD, "host": "db.example.com", "port": 5432}
        return {
            "vpc_id": vpc,
            "subnet_ids": subnets,
            "route_table_ids": [ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]],
            "database_security_group_id": ec2.create_security_group(GroupName="db", Description="d", VpcId=vpc)["GroupId"],
            "secret_arn": self.client("secretsmanager").create_secret(Name="shop/dms", SecretString=json.dumps(secret))["ARN"],
        }

    def ca_bundle(self) -> str:
        """Write the certificate of a CA; returns the file."""
        bundle = self.folder / "bundle.pem"
        bundle.write_bytes(_certificate())
        return str(bundle)

    def log_bucket(self) -> str:
        """Make a bucket that S3 may write access logs to."""
        s3, bucket = self.client("s3"), f"access-logs-{self.account}"
        s3.create_bucket(Bucket=bucket)
        logging = {"Effect": "Allow", "Principal": {"Service": "logging.s3.amazonaws.com"}, "Action": "s3:PutObject"}
        policy = {"Version": "2012-10-17", "Statement": [logging | {"Resource": f"arn:aws:s3:::{bucket}/*"}]}
        s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
        return bucket


def minimal(world: World) -> dict[str, Any]:
    """A database that exists."""
    return world.database() | {"database_identifier": "shop-db", "ca_bundle": world.ca_bundle(), "alarm_emails": ["data@example.com"]}


def aurora(world: World) -> dict[str, Any]:
    """The CA only: the example makes all else."""
    return {"ca_bundle": world.ca_bundle(), "alarm_emails": ["data@example.com"], "deletion_protection": False}


def mysql(world: World) -> dict[str, Any]:
    """A database that exists."""
    found = world.database()
    del found["route_table_ids"]
    return found | {"ca_bundle": world.ca_bundle(), "start": True}


def cross_account(world: World) -> dict[str, Any]:
    """A database in one account, a role to take in the other."""
    found = world.database()
    network = {name: found[name] for name in ("vpc_id", "subnet_ids", "route_table_ids")}
    network["database_security_group_ids"] = [found["database_security_group_id"]]
    role = f"arn:aws:iam::{world.lake_account}:role/administrator"
    database = {"database_identifier": "shop-db", "ca_bundle": world.ca_bundle(), "secret_arn": found["secret_arn"]}
    return {"lake_role_arn": role, "network": network, **database}


def bring_your_own_dms(world: World) -> dict[str, Any]:
    """A bucket that somebody else's DMS task writes to."""
    bucket = f"exports-{world.account}"
    world.client("s3").create_bucket(Bucket=bucket)
    return {"bronze_bucket": bucket, **task_of_others(world.client("dms"), world.account, bucket)}


def task_of_others(dms: Any, account: str, bucket: str) -> dict[str, Any]:
    """Make a DMS task that nothing of ours has made, by a client of its Region; returns the variables that name it."""
    files = {"BucketName": bucket, "BucketFolder": "exports/erp", "DataFormat": "csv", "AddColumnName": False, "CsvDelimiter": ";"}
    files |= {"CsvNullValue": "\\N", "Rfc4180": True, "TimestampColumnName": "changed_at", "IncludeOpForFullLoad": True}
    role = {"ServiceAccessRoleArn": f"arn:aws:iam::{account}:role/erp-dms"}
    target = dms.create_endpoint(EndpointIdentifier="erp-files", EndpointType="target", EngineName="s3", S3Settings=files | role)
    source = dms.create_endpoint(EndpointIdentifier="erp-database", EndpointType="source", EngineName="mysql")
    instance = dms.create_replication_instance(ReplicationInstanceIdentifier="erp", ReplicationInstanceClass="dms.t3.medium")
    task = dms.create_replication_task(
        ReplicationTaskIdentifier="erp",
        SourceEndpointArn=source["Endpoint"]["EndpointArn"],
        TargetEndpointArn=target["Endpoint"]["EndpointArn"],
        ReplicationInstanceArn=instance["ReplicationInstance"]["ReplicationInstanceArn"],
        MigrationType="full-load-and-cdc",
        TableMappings=json.dumps({"rules": [{"rule-type": "selection", "rule-action": "include"}]}),
    )
    arn = task["ReplicationTask"]["ReplicationTaskArn"]
    return {"task_arn": arn, "task_id": "erp", "target_endpoint_id": "erp-files"}


EXAMPLES: dict[str, Callable[[World], dict[str, Any]]] = {
    "minimal": minimal,
    "aurora-postgresql-serverless": aurora,
    "mysql": mysql,
    "cross-account": cross_account,
    "bring-your-own-dms": bring_your_own_dms,
}
SHORTEST = "minimal"
"""The one that `make test` applies."""
SECOND = "aurora-postgresql-serverless"
"""The one that `make test-release` applies; the others take minutes more and are for `make test-full`."""

_OF_ALL = {
    "tags": {"team": "data"},
    "log_retention_days": 30,
    "merge_job": {"worker_type": "G.2X", "number_of_workers": 6, "timeout_minutes": 60, "max_retries": 0, "parallelism": 8},
    "trigger": {"batching_window_seconds": 60, "min_minutes_between_runs": 20, "schedule": "rate(3 hours)"},
    "versioning": {"bronze": 10},
    "alarms": {"emails": ["data@example.com"], "thresholds": {"hours_without_run": 8, "quarantined_rows": 10}},
    "force_destroy": True,
}
_OF_REPLICATION = {
    "replication": {"max_capacity_units": 16, "max_full_load_subtasks": 4, "lob_max_size_kb": 128, "cdc_max_batch_interval_seconds": 30},
    "bronze_retention": {"transition_after_days": 60},
}
INPUTS: dict[str, dict[str, Any]] = {
    "minimal": _OF_ALL
    | _OF_REPLICATION
    | {
        # Without what belongs to the target endpoint, which AWS modifies only while nothing runs.
        "replication": {"max_capacity_units": 16, "max_full_load_subtasks": 4, "lob_max_size_kb": 128},
        "tables": {"public.orders": {"key": ["order_id"]}, "public.customers": {"key": ["id"], "mode": "mirror"}},
        "bronze_tables": {"public.orders": {"key": ["order_id"], "columns": [{"name": "order_id", "type": "bigint"}]}},
        "lake_formation": {
            "enabled": True,
            "register_locations": True,
            "readers": {"analysts": "arn:aws:iam::111111111111:role/analysts"},
        },
    },
    "aurora-postgresql-serverless": _OF_ALL | _OF_REPLICATION,
    "mysql": _OF_ALL | {"replication": {"mode": "provisioned", "instance_class": "dms.r6i.large", "start": True}},
    "cross-account": _OF_ALL
    | {"replication": {"max_capacity_units": 16}, "trigger": {"notification": "none", "schedule": "rate(3 hours)"}},
    "bring-your-own-dms": _OF_ALL | {"trigger": {"notification": "eventbridge", "schedule": "rate(3 hours)"}},
}
"""Inputs of the root module that are changed, a dozen or so; as an override of the example's own call."""


def inputs(example: str, world: World, variables: dict[str, Any]) -> dict[str, Any]:
    """Return all inputs that `change` gives; some of them name things that must be there before."""
    found = dict(INPUTS[example])
    if example == "minimal":
        found["access_logs"] = {"bucket": world.log_bucket(), "prefix": "logs/"}
        network = {
            "subnet_id": variables["subnet_ids"][0],
            "availability_zone": "us-east-1a",
            "security_group_ids": [variables["database_security_group_id"]],
        }
        more = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::more/*"}]}
        found["merge_job"] = found["merge_job"] | {
            "network": network,
            "reach_source": True,
            "additional_policy_json": json.dumps(more),
            "security_configuration": {"create": True},
        }
    return found


def change(stack: Stack, example: str, given: dict[str, Any]) -> dict[str, Any]:
    """Let the example call the root module with other inputs, and apply; returns the outputs."""
    return _apply_with(stack, example, given)


def _apply_with(stack: Stack, example: str, given: dict[str, Any]) -> dict[str, Any]:
    arguments = "".join(f"  {name} = {_hcl(value)}\n" for name, value in given.items())
    lake = 'module "lake" {\n  force_destroy = true\n}\n' if example == "cross-account" and given.get("force_destroy") else ""
    stack.override("change", f'module "pipeline" {{\n{arguments}}}\n{lake}')
    return stack.apply()


def _hcl(value: object) -> str:
    """Return a value in HCL, whose objects take JSON's form with = for the colon as well."""
    return json.dumps(value)


def _certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test CA")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
