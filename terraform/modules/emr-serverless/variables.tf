variable "name" {
  description = "Prefix of every name: up to 31 lower-case letters, digits and single hyphens; begins with a letter, does not end with a hyphen."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^[a-z](-?[a-z0-9])*$", var.name)) && length(var.name) <= 31
    error_message = join(" ", [
      "name is ${jsonencode(var.name)}. Allowed: up to 31 lower-case letters, digits and single",
      "hyphens, beginning with a letter and not ending with a hyphen.",
    ])
  }
}

variable "region_suffix" {
  description = <<-EOT
    Suffix of IAM roles' names, which are unique in an account: set it (`use1`) for a pipeline of this name in another
    Region. Another value replaces the roles.
  EOT
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition = can(regex("^[a-z0-9]{0,7}$", var.region_suffix))
    error_message = join(" ", [
      "region_suffix is ${jsonencode(var.region_suffix)}. Allowed: up to 7 lower-case letters and digits, such as \"use1\" (bucket names must stay within 63",
      "characters), or \"\" for none.",
    ])
  }
}

variable "tags" {
  description = "Tags of every resource that can have them, and of the runs."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of the roles; null means none."
  type        = string
  default     = null
}

################################################################################
# What is run
################################################################################

variable "job" {
  description = "Code, document, Spark settings and rights: output `run` of the module merge-job."
  type = object({
    script_uri             = string
    zip_uris               = list(string)
    config_uri             = string
    config_sha256          = string
    spark_settings         = map(string)
    policy_json            = string
    additional_policy_json = optional(string)
  })
  nullable = false
}

