# Each run breaks one rule of every variable it names: a start of the provider costs a second.
mock_provider "aws" {}

variables {
  name        = "shop"
  config_json = "{\"catalog\":{\"type\":\"glue\",\"warehouse\":\"s3://shop-silver/\"}}"
  buckets = {
    bronze     = { name = "shop-bronze", arn = "arn:aws:s3:::shop-bronze" }
    silver     = { name = "shop-silver", arn = "arn:aws:s3:::shop-silver" }
    quarantine = { name = "shop-quarantine", arn = "arn:aws:s3:::shop-quarantine" }
    artifacts  = { name = "shop-artifacts", arn = "arn:aws:s3:::shop-artifacts" }
  }
  bronze_prefix = "dms/shop/"
  databases     = { silver = ["shop"], quarantine = "shop_quarantine" }
  package       = { zip_path = "main.tf" }
}

run "first_rules" {
  command = plan
  variables {
    name                   = "Shop"
    region_suffix          = "eu-west-1"
    config_json            = "tables: {}"
    bronze_prefix          = "dms/shop"
    package                = { zip_path = "no/such.zip" }
    glue_version           = "5.0"
    number_of_workers      = 1
    execution_class        = "SPOT"
    timeout_minutes        = 0
    max_retries            = -1
    arguments              = { "--config" = "s3://other/config.json" }
    spark_conf             = { "spark.sql.extensions" = "none" }
    maintenance_schedule   = "rate(1 day)" # Glue has no such schedules
    log_retention_days     = 42
    security_configuration = { create = true, name = "both" }
    network                = { subnet_id = "subnet-1", availability_zone = "eu-central-1a", security_group_ids = [] }
  }
  expect_failures = [
    var.name, var.region_suffix, var.config_json, var.bronze_prefix, var.package, var.glue_version, var.number_of_workers, var.execution_class, var.timeout_minutes,
    var.max_retries, var.arguments, var.spark_conf, var.maintenance_schedule, var.log_retention_days, var.security_configuration, var.network,
  ]
}

run "second_rules" {
  command = plan
  variables {
    package         = { zip_path = "main.tf", requirements_path = "no/such.zip" }
    execution_class = "FLEX" # has no such workers
    worker_type     = "R.8X"
    spark_conf      = { "spark.sql.catalog.lake" = "x" }
    arguments       = { "config" = "x" }
  }
  expect_failures = [var.package, var.execution_class, var.spark_conf, var.arguments]
}

run "third_rules" {
  command = plan
  variables {
    package      = { zip_path = "main.tf", script_path = "no/such.py" }
    worker_type  = "G.025X"
    glue_version = "6.1" # nobody has run the job's tests with what it will bring
  }
  expect_failures = [var.package, var.worker_type, var.glue_version]
}

run "zip_without_its_bucket" {
  command = plan
  variables {
    package = { zip_s3_uri = "acme-code/job.zip" }
  }
  expect_failures = [var.package]
}

run "script_without_its_bucket" {
  command = plan
  variables {
    package = { zip_path = "main.tf", script_s3_uri = "acme-code/merge.py" }
  }
  expect_failures = [var.package]
}

run "requirements_that_python_would_not_read" {
  command = plan
  variables {
    package = { zip_path = "main.tf", requirements_s3_uri = "s3://acme-code/requirements" }
  }
  expect_failures = [var.package]
}

run "two_objects_of_one_name" {
  command = plan
  variables {
    package = { zip_s3_uri = "s3://acme-code/own/code.zip", requirements_s3_uri = "s3://acme-code/third/code.zip" }
  }
  expect_failures = [var.package]
}
