mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:eu-central-1:123456789012:shop-alarms" }
  }
}

variables {
  name = "shop"
  job  = { name = "shop-merge", log_group = "/aws-glue/jobs/shop-merge/output" }
}

run "only_a_job" {
  command = apply

  assert {
    condition     = sort(keys(aws_cloudwatch_metric_alarm.this)) == tolist(["job-failed", "no-run", "rows-quarantined", "table-failed"])
    error_message = "found ${join(", ", keys(aws_cloudwatch_metric_alarm.this))}"
  }
  assert {
    condition     = alltrue([for alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_actions == toset(["arn:aws:sns:eu-central-1:123456789012:shop-alarms"]) && length(alarm.alarm_description) > 80])
    error_message = "every alarm tells somebody what it means"
  }
  assert {
    condition     = alltrue([for kind, alarm in aws_cloudwatch_metric_alarm.this : endswith(alarm.alarm_description, " What to do: docs/operations.md#${kind}")])
    error_message = "and where to read on"
  }
  assert {
    condition     = endswith(aws_cloudwatch_event_target.job_state[0].input_transformer[0].input_template, " What to do: docs/operations.md#job-state\"")
    error_message = "so does the message of a rule"
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["no-run"].evaluation_periods == 12 && aws_cloudwatch_metric_alarm.this["no-run"].treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.this["no-run"].comparison_operator == "LessThanThreshold"
    error_message = "silence is an alarm"
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["job-failed"].dimensions == tomap({ JobName = "shop-merge", JobRunId = "ALL", Type = "count", ObservabilityGroup = "error" }) && aws_cloudwatch_metric_alarm.this["job-failed"].namespace == "Glue"
    error_message = "failures are Glue's own count"
  }
  assert {
    condition     = alltrue([for filter in aws_cloudwatch_log_metric_filter.this : filter.log_group_name == "/aws-glue/jobs/shop-merge/output" && one(filter.metric_transformation).namespace == "dms-iceberg/shop"])
    error_message = "the job's lines are counted"
  }
  assert {
    condition     = length(aws_cloudwatch_event_rule.replication_state) + length(aws_sns_topic_subscription.email) == 0 && output.dashboard_name == "shop"
    error_message = "nothing of what is not there is watched"
  }
  assert {
    condition     = { for s in jsondecode(aws_sns_topic.alarms[0].policy).Statement : s.Sid => s.Effect } == { AlarmsPublish = "Allow", RulesPublish = "Allow", DenyPlainHttp = "Deny" } && alltrue([for s in jsondecode(aws_sns_topic.alarms[0].policy).Statement : s.Condition != null])
    error_message = "only alarms and two rules of this account publish"
  }
}

run "everything" {
  command = apply
  variables {
    trigger = { queue_name = "shop-changes", dead_letter_queue_name = "shop-changes-dead-letters", function_name = "shop-trigger", log_group = "/aws/lambda/shop-trigger" }
    replication = {
      arn                    = "arn:aws:dms:eu-central-1:123456789012:replication-config:X"
      metric_dimensions      = { ReplicationConfigId = "123456789012:X" }
      log_group              = "dms-serverless-replication-shop-e1"
      batch_interval_seconds = 30
    }
    source_database = { engine = "postgres", identifier = "shop-db" }
    thresholds      = { lag_seconds = 900 }
    runbook         = "https://wiki.example.org/runbook"
    region_suffix   = "use1"
    topic           = { emails = ["ops@example.org"], kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/x" }
  }
  assert {
    condition = sort(keys(aws_cloudwatch_metric_alarm.this)) == tolist([
      "dead-letters", "job-failed", "lag", "load-error", "log-silent", "no-run", "replication-capacity", "rows-quarantined", "slot-lag", "source-latency", "source-storage", "table-failed", "table-suspended", "target-latency", "trigger-errors", "trigger-needs-help",
      "value-truncated",
    ])
    error_message = "found ${join(", ", keys(aws_cloudwatch_metric_alarm.this))}"
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["target-latency"].threshold == 330 && aws_cloudwatch_metric_alarm.this["target-latency"].dimensions == tomap({ ReplicationConfigId = "123456789012:X" }) && aws_cloudwatch_metric_alarm.this["target-latency"].treat_missing_data == "breaching"
    error_message = "DMS's latency, and its silence"
  }
  assert {
    condition = (aws_cloudwatch_metric_alarm.this["replication-capacity"].metric_name == "CapacityUtilization" && aws_cloudwatch_metric_alarm.this["replication-capacity"].dimensions == tomap({ ReplicationConfigId = "123456789012:X" })
      && aws_cloudwatch_metric_alarm.this["replication-capacity"].threshold == 90 && aws_cloudwatch_metric_alarm.this["replication-capacity"].evaluation_periods == 6
    && aws_cloudwatch_metric_alarm.this["replication-capacity"].statistic == "Average" && aws_cloudwatch_metric_alarm.this["replication-capacity"].treat_missing_data == "missing")
    error_message = "the memory of a serverless replication, for half an hour; without it no answer"
  }
  assert {
    condition     = endswith(aws_cloudwatch_metric_alarm.this["slot-lag"].alarm_description, " What to do: https://wiki.example.org/runbook#slot-lag") && endswith(aws_cloudwatch_event_target.replication_state[0].input_transformer[0].input_template, " What to do: https://wiki.example.org/runbook#replication-state\"")
    error_message = "the runbook is where its readers find it"
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["slot-lag"].metric_name == "OldestReplicationSlotLag" && aws_cloudwatch_metric_alarm.this["slot-lag"].dimensions == tomap({ DBInstanceIdentifier = "shop-db" })
    error_message = "the slot of an RDS instance"
  }
  assert {
    condition = (aws_cloudwatch_metric_alarm.this["source-storage"].dimensions == tomap({ DBInstanceIdentifier = "shop-db" }) && aws_cloudwatch_metric_alarm.this["source-storage"].comparison_operator == "LessThanThreshold"
    && aws_cloudwatch_metric_alarm.this["source-storage"].threshold == 2147483648 && aws_cloudwatch_metric_alarm.this["source-storage"].treat_missing_data == "breaching")
    error_message = "the disk of an RDS instance; its silence is an alarm"
  }
  assert {
    condition     = aws_cloudwatch_log_metric_filter.this["SuspendedTables"].log_group_name == "dms-serverless-replication-shop-e1" && aws_cloudwatch_log_metric_filter.this["TriggerErrors"].log_group_name == "/aws/lambda/shop-trigger"
    error_message = "three logs are read"
  }
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.replication_state[0].event_pattern).resources == ["arn:aws:dms:eu-central-1:123456789012:replication-config:X"]
    error_message = "of this replication only"
  }
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.job_state[0].event_pattern).detail == { jobName = ["shop-merge"], state = ["FAILED", "TIMEOUT", "ERROR"] }
    error_message = "of this job only"
  }
  assert {
    condition     = [for s in jsondecode(aws_sns_topic.alarms[0].policy).Statement : s.Condition.ArnEquals["aws:SourceArn"] if s.Sid == "RulesPublish"] == [["arn:aws:events:eu-central-1:123456789012:rule/shop-replication-state", "arn:aws:events:eu-central-1:123456789012:rule/shop-job-state"]]
    error_message = "both rules may publish"
  }
  assert {
    condition     = length(aws_sns_topic_subscription.email) == 1 && aws_sns_topic.alarms[0].kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/x"
    error_message = "subscribed, encrypted"
  }
  assert {
    condition     = output.dashboard_name == "shop-use1"
    error_message = "dashboards have one list for all Regions of an account: ${output.dashboard_name}"
  }
  assert {
    condition     = length(jsondecode(aws_cloudwatch_dashboard.this[0].dashboard_body).widgets) == 11
    error_message = "found ${length(jsondecode(aws_cloudwatch_dashboard.this[0].dashboard_body).widgets)} widgets"
  }
}