variable "python" {
  description = <<-EOT
    The archive with Python 3.11, boto3, pyarrow and python-dateutil that the runs use: the Python of EMR's Spark is
    3.9. `make python-archive` builds one; see the README of this module.
    - `archive_path`: a file on the machine that runs Terraform, uploaded to `artifacts.bucket`
    - `archive_s3_uri`: an object that exists; a new version should have a new key
  EOT
  type = object({
    archive_path   = optional(string)
    archive_s3_uri = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition = (var.python.archive_path == null) != (var.python.archive_s3_uri == null)
    error_message = join(" ", [
      "python: found ${var.python.archive_path == null ? "neither archive_path nor archive_s3_uri" : "both archive_path and archive_s3_uri"}; give one. The",
      "job needs Python 3.11, EMR Serverless has 3.9 for Spark: `make python-archive` in the repository builds the archive (Linux, x86_64), and needs the",
      "network only there.",
    ])
  }
  validation {
    condition = var.python.archive_path == null ? true : fileexists(var.python.archive_path)
    error_message = join(" ", [
      "python.archive_path: there is no file ${coalesce(var.python.archive_path, "-")}. `make",
      "python-archive` in the repository builds it (Linux, x86_64).",
    ])
  }
  validation {
    condition     = var.python.archive_s3_uri == null ? true : can(regex("^s3://[^/,#\\s]+/[^,#\\s]+\\.tar\\.gz$", var.python.archive_s3_uri))
    error_message = "python.archive_s3_uri is ${jsonencode(var.python.archive_s3_uri)}. Write s3://bucket/key.tar.gz, without spaces, commas and #."
  }
}

variable "artifacts" {
  description = "`bucket` that the Python archive is uploaded to, below `<name>/code/`, and `kms_key_arn`, its key; null with SSE-S3."
  type        = object({ bucket = string, kms_key_arn = optional(string) })
  nullable    = false
}

variable "watch" {
  description = <<-EOT
    How the watch learns of new files.
    - `queue_url`: its SQS queue (output `news_queue` of the module trigger); null for none. Only with a `network` that
      reaches SQS: without one EMR Serverless reaches S3, Glue and some other services, SQS not among them
    - `interval_seconds`: without the queue, seconds between two listings of a table, each a paid request to S3
  EOT
  type        = object({ queue_url = optional(string), interval_seconds = optional(number, 10) })
  default     = {}
  nullable    = false

  validation {
    condition     = var.watch.interval_seconds >= 1 && var.watch.interval_seconds <= 3600
    error_message = "watch.interval_seconds is ${var.watch.interval_seconds}. Allowed: 1 to 3600."
  }
}

variable "start" {
  description = "Keep a watch running. False cancels it and stops the application, which then costs nothing."
  type        = bool
  default     = true
  nullable    = false
}

################################################################################
# Capacity
################################################################################

variable "release_label" {
  description = "Release of EMR: 7.12 and later have Spark 3.5 and Iceberg 1.10, with which the job is tested."
  type        = string
  default     = "emr-7.12.0"
  nullable    = false

  validation {
    condition = can(regex("^emr-7\\.(1[2-9]|[2-9][0-9])\\.[0-9]+$", var.release_label))
    error_message = join(" ", [
      "release_label is ${jsonencode(var.release_label)}. Allowed: emr-7.12.0 and later 7.x. Earlier ones have an Iceberg that the job is not tested with,",
      "and other majors another Spark.",
    ])
  }
}

variable "driver" {
  description = <<-EOT
    Size of the driver, which writes small batches by itself: `cpu` (1, 2, 4, 8 or 16) and `memory_gb` (2 to 8 for each
    vCPU). A quarter of the memory, 1 GB at least, is left to Python.
  EOT
  type        = object({ cpu = optional(number, 2), memory_gb = optional(number, 8) })
  default     = {}
  nullable    = false

  validation {
    condition = (
      contains([1, 2, 4, 8, 16], var.driver.cpu) &&
      var.driver.memory_gb >= max(2, 2 * var.driver.cpu) &&
      var.driver.memory_gb <= min(120, 8 * var.driver.cpu) &&
      floor(var.driver.memory_gb) == var.driver.memory_gb
    )
    error_message = "driver is ${jsonencode(var.driver)}. Allowed: cpu 1, 2, 4, 8 or 16, and memory_gb 2 to 8 times that (120 at most), in whole numbers."
  }
}

variable "executor" {
  description = "Size and number of the executors: `cpu` and `memory_gb` as for the driver, `min` that are always there, `max` that there may be."
  type = object({
    cpu       = optional(number, 1)
    memory_gb = optional(number, 4)
    min       = optional(number, 1)
    max       = optional(number, 3)
  })
  default  = {}
  nullable = false

  validation {
    condition = (
      contains([1, 2, 4, 8, 16], var.executor.cpu) &&
      var.executor.memory_gb >= max(2, 2 * var.executor.cpu) &&
      var.executor.memory_gb <= min(120, 8 * var.executor.cpu) &&
      floor(var.executor.memory_gb) == var.executor.memory_gb
    )
    error_message = "executor is ${jsonencode(var.executor)}. Allowed: cpu 1, 2, 4, 8 or 16, and memory_gb 2 to 8 times that (120 at most), in whole numbers."
  }
  validation {
    condition = (
      var.executor.min >= 1 &&
      var.executor.max >= var.executor.min &&
      var.executor.max <= 100 &&
      floor(var.executor.min) == var.executor.min &&
      floor(var.executor.max) == var.executor.max
    )
    error_message = join(" ", [
      "executor: found min ${var.executor.min} and max ${var.executor.max}. Allowed: whole numbers, 1 <= min <= max <= 100. Without an executor the watch",
      "would wait for one at each batch.",
    ])
  }
}

variable "initial_capacity" {
  description = <<-EOT
    Workers that are always ready, so that a watch starts in seconds: `drivers` and `executors`, 0 by default. You pay
    for them while the application is started.
  EOT
  type        = object({ drivers = optional(number, 0), executors = optional(number, 0) })
  default     = {}
  nullable    = false

  validation {
    condition = (
      var.initial_capacity.drivers >= 0 &&
      var.initial_capacity.drivers <= 2 &&
      var.initial_capacity.executors >= 0 &&
      var.initial_capacity.executors <= var.executor.max
    )
    error_message = "initial_capacity is ${jsonencode(var.initial_capacity)}. Allowed: 0 to 2 drivers, and executors up to executor.max (${var.executor.max})."
  }
}

variable "max_failed_attempts_per_hour" {
  description = <<-EOT
    How often within an hour EMR Serverless tries a failed watch again by itself, the first attempt among them. After
    that the run has failed, and the next one begins after a pause.
  EOT
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = contains(range(1, 11), var.max_failed_attempts_per_hour)
    error_message = "max_failed_attempts_per_hour is ${var.max_failed_attempts_per_hour}. Allowed: 1 to 10."
  }
}

