# The keys of every input that is an object. An object type would drop a key that it does not know without a word, so that a misspelled one
# would mean its default; so these inputs are of type any, or maps where all their values are of one type. These lists find misspelled keys,
# and the modules behind check types and values. A test compares them with those modules.
locals {
  allowed = {
    source_database = ["engine", "database", "port", "identifier", "secret_arn", "secret_kms_key_arn", "tls", "postgres", "mysql"]
    tls             = ["mode", "ca_certificate_pem", "certificate_arn"]
    postgres        = ["plugin", "heartbeat_minutes", "artifacts_schema", "capture_ddls", "execute_timeout_seconds", "slot_name"]
    mysql           = ["server_timezone"]
    network = [
      "vpc_id", "subnet_ids", "security_group_ids", "database_security_group_ids", "database_cidr_blocks", "open_database_security_groups",
      "create_s3_endpoint", "route_table_ids", "create_secrets_manager_endpoint", "secrets_manager_cidr_blocks", "secrets_manager_client_cidr_blocks",
    ]
    replication = [
      "mode", "min_capacity_units", "max_capacity_units", "instance_class", "allocated_storage_gb", "engine_version", "multi_az", "maintenance_window",
      "lob_max_size_kb", "max_full_load_subtasks", "data_error_policy", "change_processing_tuning", "kms_key_arn", "start", "cdc_start_position",
      "cdc_max_batch_interval_seconds", "cdc_min_file_size_kb", "before_images",
    ]
    existing_task  = ["existing_task_arn", "existing_task_id", "existing_target_endpoint_id", "existing_migration_type"]
    bronze         = ["prefix", "format", "csv", "change"]
    access_logs    = ["bucket", "prefix"]
    buckets        = ["bronze", "silver", "quarantine", "artifacts"]
    bucket         = ["create", "name", "owner"]
    encryption     = ["mode", "create_key", "key_arn", "unmasked_key_arn", "encrypt_logs"]
    versioning     = ["bronze", "silver", "quarantine", "artifacts"]
    retention      = ["transition_after_days", "storage_class", "changes_expire_after_days", "past_epochs_expire_after_days"]
    catalog        = ["id", "name", "properties", "create_databases", "silver_database", "quarantine_database"]
    lake_formation = ["enabled", "register_locations", "readers", "quarantine_readers"]
    bronze_table   = ["columns", "key"]
    merge_job = [
      "glue_version", "worker_type", "number_of_workers", "auto_scaling", "execution_class", "timeout_minutes", "max_retries", "arguments", "spark_conf",
      "maintenance_schedule", "network", "package", "security_configuration", "additional_policy_json", "reach_source", "batch", "maintenance", "parallelism",
      "timestamps",
    ]
    emr_serverless = [
      "python", "driver", "executor", "initial_capacity", "release_label", "spark_conf", "max_failed_attempts_per_hour", "network", "start", "starter_zip_path",
    ]
    package = ["zip_path", "requirements_path", "script_path", "zip_s3_uri", "requirements_s3_uri", "script_s3_uri"]
    trigger = ["type", "schedule", "notification", "watch", "batching_window_seconds", "min_minutes_between_runs", "package"]
    alarms  = ["enabled", "emails", "create_topic", "topic_arn", "dashboard", "disabled", "thresholds", "runbook"]
    thresholds = [
      "hours_without_run", "quarantined_rows", "lag_seconds", "source_latency_seconds", "target_latency_seconds", "replication_capacity_percent",
      "slot_lag_bytes", "free_storage_bytes",
    ]
  }
}

# These inputs with all their keys, null where one was left out: what optional() does in an object type.
locals {
  given = {
    source_database = merge({ for key in local.allowed.source_database : key => null }, var.source_database)
    network         = merge({ for key in local.allowed.network : key => null }, var.network)
    replication     = merge({ for key in local.allowed.replication : key => null }, var.replication)
    catalog         = merge({ for key in local.allowed.catalog : key => null }, var.catalog)
    # Null means never.
    merge_job      = merge({ for key in local.allowed.merge_job : key => null }, { maintenance_schedule = "cron(0 3 * * ? *)" }, var.merge_job)
    emr_serverless = merge({ for key in local.allowed.emr_serverless : key => null }, var.emr_serverless)
    trigger        = merge({ for key in local.allowed.trigger : key => null }, var.trigger)
    alarms         = merge({ for key in local.allowed.alarms : key => null }, var.alarms)
  }
}
