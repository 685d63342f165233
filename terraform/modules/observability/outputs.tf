output "topic_arn" {
  description = "Topic of the notifications."
  value       = local.topic_arn
}

output "alarm_names" {
  description = "Names of the alarms by kind."
  value       = { for kind, alarm in aws_cloudwatch_metric_alarm.this : kind => alarm.alarm_name }
}

output "dashboard_name" {
  description = "The dashboard; null without one."
  value       = one(aws_cloudwatch_dashboard.this[*].dashboard_name)
}

output "metric_namespace" {
  description = "CloudWatch namespace of the counts from the job's log."
  value       = local.namespace
}