variable "spark_conf" {
  description = "Further Spark settings, such as `{ \"spark.executor.extraJavaOptions\" = \"-Xss4m\" }`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key, value in var.spark_conf : startswith(key, "spark.") && !can(regex("\\s", value))])
    error_message = "spark_conf has ${join(", ", keys(var.spark_conf))}. Names begin with spark., and values have no spaces."
  }
  validation {
    condition = length(
      [
        for key in keys(var.spark_conf) :
        key
        if can(
          regex(
            join("|", [
              "^spark[.](sql[.](catalog[.]|extensions$)|scheduler[.]mode$|jars$|archives$|driver[.](cores|memory|memoryOverhead)$",
              "executor[.](cores|memory|memoryOverhead)$|dynamicAllocation[.]|(emr-serverless[.]driverEnv|executorEnv)[.](PYSPARK_|AWS_REGION))",
            ]),
            key,
          ),
        )
      ],
    ) == 0
    error_message = join(" ", [
      "spark_conf has ${join(", ", keys(var.spark_conf))}. Catalogs are described by `catalog` of the document, sizes and numbers of workers by driver and",
      "executor; spark.jars, spark.archives, spark.sql.extensions, spark.scheduler.mode, Python and region are this module's.",
    ])
  }
}

variable "network" {
  description = <<-EOT
    Run in a VPC: `subnet_ids`, in two zones or more, and `security_group_ids`; null for none. All traffic then goes
    through these subnets, which need ways to S3, Glue, CloudWatch Logs, KMS, Secrets Manager, STS and SQS.
  EOT
  type        = object({ subnet_ids = set(string), security_group_ids = set(string) })
  default     = null

  validation {
    condition = var.network == null ? true : length(var.network.subnet_ids) > 0 && length(var.network.security_group_ids) > 0
    error_message = join(" ", [
      "network: found ${try(length(var.network.subnet_ids), 0)} subnets and ${try(length(var.network.security_group_ids), 0)} security groups; at least one",
      "of each is needed.",
    ])
  }
}

################################################################################
# Function, logs, alarms
################################################################################

variable "starter_zip_path" {
  description = "Another zip of the function that keeps the watch running; null means the one that travels with this module."
  type        = string
  default     = null

  validation {
    condition = fileexists(coalesce(var.starter_zip_path, "${path.module}/../../../dist/watch.zip"))
    error_message = join(" ", [
      "starter_zip_path: there is no file",
      "${coalesce(var.starter_zip_path, "dist/watch.zip in this version of the repository")};",
      "`make dist` builds the zip.",
    ])
  }
}

variable "alarms" {
  description = <<-EOT
    - `create`: make the alarms `watch-not-running`, `watch-failed` and `watch-starter-errors`
    - `topic_arn`: the SNS topic that they tell; needed with `create`
    - `disabled`: names of alarms that are not made
  EOT
  type = object({
    create    = optional(bool, false)
    topic_arn = optional(string)
    disabled  = optional(set(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = !var.alarms.create || var.alarms.topic_arn != null
    error_message = "alarms.topic_arn is missing: alarms that tell nobody are of no use. Give the ARN of an SNS topic, or create = false."
  }
}

variable "log_retention_days" {
  description = "Days to keep the logs of the watch and of the function."
  type        = number
  default     = 365
  nullable    = false

  validation {
    condition = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = join(" ", [
      "log_retention_days is ${var.log_retention_days}. Allowed: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,",
      "3288, 3653.",
    ])
  }
}

variable "log_kms_key_arn" {
  description = "KMS key of the log groups, whose policy must allow CloudWatch Logs; null means CloudWatch's own encryption."
  type        = string
  default     = null
}
