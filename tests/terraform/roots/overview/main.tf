# Two pipelines' alarms, and one dashboard for both.
module "observability" {
  source   = "../../../../terraform/modules/observability"
  for_each = toset(["shop", "billing"])

  name = each.key
  job  = { name = "${each.key}-merge", log_group = aws_cloudwatch_log_group.job[each.key].name }
}

resource "aws_cloudwatch_log_group" "job" {
  for_each = toset(["shop", "billing"])

  name = "/aws-glue/jobs/${each.key}-merge/output"
}

module "overview" {
  source = "../../../../terraform/modules/overview"

  name      = "all"
  pipelines = { for name, one in module.observability : name => { names = one.alarm_names, metric_namespace = one.metric_namespace } }
}

output "dashboard_name" {
  value = module.overview.dashboard_name
}
