# Each run breaks one rule of every variable it names: a start of the provider costs a second.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

variables {
  name = "shop"
  job = {
    script_uri     = "s3://shop-artifacts/shop/code/merge-1.py"
    zip_uris       = ["s3://shop-artifacts/shop/code/job-1.zip"]
    config_uri     = "s3://shop-artifacts/shop/config.json"
    config_sha256  = "0"
    spark_settings = {}
    policy_json    = "{}"
  }
  python    = { archive_s3_uri = "s3://acme-artifacts/python-1.tar.gz" }
  artifacts = { bucket = "shop-artifacts" }
}

run "no_python" {
  command = plan
  variables {
    python = {}
  }
  expect_failures = [var.python]
}

run "python_that_is_not_there" {
  command = plan
  variables {
    name                         = "Shop"
    python                       = { archive_path = "nowhere.tar.gz" }
    watch                        = { interval_seconds = 0 }
    release_label                = "emr-7.11.0"
    driver                       = { cpu = 3 }
    executor                     = { min = 0 }
    max_failed_attempts_per_hour = 0
    spark_conf                   = { "spark.driver.memory" = "1g" }
    network                      = { subnet_ids = [], security_group_ids = ["sg-1"] }
    starter_zip_path             = "nowhere.zip"
    alarms                       = { create = true }
    log_retention_days           = 2
  }
  expect_failures = [
    var.name, var.python, var.watch, var.release_label, var.driver, var.executor, var.max_failed_attempts_per_hour, var.spark_conf, var.network, var.starter_zip_path, var.alarms,
    var.log_retention_days,
  ]
}

run "two_pythons_and_other_limits" {
  command = plan
  variables {
    python     = { archive_path = "main.tf", archive_s3_uri = "s3://acme-artifacts/python-1.tar.gz" }
    executor   = { cpu = 16, memory_gb = 121 }
    driver     = { cpu = 4, memory_gb = 4 }
    spark_conf = { "executor.memory" = "1g" }
  }
  expect_failures = [var.python, var.executor, var.driver, var.spark_conf]
}

run "python_in_another_form" {
  command = plan
  variables {
    python           = { archive_s3_uri = "s3://acme-artifacts/python.zip" }
    spark_conf       = { "spark.sql.catalog.lake.warehouse" = "s3://elsewhere" }
    initial_capacity = { executors = 9 }
  }
  expect_failures = [var.python, var.spark_conf, var.initial_capacity]
}

run "more_settings_than_an_event_holds" {
  command = plan
  variables {
    spark_conf = { "spark.executor.extraJavaOptions" = join("", [for n in range(900) : "-Dnumber=1"]) }
  }
  expect_failures = [aws_cloudwatch_event_target.starter]
}
