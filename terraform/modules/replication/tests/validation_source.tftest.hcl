# What cannot work, or would lose data, is refused at plan: name, source, epoch.

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name = "shop"
  source_database = {
    engine     = "aurora-postgresql"
    database   = "shop"
    secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
  }
  tables             = { "public.orders" = { key = ["order_id"] } }
  bronze             = { bucket = "acme-bronze", prefix = "dms/shop" }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
}

run "name_with_capitals" {
  command = plan
  variables {
    name = "Shop"
  }
  expect_failures = [var.name]
}

run "name_with_a_double_hyphen" {
  command = plan
  variables {
    name   = "shop--eu"
    bronze = { bucket = "acme-bronze", prefix = "dms/shop--eu" }
  }
  expect_failures = [var.name]
}

run "name_too_long" {
  command = plan
  variables {
    name   = "a-very-long-pipeline-name-indeed"
    bronze = { bucket = "acme-bronze", prefix = "dms/a-very-long-pipeline-name-indeed" }
  }
  expect_failures = [var.name]
}

run "engine" {
  command = plan
  variables {
    source_database = {
      engine     = "oracle"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    }
  }
  expect_failures = [var.source_database]
}

run "postgres_without_database" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    }
  }
  expect_failures = [var.source_database]
}

run "secret_that_is_no_arn" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "shop/dms"
    }
  }
  expect_failures = [var.source_database]
}

run "tls_mode" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "prefer" }
    }
  }
  expect_failures = [var.source_database]
}

run "tls_require_for_mysql" {
  command = plan
  variables {
    source_database = {
      engine     = "mysql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "require" }
    }
  }
  expect_failures = [var.source_database]
}

run "mysql_without_certificate" {
  command = plan
  variables {
    source_database = {
      engine     = "mysql"
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
      postgres   = { slot_name = "shop" }
    }
  }
  expect_failures = [var.source_database]
}

run "migration_type" {
  command = plan
  variables {
    migration_type = "cdc-only"
  }
  expect_failures = [var.migration_type]
}

run "load_epoch_zero" {
  command = plan
  variables {
    load_epoch = 0
  }
  expect_failures = [var.load_epoch]
}

run "load_epoch_fraction" {
  command = plan
  variables {
    load_epoch = 1.5
  }
  expect_failures = [var.load_epoch]
}

run "start_position_of_a_full_load" {
  command = plan
  variables {
    mode               = "provisioned"
    cdc_start_position = "0/16B3748"
  }
  expect_failures = [var.cdc_start_position]
}

run "start_position_serverless" {
  command = plan
  variables {
    migration_type     = "cdc"
    cdc_start_position = "0/16B3748"
  }
  expect_failures = [var.cdc_start_position]
}
