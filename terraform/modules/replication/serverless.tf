# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Serverless.html
locals {
  compute = {
    min_capacity_units = var.min_capacity_units
    max_capacity_units = var.max_capacity_units
    multi_az           = var.multi_az
    maintenance_window = var.maintenance_window
    security_group_ids = sort(var.security_group_ids)
  }
}

resource "aws_dms_replication_config" "this" {
  count = local.is_provisioned ? 0 : 1

  # A new epoch is a new replication, which loads everything.
  replication_config_identifier = "${var.name}-epoch-${var.load_epoch}"
  resource_identifier           = local.resource_identifier
  replication_type              = var.migration_type
  source_endpoint_arn           = aws_dms_endpoint.source.endpoint_arn
  target_endpoint_arn           = aws_dms_s3_endpoint.target.endpoint_arn
  table_mappings                = jsonencode(local.table_mappings)
  replication_settings          = jsonencode(local.task_settings)
  # Terraform starts and stops nothing here: it would wait, fail while AWS modifies (provider issue 35650), and after a failure replace what had
  # loaded. The module trigger does it, by output `starter`.
  start_replication = false
  tags              = var.tags

  compute_config {
    replication_subnet_group_id  = aws_dms_replication_subnet_group.this.replication_subnet_group_id
    vpc_security_group_ids       = local.compute.security_group_ids
    min_capacity_units           = local.compute.min_capacity_units
    max_capacity_units           = local.compute.max_capacity_units
    multi_az                     = local.compute.multi_az
    kms_key_id                   = var.kms_key_arn
    preferred_maintenance_window = local.compute.maintenance_window
  }

  # DMS would make the log group itself, and keep it for ever.
  depends_on = [aws_cloudwatch_log_group.dms]
}

# Another one each time the configuration is made, or changed in what stops a replication: its ARN stays the same where it is replaced within
# its epoch, and a tag stops nothing.
resource "terraform_data" "changed" {
  count = local.is_provisioned ? 0 : 1

  lifecycle {
    replace_triggered_by = [
      aws_dms_replication_config.this[count.index].arn,
      aws_dms_replication_config.this[count.index].compute_config,
      aws_dms_replication_config.this[count.index].replication_settings,
      aws_dms_replication_config.this[count.index].source_endpoint_arn,
      aws_dms_replication_config.this[count.index].start_replication,
      aws_dms_replication_config.this[count.index].table_mappings,
      aws_dms_replication_config.this[count.index].target_endpoint_arn,
    ]
  }
}