run "maintenance" {
  command = plan
  variables {
    job = { name = "shop-merge", log_group = "/aws-glue/jobs/shop-merge/output", maintenance_name = "shop-merge-maintain", watch_log_group = "/aws/emr-serverless/shop-watch" }
  }
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.job_state[0].event_pattern).detail.jobName == ["shop-merge", "shop-merge-maintain"]
    error_message = "both jobs"
  }
}

run "off" {
  command = apply
  variables {
    dashboard       = false
    topic           = { create = false, arn = "arn:aws:sns:eu-central-1:123456789012:ours" }
    disabled_alarms = ["no-run", "job-failed", "table-failed", "rows-quarantined", "replication-state", "job-state", "source-latency", "target-latency", "source-storage"]
    replication     = { arn = "arn:aws:dms:eu-central-1:123456789012:task:X", metric_dimensions = { ReplicationTaskIdentifier = "X", ReplicationInstanceIdentifier = "shop" } }
    source_database = { engine = "mysql", identifier = "shop-db" }
  }
  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) + length(aws_cloudwatch_dashboard.this) + length(aws_sns_topic.alarms) + length(aws_cloudwatch_event_rule.replication_state) + length(aws_cloudwatch_event_rule.job_state) == 0
    error_message = "found ${join(", ", keys(aws_cloudwatch_metric_alarm.this))}"
  }
  assert {
    condition     = output.topic_arn == "arn:aws:sns:eu-central-1:123456789012:ours" && output.dashboard_name == null
    error_message = "the given topic"
  }
}

run "stopped_on_purpose" {
  command = plan
  variables {
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:task:X", metric_dimensions = { ReplicationTaskIdentifier = "X" }, started = false }
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["source-latency"].treat_missing_data == "notBreaching"
    error_message = "no alarm for what was asked for"
  }
}

run "full_load_only_from_aurora" {
  command = apply
  variables {
    replication     = { arn = "arn:aws:dms:eu-central-1:123456789012:task:X", metric_dimensions = { ReplicationTaskIdentifier = "X" }, has_cdc = false }
    source_database = { engine = "aurora-postgresql", identifier = "shop-cluster" }
  }
  assert {
    condition     = length(setintersection(keys(aws_cloudwatch_metric_alarm.this), ["source-latency", "source-storage", "replication-capacity"])) == 0 && aws_cloudwatch_metric_alarm.this["slot-lag"].metric_name == "TransactionLogsDiskUsage" && aws_cloudwatch_metric_alarm.this["slot-lag"].dimensions == tomap({ DBClusterIdentifier = "shop-cluster", Role = "WRITER" })
    error_message = "a full load has no latency, an instance no capacity of that kind; a cluster is watched by its writer, and has no disk of a size"
  }
}
