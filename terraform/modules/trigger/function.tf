locals {
  # A watch ends in time, so that all that ADR 6 says of runs is true of it.
  watching = merge(
    { "--command" = "watch", "--for" = "${var.watch.hours}h", "--interval" = "${var.watch.interval_seconds}s" },
    { for url in aws_sqs_queue.news[*].url : "--queue" => url },
  )

  zip_path = coalesce(var.package.zip_path, "${path.module}/../../../dist/trigger.zip")
  zip_uri  = var.package.zip_s3_uri == null ? null : regex("^s3://([^/]+)/(.+)$", var.package.zip_s3_uri)
}

resource "aws_cloudwatch_log_group" "function" {
  name              = "/aws/lambda/${local.function_name}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_lambda_function" "trigger" {
  #checkov:skip=CKV_AWS_50: one hop from a queue to Glue; its log line says what it decided and why
  #checkov:skip=CKV_AWS_115: a throttled function returns messages and uses up their receives; the mapping bounds how many run
  #checkov:skip=CKV_AWS_116: only asynchronous calls use a dead-letter queue of the function; the queue has one
  #checkov:skip=CKV_AWS_117: it calls SQS and Glue only, and nothing in a VPC
  #checkov:skip=CKV_AWS_173: the variables hold names and addresses, no secrets
  #checkov:skip=CKV_AWS_272: its code is the zip of this git ref, whose bytes a test compares with a fresh build
  function_name = local.function_name
  description   = var.starts_runs ? "Starts one run of ${var.job.name} per burst of change files" : "Notes complete loads for the watch of ${var.name}"
  role          = aws_iam_role.function.arn
  tags          = var.tags

  filename         = local.zip_uri == null ? local.zip_path : null
  source_code_hash = local.zip_uri == null ? filebase64sha256(local.zip_path) : null
  s3_bucket        = local.zip_uri == null ? null : local.zip_uri[0]
  s3_key           = local.zip_uri == null ? null : local.zip_uri[1]

  handler       = "handler.handler"
  runtime       = "python3.13"
  architectures = ["arm64"]
  memory_size   = 256
  timeout       = local.timeout

  environment {
    variables = merge(
      {
        JOB_NAME              = var.job.name
        CONFIG_URI            = var.job.config_uri
        BRONZE_BUCKET         = var.bronze.bucket
        BRONZE_PREFIX         = var.bronze.folder
        QUEUE_URL             = aws_sqs_queue.changes.url
        DEAD_LETTER_QUEUE_URL = aws_sqs_queue.dead_letters.url
      },
      var.type == "event" ? { MIN_MINUTES_BETWEEN_RUNS = tostring(var.min_minutes_between_runs) } : {},
      var.type == "continuous" ? { RUN_ARGUMENTS = jsonencode(local.watching) } : {},
      var.starts_runs ? {} : { STARTS_RUNS = "false" },
      local.asks ? { REPLICATION_ARN = var.replication.arn } : {},
      local.starts ? { START_REPLICATION = tostring(var.replication.start) } : {},
    )
  }

  logging_config {
    log_format = "JSON"
    log_group  = aws_cloudwatch_log_group.function.name
  }

  depends_on = [aws_iam_role_policy.function]
}

resource "aws_lambda_event_source_mapping" "changes" {
  event_source_arn                   = aws_sqs_queue.changes.arn
  function_name                      = aws_lambda_function.trigger.arn
  batch_size                         = 1000
  maximum_batching_window_in_seconds = var.batching_window_seconds
  # Without it a message that waits for a run would be deleted.
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = var.tags

  scaling_config {
    maximum_concurrency = 2
  }
}

locals {
  is_serverless = try(strcontains(var.replication.arn, ":replication-config:"), false)
  note_loads = [
    for arn in local.loads ? var.replication[*].arn :
    [] : {
      ask = {
        Sid      = "AskForTables"
        Action   = [local.is_serverless ? "dms:DescribeReplicationTableStatistics" : "dms:DescribeTableStatistics"]
        Resource = [arn]
      }
      write = { Sid = "NoteLoads", Action = ["s3:PutObject"], Resource = ["${local.bucket_arn}/${var.bronze.folder}_load_complete/*"] }
    }
  ]
  # These two know no narrower resource. https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsdatabasemigrationservice.html
  look = { Sid = "AskForReplication", Action = [local.is_serverless ? "dms:DescribeReplications" : "dms:DescribeReplicationTasks"], Resource = ["*"] }
  start_or_stop = [for arn in local.starts ? var.replication[*].arn : [] : {
    Sid = "StartOrStopReplication", Action = [var.replication.start ? "dms:StartReplication" : "dms:StopReplication"], Resource = [arn]
  }]
  # A replication that never ran is not started into a folder that has files.
  list_bronze = [for starts in [local.starts ? var.replication.start : false] : {
    Sid = "ListBronzeFolder", Action = ["s3:ListBucket"], Resource = [local.bucket_arn], Condition = { StringLike = { "s3:prefix" = "${var.bronze.folder}*" } }
  } if starts]
  key_of_bronze = [
    for arn in [var.bronze.kms_key_arn] :
    {
      Sid       = "UseKeyOfBronze"
      Action    = ["kms:GenerateDataKey"]
      Resource  = [arn]
      Condition = { StringEquals = { "kms:ViaService" = "s3.${local.region}.${local.dns_suffix}" } }
    }
    if arn != null && local.loads
  ]
}

resource "aws_iam_role" "function" {
  name                 = join("-", compact([local.function_name, var.region_suffix]))
  description          = "The function ${local.function_name}: read its queue, start runs of one job, note complete loads, start its replication"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Sid = "Lambda", Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "function" {
  name = "trigger"
  role = aws_iam_role.function.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in concat(
      [
        { Sid = "StartRuns", Action = ["glue:StartJobRun", "glue:GetJobRuns"], Resource = [var.job.arn] },
        {
          Sid      = "ReadQueue"
          Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
          Resource = [local.queue_arns.changes]
        },
        { Sid = "SetAside", Action = ["sqs:SendMessage"], Resource = [local.queue_arns.dead] },
        { Sid = "SendToOwnQueue", Action = ["sqs:SendMessage"], Resource = [local.queue_arns.changes] },
        { Sid = "WriteLogs", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = ["${aws_cloudwatch_log_group.function.arn}:*"] },
      ],
      [for arn in [var.kms_key_arn] : { Sid = "UseKeyOfQueues", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = [arn] } if arn != null],
      [for statement in [local.look] : statement if local.asks],
      flatten([for statements in local.note_loads : values(statements)]),
      local.start_or_stop,
      local.list_bronze,
      local.key_of_bronze,
    ) : merge({ Effect = "Allow" }, statement)]
  })
}
