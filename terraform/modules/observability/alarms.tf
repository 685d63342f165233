locals {
  is_postgres = contains(["postgres", "aurora-postgresql"], try(var.source_database.engine, ""))
  # The storage of Aurora grows by itself; its instances have none that the log could fill.
  has_disk = contains(["postgres", "mysql", "mariadb"], try(var.source_database.engine, ""))
  has_cdc  = try(var.replication.has_cdc, false)
  # An instance has no capacity that grows; what a serverless replication is called by shows which it is.
  is_serverless = var.replication == null ? false : contains(keys(var.replication.metric_dimensions), "ReplicationConfigId")

  silence = try(var.replication.started, true) ? "breaching" : "notBreaching"

  counted = {
    namespace  = local.namespace
    dimensions = {}
    statistic  = "Sum"
    period     = 300
    periods    = 1
    threshold  = 0
    below      = false
    missing    = "notBreaching"
  }
  glue = { JobName = var.job.name, JobRunId = "ALL", Type = "count", ObservabilityGroup = "error" }

  alarms = { for alarm, one in merge(
    {
      job-failed = merge(local.counted, { namespace = "Glue", metric = "glue.error.ALL", dimensions = local.glue,
      about = "A run of ${var.job.name} failed. Nothing is lost: the next run goes on where it was. Its log group is ${var.job.log_group}." })
      table-failed = merge(
        local.counted,
        {
          metric = "FailedTables"
          about = join(" ", [
            "A table could not be merged; the others are. The error is in the log (event table_failed)",
            "and in runs/<pipeline>/<table>.json beside the configuration.",
          ])
        },
      )
      rows-quarantined = merge(
        local.counted,
        {
          metric    = "QuarantinedRows"
          period    = 3600
          threshold = var.thresholds.quarantined_rows
          about = join(" ", [
            "Rows were quarantined: `dms-iceberg quarantine list` says why. Silver keeps the last good version of their keys; once the cause is fixed,",
            "`quarantine replay` merges them.",
          ])
        },
      )
      no-run = merge(
        local.counted,
        {
          metric    = "FinishedRuns"
          period    = 3600
          periods   = var.thresholds.hours_without_run
          threshold = 1
          below     = true
          missing   = "breaching"
          about = join(" ", [
            "No run came to its end for ${var.thresholds.hours_without_run} hours. Also in alarm until the first run. Look at the trigger's log, then start a",
            "run by hand.",
          ])
        },
      )
    },
    var.thresholds.lag_seconds == null ? {} : {
      lag = merge(local.counted, { metric = "LagSeconds", statistic = "Maximum", threshold = var.thresholds.lag_seconds,
      about = "A change was in silver more than ${coalesce(var.thresholds.lag_seconds, 0)} seconds after its commit." })
    },
    var.trigger == null ? {} : {
      dead-letters = merge(
        local.counted,
        {
          namespace  = "AWS/SQS"
          metric     = "ApproximateNumberOfMessagesVisible"
          dimensions = { QueueName = var.trigger.dead_letter_queue_name }
          statistic  = "Maximum"
          about      = "Messages that nobody could read, or that were tried for ten days, are in ${var.trigger.dead_letter_queue_name}."
        },
      )
      trigger-needs-help = merge(
        local.counted,
        {
          metric = "TriggerErrors"
          about = join(" ", [
            "${var.trigger.function_name} cannot start runs by itself (messages wait meanwhile), or DMS has left out a table or a row (event",
            "reported_by_dms): `advice` in its log says what to do.",
          ])
        },
      )
      trigger-errors = merge(local.counted, { namespace = "AWS/Lambda", metric = "Errors", dimensions = { FunctionName = var.trigger.function_name },
      about = "${var.trigger.function_name} ended with an error: a fault of the function or of its environment. Messages are tried again." })
    },
    # The metrics end when the replication does, so silence is an alarm: a dead replication has no latency. It also is one when the metrics have
    # other dimensions than we think, which nobody has seen on AWS yet.
    local.has_cdc ? {
      source-latency = merge(
        local.counted,
        {
          namespace  = "AWS/DMS"
          metric     = "CDCLatencySource"
          dimensions = var.replication.metric_dimensions
          statistic  = "Maximum"
          periods    = 3
          threshold  = var.thresholds.source_latency_seconds
          missing    = local.silence
          about      = "DMS reads the source late, or not at all: also until the first full load is over. An open transaction at the source delays it as well."
        },
      )
      target-latency = merge(
        local.counted,
        {
          namespace  = "AWS/DMS"
          metric     = "CDCLatencyTarget"
          dimensions = var.replication.metric_dimensions
          statistic  = "Maximum"
          periods    = 3
          threshold  = coalesce(var.thresholds.target_latency_seconds, var.replication.batch_interval_seconds + 300)
          missing    = local.silence
          about      = "DMS writes to bronze late, or not at all: also until the first full load is over."
        },
      )
    } : {},
    local.is_serverless ? {
      # Missing data is reported by source-latency.
      # https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Serverless.Components.html
      replication-capacity = merge(
        local.counted,
        {
          namespace  = "AWS/DMS"
          metric     = "CapacityUtilization"
          dimensions = var.replication.metric_dimensions
          statistic  = "Average"
          periods    = 6
          threshold  = var.thresholds.replication_capacity_percent
          missing    = "missing"
          about = join(" ", [
            "The replication has used more than ${var.thresholds.replication_capacity_percent} % of its memory for half an hour, although DMS adds capacity",
            "by itself: it has come to max_capacity_units, or soon will. Out of memory it fails.",
          ])
        },
      )
    } : {},
    contains(keys(local.log_metrics), "SuspendedTables") ? {
      table-suspended = merge(local.counted, { metric = "SuspendedTables",
      about = "DMS suspended a table: it gets no more changes although the replication runs. The log says why; then load the table again." })
      value-truncated = merge(
        local.counted,
        {
          metric = "TruncatedValues"
          about = join(" ", [
            "The log of DMS speaks of something truncated. If it is a value longer than lob_max_size_kb, bronze has it cut off: raise the limit, and load the",
            "table again.",
          ])
        },
      )
      load-error = merge(
        local.counted,
        {
          metric = "LoadErrors"
          about = join(" ", [
            "DMS could not read a table as it should during the full load. With MySQL the load may go on and end as if it were whole: compare counts, and",
            "load again.",
          ])
        },
      )
    } : {},
    local.has_cdc && contains(keys(local.log_metrics), "SuspendedTables") ? {
      # Without lines the three above see nothing, as when DMS may not write. That an idle DMS writes a line a day is
      # not shown: https://github.com/terraform-aws-modules/terraform-aws-dms/issues/84
      log-silent = merge(
        local.counted,
        {
          namespace  = "AWS/Logs"
          metric     = "IncomingLogEvents"
          dimensions = { LogGroupName = var.replication.log_group }
          period     = 3600
          periods    = 24
          threshold  = 1
          below      = true
          missing    = local.silence
          about = join(" ", [
            "DMS wrote no line to ${var.replication.log_group} for a day: table-suspended, value-truncated and load-error see nothing. Also in alarm until",
            "its first line. Look whether the replication runs, and at the trust of the role dms-cloudwatch-logs-role.",
          ])
        },
      )
    } : {},
    local.is_postgres ? {
      # Aurora has no such lag; what its logs take on disk grows by it.
      slot-lag = merge(
        local.counted,
        {
          namespace = "AWS/RDS"
          statistic = "Maximum"
          periods   = 3
          threshold = var.thresholds.slot_lag_bytes
          metric    = var.source_database.engine == "postgres" ? "OldestReplicationSlotLag" : "TransactionLogsDiskUsage"
          dimensions = (
            var.source_database.engine == "postgres" ?
            { DBInstanceIdentifier = var.source_database.identifier } :
            { DBClusterIdentifier = var.source_database.identifier, Role = "WRITER" }
          )
          about = "The source keeps log for a replication slot that nobody reads. Unread for long, it fills the disk."
        },
      )
    } : {},
    local.has_disk ? {
      # RDS always sends it, so silence means a wrong identifier, or a database that is stopped.
      source-storage = merge(
        local.counted,
        {
          namespace  = "AWS/RDS"
          statistic  = "Minimum"
          periods    = 3
          threshold  = var.thresholds.free_storage_bytes
          below      = true
          missing    = "breaching"
          metric     = "FreeStorageSpace"
          dimensions = { DBInstanceIdentifier = var.source_database.identifier }
          about = join(" ", [
            "The disk of the source is nearly full, or ${var.source_database.identifier} sends no such metric.",
            "The log that a slot keeps may take it.",
          ])
        },
      )
    } : {},
  ) : alarm => one if !contains(var.disabled_alarms, alarm) }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name        = "${var.name}-${each.key}"
  alarm_description = "${each.value.about} What to do: ${var.runbook}#${each.key}"

  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  period              = each.value.period
  evaluation_periods  = each.value.periods
  threshold           = each.value.threshold
  comparison_operator = each.value.below ? "LessThanThreshold" : "GreaterThanThreshold"
  treat_missing_data  = each.value.missing

  alarm_actions = [local.topic_arn]
  ok_actions    = [local.topic_arn]
  tags          = var.tags
}

