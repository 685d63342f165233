# A replication instance and a task in the place of DMS Serverless.

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

run "provisioned" {
  command = apply

  variables {
    mode                     = "provisioned"
    instance_class           = "dms.r6i.large"
    allocated_storage_gb     = 100
    engine_version           = "3.6.1"
    multi_az                 = true
    max_full_load_subtasks   = 16
    data_error_policy        = "STOP_TASK"
    change_processing_tuning = { MemoryLimitTotal = 4096 }
  }
  assert {
    condition     = aws_dms_replication_instance.this[0].replication_instance_class == "dms.r6i.large" && aws_dms_replication_instance.this[0].allocated_storage == 100 && aws_dms_replication_instance.this[0].multi_az
    error_message = "instance"
  }
  assert {
    condition     = !aws_dms_replication_instance.this[0].publicly_accessible && aws_dms_replication_instance.this[0].auto_minor_version_upgrade
    error_message = "private and kept up to date"
  }
  assert {
    condition     = output.starter.start == null && output.starter.revision == ""
    error_message = "Terraform starts a task"
  }
  assert {
    condition     = aws_dms_replication_task.this[0].migration_type == "full-load-and-cdc" && aws_dms_replication_task.this[0].start_replication_task && aws_dms_replication_task.this[0].replication_task_id == "shop-epoch-1"
    error_message = "task"
  }
  assert {
    condition     = aws_dms_replication_task.this[0].table_mappings == output.table_mappings_json && aws_dms_replication_task.this[0].replication_task_settings == output.task_settings_json
    error_message = "the same rules and settings as serverless"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).FullLoadSettings.MaxFullLoadSubTasks == 16 && jsondecode(output.task_settings_json).ErrorBehavior.DataErrorPolicy == "STOP_TASK"
    error_message = "settings"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).ChangeProcessingTuning == { MemoryLimitTotal = 4096, MemoryKeepTime = 60, MinTransactionSize = 1000, CommitTimeout = 1, StatementCacheSize = 50 }
    error_message = "tuning"
  }
  assert {
    condition     = length(aws_dms_replication_config.this) == 0 && output.replication_config_arn == null
    error_message = "nothing serverless"
  }
  assert {
    condition     = aws_dms_endpoint.source.pause_replication_tasks
    error_message = "AWS refuses to modify the endpoint of a running task"
  }
  assert {
    condition     = output.metric_dimensions == tomap({ ReplicationInstanceIdentifier = "shop", ReplicationTaskIdentifier = "TASK" })
    error_message = jsonencode(output.metric_dimensions)
  }
  assert {
    condition     = output.log_group_name == "dms-tasks-shop" && aws_cloudwatch_log_group.dms[0].name == "dms-tasks-shop"
    error_message = "log group"
  }
  assert {
    condition     = strcontains(output.commands.state, "describe-replication-tasks") && output.mode == "provisioned"
    error_message = output.commands.state
  }
}
