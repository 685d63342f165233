"""What the API says of each input that the change of an example gives, so that none only looks as if it had arrived."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.terraform.lives import Life


def check(life: "Life") -> None:
    """Compare every input of the change with the API, and tell of all that differ; an input without a comparison fails."""
    differ: list[Exception] = []
    for name, value in life.inputs.items():
        try:
            _CHECKS[name](life, value)
        except Exception as error:
            error.add_note(f"input {name}")
            differ.append(error)
    if differ:
        raise ExceptionGroup(f"inputs that have not arrived in {life.example}", differ)


def replication_documents(life: "Life") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the mapping rules and the settings that DMS has."""
    dms = life.client("dms")
    if life.example == "mysql":
        [task] = dms.describe_replication_tasks()["ReplicationTasks"]
        return json.loads(task["TableMappings"])["rules"], json.loads(task["ReplicationTaskSettings"])
    [config] = dms.describe_replication_configs()["ReplicationConfigs"]
    return json.loads(config["TableMappings"])["rules"], json.loads(config["ReplicationSettings"])


def created_buckets(life: "Life") -> dict[str, str]:
    """Return the names of the buckets that the root module made, by role."""
    names = {role: bucket["name"] for role, bucket in life.pipeline["buckets"].items()}
    return {role: name for role, name in names.items() if name.endswith(f"-{life.world.account}") and not name.startswith("exports-")}


def _tags(life: "Life", tags: dict[str, str]) -> None:
    outputs = life.changed_outputs["pipeline"]
    found = [life.client("glue").get_tags(ResourceArn=outputs["merge_job"]["arn"])["Tags"]]
    found.append(life.client("sqs").list_queue_tags(QueueUrl=outputs["trigger"]["queue"]["url"])["Tags"])
    for name in created_buckets(life).values():
        found.append({one["Key"]: one["Value"] for one in life.client("s3").get_bucket_tagging(Bucket=name)["TagSet"]})
    assert all(tags.items() <= one.items() for one in found), found


def _log_retention_days(life: "Life", days: int) -> None:
    outputs = life.changed_outputs["pipeline"]
    groups = {*outputs["merge_job"]["log_groups"].values(), outputs["trigger"]["function"]["log_group"]}
    if outputs["replication"]:
        groups.add(outputs["replication"]["log_group"])
    found = {one["logGroupName"]: one.get("retentionInDays") for one in life.client("logs").describe_log_groups()["logGroups"]}
    assert {group: found[group] for group in groups} == dict.fromkeys(groups, days)


