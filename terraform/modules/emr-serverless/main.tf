# https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-spark.html, .../jobs-resiliency.html
data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id

  # Of the application, of its runs, and of their role.
  watch_name = "${var.name}-watch"

  # Twice what the watch may take, so that a run by hand has room beside it.
  maximum = {
    cpu    = 2 * (var.driver.cpu + var.executor.max * var.executor.cpu)
    memory = 2 * (var.driver.memory_gb + var.executor.max * var.executor.memory_gb)
  }
  workers = merge(
    {
      for count in [var.initial_capacity.drivers] :
      "Driver" => { count = count, size = { cpu = var.driver.cpu, memory_gb = var.driver.memory_gb } }
      if count > 0
    },
    {
      for count in [var.initial_capacity.executors] :
      "Executor" => { count = count, size = { cpu = var.executor.cpu, memory_gb = var.executor.memory_gb } }
      if count > 0
    },
  )
  # A change of these is one of the application, which AWS refuses unless it is stopped.
  settings = { release = var.release_label, maximum = local.maximum, workers = local.workers, network = var.network }
}

resource "aws_emrserverless_application" "watch" {
  name          = local.watch_name
  release_label = var.release_label
  type          = "SPARK"
  architecture  = "X86_64"
  tags          = merge(var.tags, { "dms-iceberg:watch" = local.watch_name })

  auto_start_configuration {
    enabled = true
  }
  # Counts only while nothing runs.
  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = 15
  }
  maximum_capacity {
    cpu    = "${local.maximum.cpu} vCPU"
    memory = "${local.maximum.memory} GB"
  }

  dynamic "initial_capacity" {
    for_each = local.workers
    content {
      initial_capacity_type = initial_capacity.key
      initial_capacity_config {
        worker_count = initial_capacity.value.count
        worker_configuration {
          cpu    = "${initial_capacity.value.size.cpu} vCPU"
          memory = "${initial_capacity.value.size.memory_gb} GB"
        }
      }
    }
  }

  dynamic "network_configuration" {
    for_each = var.network[*]
    content {
      subnet_ids         = network_configuration.value.subnet_ids
      security_group_ids = network_configuration.value.security_group_ids
    }
  }

  depends_on = [aws_lambda_invocation.halt]
}

################################################################################
# Python
################################################################################

locals {
  archive_key = "${var.name}/code/python-${try(substr(filesha256(var.python.archive_path), 0, 16), "")}.tar.gz"
  archive_uri = var.python.archive_s3_uri != null ? var.python.archive_s3_uri : "s3://${var.artifacts.bucket}/${aws_s3_object.python[0].key}"
}

