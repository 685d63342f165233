mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com", reverse_dns_prefix = "com.amazonaws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_data "aws_vpc" {
    defaults = { cidr_block = "10.0.0.0/16", enable_dns_support = true, enable_dns_hostnames = true }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name   = "shop"
  tables = { "public.orders" = { key = ["order_id"] } }
  source_database = {
    engine     = "postgres"
    database   = "shop"
    secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf"
    identifier = "shop-db"
    tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
  }
  network = {
    vpc_id                      = "vpc-1"
    subnet_ids                  = ["subnet-1", "subnet-2"]
    route_table_ids             = ["rtb-1"]
    database_security_group_ids = ["sg-1"]
  }
  merge_job = { package = { zip_path = "main.tf" } } # any file: what is in it does not matter here
}

run "few_inputs" {
  command = plan

  assert {
    condition = jsondecode(output.config_json) == {
      version    = 1
      pipeline   = "shop"
      bronze     = { uri = "s3://shop-bronze-123456789012/dms/shop/epoch-1/" }
      catalog    = { name = "lake", type = "glue", warehouse = "s3://shop-silver-123456789012" }
      quarantine = { namespace = "shop_quarantine" }
      state_uri  = "s3://shop-artifacts-123456789012/shop/"
      tables     = { "public.orders" = { key = ["order_id"], target = "shop.orders" } }
    }
    error_message = "found ${output.config_json}"
  }
  assert {
    condition     = output.targets == { "public.orders" = "shop.orders" } && output.bronze_uri == "s3://shop-bronze-123456789012/dms/shop/epoch-1/"
    error_message = "the tables and where they come from"
  }
  assert {
    condition     = length(jsondecode(output.replication.table_mappings_json).rules) > 0
    error_message = "DMS has rules"
  }
  assert {
    condition     = aws_s3_object.destroy_guard[0].bucket == "shop-artifacts-123456789012" && aws_s3_object.destroy_guard[0].key == "shop/destroy-guard.txt"
    error_message = "destroy begins with the object that the bucket's policy keeps"
  }
  assert {
    condition     = output.trigger.schedule == "rate(6 hours)" && output.trigger.bucket_notification.Prefix == "dms/shop/epoch-1/"
    error_message = "runs start with files"
  }
  assert {
    condition     = output.merge_job.maintenance_name == "shop-maintain"
    error_message = "somebody compacts the tables, though nobody has asked for it"
  }
  assert {
    condition     = sort(keys(output.alarms.names)) == tolist(["dead-letters", "job-failed", "load-error", "log-silent", "no-run", "replication-capacity", "rows-quarantined", "slot-lag", "source-latency", "source-storage", "table-failed", "table-suspended", "target-latency", "trigger-errors", "trigger-needs-help", "value-truncated"])
    error_message = "found ${join(", ", keys(output.alarms.names))}"
  }
}

run "a_database_outside_of_rds" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf"
      identifier = null
      tls        = { mode = "require" }
      postgres   = { artifacts_schema = "public", capture_ddls = false }
    }
  }
  assert {
    condition     = contains(keys(output.alarms.names), "source-latency") && length(setintersection(keys(output.alarms.names), ["slot-lag", "source-storage"])) == 0
    error_message = "found ${join(", ", keys(output.alarms.names))}"
  }
}

