# What the function needs of its surroundings, and why, is said in lambda/trigger/README.md.
data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account    = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition
  dns_suffix = data.aws_partition.current.dns_suffix
  region     = data.aws_region.current.id

  function_name = "${var.name}-trigger"
  queue_names   = { changes = "${var.name}-changes", dead = "${var.name}-changes-dead-letters", news = "${var.name}-news" }
  rule_names    = { schedule = "${var.name}-schedule", files = "${var.name}-files", replication = "${var.name}-replication", failures = "${var.name}-failures" }

  # Made of their parts, so that each can stand in the policy of the other.
  bucket_arn  = "arn:${local.partition}:s3:::${var.bronze.bucket}"
  queue_arns  = { for queue, name in local.queue_names : queue => "arn:${local.partition}:sqs:${local.region}:${local.account}:${name}" }
  rule_arns   = { for rule, name in local.rule_names : rule => "arn:${local.partition}:events:${local.region}:${local.account}:rule/${name}" }
  retain_days = 14

  schedule        = coalesce(var.schedule, { event = "rate(6 hours)", schedule = "-", continuous = "rate(1 minute)" }[var.type])
  has_watch_queue = var.type == "continuous" && var.watch.queue
  file_source     = var.type == "event" || local.has_watch_queue ? var.notification : "none"
  file_queue      = local.has_watch_queue ? "news" : "changes"
  timeout         = 60
  asks            = var.replication != null
  # Not compared with null where the ARN is yet to be made: these two are written in the call.
  loads  = try(var.replication.loads, false)
  starts = try(var.replication.start, null) != null
  # A watch is started again by the schedule.
  retries = var.type != "continuous"
}

################################################################################
# Queue
################################################################################

locals {
  only_tls = {
    Sid       = "DenyPlainHttp"
    Effect    = "Deny"
    Principal = "*"
    Action    = "sqs:*"
    Condition = { Bool = { "aws:SecureTransport" = "false" } }
  }
  bucket_tells = {
    Sid       = "BucketTellsOfFiles"
    Effect    = "Allow"
    Principal = { Service = "s3.amazonaws.com" }
    Action    = "sqs:SendMessage"
    Resource  = local.queue_arns[local.file_queue]
    Condition = { ArnEquals = { "aws:SourceArn" = local.bucket_arn }, StringEquals = { "aws:SourceAccount" = coalesce(var.bronze.owner, local.account) } }
  }
  senders = concat(
    [for statement in [local.bucket_tells] : statement if !local.has_watch_queue],
    [{
      Sid       = "RulesTellOfFilesAndTimes"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queue_arns.changes
      Condition = { ArnEquals = { "aws:SourceArn" = [local.rule_arns.schedule, local.rule_arns.files] } }
    }],
    [for rule, sid in merge(local.loads ? { replication = "RuleTellsOfReplication" } : {}, local.retries ? { failures = "RuleTellsOfFailures" } : {}) : {
      Sid       = sid
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queue_arns.changes
      Condition = { ArnEquals = { "aws:SourceArn" = local.rule_arns[rule] } }
    }],
  )
}

resource "aws_sqs_queue" "dead_letters" {
  name                      = local.queue_names.dead
  message_retention_seconds = local.retain_days * 86400
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  kms_master_key_id         = var.kms_key_arn
  tags                      = var.tags

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [merge(local.only_tls, { Resource = local.queue_arns.dead })]
  })
}

resource "aws_sqs_queue" "changes" {
  name                    = local.queue_names.changes
  sqs_managed_sse_enabled = var.kms_key_arn == null ? true : null
  kms_master_key_id       = var.kms_key_arn
  tags                    = var.tags

  # Lambda's rule of thumb: six times the function's timeout, and the window.
  visibility_timeout_seconds = 6 * local.timeout + max(60, var.batching_window_seconds)
  receive_wait_time_seconds  = 20
  # A message waits in the queue while a run is active, and waiting counts as receiving. 1000 receives are ten days; Glue ends any run after seven.
  message_retention_seconds = local.retain_days * 86400
  redrive_policy            = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead_letters.arn, maxReceiveCount = 1000 })

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat([merge(local.only_tls, { Resource = local.queue_arns.changes })], local.senders)
  })
}

################################################################################
# Queue of a watch
################################################################################

resource "aws_sqs_queue" "news" {
  count = local.has_watch_queue ? 1 : 0

  name                    = local.queue_names.news
  sqs_managed_sse_enabled = var.kms_key_arn == null ? true : null
  kms_master_key_id       = var.kms_key_arn
  tags                    = var.tags

  # Where it goes, the bucket tells the other queue before.
  lifecycle {
    create_before_destroy = true
  }

  # A watch begins by looking at every table, so that news older than it tell it nothing; and it deletes what it cannot read.
  message_retention_seconds = 3600

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      merge(local.only_tls, { Resource = local.queue_arns.news }),
      local.bucket_tells,
      {
        Sid       = "RuleTellsOfFiles"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = local.queue_arns.news
        Condition = { ArnEquals = { "aws:SourceArn" = local.rule_arns.files } }
      },
    ]
  })
}