resource "aws_s3_object" "python" {
  count = var.python.archive_path == null ? 0 : 1

  bucket      = var.artifacts.bucket
  key         = local.archive_key
  source      = var.python.archive_path
  source_hash = filesha256(var.python.archive_path)
  kms_key_id  = var.artifacts.kms_key_arn

  # An object takes ten tags, which a provider's default tags may exceed.
  override_provider {
    default_tags {
      tags = {}
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

################################################################################
# The run
################################################################################

locals {
  # A worker's memory is its heap and what is beside it: of the driver, Python.
  overhead = { for worker, size in { driver = var.driver.memory_gb, executor = var.executor.memory_gb } : worker => max(1, floor(size / 4)) }
  python   = "./environment/bin/python"

  spark_settings = merge(
    var.job.spark_settings,
    {
      "spark.jars"                                           = "/usr/share/aws/iceberg/lib/iceberg-spark3-runtime.jar"
      "spark.archives"                                       = "${local.archive_uri}#environment"
      "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON" = local.python
      "spark.emr-serverless.driverEnv.PYSPARK_PYTHON"        = local.python
      "spark.executorEnv.PYSPARK_PYTHON"                     = local.python
      "spark.emr-serverless.driverEnv.AWS_REGION"            = local.region
      "spark.executorEnv.AWS_REGION"                         = local.region
      "spark.driver.cores"                                   = tostring(var.driver.cpu)
      "spark.driver.memory"                                  = "${var.driver.memory_gb - local.overhead.driver}g"
      "spark.driver.memoryOverhead"                          = "${local.overhead.driver}g"
      "spark.executor.cores"                                 = tostring(var.executor.cpu)
      "spark.executor.memory"                                = "${var.executor.memory_gb - local.overhead.executor}g"
      "spark.executor.memoryOverhead"                        = "${local.overhead.executor}g"
      "spark.dynamicAllocation.enabled"                      = "true"
      "spark.dynamicAllocation.initialExecutors"             = tostring(var.executor.min)
      "spark.dynamicAllocation.minExecutors"                 = tostring(var.executor.min)
      "spark.dynamicAllocation.maxExecutors"                 = tostring(var.executor.max)
    },
    var.spark_conf,
  )

  # The parameters of StartJobRun. No --for: the watch goes on until it is cancelled.
  run = {
    name                    = local.watch_name
    mode                    = "STREAMING"
    executionRoleArn        = aws_iam_role.job.arn
    executionTimeoutMinutes = 0
    retryPolicy             = { maxFailedAttemptsPerHour = var.max_failed_attempts_per_hour }
    tags                    = merge(var.tags, { "dms-iceberg:watch" = local.watch_name })
    jobDriver = {
      sparkSubmit = {
        entryPoint = var.job.script_uri
        entryPointArguments = concat(
          ["--command", "watch", "--config", var.job.config_uri, "--interval", "${var.watch.interval_seconds}s", "--json", "true"],
          flatten([for url in var.watch.queue_url[*] : ["--queue", url]]),
        )
        sparkSubmitParameters = join(" ", concat(
          ["--py-files", join(",", var.job.zip_uris)],
          [for key, value in local.spark_settings : "--conf ${key}=${value}"],
        ))
      }
    }
    configurationOverrides = {
      monitoringConfiguration = {
        cloudWatchLoggingConfiguration = {
          enabled      = true
          logGroupName = aws_cloudwatch_log_group.watch.name
          logTypes     = { SPARK_DRIVER = ["STDOUT", "STDERR"] }
        }
      }
    }
  }
  # All that a run is started with. Another one is a reason to replace the watch.
  version = substr(sha256(jsonencode([local.run, var.job.config_sha256, local.settings])), 0, 16)
  event   = jsonencode({ application_id = aws_emrserverless_application.watch.id, version = local.version, run = local.run })
}

resource "aws_cloudwatch_log_group" "watch" {
  name              = "/aws/emr-serverless/${local.watch_name}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

################################################################################
# Role of the runs
################################################################################

resource "aws_iam_role" "job" {
  name                 = join("-", compact([local.watch_name, var.region_suffix]))
  description          = "Runs of the EMR Serverless application ${local.watch_name}: read bronze, write silver and quarantine"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "EmrServerless"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "emr-serverless.amazonaws.com" }
      Condition = { StringEqualsIfExists = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_iam_role_policy" "job" {
  name   = "merge"
  role   = aws_iam_role.job.id
  policy = var.job.policy_json
}

resource "aws_iam_role_policy" "additional" {
  count = var.job.additional_policy_json == null ? 0 : 1

  name   = "additional"
  role   = aws_iam_role.job.id
  policy = var.job.additional_policy_json
}

# https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/logging.html
resource "aws_iam_role_policy" "runtime" {
  name = "runtime"
  role = aws_iam_role.job.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in concat(
      [
        { Sid = "FindLogGroup", Action = ["logs:DescribeLogGroups"], Resource = ["arn:${local.partition}:logs:${local.region}:${local.account}:*"] },
        { Sid = "WriteLogs", Action = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"], Resource = [
          aws_cloudwatch_log_group.watch.arn, "${aws_cloudwatch_log_group.watch.arn}:*",
        ] },
      ],
      [
        for uri in var.python.archive_s3_uri[*] :
        { Sid = "ReadPython", Action = ["s3:GetObject"], Resource = ["arn:${local.partition}:s3:::${trimprefix(uri, "s3://")}"] }
      ],
    ) : merge({ Effect = "Allow" }, statement)]
  })
}
