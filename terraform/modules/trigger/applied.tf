# Called after an apply, when files and the replication have their way to the queue. The function puts a message into its queue and is done, so
# that an apply waits for nothing. If it cannot, the apply fails, and the next calls it again. Another `applied` calls it again.

# A run looks for what came before. A schedule says itself when runs begin.
resource "aws_lambda_invocation" "applied" {
  count = var.type == "schedule" ? 0 : 1

  function_name = aws_lambda_function.trigger.function_name

  input = jsonencode({
    applied     = sha1(jsonencode([var.job.config_uri, var.job.revision, var.bronze, local.file_source, local.file_queue]))
    run         = true
    replication = false
  })

  depends_on = [
    aws_lambda_event_source_mapping.changes, aws_iam_role_policy.function, aws_iam_role_policy.news, aws_s3_bucket_notification.bronze,
    aws_cloudwatch_event_target.files, aws_cloudwatch_event_target.failures, aws_cloudwatch_event_target.schedule,
  ]
}

# The replication is started, resumed or stopped. By itself, so that a change of the job alone resumes nothing that a person has stopped.
resource "aws_lambda_invocation" "replication" {
  count = local.starts ? 1 : 0

  function_name = aws_lambda_function.trigger.function_name

  input = jsonencode({
    applied     = sha1(jsonencode([var.replication.arn, var.replication.start, var.replication.revision]))
    run         = var.type != "schedule"
    replication = true
  })

  # Its first files are notified of.
  depends_on = [
    aws_lambda_event_source_mapping.changes, aws_iam_role_policy.function, aws_iam_role_policy.news, aws_s3_bucket_notification.bronze,
    aws_cloudwatch_event_target.files, aws_cloudwatch_event_target.replication,
  ]
}