resource "aws_iam_role_policy" "news" {
  count = local.has_watch_queue ? 1 : 0

  name = "news"
  role = var.job.role_name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in concat(
      [{ Sid = "ReadNews", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage"], Resource = [local.queue_arns.news] }],
      [for arn in [var.kms_key_arn] : { Sid = "UseKeyOfNews", Action = ["kms:Decrypt"], Resource = [arn] } if arn != null],
    ) : merge({ Effect = "Allow" }, statement)]
  })
}

################################################################################
# News of files, of the replication, and times
################################################################################

# A bucket has one set of notifications: this resource owns all of them.
resource "aws_s3_bucket_notification" "bronze" {
  count = local.file_source == "s3" ? 1 : 0

  bucket = var.bronze.bucket

  queue {
    id            = local.queue_names[local.file_queue]
    queue_arn     = local.queue_arns[local.file_queue]
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = var.bronze.folder
  }

  # S3 sends a test message to see whether it may.
  depends_on = [aws_sqs_queue.changes, aws_sqs_queue.news]
}

resource "aws_cloudwatch_event_rule" "files" {
  count = local.file_source == "eventbridge" ? 1 : 0

  name        = local.rule_names.files
  description = "New files in s3://${var.bronze.bucket}/${var.bronze.folder} go to the queue ${local.queue_names[local.file_queue]}"
  tags        = var.tags
  event_pattern = jsonencode({
    source      = ["aws.s3"]
    detail-type = ["Object Created"]
    detail      = { bucket = { name = [var.bronze.bucket] }, object = { key = [{ prefix = var.bronze.folder }] } }
  })
}

resource "aws_cloudwatch_event_target" "files" {
  count = local.file_source == "eventbridge" ? 1 : 0

  rule = aws_cloudwatch_event_rule.files[0].name
  arn  = local.queue_arns[local.file_queue]

  depends_on = [aws_sqs_queue.changes, aws_sqs_queue.news]
}

# Not narrowed to stops: what events of serverless replications are called is documented nowhere, and the function asks DMS anyway.
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_EventBridge.html, https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-dms.html
resource "aws_cloudwatch_event_rule" "replication" {
  count = local.loads ? 1 : 0

  name        = local.rule_names.replication
  description = "Changes of state of the replication into s3://${var.bronze.bucket}/${var.bronze.folder} go to the queue ${local.queue_names.changes}"
  tags        = var.tags
  event_pattern = jsonencode({
    source      = ["aws.dms"]
    detail-type = ["DMS Replication Task State Change", "DMS Replication State Change"]
    resources   = [var.replication.arn]
  })
}

resource "aws_cloudwatch_event_target" "replication" {
  count = local.loads ? 1 : 0

  rule = aws_cloudwatch_event_rule.replication[0].name
  arn  = aws_sqs_queue.changes.arn
}

# https://docs.aws.amazon.com/glue/latest/dg/automating-awsglue-with-cloudwatch-events.html
resource "aws_cloudwatch_event_rule" "failures" {
  count = local.retries ? 1 : 0

  name        = local.rule_names.failures
  description = "A run of ${var.job.name} failed: the queue ${local.queue_names.changes} asks for the next after a pause"
  tags        = var.tags
  event_pattern = jsonencode({
    source      = ["aws.glue"]
    detail-type = ["Glue Job State Change"]
    detail      = { jobName = [var.job.name], state = ["FAILED", "TIMEOUT", "ERROR"] }
  })
}

resource "aws_cloudwatch_event_target" "failures" {
  count = local.retries ? 1 : 0

  rule = aws_cloudwatch_event_rule.failures[0].name
  arn  = aws_sqs_queue.changes.arn
}

resource "aws_cloudwatch_event_rule" "schedule" {
  count = local.schedule == "off" ? 0 : 1

  name = local.rule_names.schedule
  description = (
    var.starts_runs ?
    "Asks for a run of ${var.job.name}; one that is active is not disturbed" :
    "Has the function ask which loads are complete"
  )
  schedule_expression = local.schedule
  tags                = var.tags
}

resource "aws_cloudwatch_event_target" "schedule" {
  count = local.schedule == "off" ? 0 : 1

  rule = aws_cloudwatch_event_rule.schedule[0].name
  arn  = aws_sqs_queue.changes.arn
}
