# A replication that runs is never pointed elsewhere; a new epoch is how to load again.

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

run "first" {
  command = apply
}

run "settings_that_a_running_replication_takes_over" {
  command = apply

  variables {
    cdc_max_batch_interval_seconds = 10
    max_capacity_units             = 16
    tables                         = { "public.orders" = { key = ["order_id"] }, "public.customers" = { key = ["customer_id"] } }
    start                          = false
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.cdc_max_batch_interval == 10 && aws_dms_s3_endpoint.target.endpoint_id == "shop-target-epoch-1"
    error_message = "the same endpoint"
  }
  assert {
    condition     = aws_dms_endpoint.source.endpoint_id == run.first.source_endpoint_id && output.starter.revision != run.first.starter.revision && !output.starter.start
    error_message = "the starter looks after it again"
  }
}

run "a_tag_stops_nothing" {
  command = apply

  variables {
    cdc_max_batch_interval_seconds = 10
    max_capacity_units             = 16
    tables                         = { "public.orders" = { key = ["order_id"] }, "public.customers" = { key = ["customer_id"] } }
    start                          = false
    tags                           = { team = "data" }
  }
  assert {
    condition     = output.starter == run.settings_that_a_running_replication_takes_over.starter && aws_dms_replication_config.this[0].tags.team == "data"
    error_message = "found ${jsonencode(output.starter)}"
  }
}

run "another_secret_makes_another_endpoint_with_a_new_epoch_as_well" {
  command = plan
  variables {
    load_epoch = 2
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop2-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
    }
  }
  assert {
    condition     = aws_dms_endpoint.source.endpoint_id != run.first.source_endpoint_id
    error_message = "the old replication still reads from the endpoint when Terraform changes it: ${aws_dms_endpoint.source.endpoint_id}"
  }
}

run "another_secret_makes_another_endpoint" {
  command = plan
  variables {
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop2-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
    }
  }
  assert {
    condition     = startswith(aws_dms_endpoint.source.endpoint_id, run.first.source_endpoint_id) && aws_dms_endpoint.source.endpoint_id != run.first.source_endpoint_id
    error_message = "AWS modifies none that a running replication reads from: ${aws_dms_endpoint.source.endpoint_id}"
  }
}

run "refuses_what_it_cannot_take_over" {
  command = plan
  variables {
    migration_type = "cdc"
    mode           = "provisioned"
    bronze         = { bucket = "acme-bronze-2", prefix = "bronze/shop", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/bronze" }
    kms_key_arn    = "arn:aws:kms:eu-central-1:123456789012:key/dms"
    source_database = {
      engine     = "postgres"
      database   = "shop2"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
    }
    cdc_start_position = "0/16B3748"
  }
  expect_failures = [aws_dms_s3_endpoint.target]

  assert {
    condition     = [for change in local.epoch_changes : split(" ", change)[0]] == ["bucket", "cdc_start_position", "database", "encryption_mode", "engine", "kms_key_arn", "migration_type", "mode", "prefix", "source_endpoint"]
    error_message = join("\n", local.epoch_changes)
  }
}

run "other_postgres_settings_make_another_endpoint" {
  command = plan
  variables {
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { heartbeat_minutes = 1 }
    }
  }
  assert {
    condition     = aws_dms_endpoint.source.endpoint_id != run.first.source_endpoint_id && aws_dms_endpoint.source.postgres_settings[0].heartbeat_frequency == 1
    error_message = "AWS gets the new settings"
  }
}

run "next_epoch" {
  command = apply

  variables {
    load_epoch     = 2
    mode           = "provisioned"
    migration_type = "full-load-and-cdc"
    bronze         = { bucket = "acme-bronze-2", prefix = "dms/shop", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/bronze" }
    kms_key_arn    = "arn:aws:kms:eu-central-1:123456789012:key/dms"
  }
  assert {
    condition     = aws_dms_endpoint.source.endpoint_id != run.first.source_endpoint_id
    error_message = "the endpoint with the new key is made before the old one goes: it needs another name"
  }
  assert {
    condition     = aws_ssm_parameter.epoch.name == "/dms-iceberg/epoch/shop/last" && aws_ssm_parameter.epoch.value == "2"
    error_message = "what has begun is noted"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.endpoint_id == "shop-target-epoch-2" && aws_dms_s3_endpoint.target.bucket_folder == "dms/shop/epoch-2"
    error_message = "a new endpoint with a new folder"
  }
  assert {
    condition     = aws_dms_replication_task.this[0].replication_task_id == "shop-epoch-2" && output.load_epoch == 2 && output.bronze_prefix == "dms/shop/epoch-2/"
    error_message = "a new task"
  }
}

run "takes_the_key_from_objects" {
  command = plan
  variables {
    load_epoch  = 2
    mode        = "provisioned"
    bronze      = { bucket = "acme-bronze-2", prefix = "dms/shop" }
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/dms"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.encryption_mode == "SSE_S3"
    error_message = "AWS changes this in place"
  }
}

run "refuses_a_lower_epoch" {
  command = plan
  variables {
    load_epoch = 1
  }
  override_data {
    target = data.aws_ssm_parameters_by_path.epoch
    values = { values = ["2"] }
  }
  expect_failures = [aws_dms_s3_endpoint.target]
}

run "refuses_other_postgres_settings_for_a_task" {
  command = plan
  variables {
    load_epoch  = 2
    mode        = "provisioned"
    bronze      = { bucket = "acme-bronze-2", prefix = "dms/shop", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/bronze" }
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/dms"
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { heartbeat_minutes = 1 }
    }
  }
  expect_failures = [aws_dms_s3_endpoint.target]
}
