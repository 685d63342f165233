# https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-glue-arguments.html
data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account    = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition
  dns_suffix = data.aws_partition.current.dns_suffix
  region     = data.aws_region.current.id

  job_name = "${var.name}-merge"

  security_configuration = one(concat(aws_glue_security_configuration.this[*].name, [for name in [var.security_configuration.name] : name if name != null]))
  log_prefix             = "/aws-glue/jobs/${local.job_name}"
  log_groups             = { output = "${local.log_prefix}/output", error = "${local.log_prefix}/error" }
}

resource "aws_glue_job" "merge" {
  name        = local.job_name
  description = "Merges the change files of DMS in s3://${var.buckets.bronze.name}/${var.bronze_prefix} into the Iceberg tables of ${var.name}"
  role_arn    = aws_iam_role.job.arn
  tags        = var.tags

  glue_version      = var.glue_version
  worker_type       = var.worker_type
  number_of_workers = var.number_of_workers
  execution_class   = var.execution_class
  timeout           = var.timeout_minutes
  max_retries       = var.max_retries

  security_configuration = local.security_configuration
  connections            = aws_glue_connection.network[*].name

  # What starts runs relies on both: see lambda/trigger/README.md. A queued run may fail without having run.
  job_run_queuing_enabled = false
  execution_property {
    max_concurrent_runs = 1
  }

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = local.script_uri
  }

  default_arguments = merge(
    {
      "--enable-metrics"               = "true"
      "--enable-observability-metrics" = "true"
    },
    var.arguments,
    {
      "--command"                = "run"
      "--config"                 = local.config_uri
      "--json"                   = "true"
      "--datalake-formats"       = "iceberg"
      "--conf"                   = local.spark_conf
      "--extra-py-files"         = join(",", local.zip_uris)
      "--enable-auto-scaling"    = tostring(var.auto_scaling)
      "--custom-logGroup-prefix" = local.log_prefix
    },
  )

  # Glue would make the groups itself, without an end to what they keep.
  depends_on = [aws_cloudwatch_log_group.job, aws_iam_role_policy.job]
}

################################################################################
# Spark settings
################################################################################

locals {
  catalog = jsondecode(var.config_json).catalog
  prefix  = "spark.sql.catalog.${try(local.catalog.name, "lake")}"
  kind    = try(local.catalog.type, "hadoop")

  # The job sets all of these itself. Some of them are fixed once a session exists, and the catalog once it is used; given here, they are
  # right even if Glue opens the session before the script does. They are the same for every version of Glue: what only one version needs
  # (job/dms_iceberg/spark/versions.py) can be set in a session that exists.
  spark_settings = merge(
    {
      "spark.sql.extensions"            = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
      "spark.scheduler.mode"            = "FAIR"
      "spark.sql.ui.retainedExecutions" = "50"
      "spark.ui.retainedJobs"           = "200"
      "spark.ui.retainedStages"         = "200"
      "spark.ui.retainedTasks"          = "2000"
      (local.prefix)                    = "org.apache.iceberg.spark.SparkCatalog"
      "${local.prefix}.warehouse"       = local.catalog.warehouse
    },
    local.kind == "glue" ? { "${local.prefix}.catalog-impl" = "org.apache.iceberg.aws.glue.GlueCatalog" } : { "${local.prefix}.type" = local.kind },
    local.kind == "hadoop" ? {} : {
      "${local.prefix}.io-impl"                                  = "org.apache.iceberg.aws.s3.S3FileIO"
      "${local.prefix}.s3.retry.num-retries"                     = "5"
      "${local.prefix}.s3.retry.min-wait-ms"                     = "2000"
      "${local.prefix}.s3.retry.max-wait-ms"                     = "20000"
      "${local.prefix}.http-client.apache.connection-timeout-ms" = "5000"
      "${local.prefix}.http-client.apache.socket-timeout-ms"     = "20000"
      "${local.prefix}.io.manifest.cache-enabled"                = "true"
      "${local.prefix}.io.manifest.cache.max-total-bytes"        = "16777216"
      "${local.prefix}.io.manifest.cache.expiration-interval-ms" = "600000"
    },
    { for key, value in try(local.catalog.properties, {}) : "${local.prefix}.${key}" => value },
    {
      "${local.prefix}.cache-enabled"                = "true"
      "${local.prefix}.cache.expiration-interval-ms" = "-1"
    },
    var.spark_conf,
  )

  # Glue takes --conf once; further ones stand inside its value.
  spark_conf = join(" --conf ", [for key, value in local.spark_settings : "${key}=${value}"])
}

################################################################################
# Logs and encryption
################################################################################

resource "aws_cloudwatch_log_group" "job" {
  for_each = local.log_groups

  name              = each.value
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_glue_security_configuration" "this" {
  #checkov:skip=CKV_AWS_99: the log groups above are encrypted by themselves; encryption by Glue would only give them other names, which nobody makes or bounds
  count = var.security_configuration.create ? 1 : 0

  name = local.job_name

  encryption_configuration {
    cloudwatch_encryption {
      cloudwatch_encryption_mode = "DISABLED"
    }
    job_bookmarks_encryption {
      job_bookmarks_encryption_mode = "CSE-KMS"
      kms_key_arn                   = var.kms_key_arn
    }
    s3_encryption {
      s3_encryption_mode = "SSE-KMS"
      kms_key_arn        = var.kms_key_arn
    }
  }
}

################################################################################
# Network
################################################################################

resource "aws_glue_connection" "network" {
  count = var.network == null ? 0 : 1

  name            = local.job_name
  description     = "Puts runs of ${local.job_name} into the VPC of the source database"
  connection_type = "NETWORK"
  tags            = var.tags

  physical_connection_requirements {
    availability_zone      = var.network.availability_zone
    security_group_id_list = var.network.security_group_ids
    subnet_id              = var.network.subnet_id
  }
}
