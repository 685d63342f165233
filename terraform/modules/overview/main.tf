data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id

  names = sort(keys(var.pipelines))

  # Alarms first, four pipelines a row: what is red is seen before what is merely slow.
  alarms = [
    for index, name in local.names :
    {
      type   = "alarm"
      x      = 6 * (index % 4)
      y      = 4 * floor(index / 4)
      width  = 6
      height = 4
      properties = {
        title = name
        alarms = [
          for kind in sort(keys(var.pipelines[name].names)) :
          "arn:${local.partition}:cloudwatch:${local.region}:${local.account}:alarm:${var.pipelines[name].names[kind]}"
        ]
      }
    }
  ]

  # The metrics that the module observability counts in each job's log: a line for each pipeline.
  graphs = [
    { title = "Lag from commit to silver, seconds", stat = "Maximum", metric = "LagSeconds" },
    { title = "Rows applied", stat = "Sum", metric = "AppliedRows" },
    { title = "Rows quarantined", stat = "Sum", metric = "QuarantinedRows" },
    { title = "Finished runs", stat = "Sum", metric = "FinishedRuns" },
    { title = "Tables that failed", stat = "Sum", metric = "FailedTables" },
    { title = "Rows that were stale", stat = "Sum", metric = "StaleRows" },
  ]
  below = 4 * ceil(length(local.names) / 4)

  widgets = concat(local.alarms, [for index, graph in local.graphs : {
    type = "metric", x = 8 * (index % 3), y = local.below + 6 * floor(index / 3), width = 8, height = 6
    properties = {
      title   = graph.title, stat = graph.stat, period = 300, region = local.region, view = "timeSeries"
      metrics = [for name in local.names : [var.pipelines[name].metric_namespace, graph.metric, { label = name }]]
    }
  }])
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  dashboard_body = jsonencode({ widgets = local.widgets })
}
