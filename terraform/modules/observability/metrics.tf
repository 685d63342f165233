# The job sends no metrics of its own: its log lines are counted. A test holds the patterns against what the job writes.
locals {
  namespace = "dms-iceberg/${var.name}"

  # The report is the last line of a run and has no `event`, as all other lines do.
  job_metrics = {
    FinishedRuns    = { pattern = "{ ($.run_id = \"*\") && ($.seconds >= 0) && ($.event NOT EXISTS) }", value = "1", unit = "Count" }
    FailedTables    = { pattern = "{ $.event = \"table_failed\" }", value = "1", unit = "Count" }
    MergedBatches   = { pattern = "{ $.event = \"batch_merged\" }", value = "1", unit = "Count" }
    AppliedRows     = { pattern = "{ $.event = \"batch_merged\" }", value = "$.applied", unit = "Count" }
    StaleRows       = { pattern = "{ $.event = \"batch_merged\" }", value = "$.stale", unit = "Count" }
    QuarantinedRows = { pattern = "{ $.event = \"batch_merged\" }", value = "$.quarantined", unit = "Count" }
    LagSeconds      = { pattern = "{ ($.event = \"batch_merged\") && ($.lag_seconds >= 0) }", value = "$.lag_seconds", unit = "Seconds" }
  }

  log_metrics = merge(
    { for name, metric in local.job_metrics : name => merge(metric, { log_group = coalesce(var.job.watch_log_group, var.job.log_group) }) },
    var.trigger == null ? {} : { TriggerErrors = { pattern = "{ $.level = \"ERROR\" }", value = "1", unit = "Count", log_group = var.trigger.log_group } },
    # DMS goes on "running" while a table stands still; its log is the only thing outside its API that says so.
    try(var.replication.log_group, null) == null ? {} : {
      SuspendedTables = { pattern = "\"errored/suspended\"", value = "1", unit = "Count", log_group = var.replication.log_group }
      # "]W:  Value of column 'c' in table 's.t' was truncated to 64512 bytes, actual length: 70000 bytes": seen so with PostgreSQL, where the task
      # fails as well. What DMS says of MySQL is nowhere written: the one word is all that is sure.
      TruncatedValues = { pattern = "\"truncated\"", value = "1", unit = "Count", log_group = var.replication.log_group }
      # "[SOURCE_UNLOAD   ]E:": the part of DMS that reads tables for the full load, and a line of the severity error.
      LoadErrors = { pattern = "\"SOURCE_UNLOAD\" \"]E:\"", value = "1", unit = "Count", log_group = var.replication.log_group }
    },
  )
}

resource "aws_cloudwatch_log_metric_filter" "this" {
  for_each = local.log_metrics

  name           = "${var.name}-${each.key}"
  log_group_name = each.value.log_group
  pattern        = each.value.pattern

  metric_transformation {
    namespace = local.namespace
    name      = each.key
    value     = each.value.value
    unit      = each.value.unit
  }
}
