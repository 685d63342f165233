# What cannot work, or would lose data, is refused at plan: bucket, capacity, load, network.

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

run "prefix_with_slash" {
  command = plan
  variables {
    bronze = { bucket = "acme-bronze", prefix = "/dms/shop" }
  }
  expect_failures = [var.bronze]
}

run "prefix_of_another_pipeline" {
  command = plan
  variables {
    bronze = { bucket = "acme-bronze", prefix = "dms/billing" }
  }
  expect_failures = [var.bronze]
}

run "expected_owner" {
  command = plan
  variables {
    bronze = { bucket = "acme-bronze", prefix = "dms/shop", expected_owner = "acme" }
  }
  expect_failures = [var.bronze]
}

run "interval" {
  command = plan
  variables {
    cdc_max_batch_interval_seconds = 0
  }
  expect_failures = [var.cdc_max_batch_interval_seconds]
}

run "size" {
  command = plan
  variables {
    cdc_min_file_size_kb = 0
  }
  expect_failures = [var.cdc_min_file_size_kb]
}

run "mode" {
  command = plan
  variables {
    mode = "managed"
  }
  expect_failures = [var.mode]
}

run "min_capacity" {
  command = plan
  variables {
    min_capacity_units = 3
  }
  expect_failures = [var.min_capacity_units]
}

run "max_capacity" {
  command = plan
  variables {
    max_capacity_units = 10
  }
  expect_failures = [var.max_capacity_units]
}

run "less_than_the_least_capacity" {
  command = plan
  variables {
    min_capacity_units = 8
    max_capacity_units = 4
  }
  expect_failures = [var.max_capacity_units]
}

run "instance_class" {
  command = plan
  variables {
    instance_class = "t3.medium"
  }
  expect_failures = [var.instance_class]
}

run "storage" {
  command = plan
  variables {
    allocated_storage_gb = 1
  }
  expect_failures = [var.allocated_storage_gb]
}

run "old_engine_version" {
  command = plan
  variables {
    engine_version = "3.4.7"
  }
  expect_failures = [var.engine_version]
}

run "lob_size" {
  command = plan
  variables {
    lob_max_size_kb = 0
  }
  expect_failures = [var.lob_max_size_kb]
}

run "subtasks" {
  command = plan
  variables {
    max_full_load_subtasks = 50
  }
  expect_failures = [var.max_full_load_subtasks]
}

run "policy_that_loses_rows" {
  command = plan
  variables {
    data_error_policy = "LOG_ERROR"
  }
  expect_failures = [var.data_error_policy]
}

run "tuning" {
  command = plan
  variables {
    change_processing_tuning = { BatchApplyTimeoutMin = 1 }
  }
  expect_failures = [var.change_processing_tuning]
}

run "one_subnet" {
  command = plan
  variables {
    subnet_ids = ["subnet-1"]
  }
  expect_failures = [var.subnet_ids]
}

run "no_security_group" {
  command = plan
  variables {
    security_group_ids = []
  }
  expect_failures = [var.security_group_ids]
}

run "retention" {
  command = plan
  variables {
    log_retention_days = 42
  }
  expect_failures = [var.log_retention_days]
}
