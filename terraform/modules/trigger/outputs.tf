output "queue" {
  description = "`name`, `arn` and `url` of the queue that starts runs."
  value       = { name = aws_sqs_queue.changes.name, arn = aws_sqs_queue.changes.arn, url = aws_sqs_queue.changes.url }
}

output "news_queue" {
  description = "`name`, `arn` and `url` of the queue that tells a watch of new files; null without one."
  value       = one([for queue in aws_sqs_queue.news : { name = queue.name, arn = queue.arn, url = queue.url }])
}

output "dead_letter_queue" {
  description = "`name`, `arn` and `url` of the queue of messages that nobody could read."
  value       = { name = aws_sqs_queue.dead_letters.name, arn = aws_sqs_queue.dead_letters.arn, url = aws_sqs_queue.dead_letters.url }
}

output "function" {
  description = "`name`, `arn` and `log_group` of the function."
  value       = { name = aws_lambda_function.trigger.function_name, arn = aws_lambda_function.trigger.arn, log_group = aws_cloudwatch_log_group.function.name }
}

output "role_arn" {
  description = "Role of the function."
  value       = aws_iam_role.function.arn
}

output "resource_policies" {
  description = <<-EOT
    What a bronze bucket of another account, and its key, must allow the role, as JSON policies `bronze` and `key`;
    without statements where no replication is asked or started.
  EOT
  value = {
    bronze = jsonencode({
      Version = "2012-10-17"
      Statement = [for statement in concat(local.note_loads[*].write, local.list_bronze) : merge(statement, {
        Sid = "${local.sid}${statement.Sid}", Effect = "Allow", Principal = { AWS = aws_iam_role.function.arn }
      })]
    })
    key = jsonencode({
      Version = "2012-10-17"
      Statement = [for statement in local.key_of_bronze : merge(statement, {
        Sid = "${local.sid}${statement.Sid}", Effect = "Allow", Principal = { AWS = aws_iam_role.function.arn }, Resource = "*"
      })]
    })
  }
}

locals {
  sid = join("", [for part in split("-", local.function_name) : title(part)])
}

output "schedule" {
  description = "When a run is asked for beside new files; `off` for never."
  value       = local.schedule
}

output "bucket_notification" {
  description = "What the owner of the bucket adds to its notifications where this module does not: the queue, the events, the folder."
  value       = { QueueArn = local.queue_arns[local.file_queue], Events = ["s3:ObjectCreated:*"], Prefix = var.bronze.folder }
}

output "applied" {
  description = <<-EOT
    What the function was last called with after an apply: `run` asks for a run, `replication` for the replication
    as `start` says, and for a run. Another text calls it again; null where it is not called.
  EOT
  value       = { run = one(aws_lambda_invocation.applied[*].input), replication = one(aws_lambda_invocation.replication[*].input) }
}

output "retry_command" {
  description = "Command that sends dead-lettered messages to the queue again, once their cause is fixed."
  value = join(" ", [
    "aws sqs start-message-move-task --region ${local.region} --source-arn",
    "${aws_sqs_queue.dead_letters.arn} --destination-arn ${aws_sqs_queue.changes.arn}",
  ])
}
