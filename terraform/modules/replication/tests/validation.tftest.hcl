# What cannot work, or would lose data, is refused at plan. A run costs a second, so each breaks a rule of several
# inputs; but an input that looks at another one is judged only where that one is right.

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

run "engine_and_many_others" {
  command = plan
  variables {
    source_database = {
      engine     = "oracle"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    }
    bronze                         = { bucket = "acme-bronze", prefix = "dms/billing" }
    cdc_max_batch_interval_seconds = 0
    cdc_min_file_size_kb           = 0
    before_images                  = "non-lob"
    load_epoch                     = 0
    min_capacity_units             = 3
    instance_class                 = "t3.medium"
    allocated_storage_gb           = 1
    engine_version                 = "3.4.7"
    lob_max_size_kb                = 0
    max_full_load_subtasks         = 50
    data_error_policy              = "LOG_ERROR"
    change_processing_tuning       = { BatchApplyTimeoutMin = 1 }
    subnet_ids                     = ["subnet-1"]
    security_group_ids             = []
    log_retention_days             = 42
  }
  expect_failures = [
    var.source_database,
    var.bronze,
    var.cdc_max_batch_interval_seconds,
    var.cdc_min_file_size_kb,
    var.before_images,
    var.load_epoch,
    var.min_capacity_units,
    var.instance_class,
    var.allocated_storage_gb,
    var.engine_version,
    var.lob_max_size_kb,
    var.max_full_load_subtasks,
    var.data_error_policy,
    var.change_processing_tuning,
    var.subnet_ids,
    var.security_group_ids,
    var.log_retention_days,
  ]
}

run "no_database_and_the_start_of_a_full_load" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
    }
    bronze             = { bucket = "acme-bronze", prefix = "/dms/shop" }
    load_epoch         = 1.5
    max_capacity_units = 10
    mode               = "provisioned"
    cdc_start_position = "0/16B3748"
  }
  expect_failures = [var.source_database, var.bronze, var.load_epoch, var.max_capacity_units, var.cdc_start_position]
}

run "no_arn_and_a_start_without_a_task" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "shop/dms"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
    }
    min_capacity_units = 8
    max_capacity_units = 4
    bronze             = { bucket = "acme-bronze", prefix = "dms/shop", expected_owner = "acme" }
    migration_type     = "cdc"
    cdc_start_position = "0/16B3748"
  }
  expect_failures = [var.source_database, var.max_capacity_units, var.bronze, var.cdc_start_position]
}

run "tls_mode_and_a_name_with_capitals" {
  command = plan
  variables {
    name          = "Shop"
    region_suffix = "eu-west-1"
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "prefer" }
    }
  }
  expect_failures = [var.source_database, var.name, var.region_suffix]
}

run "tls_require_for_mysql_and_a_double_hyphen" {
  command = plan
  variables {
    name = "shop--eu"
    source_database = {
      engine     = "mysql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "require" }
    }
  }
  expect_failures = [var.source_database, var.name]
}

run "mysql_without_certificate_and_a_name_too_long" {
  command = plan
  variables {
    name = "a-very-long-pipeline-name-indeed"
    source_database = {
      engine     = "mysql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    }
  }
  expect_failures = [var.source_database, var.name]
}

run "postgres_without_certificate" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    }
  }
  expect_failures = [var.source_database]
}

run "verify_full_without_certificate" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "verify-full" }
    }
  }
  expect_failures = [var.source_database]
}

run "two_certificates" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "verify-ca", ca_certificate_pem = "PEM", certificate_arn = "arn:aws:dms:eu-central-1:123456789012:cert:OWN" }
    }
  }
  expect_failures = [var.source_database]
}

run "plugin" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { plugin = "wal2json" }
    }
  }
  expect_failures = [var.source_database]
}

run "heartbeat" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { heartbeat_minutes = 0.5 }
    }
  }
  expect_failures = [var.source_database]
}

run "slot_with_a_full_load" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { slot_name = "shop" }
    }
  }
  expect_failures = [var.source_database]
}

run "migration_type_and_mode" {
  command = plan
  variables {
    migration_type = "cdc-only"
    mode           = "managed"
  }
  expect_failures = [var.migration_type, var.mode]
}

run "names_instead_of_arns_of_roles" {
  command = plan
  variables {
    account_role_arns = { dms-vpc-role = "dms-vpc-role" }
  }
  expect_failures = [aws_dms_replication_subnet_group.this]
}