def _merge_job(life: "Life", given: dict[str, Any]) -> None:
    outputs, iam = life.changed_outputs["pipeline"], life.client("iam")
    job = life.client("glue").get_job(JobName=outputs["merge_job"]["name"])["Job"]
    size = (job["WorkerType"], job["NumberOfWorkers"], job["Timeout"], job.get("MaxRetries", 0))
    assert size == (given["worker_type"], given["number_of_workers"], given["timeout_minutes"], given["max_retries"])
    bucket, key = job["DefaultArguments"]["--config"].removeprefix("s3://").split("/", 1)
    document = json.loads(life.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
    assert document["parallelism"] == given["parallelism"]

    role = outputs["merge_job"]["role_arn"].rsplit("/", 1)[1]
    policies = {name: iam.get_role_policy(RoleName=role, PolicyName=name) for name in iam.list_role_policies(RoleName=role)["PolicyNames"]}
    assert set(policies) == {"merge", *(["network", "additional"] if "network" in given else [])}
    if "network" not in given:
        return
    assert job["SecurityConfiguration"] == job["Name"]
    connection = life.client("glue").get_connection(Name=job["Connections"]["Connections"][0])["Connection"]
    place = connection["PhysicalConnectionRequirements"]
    wanted = given["network"]
    assert (place["SubnetId"], place["AvailabilityZone"]) == (wanted["subnet_id"], wanted["availability_zone"])
    assert place["SecurityGroupIdList"] == wanted["security_group_ids"]
    assert policies["additional"]["PolicyDocument"] == json.loads(given["additional_policy_json"])
    allowed = {one["Sid"]: one["Resource"] for one in policies["merge"]["PolicyDocument"]["Statement"]}
    secrets = [one["ARN"] for one in life.client("secretsmanager").list_secrets()["SecretList"]]
    assert allowed["ReadSecrets"] == secrets
    rules = life.client("ec2").describe_security_group_rules(
        Filters=[{"Name": "group-id", "Values": wanted["security_group_ids"]}]  # which is the database's in the test
    )["SecurityGroupRules"]
    assert any(one.get("Description", "").startswith("From the merge job") for one in rules)


def _trigger(life: "Life", given: dict[str, Any]) -> None:
    queue = life.changed_outputs["pipeline"]["trigger"]["queue"]["arn"]
    if "batching_window_seconds" in given:
        [mapping] = life.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        assert mapping["MaximumBatchingWindowInSeconds"] == given["batching_window_seconds"]
    if "min_minutes_between_runs" in given:
        function = life.client("lambda").get_function_configuration(
            FunctionName=life.changed_outputs["pipeline"]["trigger"]["function"]["name"]
        )
        assert function["Environment"]["Variables"]["MIN_MINUTES_BETWEEN_RUNS"] == str(given["min_minutes_between_runs"])
    events = life.client("events")
    rules = [events.describe_rule(Name=name) for name in events.list_rule_names_by_target(TargetArn=queue)["RuleNames"]]
    assert [one["ScheduleExpression"] for one in rules if one.get("ScheduleExpression")] == [given["schedule"]]
    sources = [json.loads(one["EventPattern"])["source"] for one in rules if one.get("EventPattern")]
    assert (["aws.s3"] in sources) == (given.get("notification") == "eventbridge")


def _versioning(life: "Life", given: dict[str, int]) -> None:
    for role in set(given) & set(created_buckets(life)):
        found = [one["NoncurrentVersionExpiration"]["NoncurrentDays"] for one in _rules(life, role) if "NoncurrentVersionExpiration" in one]
        assert found == [given[role]]


def _bronze_retention(life: "Life", given: dict[str, int]) -> None:
    if "bronze" in created_buckets(life):
        found = [one["Transitions"][0]["Days"] for one in _rules(life, "bronze") if one.get("Transitions")]
        assert found == [given["transition_after_days"]]


def _rules(life: "Life", role: str) -> list[dict[str, Any]]:
    found = life.client("s3").get_bucket_lifecycle_configuration(Bucket=created_buckets(life)[role])
    rules: list[dict[str, Any]] = found["Rules"]
    return rules


def _alarms(life: "Life", given: dict[str, Any]) -> None:
    told = life.changed_outputs["pipeline"]["alarms"]
    subscriptions = life.client("sns").list_subscriptions_by_topic(TopicArn=told["topic_arn"])["Subscriptions"]
    assert [one["Endpoint"] for one in subscriptions] == given["emails"]
    found = {one["AlarmName"]: one for one in life.client("cloudwatch").describe_alarms()["MetricAlarms"]}
    assert found[told["names"]["no-run"]]["EvaluationPeriods"] == given["thresholds"]["hours_without_run"]
    assert found[told["names"]["rows-quarantined"]]["Threshold"] == given["thresholds"]["quarantined_rows"]


def _force_destroy(life: "Life", given: bool) -> None:
    """Terraform's own: no API knows it. That it works is what the end of the example shows."""
    buckets = [values for address, values in life.stack.resources().items() if "module.lake.aws_s3_bucket.this" in address]
    own = [one for one in buckets if one["bucket"] in created_buckets(life).values()]
    assert {one["force_destroy"] for one in own} == {given}


def _replication(life: "Life", given: dict[str, Any]) -> None:
    dms, (_, settings) = life.client("dms"), replication_documents(life)
    if life.example == "mysql":
        [instance] = dms.describe_replication_instances()["ReplicationInstances"]
        assert instance["ReplicationInstanceClass"] == given["instance_class"]
        assert dms.describe_replication_tasks()["ReplicationTasks"][0]["Status"] == "running"
        return
    [config] = dms.describe_replication_configs()["ReplicationConfigs"]
    assert config["ComputeConfig"]["MaxCapacityUnits"] == given["max_capacity_units"]
    assert dms.describe_replications()["Replications"][0]["Status"] == "running", "started again after the change"
    [target] = [one for one in dms.describe_endpoints()["Endpoints"] if one["EngineName"] == "s3"]
    found = {
        "max_full_load_subtasks": settings["FullLoadSettings"]["MaxFullLoadSubTasks"],
        "lob_max_size_kb": settings["TargetMetadata"]["LobMaxSize"],
        "cdc_max_batch_interval_seconds": target["S3Settings"]["CdcMaxBatchInterval"],
    }
    assert {name: found[name] for name in found if name in given} == {name: given[name] for name in found if name in given}


def _tables(life: "Life", given: dict[str, Any]) -> None:
    assert set(life.changed_outputs["pipeline"]["targets"]) == set(given)
    rules, _ = replication_documents(life)
    selected = [one["object-locator"] for one in rules if one["rule-type"] == "selection"]
    assert {f"{one['schema-name']}.{one['table-name']}" for one in selected} == set(given)
    assert json.loads(life.changed_outputs["pipeline"]["config_json"])["tables"]["public.customers"]["mode"] == "mirror"


def _bronze_tables(life: "Life", given: dict[str, Any]) -> None:
    told = life.changed_outputs["pipeline"]["bronze_tables"]
    database = told[0].split(".")[0]
    found = life.client("glue").get_tables(DatabaseName=database)["TableList"]
    assert sorted(f"{database}.{one['Name']}" for one in found) == sorted(told)
    assert len(told) == 2 * len(given)


def _lake_formation(life: "Life", given: dict[str, Any]) -> None:
    lake = life.client("lakeformation")
    arns = {bucket["arn"] for role, bucket in life.pipeline["buckets"].items() if role in ("silver", "quarantine")}
    assert {one["ResourceArn"] for one in lake.list_resources()["ResourceInfoList"]} == arns
    grants = lake.list_permissions()["PrincipalResourcePermissions"]
    by = {one["Principal"]["DataLakePrincipalIdentifier"] for one in grants}
    writer = life.changed_outputs["pipeline"]["merge_job"]["role_arn"]
    assert by >= {writer, *given["readers"].values()}
    places = [one for one in grants if "DATA_LOCATION_ACCESS" in one["Permissions"]]
    assert {one["Principal"]["DataLakePrincipalIdentifier"] for one in places} == {writer}


def _access_logs(life: "Life", given: dict[str, str]) -> None:
    for name in created_buckets(life).values():
        found = life.client("s3").get_bucket_logging(Bucket=name)["LoggingEnabled"]
        assert (found["TargetBucket"], found["TargetPrefix"]) == (given["bucket"], f"{given['prefix']}{name}/")


_CHECKS: dict[str, Callable[["Life", Any], None]] = {
    "tags": _tags,
    "log_retention_days": _log_retention_days,
    "merge_job": _merge_job,
    "trigger": _trigger,
    "versioning": _versioning,
    "bronze_retention": _bronze_retention,
    "alarms": _alarms,
    "force_destroy": _force_destroy,
    "replication": _replication,
    "tables": _tables,
    "bronze_tables": _bronze_tables,
    "lake_formation": _lake_formation,
    "access_logs": _access_logs,
}
