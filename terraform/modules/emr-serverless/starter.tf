# What the function needs of its surroundings, and why, is said in lambda/watch/README.md.
locals {
  function_name = "${local.watch_name}-starter"
  zip_path      = coalesce(var.starter_zip_path, "${path.module}/../../../dist/watch.zip")
}

resource "aws_cloudwatch_log_group" "starter" {
  name              = "/aws/lambda/${local.function_name}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_lambda_function" "starter" {
  #checkov:skip=CKV_AWS_50: its only calls are those of EMR Serverless; its log line says what it decided and why
  #checkov:skip=CKV_AWS_115: two calls at once start one watch; see lambda/watch/README.md
  #checkov:skip=CKV_AWS_116: a call that failed is repeated a minute later
  #checkov:skip=CKV_AWS_117: it calls EMR Serverless only, and nothing in a VPC
  #checkov:skip=CKV_AWS_272: its code is the zip of this git ref, whose bytes a test compares with a fresh build
  function_name = local.function_name
  description   = "Keeps one watch running on the EMR Serverless application ${local.watch_name}"
  role          = aws_iam_role.starter.arn
  tags          = var.tags

  filename         = local.zip_path
  source_code_hash = filebase64sha256(local.zip_path)
  handler          = "watch_starter.handler"
  runtime          = "python3.13"
  architectures    = ["arm64"]
  memory_size      = 256
  # Before a change of the application, and before its end, it waits until the application is stopped.
  timeout = 900

  logging_config {
    log_format = "JSON"
    log_group  = aws_cloudwatch_log_group.starter.name
  }

  depends_on = [aws_iam_role_policy.find]
}

resource "aws_iam_role" "starter" {
  name                 = join("-", compact([local.function_name, var.region_suffix]))
  description          = "The function ${local.function_name}: start and cancel runs of one application"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Sid = "Lambda", Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

# Enough to see, before the application is there, that it is not there.
resource "aws_iam_role_policy" "find" {
  name = "find"
  role = aws_iam_role.starter.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in [
      { Sid = "FindApplication", Action = ["emr-serverless:ListApplications"], Resource = ["*"] },
      {
        Sid      = "SeeApplications"
        Action   = ["emr-serverless:GetApplication"]
        Resource = ["arn:${local.partition}:emr-serverless:${local.region}:${local.account}:/applications/*"]
      },
      { Sid = "WriteLogs", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = ["${aws_cloudwatch_log_group.starter.arn}:*"] },
    ] : merge({ Effect = "Allow" }, statement)]
  })
}

resource "aws_iam_role_policy" "starter" {
  name = "start"
  role = aws_iam_role.starter.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in [
      {
        Sid      = "UseApplication"
        Action   = ["emr-serverless:ListJobRuns", "emr-serverless:StartJobRun", "emr-serverless:StopApplication", "emr-serverless:TagResource"]
        Resource = [aws_emrserverless_application.watch.arn]
      },
      {
        Sid      = "UseRuns"
        Action   = ["emr-serverless:GetJobRun", "emr-serverless:CancelJobRun", "emr-serverless:TagResource"]
        Resource = ["${aws_emrserverless_application.watch.arn}/jobruns/*"]
      },
      {
        Sid       = "GiveRole"
        Action    = ["iam:PassRole"]
        Resource  = [aws_iam_role.job.arn]
        Condition = { StringLike = { "iam:PassedToService" = "emr-serverless.amazonaws.com" } }
      },
    ] : merge({ Effect = "Allow" }, statement)]
  })
}

################################################################################
# Before a change, after each apply, every minute, before the end
################################################################################

# The provider changes the application without stopping it, which AWS refuses. At the first apply there is none yet.
resource "aws_lambda_invocation" "halt" {
  function_name = aws_lambda_function.starter.function_name
  input         = jsonencode({ halt = local.watch_name })
  triggers      = { settings = sha256(jsonencode(local.settings)) }
}

# Created and changed, it starts or replaces the watch; destroyed, it cancels the watch and stops the application, which can then be deleted.
resource "aws_lambda_invocation" "watch" {
  count = var.start ? 1 : 0

  function_name   = aws_lambda_function.starter.function_name
  input           = local.event
  lifecycle_scope = "CRUD"

  depends_on = [aws_iam_role_policy.starter, aws_iam_role_policy.job, aws_iam_role_policy.runtime, aws_iam_role_policy.additional]
}

