resource "aws_dms_replication_instance" "this" {
  count = local.is_provisioned ? 1 : 0

  replication_instance_id      = var.name
  replication_instance_class   = var.instance_class
  allocated_storage            = var.allocated_storage_gb
  engine_version               = var.engine_version
  multi_az                     = var.multi_az
  publicly_accessible          = false
  auto_minor_version_upgrade   = true
  apply_immediately            = true
  kms_key_arn                  = var.kms_key_arn
  preferred_maintenance_window = var.maintenance_window
  replication_subnet_group_id  = aws_dms_replication_subnet_group.this.replication_subnet_group_id
  vpc_security_group_ids       = var.security_group_ids
  tags                         = var.tags
}

resource "aws_dms_replication_task" "this" {
  count = local.is_provisioned ? 1 : 0

  # A new epoch is a new task, which loads everything.
  replication_task_id       = "${var.name}-epoch-${var.load_epoch}"
  replication_instance_arn  = aws_dms_replication_instance.this[0].replication_instance_arn
  migration_type            = var.migration_type
  source_endpoint_arn       = aws_dms_endpoint.source.endpoint_arn
  target_endpoint_arn       = aws_dms_s3_endpoint.target.endpoint_arn
  table_mappings            = jsonencode(local.table_mappings)
  replication_task_settings = jsonencode(local.task_settings)
  cdc_start_position        = var.cdc_start_position
  start_replication_task    = var.start
  tags                      = var.tags

  depends_on = [aws_cloudwatch_log_group.dms]

  lifecycle {
    # Once the task has run, AWS answers with the place it has come to.
    ignore_changes = [cdc_start_position]
  }
}
