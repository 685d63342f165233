################################################################################
# Capacity
################################################################################

variable "glue_version" {
  description = "Version of Glue, of those whose Spark and Iceberg the job is tested with: `5.1` (3.5 and 1.10) or `6.0` (4.1 and 1.11)."
  type        = string
  default     = "5.1"
  nullable    = false

  validation {
    condition     = contains(["5.1", "6.0"], var.glue_version)
    error_message = "glue_version is ${jsonencode(var.glue_version)}. Allowed: 5.1, 6.0. The job is not tested with the Spark and Iceberg of other versions."
  }
}

variable "worker_type" {
  description = "Size of a worker: `G.1X` (4 CPUs, 16 GB), `G.2X`, `G.4X`, `G.8X`, or `R.1X` to `R.8X` with twice the memory."
  type        = string
  default     = "G.1X"
  nullable    = false

  validation {
    condition     = can(regex("^[GR][.][1248]X$", var.worker_type))
    error_message = "worker_type is ${jsonencode(var.worker_type)}. Allowed: G.1X, G.2X, G.4X, G.8X, R.1X, R.2X, R.4X, R.8X."
  }
}

variable "number_of_workers" {
  description = "Workers of a run, with the driver; with `auto_scaling` the maximum."
  type        = number
  default     = 4
  nullable    = false

  validation {
    condition     = var.number_of_workers >= 2 && var.number_of_workers <= 299 && floor(var.number_of_workers) == var.number_of_workers
    error_message = "number_of_workers is ${var.number_of_workers}. Allowed: 2 to 299."
  }
}

variable "auto_scaling" {
  description = "Let Glue add and remove workers during a run; you pay only for workers in use."
  type        = bool
  default     = true
  nullable    = false
}

variable "execution_class" {
  description = "`STANDARD`, or `FLEX`: a third cheaper on spare capacity, for which a run may wait long."
  type        = string
  default     = "STANDARD"
  nullable    = false

  validation {
    condition     = contains(["STANDARD", "FLEX"], var.execution_class)
    error_message = "execution_class is ${jsonencode(var.execution_class)}. Allowed: STANDARD, FLEX."
  }
  validation {
    condition     = var.execution_class != "FLEX" || contains(["G.1X", "G.2X"], var.worker_type)
    error_message = "execution_class is FLEX, which has workers of type G.1X and G.2X only; found ${var.worker_type}."
  }
}

variable "timeout_minutes" {
  description = "Minutes after which Glue ends a run. Nothing is lost: the next run continues from there."
  type        = number
  default     = 480
  nullable    = false

  validation {
    condition     = var.timeout_minutes >= 5 && var.timeout_minutes <= 10080
    error_message = "timeout_minutes is ${var.timeout_minutes}. Allowed: 5 to 10080 (7 days)."
  }
}

variable "max_retries" {
  description = "How often Glue starts a failed run again by itself."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.max_retries >= 0 && var.max_retries <= 10
    error_message = "max_retries is ${var.max_retries}. Allowed: 0 to 10."
  }
}

variable "arguments" {
  description = "Further job arguments, such as `{ \"--enable-spark-ui\" = \"true\" }`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = length(setintersection(keys(var.arguments), [
      "--command", "--config", "--json", "--conf", "--datalake-formats", "--extra-py-files", "--enable-auto-scaling", "--custom-logGroup-prefix",
    ])) == 0 && alltrue([for key in keys(var.arguments) : startswith(key, "--")])
    error_message = join(" ", [
      "arguments has ${join(", ", keys(var.arguments))}. Names begin with --, and this module itself sets --command, --config, --json, --conf (see",
      "`spark_conf`), --datalake-formats, --extra-py-files, --enable-auto-scaling and --custom-logGroup-prefix.",
    ])
  }
}

variable "spark_conf" {
  description = "Further Spark settings at Spark's start, such as `{ \"spark.executor.memoryOverhead\" = \"2g\" }`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = (
      length(setintersection(keys(var.spark_conf), ["spark.sql.extensions", "spark.scheduler.mode"])) == 0 &&
      alltrue([for key, value in var.spark_conf : startswith(key, "spark.") && !can(regex("\\s", value))])
    )
    error_message = join(" ", [
      "spark_conf has ${join(", ", keys(var.spark_conf))}. Names begin with spark., values have no spaces, and the job needs its own spark.sql.extensions and",
      "spark.scheduler.mode.",
    ])
  }
  validation {
    condition     = !anytrue([for key in keys(var.spark_conf) : startswith(key, "spark.sql.catalog.")])
    error_message = "spark_conf: catalogs are described by `catalog` of the configuration document."
  }
}

variable "maintenance_schedule" {
  description = <<-EOT
    When `maintain` runs, as a `cron(...)` of Glue in UTC, such as `cron(0 3 * * ? *)`; null for never. It is a separate
    job, beside which merging continues.
  EOT
  type        = string
  default     = null

  validation {
    condition = var.maintenance_schedule == null ? true : can(regex("^cron\\(\\S+( \\S+){5}\\)$", var.maintenance_schedule))
    error_message = join(" ", [
      "maintenance_schedule is ${jsonencode(var.maintenance_schedule)}. Allowed: cron(0 3 * * ? *)",
      "with six fields, or null. Glue's schedules have no rate(...).",
    ])
  }
}

################################################################################
# Logs, encryption, network
################################################################################

variable "log_retention_days" {
  description = "Days to keep the job's logs."
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

variable "security_configuration" {
  description = <<-EOT
    Glue's security configuration, by which Glue itself encrypts.
    - `create`: make a configuration with `kms_key_arn`, then required
    - `name`: an existing configuration. If it encrypts CloudWatch logs, Glue writes to other log groups than this module's
  EOT
  type = object({
    create = optional(bool, false)
    name   = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = !var.security_configuration.create || var.security_configuration.name == null
    error_message = "security_configuration: either create one, or name one that exists (${coalesce(var.security_configuration.name, "-")})."
  }
}

variable "network" {
  description = <<-EOT
    Run the job in a VPC, from where it reaches the database; null for none. All its traffic then goes through this
    subnet, which needs ways to S3, Glue, CloudWatch Logs, KMS and Secrets Manager
    (endpoints or NAT).
    - `subnet_id`, `availability_zone`: one subnet and its zone
    - `security_group_ids`: one of them must let members of itself in on all TCP ports, as Glue demands
  EOT
  type = object({
    subnet_id          = string
    availability_zone  = string
    security_group_ids = list(string)
  })
  default = null

  validation {
    condition     = var.network == null ? true : length(var.network.security_group_ids) > 0
    error_message = "network.security_group_ids is empty. Glue needs at least one group, which lets members of itself in."
  }
}