run "everything" {
  command = plan
  variables {
    name = "shop"
    tables = {
      "public.orders" = {
        key          = ["order_id"]
        partition_by = ["bucket(16, order_id)"]
        columns      = [{ name = "email", mask = "sha256", mask_salt = "secret:arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf" }]
        rules        = [{ name = "amount_not_negative", expr = "amount >= 0" }]
        load         = { parallel = { columns = ["order_id"], boundaries = [["1000000"]] } }
      }
      "archive.orders" = { key = ["order_id"], target = "shop_archive.orders" }
    }
    table_defaults = { schema_changes = "strict" }
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf"
      port       = 5433
      identifier = "shop-cluster"
      tls        = { mode = "require" }
      postgres   = { heartbeat_minutes = 1 }
    }
    load_epoch       = 4
    replication      = { mode = "provisioned", instance_class = "dms.r6i.large", cdc_max_batch_interval_seconds = 10, before_images = "all", start = false }
    bronze           = { prefix = "raw/shop" }
    bronze_retention = { transition_after_days = 60, changes_expire_after_days = 400, past_epochs_expire_after_days = 30 }
    bronze_tables    = { "public.orders" = { columns = [{ name = "order_id", type = "bigint" }], key = ["order_id"] } }
    encryption       = { encrypt_logs = false }
    versioning       = { silver = 0 }
    catalog          = { id = "210987654321", name = "ice", properties = { "glue.skip-name-validation" = true }, silver_database = "silver", quarantine_database = "rejected" }
    lake_formation   = { enabled = true, readers = { analysts = "arn:aws:iam::123456789012:role/analysts" } }
    merge_job        = { package = { zip_path = "main.tf" }, worker_type = "G.2X", parallelism = 8, batch = { max_bytes = 268435456 }, timestamps = "ntz", security_configuration = { create = false } }
    trigger          = { type = "continuous", watch = { hours = 6 } }
    alarms           = { emails = ["ops@example.org"], disabled = ["job-failed"], thresholds = { quarantined_rows = 10 } }
    tags             = { team = "data" }
  }
  assert {
    condition = { for key, value in jsondecode(output.config_json) : key => jsonencode(value) if key != "tables" } == {
      version     = "1"
      pipeline    = jsonencode("shop")
      bronze      = jsonencode({ uri = "s3://shop-bronze-123456789012/raw/shop/epoch-4/" })
      catalog     = jsonencode({ name = "ice", type = "glue", warehouse = "s3://shop-silver-123456789012", properties = { "glue.id" = "210987654321", "glue.skip-name-validation" = "true" } })
      defaults    = jsonencode({ schema_changes = "strict" })
      quarantine  = jsonencode({ namespace = "rejected" })
      state_uri   = jsonencode("s3://shop-artifacts-123456789012/shop/")
      parallelism = "8"
      batch       = jsonencode({ max_bytes = 268435456 })
      timestamps  = jsonencode("ntz")
    }
    error_message = "found ${output.config_json}"
  }
  assert {
    condition     = sort(keys(output.databases)) == tolist(["rejected", "shop_archive", "silver"])
    error_message = "every target's database is made"
  }
  assert {
    condition     = output.trigger.schedule == "rate(1 minute)" && output.trigger.news_queue != null && contains(keys(output.alarms.names), "slot-lag") && !contains(keys(output.alarms.names), "job-failed")
    error_message = "trigger and alarms as asked for"
  }
  assert {
    condition     = anytrue([for rule in jsondecode(output.replication.table_mappings_json).rules : rule.rule-type == "table-settings"])
    error_message = "DMS is told how to load"
  }
  assert {
    condition     = anytrue([for rule in jsondecode(output.replication.table_mappings_json).rules : try(rule.before-image-def.column-filter, "") == "all"])
    error_message = "before-images of all columns"
  }
  assert {
    condition     = output.bronze_tables == ["shop_bronze.public_orders", "shop_bronze.public_orders_changes"]
    error_message = "raw changes can be queried"
  }
}

run "a_second_region" {
  command = plan
  variables {
    region_suffix     = "use1"
    buckets           = { artifacts = { create = false, name = "acme-artifacts" } }
    account_role_arns = { dms-vpc-role = "arn:aws:iam::123456789012:role/dms-vpc-role" }
  }
  assert {
    condition     = output.buckets.silver.name == "shop-silver-123456789012-use1" && output.merge_job.name == "shop-merge"
    error_message = "names that all Regions share have the suffix, and no others"
  }
  assert {
    condition     = output.targets == { "public.orders" = "shop.orders" } && sort(keys(output.databases)) == tolist(["shop", "shop_quarantine"])
    error_message = "databases are named as in the first region"
  }
  assert {
    condition     = length(aws_s3_object.destroy_guard) == 0
    error_message = "the policy of an existing bucket does not know of the guard"
  }
}

run "somebody_elses_dms" {
  command = plan
  variables {
    source_database = null
    network         = null
    bronze          = { prefix = "legacy", format = "csv", csv = { header = true }, change = { op_column = "action", sequence_column = null, op_words = { INSERT = "I", UPDATE = "U", DELETE = "D" } } }
    buckets         = { bronze = { create = false, name = "acme-bronze", owner = "210987654321" } }
    trigger         = { notification = "eventbridge" }
    alarms          = { enabled = false }
    encryption      = { mode = "SSE_S3" }
  }
  assert {
    condition     = jsonencode(jsondecode(output.config_json).bronze) == jsonencode({ uri = "s3://acme-bronze/legacy/", format = "csv", csv = { header = true }, change = { op_column = "action", sequence_column = null, op_words = { INSERT = "I", UPDATE = "U", DELETE = "D" } } })
    error_message = "found ${output.config_json}"
  }
  assert {
    condition     = output.replication == null && output.alarms == null && output.kms_key_arn == null
    error_message = "what is off is not there"
  }
}

