locals {
  # The names are DMS's.
  log_group_name = local.is_provisioned ? "dms-tasks-${var.name}" : "dms-serverless-replication-${local.resource_identifier}"
}

resource "aws_cloudwatch_log_group" "dms" {
  count = var.log_retention_days == null ? 0 : 1

  name              = local.log_group_name
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}
