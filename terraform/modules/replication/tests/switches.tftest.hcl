# Migration types, keys, logs, names.

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name = "shop"
  source_database = {
    engine     = "aurora-postgresql"
    database   = "shop"
    secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
  }
  tables             = { "public.orders" = { key = ["order_id"] } }
  bronze             = { bucket = "acme-bronze", prefix = "dms/shop" }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
}

run "full_load_only_logs_left_to_dms_and_the_longest_name" {
  command = plan

  variables {
    migration_type     = "full-load"
    log_retention_days = null
    name               = "a-very-long-name-of-a-pipeline1"
    bronze             = { bucket = "acme-bronze", prefix = "dms/a-very-long-name-of-a-pipeline1" }
    load_epoch         = 99999
  }
  assert {
    condition     = aws_dms_replication_config.this[0].replication_type == "full-load" && !aws_dms_endpoint.source.postgres_settings[0].heartbeat_enable
    error_message = "no slot, so no heartbeat"
  }
  assert {
    condition     = length(aws_cloudwatch_log_group.dms) == 0
    error_message = "no log group"
  }
  assert {
    condition     = length(aws_dms_replication_config.this[0].resource_identifier) <= 31 && can(regex("^[a-z](-?[a-z0-9])*$", aws_dms_replication_config.this[0].resource_identifier))
    error_message = "identifier: ${aws_dms_replication_config.this[0].resource_identifier}"
  }
}

run "keys_and_logs" {
  command = plan

  variables {
    bronze               = { bucket = "acme-bronze", prefix = "dms/shop", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/bronze" }
    kms_key_arn          = "arn:aws:kms:eu-central-1:123456789012:key/dms"
    log_kms_key_arn      = "arn:aws:kms:eu-central-1:123456789012:key/logs"
    permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
    account_role_arns    = { dms-vpc-role = "arn:aws:iam::123456789012:role/dms-vpc-role" }
    lob_max_size_kb      = 256
    start                = false
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.encryption_mode == "SSE_KMS" && aws_dms_s3_endpoint.target.server_side_encryption_kms_key_id == "arn:aws:kms:eu-central-1:123456789012:key/bronze"
    error_message = "objects"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.kms_key_arn == var.kms_key_arn && aws_dms_endpoint.source.kms_key_arn == var.kms_key_arn && aws_dms_replication_config.this[0].compute_config[0].kms_key_id == var.kms_key_arn
    error_message = "DMS"
  }
  assert {
    condition     = aws_cloudwatch_log_group.dms[0].kms_key_id == var.log_kms_key_arn
    error_message = "logs"
  }
  assert {
    condition     = aws_iam_role.s3.permissions_boundary == var.permissions_boundary && aws_iam_role.secret.permissions_boundary == var.permissions_boundary
    error_message = "boundary"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).FullLoadSettings.CommitRate == 2460 && !aws_dms_replication_config.this[0].start_replication && !output.starter.start
    error_message = "commits as large as memory allows; not started"
  }
}
