locals {
  own = { for name in keys(local.job_metrics) : name => [local.namespace, name] }

  graphs = concat(
    [
      { title = "Rows merged", stat = "Sum", metrics = [local.own.AppliedRows, local.own.StaleRows, local.own.QuarantinedRows] },
      { title = "Lag from commit to silver, seconds", stat = "Maximum", metrics = [local.own.LagSeconds] },
      { title = "Runs, batches, failed tables", stat = "Sum", metrics = [local.own.FinishedRuns, local.own.MergedBatches, local.own.FailedTables] },
    ],
    var.trigger == null ? [] : [
      { title = "Messages that ask for a run", stat = "Maximum", metrics = [
        ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", var.trigger.queue_name],
        ["AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName", var.trigger.queue_name],
        ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", var.trigger.dead_letter_queue_name],
      ] },
      {
        title = "Trigger"
        stat  = "Sum"
        metrics = [
          ["AWS/Lambda", "Invocations", "FunctionName", var.trigger.function_name],
          ["AWS/Lambda", "Errors", "FunctionName", var.trigger.function_name],
        ]
      },
    ],
    (
      var.replication == null ?
      [] :
      [
        {
          title   = "Replication: latency, seconds"
          stat    = "Maximum"
          metrics = [for metric in ["CDCLatencySource", "CDCLatencyTarget"] : concat(["AWS/DMS", metric], local.dms_dimensions)]
        },
        {
          title   = "Replication: changes waiting"
          stat    = "Maximum"
          metrics = [for metric in ["CDCIncomingChanges", "CDCChangesDiskSource", "CDCChangesDiskTarget"] : concat(["AWS/DMS", metric], local.dms_dimensions)]
        },
      ]
    ),
    (
      local.is_serverless ?
      [
        {
          title   = "Replication: memory and processor, percent"
          stat    = "Average"
          metrics = [for metric in ["CapacityUtilization", "CPUUtilization"] : concat(["AWS/DMS", metric], local.dms_dimensions)]
        },
      ] :
      []
    ),
    contains(keys(local.alarms), "slot-lag") ? [
      { title = "Log that the source keeps, bytes", stat = "Maximum", metrics = [
        concat(["AWS/RDS", local.alarms.slot-lag.metric], flatten([for name, value in local.alarms.slot-lag.dimensions : [name, value]]))
      ] },
    ] : [],
    (
      contains(keys(local.alarms), "source-storage") ?
      [
        {
          title   = "Free disk of the source, bytes"
          stat    = "Minimum"
          metrics = [["AWS/RDS", "FreeStorageSpace", "DBInstanceIdentifier", var.source_database.identifier]]
        },
      ] :
      []
    ),
  )
  dms_dimensions = flatten([for name, value in try(var.replication.metric_dimensions, {}) : [name, value]])
}

resource "aws_cloudwatch_dashboard" "this" {
  count = var.dashboard ? 1 : 0

  # An account has one list of dashboards for all Regions.
  dashboard_name = join("-", compact([var.name, var.region_suffix]))
  dashboard_body = jsonencode({
    widgets = concat(
      [{
        type = "alarm", x = 0, y = 0, width = 24, height = 3
        properties = { title = "Alarms", alarms = [
          for alarm in sort(keys(local.alarms)) : "arn:${local.partition}:cloudwatch:${local.region}:${local.account}:alarm:${var.name}-${alarm}"
        ] }
      }],
      [for index, graph in local.graphs : {
        type       = "metric", x = 8 * (index % 3), y = 3 + 6 * floor(index / 3), width = 8, height = 6
        properties = { title = graph.title, stat = graph.stat, period = 300, region = local.region, view = "timeSeries", metrics = graph.metrics }
      }],
    )
  })
}
