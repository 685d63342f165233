# Called after an apply, when files and the replication have their way to the queue: a run looks for what came before, and the replication is
# started. The function puts both into its queue and is done, so that an apply waits for nothing. If it cannot, the apply fails, and the next
# calls it again.
resource "aws_lambda_invocation" "applied" {
  function_name = aws_lambda_function.trigger.function_name

  input = jsonencode({
    # Another text calls the function again.
    applied = sha1(jsonencode([
      var.job.config_uri, var.job.revision, var.bronze, local.hears, local.hearer, local.starts ? [var.replication.arn, var.replication.start, var.replication.revision] : [],
    ]))
    # A schedule says itself when runs begin.
    run = var.type != "schedule"
  })

  depends_on = [
    aws_lambda_event_source_mapping.changes, aws_iam_role_policy.function, aws_iam_role_policy.news, aws_s3_bucket_notification.bronze,
    aws_cloudwatch_event_target.files, aws_cloudwatch_event_target.replication, aws_cloudwatch_event_target.failures, aws_cloudwatch_event_target.schedule,
  ]
}
