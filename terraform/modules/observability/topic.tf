data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id

  topic_name = "${var.name}-alarms"
  own_arn    = "arn:${local.partition}:sns:${local.region}:${local.account}:${local.topic_name}"
  topic_arn  = var.topic.create ? aws_sns_topic.alarms[0].arn : var.topic.arn
}

resource "aws_sns_topic" "alarms" {
  count = var.topic.create ? 1 : 0

  name              = local.topic_name
  display_name      = "Alarms of ${var.name}"
  kms_master_key_id = var.topic.kms_key_arn # or none: AWS's own key would let no alarm through
  tags              = var.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "DenyPlainHttp"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sns:Publish"
        Resource  = local.own_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "AlarmsPublish"
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = local.own_arn
        Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
      },
      {
        Sid       = "RulesPublish"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = local.own_arn
        Condition = {
          ArnEquals = {
            "aws:SourceArn" = [for rule in [local.state_rule, local.job_rule] : "arn:${local.partition}:events:${local.region}:${local.account}:rule/${rule}"]
          }
        }
      },
    ]
  })
}

resource "aws_sns_topic_subscription" "email" {
  for_each = var.topic.create ? var.topic.emails : []

  topic_arn = local.topic_arn
  protocol  = "email"
  endpoint  = each.value
}