# DMS tells of a failure under other names for serverless replications than for tasks, and of stops under both.
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_EventBridge.html
resource "aws_cloudwatch_event_rule" "replication_state" {
  count = local.watch_state ? 1 : 0

  name        = local.state_rule
  description = "The replication of ${var.name} failed, stopped or was deleted"
  tags        = var.tags
  event_pattern = jsonencode({
    source    = ["aws.dms"]
    resources = [var.replication.arn]
    detail    = { eventType = [{ suffix = "_FAILED" }, { suffix = "_STOPPED" }, { suffix = "_DELETED" }] }
  })
}

resource "aws_cloudwatch_event_target" "replication_state" {
  count = local.watch_state ? 1 : 0

  rule = aws_cloudwatch_event_rule.replication_state[0].name
  arn  = local.topic_arn

  input_transformer {
    input_paths    = { what = "$.detail.eventType", words = "$.detail.detailMessage", time = "$.time" }
    input_template = "\"${var.name}: <what> at <time>: <words> What to do: ${var.runbook}#replication-state\""
  }
}

# Glue's own word that a run ended badly, time-outs and lost workers included; the metric behind job-failed comes from within a run.
# https://docs.aws.amazon.com/glue/latest/dg/automating-awsglue-with-cloudwatch-events.html
resource "aws_cloudwatch_event_rule" "job_state" {
  count = local.watch_job ? 1 : 0

  name        = local.job_rule
  description = "A run of ${join(" or ", local.jobs)} failed or timed out"
  tags        = var.tags
  event_pattern = jsonencode({
    source      = ["aws.glue"]
    detail-type = ["Glue Job State Change"]
    detail      = { jobName = local.jobs, state = ["FAILED", "TIMEOUT", "ERROR"] }
  })
}

resource "aws_cloudwatch_event_target" "job_state" {
  count = local.watch_job ? 1 : 0

  rule = aws_cloudwatch_event_rule.job_state[0].name
  arn  = local.topic_arn

  input_transformer {
    input_paths = { job = "$.detail.jobName", state = "$.detail.state", run = "$.detail.jobRunId", time = "$.time" }
    input_template = join(" ", [
      "\"${var.name}: run <run> of <job> is <state> at <time>. Nothing is lost: the next run goes on where it was. Its log group is ${var.job.log_group}.",
      "What to do: ${var.runbook}#job-state\"",
    ])
  }
}

locals {
  jobs        = compact([var.job.name, var.job.maintenance_name])
  watch_job   = !contains(var.disabled_alarms, "job-state")
  job_rule    = "${var.name}-job-state"
  watch_state = var.replication != null && !contains(var.disabled_alarms, "replication-state")
  state_rule  = "${var.name}-replication-state"
}
