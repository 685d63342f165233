# What the required inputs alone give: nothing is lost, nothing is open, nothing is large.

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

run "plan" {
  command = plan

  # The source.
  assert {
    condition     = aws_dms_endpoint.source.engine_name == "aurora-postgresql" && aws_dms_endpoint.source.database_name == "shop"
    error_message = "engine and database"
  }
  assert {
    condition     = aws_dms_endpoint.source.secrets_manager_arn == var.source_database.secret_arn
    error_message = "the secret"
  }
  assert {
    condition     = aws_dms_endpoint.source.password == null && aws_dms_endpoint.source.username == null && aws_dms_endpoint.source.server_name == null
    error_message = "no credentials beside the secret"
  }
  assert {
    condition     = aws_dms_endpoint.source.ssl_mode == "verify-full" && aws_dms_certificate.this[0].certificate_pem == "-----BEGIN CERTIFICATE-----"
    error_message = "the server's certificate and name are verified"
  }
  assert {
    condition = { for name, value in aws_dms_endpoint.source.postgres_settings[0] : name => value if value != null } == {
      capture_ddls                 = true
      ddl_artifacts_schema         = "awsdms"
      execute_timeout              = 60
      fail_tasks_on_lob_truncation = true
      heartbeat_enable             = true
      heartbeat_frequency          = 5
      heartbeat_schema             = "awsdms"
      map_boolean_as_boolean       = true
      map_jsonb_as_clob            = false
      map_long_varchar_as          = "wstring"
      max_file_size                = 32768
      plugin_name                  = "pglogical"
    }
    error_message = "settings: ${jsonencode(nonsensitive(aws_dms_endpoint.source.postgres_settings))}"
  }

  # The target.
  assert {
    condition     = aws_dms_s3_endpoint.target.bucket_name == "acme-bronze" && aws_dms_s3_endpoint.target.bucket_folder == "dms/shop/epoch-1"
    error_message = "place"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.expected_bucket_owner == "123456789012"
    error_message = "the bucket's owner is checked"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.data_format == "parquet" && aws_dms_s3_endpoint.target.compression_type == "GZIP" && !aws_dms_s3_endpoint.target.parquet_timestamp_in_millisecond
    error_message = "format"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.include_op_for_full_load && aws_dms_s3_endpoint.target.use_task_start_time_for_full_load_timestamp && aws_dms_s3_endpoint.target.timestamp_column_name == "dms_commit_ts"
    error_message = "a full load has operation and time"
  }
  assert {
    condition     = !aws_dms_s3_endpoint.target.cdc_inserts_only && !aws_dms_s3_endpoint.target.cdc_inserts_and_updates && !aws_dms_s3_endpoint.target.preserve_transactions && !aws_dms_s3_endpoint.target.glue_catalog_generation
    error_message = "all operations, a folder per table"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.date_partition_enabled && aws_dms_s3_endpoint.target.date_partition_sequence == "yyyymmddhh" && aws_dms_s3_endpoint.target.date_partition_delimiter == "slash" && aws_dms_s3_endpoint.target.date_partition_timezone == null
    error_message = "hour folders in UTC"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.cdc_max_batch_interval == 60 && aws_dms_s3_endpoint.target.cdc_min_file_size == 32000
    error_message = "interval and size"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.encryption_mode == "SSE_S3" && aws_dms_s3_endpoint.target.server_side_encryption_kms_key_id == null
    error_message = "encryption"
  }
  assert {
    condition     = output.bronze_prefix == "dms/shop/epoch-1/" && output.bronze_uri == "s3://acme-bronze/dms/shop/epoch-1/" && output.suspended_tables_prefix == "dms/shop/epoch-1/awsdms_suspended_tables/"
    error_message = "outputs of the place"
  }

  # The task settings lose nothing.
  assert {
    condition     = jsondecode(aws_dms_replication_config.this[0].replication_settings).ChangeProcessingDdlHandlingPolicy == { HandleSourceTableAltered = true, HandleSourceTableDropped = false, HandleSourceTableTruncated = false }
    error_message = "a dropped or truncated source table leaves its files where they are"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).FullLoadSettings.TargetTablePrepMode == "DO_NOTHING"
    error_message = "a load deletes nothing"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).TargetMetadata == { SupportLobs = true, FullLobMode = false, LimitedSizeLobMode = true, LobMaxSize = 63, BatchApplyEnabled = false }
    error_message = "LOBs, and no batch apply"
  }
  assert {
    condition = alltrue([
      for name, policy in jsondecode(output.task_settings_json).ErrorBehavior : contains(["SUSPEND_TABLE", "STOP_TASK"], policy) if endswith(name, "Policy")
    ])
    error_message = "no error policy goes on without the row"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).ErrorBehavior.ApplyErrorFailOnTruncationDdl && jsondecode(output.task_settings_json).ErrorBehavior.RecoverableErrorCount == -1 && !jsondecode(output.task_settings_json).ErrorBehavior.RecoverableErrorStopRetryAfterThrottlingMax
    error_message = "a truncation stops, a source that is away does not"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).ControlTablesSettings.SuspendedTablesTableEnabled && jsondecode(output.task_settings_json).Logging == { EnableLogging = true }
    error_message = "suspended tables and logs are written"
  }

  # The rules of the one table.
  assert {
    condition     = length(jsondecode(output.table_mappings_json).rules) == 4
    error_message = output.table_mappings_json
  }
  assert {
    condition = jsondecode(output.table_mappings_json).rules[0] == {
      rule-type      = "selection"
      rule-id        = "1"
      rule-name      = "1-select-public-orders"
      rule-action    = "include"
      object-locator = { schema-name = "public", table-name = "orders" }
      filters        = []
    }
    error_message = "selection"
  }
  assert {
    condition = jsondecode(output.table_mappings_json).rules[1] == {
      rule-type      = "transformation"
      rule-id        = "2"
      rule-name      = "2-change-sequence"
      rule-target    = "column"
      rule-action    = "add-column"
      object-locator = { schema-name = "%", table-name = "%" }
      value          = "dms_change_seq"
      expression     = "$AR_H_CHANGE_SEQ"
      data-type      = { type = "string", length = 50 }
    }
    error_message = "the order of changes"
  }
  assert {
    condition     = jsondecode(output.table_mappings_json).rules[2].value == "dms_stream_position" && jsondecode(output.table_mappings_json).rules[2].expression == "$AR_H_STREAM_POSITION"
    error_message = "stream position"
  }
  assert {
    condition     = jsondecode(output.table_mappings_json).rules[3].before-image-def == { column-prefix = "BI_", column-suffix = "", column-filter = "pk-only" }
    error_message = "before-image of the key"
  }
  assert {
    condition     = aws_dms_replication_config.this[0].table_mappings == output.table_mappings_json
    error_message = "DMS gets them"
  }
}

