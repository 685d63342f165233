# Each run breaks one rule of every variable it names: a start of the provider costs a second.
mock_provider "aws" {}

variables {
  name = "shop"
  job  = { name = "shop-merge", log_group = "/aws-glue/jobs/shop-merge/output" }
}

run "first_rules" {
  command = plan
  variables {
    name            = "Shop"
    topic           = { create = false } # which one?
    disabled_alarms = ["job-fail"]
    thresholds      = { hours_without_run = 0 }
    runbook         = "docs/operations.md#alarms" # the anchor is added
    source_database = { engine = "oracle", identifier = "shop-db" }
  }
  expect_failures = [var.name, var.topic, var.disabled_alarms, var.thresholds, var.runbook, var.source_database]
}

run "second_rules" {
  command = plan
  variables {
    topic           = { create = false, arn = "arn:aws:sns:eu-central-1:123456789012:ours", emails = ["ops@example.org"] }
    thresholds      = { quarantined_rows = -1, replication_capacity_percent = 100 }
    source_database = { engine = "postgres", identifier = null }
  }
  expect_failures = [var.topic, var.thresholds, var.source_database]
}

run "third_rules" {
  command = plan
  variables { topic = { emails = ["ops"] } }
  expect_failures = [var.topic]
}
