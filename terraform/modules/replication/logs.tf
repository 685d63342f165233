locals {
  # The names are DMS's.
  log_group_name = local.is_provisioned ? "dms-tasks-${var.name}" : "dms-serverless-replication-${local.resource_identifier}"
}

resource "aws_cloudwatch_log_group" "dms" {
  #checkov:skip=CKV_AWS_158: DMS logs statements and sizes, no rows; CloudWatch encrypts them, and log_kms_key_arn gives them a key of one's own
  count = var.log_retention_days == null ? 0 : 1

  name              = local.log_group_name
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}