resource "aws_cloudwatch_event_rule" "starter" {
  count = var.start ? 1 : 0

  name                = local.function_name
  description         = "Asks every minute whether the watch ${local.watch_name} is running"
  schedule_expression = "rate(1 minute)"
  tags                = var.tags
}

resource "aws_cloudwatch_event_target" "starter" {
  count = var.start ? 1 : 0

  rule  = aws_cloudwatch_event_rule.starter[0].name
  arn   = aws_lambda_function.starter.arn
  input = local.event

  lifecycle {
    # Known during the plan, as the whole event is not.
    precondition {
      condition = length(local.run.jobDriver.sparkSubmit.sparkSubmitParameters) <= 6500
      error_message = join(" ", [
        "The Spark settings of a run are ${length(local.run.jobDriver.sparkSubmit.sparkSubmitParameters)} characters, and the event that starts it has room",
        "for 6500. Give fewer spark_conf or catalog.properties.",
      ])
    }
    precondition {
      condition = length(local.event) <= 8192
      error_message = join(" ", [
        "The parameters of a run are ${length(local.event)} characters of JSON, and EventBridge",
        "takes 8192. Give fewer spark_conf, catalog.properties or tags.",
      ])
    }
  }
}

resource "aws_lambda_permission" "starter" {
  count = var.start ? 1 : 0

  statement_id   = "EveryMinute"
  action         = "lambda:InvokeFunction"
  function_name  = aws_lambda_function.starter.function_name
  principal      = "events.amazonaws.com"
  source_arn     = aws_cloudwatch_event_rule.starter[0].arn
  source_account = local.account
}

################################################################################
# Alarms
################################################################################

locals {
  namespace = "dms-iceberg/${var.name}"
  counted   = { WatchRunning = "running", WatchFailed = "failed" }

  alarms = { for alarm, one in {
    watch-not-running = {
      namespace  = local.namespace
      metric     = "WatchRunning"
      dimensions = {}
      periods    = 3
      threshold  = 1
      below      = true
      about = join(" ", [
        "The watch ${local.watch_name} has not been running for 15 minutes, or nobody has looked. The log of ${local.function_name} says why, that of the",
        "watch is ${aws_cloudwatch_log_group.watch.name}.",
      ])
    }
    watch-failed = {
      namespace  = local.namespace
      metric     = "WatchFailed"
      dimensions = {}
      periods    = 1
      threshold  = 0
      below      = false
      about = join(" ", [
        "The watch ${local.watch_name} failed, after the attempts that EMR Serverless makes by itself. Nothing is lost: it is started again after a pause.",
        "Its log group is ${aws_cloudwatch_log_group.watch.name}.",
      ])
    }
    watch-starter-errors = {
      namespace  = "AWS/Lambda"
      metric     = "Errors"
      dimensions = { FunctionName = local.function_name }
      periods    = 1
      threshold  = 0
      below      = false
      about      = "${local.function_name} could not look after the watch, or start it: the error in its log says what to do. It tries again every minute."
    }
  } : alarm => one if var.start && var.alarms.create && !contains(var.alarms.disabled, alarm) }
}

resource "aws_cloudwatch_log_metric_filter" "starter" {
  for_each = local.counted

  name           = "${var.name}-${each.key}"
  log_group_name = aws_cloudwatch_log_group.starter.name
  pattern        = "{ ($.event = \"watch\") && ($.${each.value} >= 0) }"

  metric_transformation {
    namespace = local.namespace
    name      = each.key
    value     = "$.${each.value}"
    unit      = "Count"
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name        = "${var.name}-${each.key}"
  alarm_description = each.value.about

  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = each.value.periods
  threshold           = each.value.threshold
  comparison_operator = each.value.below ? "LessThanThreshold" : "GreaterThanThreshold"
  treat_missing_data  = each.value.below ? "breaching" : "notBreaching"

  alarm_actions = [var.alarms.topic_arn]
  ok_actions    = [var.alarms.topic_arn]
  tags          = var.tags
}
