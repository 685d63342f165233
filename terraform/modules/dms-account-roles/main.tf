# https://docs.aws.amazon.com/dms/latest/userguide/security-iam.html#CHAP_Security.APIRole
data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  partition = data.aws_partition.current.partition
  account   = data.aws_caller_identity.current.account_id

  # DMS looks for these names.
  roles = {
    for name, role in {
      dms-vpc-role = {
        create      = var.create_vpc_role
        description = "DMS places its network interfaces into this account's VPCs"
        policy      = "AmazonDMSVPCManagementRole"
      }
      dms-cloudwatch-logs-role = {
        create      = var.create_cloudwatch_logs_role
        description = "DMS writes its logs to this account's CloudWatch"
        policy      = "AmazonDMSCloudWatchLogsRole"
      }
    } : name => role if role.create
  }
}

resource "aws_iam_role" "this" {
  for_each = local.roles

  name                 = each.key
  description          = each.value.description
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Dms"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "dms.${data.aws_partition.current.dns_suffix}" }
      # Roles are for all regions; DMS takes them for resources of this account only.
      # https://docs.aws.amazon.com/dms/latest/userguide/cross-service-confused-deputy-prevention.html
      # IfExists: DMS does not name account and resource whenever it takes the role for its logs. A hard condition left the log empty
      # elsewhere, without an error, and the alarms on its lines blind: https://github.com/terraform-aws-modules/terraform-aws-dms/issues/84
      Condition = {
        StringEqualsIfExists = { "aws:SourceAccount" = local.account }
        ArnLikeIfExists      = { "aws:SourceArn" = "arn:${local.partition}:dms:*:${local.account}:*" }
      }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = local.roles

  role       = aws_iam_role.this[each.key].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/${each.value.policy}"
}
