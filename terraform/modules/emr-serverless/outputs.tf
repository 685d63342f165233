output "application" {
  description = "`id`, `arn` and `name` of the EMR Serverless application."
  value       = { id = aws_emrserverless_application.watch.id, arn = aws_emrserverless_application.watch.arn, name = aws_emrserverless_application.watch.name }
}

output "role_arn" {
  description = "Role of the runs."
  value       = aws_iam_role.job.arn
}

output "role_name" {
  description = "Name of the role."
  value       = aws_iam_role.job.name
}

output "log_group" {
  description = "Log group of the watch: the job's JSON lines in the streams `.../stdout`, Spark's messages in `.../stderr`."
  value       = aws_cloudwatch_log_group.watch.name
}

output "starter" {
  description = "`name`, `arn` and `log_group` of the function that keeps the watch running."
  value       = { name = aws_lambda_function.starter.function_name, arn = aws_lambda_function.starter.arn, log_group = aws_cloudwatch_log_group.starter.name }
}

output "run" {
  description = "The parameters of StartJobRun that a watch is started with."
  value       = local.run
}

output "version" {
  description = "Hash of all that starts a watch; the tag `dms-iceberg:version` of its run."
  value       = local.version
}

output "alarm_names" {
  description = "Names of the alarms by kind."
  value       = { for kind, alarm in aws_cloudwatch_metric_alarm.this : kind => alarm.alarm_name }
}

output "doctor_command" {
  description = "Command that tries, beside the watch, whether a run finds all that it needs there; its report is in the log group."
  value = join(
    " ",
    [
      join(" ", [
        "aws emr-serverless start-job-run --region ${local.region} --application-id ${aws_emrserverless_application.watch.id} --execution-role-arn",
        "${aws_iam_role.job.arn} --name doctor",
      ]),
      join(" ", [
        "--job-driver",
        format(
          "'%s'",
          jsonencode(
            { sparkSubmit = merge(local.run.jobDriver.sparkSubmit, { entryPointArguments = ["--command", "doctor", "--config", var.job.config_uri] }) },
          ),
        ),
      ]),
      "--configuration-overrides '${jsonencode(local.run.configurationOverrides)}'",
    ],
  )
}