run "a_schedule_hears_of_no_files_of_an_existing_bucket" {
  command = plan
  variables {
    trigger         = { type = "schedule", schedule = "cron(0 5 * * ? *)" }
    source_database = null
    network         = null
    buckets         = { bronze = { create = false, name = "acme-bronze", owner = "210987654321" } }
    alarms          = { thresholds = { hours_without_run = 30 } }
  }
  assert {
    condition     = output.trigger.schedule == "cron(0 5 * * ? *)" && output.trigger.news_queue == null
    error_message = "no queue hears of files, so notification need not be said"
  }
}

run "quiet_nights" {
  command = plan
  variables { trigger = { type = "schedule", schedule = "cron(0 5 * * ? *)" } }
  assert {
    condition     = output.trigger.schedule == "cron(0 5 * * ? *)"
    error_message = "once a day"
  }
}

run "hours_without_a_run_follow_from_the_clock" {
  command = plan
  variables { trigger = { type = "schedule", schedule = "rate(2 days)" } }
  assert {
    condition     = local.no_run == 96
    error_message = "found ${local.no_run}"
  }
}

run "hours_without_a_run_as_given" {
  command = plan
  variables {
    trigger = { schedule = "off" }
    alarms  = { thresholds = { hours_without_run = 100 } }
  }
  assert {
    condition     = local.no_run == null && contains(keys(output.alarms.names), "no-run")
    error_message = "nothing to derive it from, and it is given"
  }
}

run "hours_without_a_run_that_nobody_can_tell" {
  command = plan
  variables { trigger = { schedule = "off" } }
  expect_failures = [output.alarms]
}

run "watch_longer_than_the_jobs_timeout" {
  command = plan
  variables { trigger = { type = "continuous", watch = { hours = 9 } } }
  expect_failures = [output.alarms]
}

run "no_maintenance_where_it_is_not_wanted" {
  command = plan
  variables {
    merge_job = { package = { zip_path = "main.tf" }, maintenance_schedule = null }
  }
  assert {
    condition     = output.merge_job.maintenance_name == null
    error_message = "null is for never"
  }
}

run "a_watch_on_emr_serverless" {
  command = plan
  variables {
    runtime        = "emr-serverless"
    emr_serverless = { python = { archive_path = "main.tf" }, driver = { cpu = 1, memory_gb = 4 } }
    alarms         = { disabled = ["watch-failed", "job-failed"] }
    lake_formation = { enabled = true }
  }
  assert {
    condition     = output.watch.application.name == "shop-watch" && output.trigger.schedule == "rate(15 minutes)" && output.trigger.news_queue == null
    error_message = "no queue: without a VPC the watch does not reach SQS"
  }
  assert {
    condition     = length(setintersection(keys(output.alarms.names), ["watch-not-running", "watch-starter-errors", "table-failed"])) == 3 && length(setintersection(keys(output.alarms.names), ["watch-failed", "job-failed", "no-run"])) == 0
    error_message = "found ${join(", ", keys(output.alarms.names))}"
  }
}

run "a_watch_in_a_vpc_hears_of_files" {
  command = plan
  variables {
    runtime        = "emr-serverless"
    emr_serverless = { python = { archive_path = "main.tf" }, network = { subnet_ids = ["subnet-1", "subnet-2"], security_group_ids = ["sg-1"] } }
    trigger        = { schedule = "rate(1 hour)" }
    alarms         = { enabled = false }
  }
  assert {
    condition     = output.trigger.news_queue != null && output.trigger.schedule == "rate(1 hour)" && output.alarms == null
    error_message = "it reaches SQS"
  }
}

run "glue_has_no_watch" {
  command = plan
  assert {
    condition     = output.watch == null && output.trigger.schedule == "rate(6 hours)"
    error_message = "as before there was a choice"
  }
}

run "the_job_reaches_the_source" {
  command = plan
  variables {
    merge_job = {
      package      = { zip_path = "main.tf" }
      network      = { subnet_id = "subnet-1", availability_zone = "eu-central-1a", security_group_ids = ["sg-job"] }
      reach_source = true
    }
  }
  assert {
    condition     = output.merge_job.name == "shop-merge"
    error_message = "with the groups and the secret of the source, which the modules behind test"
  }
}
