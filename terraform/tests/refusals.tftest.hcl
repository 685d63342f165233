# Each run breaks one rule of every variable it names: a start of the provider costs a second. Types and values are refused by the modules behind;
# their own tests show it.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
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
    identifier = null
    tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
  }
  network   = { vpc_id = "vpc-1", subnet_ids = ["subnet-1", "subnet-2"], route_table_ids = ["rtb-1"], database_security_group_ids = ["sg-1"] }
  merge_job = { package = { zip_path = "main.tf" } }
}

run "misspelled_keys" {
  command = plan
  variables {
    network              = { vpc = "vpc-1", vpc_id = "vpc-1", subnet_ids = [] }
    replication          = { instance_clas = "dms.t3.medium" }
    bronze_retention     = { expire_after_days = 30 }
    bronze_tables        = { "public.orders" = { colums = [] } }
    encryption           = { kms = true }
    versioning           = { bronce = 1 }
    access_logs          = { bucket = "logs", prefx = "shop/" }
    catalog              = { database = "silver" }
    lake_formation       = { reader = {} }
    merge_job            = { worker_typ = "G.2X" }
    trigger              = { typ = "event" }
    alarms               = { email = "ops@example.org" }
    permissions_boundary = "boundary"
  }
  expect_failures = [
    var.network, var.replication, var.bronze_retention, var.bronze_tables, var.encryption, var.versioning, var.access_logs, var.catalog, var.lake_formation, var.merge_job, var.trigger, var.alarms,
    var.permissions_boundary,
  ]
}

run "what_others_depend_on" {
  command = plan
  variables {
    name          = "Shop"
    region_suffix = "eu-west-1"
    tables        = {}
    buckets       = { gold = {} }
    merge_job     = { security_configuration = { created = true } }
  }
  expect_failures = [var.name, var.region_suffix, var.tables, var.buckets, var.merge_job]
}

run "misspelled_key_of_the_source" {
  command = plan
  variables {
    source_database = { engine = "postgres", secret = "arn", identifier = null }
    alarms          = { thresholds = { rows = 1 } }
    buckets         = { bronze = { nam = "x" } }
  }
  expect_failures = [var.source_database, var.alarms, var.buckets]
}

run "misspelled_key_in_the_source" {
  command = plan
  variables {
    source_database = { engine = "postgres", database = "shop", secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:x", identifier = null, tls = { verify = true } }
    alarms          = { topic_arn = "arn:aws:sns:eu-central-1:123456789012:ours" } # beside one that is made
    catalog         = { properties = ["x"] }
  }
  expect_failures = [var.source_database, var.alarms, var.catalog]
}

run "folder_with_a_slash_before_it_and_a_job_without_network" {
  command = plan
  variables {
    bronze    = { prefix = "/dms/shop/" }
    merge_job = { package = { zip_path = "main.tf" }, reach_source = true } # from where?
  }
  expect_failures = [var.bronze, var.merge_job]
}

run "misspelled_key_in_the_package" {
  command = plan
  variables {
    merge_job = { package = { zip_path = "main.tf", requirements_zip_path = "main.tf" } }
  }
  expect_failures = [var.merge_job]
}

run "postgres_whose_slot_nobody_would_watch" {
  command = plan
  variables {
    source_database = {
      engine     = "aurora-postgresql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf"
      tls        = { mode = "require" }
    }
  }
  expect_failures = [var.source_database]
}

run "source_without_secret" {
  command = plan
  variables {
    source_database = { engine = "postgres", database = "shop", identifier = null }
  }
  expect_failures = [var.source_database]
}

run "replication_without_what_it_needs" {
  command = plan
  variables {
    network          = null
    bronze           = { format = "csv" } # of somebody else
    bronze_retention = { changes_expire_after_days = 60 }
    tables           = { "public.orders" = { key = ["order_id"], load = { parallel = { type = "partitions-auto" } } } }
  }
  expect_failures = [var.network, var.bronze, var.bronze_retention]
}

run "no_replication" {
  command = plan
  variables {
    source_database  = null
    replication      = { multi_az = true }
    bronze_retention = { changes_expire_after_days = 60 }
    bronze           = { format = "csv" }
    bronze_tables    = { "public.orders" = { columns = [{ name = "id", type = "int" }] } }
    buckets          = { bronze = { create = false, name = "acme-bronze" } }
    trigger          = {} # would take over the notifications of a bucket that is there
  }
  expect_failures = [var.replication, var.bronze_retention, var.bronze_tables, var.trigger]
}

run "load_without_replication" {
  command = plan
  variables {
    source_database = null
    tables          = { "public.orders" = { key = ["order_id"], load = { columns_as_text = ["t"] } } }
    bronze          = { prefx = "x" }
  }
  expect_failures = [var.tables, var.bronze]
}

run "unknown_runtime" {
  command = plan
  variables { runtime = "emr" }
  expect_failures = [var.runtime]
}

run "watch_that_is_not_used" {
  command = plan
  variables { emr_serverless = { pythons = {} } }
  expect_failures = [var.emr_serverless]
}

run "watch_and_runs_by_events" {
  command = plan
  variables {
    runtime        = "emr-serverless"
    emr_serverless = { python = { archive_path = "main.tf" } }
    trigger        = { type = "event" }
  }
  expect_failures = [var.runtime]
}

run "watch_and_a_pause_between_runs" {
  command = plan
  variables {
    runtime        = "emr-serverless"
    emr_serverless = { python = { archive_path = "main.tf" } }
    trigger        = { min_minutes_between_runs = 5 }
  }
  expect_failures = [var.runtime]
}

run "queue_that_the_watch_does_not_reach" {
  command = plan
  variables {
    runtime        = "emr-serverless"
    emr_serverless = { python = { archive_path = "main.tf" } }
    trigger        = { watch = { queue = true } }
  }
  expect_failures = [var.emr_serverless]
}