run "serverless_made" {
  command = apply

  assert {
    condition     = aws_dms_replication_config.this[0].replication_type == "full-load-and-cdc" && !aws_dms_replication_config.this[0].start_replication && output.starter.start
    error_message = "load and changes, started by the trigger"
  }
  assert {
    condition     = aws_dms_replication_config.this[0].compute_config[0].min_capacity_units == 1 && aws_dms_replication_config.this[0].compute_config[0].max_capacity_units == 8 && !aws_dms_replication_config.this[0].compute_config[0].multi_az
    error_message = "capacity"
  }
  assert {
    condition     = toset(aws_dms_replication_config.this[0].compute_config[0].vpc_security_group_ids) == toset(["sg-1"]) && toset(aws_dms_replication_subnet_group.this.subnet_ids) == toset(["subnet-1", "subnet-2"])
    error_message = "network"
  }
  assert {
    condition     = length(aws_dms_replication_instance.this) + length(aws_dms_replication_task.this) == 0 && output.replication_task_arn == null && output.replication_instance_id == null
    error_message = "no instance"
  }
  assert {
    condition     = aws_cloudwatch_log_group.dms[0].name == "dms-serverless-replication-shop-e1" && aws_cloudwatch_log_group.dms[0].retention_in_days == 365
    error_message = "the log group that DMS writes to, with an end"
  }
  assert {
    condition     = aws_dms_replication_config.this[0].resource_identifier == "shop-e1"
    error_message = "the log group's name follows from this"
  }
  assert {
    condition     = output.metric_dimensions == tomap({ ReplicationConfigId = "123456789012:shop-e1" })
    error_message = "metrics: ${jsonencode(output.metric_dimensions)}"
  }
  assert {
    condition     = strcontains(output.commands.resume, "--start-replication-type resume-processing")
    error_message = output.commands.resume
  }
  assert {
    condition     = output.commands.delete == "aws dms delete-replication-config --region ${local.region} --replication-config-arn ${output.replication_arn}"
    error_message = output.commands.delete
  }
}
