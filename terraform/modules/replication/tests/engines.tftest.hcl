# Engines other than Aurora PostgreSQL, and TLS.

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

run "mariadb_with_a_certificate_that_exists" {
  command = plan

  variables {
    source_database = {
      engine     = "mariadb"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "verify-full", certificate_arn = "arn:aws:dms:eu-central-1:123456789012:cert:OWN" }
    }
    tables = { "shop.orders" = { key = ["order_id"] } }
  }
  assert {
    condition     = aws_dms_endpoint.source.engine_name == "mariadb" && aws_dms_endpoint.source.certificate_arn == "arn:aws:dms:eu-central-1:123456789012:cert:OWN" && length(aws_dms_certificate.this) == 0
    error_message = "own certificate"
  }
}

run "changes_only_from_a_slot" {
  command = plan

  variables {
    mode               = "provisioned"
    migration_type     = "cdc"
    cdc_start_position = "0/16B3748"
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      postgres   = { plugin = "test_decoding", slot_name = "shop", heartbeat_minutes = 0, artifacts_schema = "dms" }
    }
  }
  assert {
    condition     = aws_dms_replication_task.this[0].migration_type == "cdc" && aws_dms_replication_task.this[0].cdc_start_position == "0/16B3748"
    error_message = "start"
  }
  assert {
    condition     = aws_dms_endpoint.source.postgres_settings[0].slot_name == "shop" && aws_dms_endpoint.source.postgres_settings[0].plugin_name == "test_decoding" && !aws_dms_endpoint.source.postgres_settings[0].heartbeat_enable && aws_dms_endpoint.source.postgres_settings[0].ddl_artifacts_schema == "dms"
    error_message = "settings of PostgreSQL"
  }
}

run "postgres_as_former_versions_had_it" {
  command = plan

  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "require" }
      postgres   = { artifacts_schema = "public" }
    }
  }
  assert {
    condition     = aws_dms_endpoint.source.ssl_mode == "require" && length(aws_dms_certificate.this) == 0
    error_message = "encrypted, without a certificate"
  }
  assert {
    # A provisioned task cannot get another endpoint within its epoch: this name must stay.
    condition     = aws_dms_endpoint.source.endpoint_id == "shop-source-850a0b13" && aws_dms_endpoint.source.postgres_settings[0].ddl_artifacts_schema == "public"
    error_message = "the same endpoint: ${aws_dms_endpoint.source.endpoint_id}"
  }
}

run "postgres_without_captured_ddl" {
  command = plan

  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "verify-ca", certificate_arn = "arn:aws:dms:eu-central-1:123456789012:cert:OWN" }
      postgres   = { capture_ddls = false, artifacts_schema = "public" }
    }
  }
  assert {
    condition     = aws_dms_endpoint.source.postgres_settings[0].capture_ddls == false && aws_dms_endpoint.source.endpoint_id != "shop-source-850a0b13"
    error_message = "another setting makes another endpoint"
  }
  assert {
    condition     = aws_dms_endpoint.source.ssl_mode == "verify-ca" && aws_dms_endpoint.source.certificate_arn == "arn:aws:dms:eu-central-1:123456789012:cert:OWN"
    error_message = "what is given"
  }
}

run "mysql_with_verified_tls" {
  command = apply

  variables {
    source_database = {
      engine             = "aurora-mysql"
      database           = "shop"
      secret_arn         = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      secret_kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/secret"
      tls                = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
      mysql              = { server_timezone = "Europe/Paris" }
    }
    tables = { "shop.orders" = { key = ["order_id"] } }
  }
  assert {
    condition     = aws_dms_endpoint.source.engine_name == "aurora" && aws_dms_endpoint.source.database_name == null && length(aws_dms_endpoint.source.postgres_settings) == 0
    error_message = "DMS calls Aurora MySQL aurora"
  }
  assert {
    condition     = aws_dms_endpoint.source.ssl_mode == "verify-ca" && aws_dms_endpoint.source.certificate_arn == "arn:aws:dms:eu-central-1:123456789012:cert:MOCK"
    error_message = "TLS verified by default"
  }
  assert {
    condition     = startswith(aws_dms_certificate.this[0].certificate_id, "shop-ca-")
    error_message = "certificate"
  }
  assert {
    condition     = aws_dms_endpoint.source.extra_connection_attributes == "serverTimezone=Europe/Paris"
    error_message = "time zone of the server"
  }
  assert {
    condition     = jsondecode(output.task_settings_json).TargetMetadata.LobMaxSize == 1024 && jsondecode(output.task_settings_json).FullLoadSettings.CommitRate == 615
    error_message = "MySQL cuts LOBs silently, so the limit is high, and commits are small enough for the memory"
  }
  assert {
    condition     = jsondecode(aws_iam_role_policy.secret.policy).Statement[1].Resource == "arn:aws:kms:eu-central-1:123456789012:key/secret"
    error_message = "the secret's own key"
  }
}
