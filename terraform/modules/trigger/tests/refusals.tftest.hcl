# Each run breaks one rule of every variable it names: a start of the provider costs a second.
mock_provider "aws" {}

variables {
  name   = "shop"
  job    = { name = "shop-merge", arn = "arn:aws:glue:eu-central-1:123456789012:job/shop-merge", config_uri = "s3://shop-artifacts/shop/config-0.json" }
  bronze = { bucket = "shop-bronze", folder = "dms/shop/epoch-1/" }
}

run "first_rules" {
  command = plan
  variables {
    name                    = "Shop"
    region_suffix           = "eu-west-1"
    schedule                = "every hour"
    batching_window_seconds = 0
    bronze                  = { bucket = "shop-bronze", folder = "dms/shop" }
    notification            = "sns"
    package                 = { zip_path = "no/such.zip" }
    log_retention_days      = 42
  }
  expect_failures = [var.name, var.region_suffix, var.schedule, var.batching_window_seconds, var.bronze, var.notification, var.package, var.log_retention_days]
}

run "second_rules" {
  command = plan
  variables {
    batching_window_seconds = 0
    type                    = "schedule" # without one
    package                 = { zip_s3_uri = "acme-code/trigger.zip" }
  }
  expect_failures = [var.batching_window_seconds, var.schedule, var.package]
}

run "continuous_without_a_clock" {
  command = plan
  variables {
    type     = "continuous"
    schedule = "off"
    watch    = { queue = false }
  }
  expect_failures = [var.schedule]
}

run "type" {
  command = plan
  variables { type = "events" }
  expect_failures = [var.type]
}

run "replication_that_is_none" {
  command = plan
  variables { replication = { arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:shop" } }
  expect_failures = [var.replication]
}

run "start_into_a_folder_without_an_epoch" {
  command = plan
  variables {
    bronze      = { bucket = "shop-bronze", folder = "dms/shop/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop", start = true }
  }
  expect_failures = [var.replication]
}

run "watch_whose_role_may_not_read_its_queue" {
  command = plan
  variables { type = "continuous" }
  expect_failures = [var.job]
}

run "watch_beyond_glues_longest_run" {
  command = plan
  variables {
    type  = "continuous"
    watch = { hours = 200, queue = false }
  }
  expect_failures = [var.watch]
}

run "watch_without_a_pause" {
  command = plan
  variables { watch = { interval_seconds = 0 } }
  expect_failures = [var.watch]
}

run "nobody_merges" {
  command = plan
  variables { starts_runs = false }
  expect_failures = [var.starts_runs]
}

run "start_of_a_task" {
  command = plan
  variables {
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:task:SHOP", start = true }
  }
  expect_failures = [var.replication]
}
