################################################################################
# Capacity
################################################################################

variable "mode" {
  description = <<-EOT
    `serverless`: DMS sizes the replication between `min_capacity_units` and `max_capacity_units`. `provisioned`: a
    replication instance and a task.
  EOT
  type        = string
  default     = "serverless"
  nullable    = false

  validation {
    condition     = contains(["serverless", "provisioned"], var.mode)
    error_message = "mode is ${jsonencode(var.mode)}. Allowed: serverless, provisioned."
  }
}

variable "min_capacity_units" {
  description = "Serverless: least capacity, in DCU of 2 GB memory. Billed by the hour also when idle."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = contains([1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384], var.min_capacity_units)
    error_message = "min_capacity_units is ${var.min_capacity_units}. Allowed: 1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384."
  }
}

variable "max_capacity_units" {
  description = "Serverless: most capacity, in DCU of 2 GB memory. A replication that needs more fails out of memory."
  type        = number
  default     = 8
  nullable    = false

  validation {
    condition     = contains([1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384], var.max_capacity_units)
    error_message = "max_capacity_units is ${var.max_capacity_units}. Allowed: 1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384."
  }

  validation {
    condition     = var.max_capacity_units >= var.min_capacity_units
    error_message = "max_capacity_units is ${var.max_capacity_units}, less than min_capacity_units (${var.min_capacity_units})."
  }
}

variable "instance_class" {
  description = "Provisioned: class of the replication instance."
  type        = string
  default     = "dms.t3.medium"
  nullable    = false

  validation {
    condition     = can(regex("^dms\\.[a-z0-9]+\\.[a-z0-9]+$", var.instance_class))
    error_message = "instance_class is ${jsonencode(var.instance_class)}. Give a class of DMS, such as dms.t3.medium or dms.r6i.large."
  }
}

variable "allocated_storage_gb" {
  description = "Provisioned: GB of disk, for logs and for changes that wait while tables load."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.allocated_storage_gb >= 5 && var.allocated_storage_gb <= 6144
    error_message = "allocated_storage_gb is ${var.allocated_storage_gb}. Allowed: 5 to 6144."
  }
}

variable "engine_version" {
  description = "Provisioned: version of DMS, such as `3.6.1`; null means AWS's default. Below 3.5.0 rows were lost or misplaced when writing to S3."
  type        = string
  default     = null

  validation {
    condition     = var.engine_version == null || can(regex("^(3\\.[5-9]|[4-9]\\.)", var.engine_version))
    error_message = "engine_version is ${jsonencode(var.engine_version)}. Allowed: 3.5.0 and newer."
  }
}

variable "multi_az" {
  description = "A standby in a second zone, for double the price. Without it a failed zone only delays: the source keeps the changes."
  type        = bool
  default     = false
  nullable    = false
}

variable "maintenance_window" {
  description = "Weekly window in UTC for maintenance, such as `sun:03:00-sun:03:30`; null means that AWS chooses."
  type        = string
  default     = null
}

################################################################################
# The load and the changes
################################################################################

variable "lob_max_size_kb" {
  description = <<-EOT
    Largest LOB in KB. DMS cuts longer values; with PostgreSQL this fails the task, with MySQL it is only logged. LOBs
    are, in PostgreSQL, `text`, `json`, `jsonb`, `bytea`, `xml` and arrays as well.
    null means 63 for PostgreSQL (below this DMS loads LOBs as fast as other columns) and 1024 for MySQL.
  EOT
  type        = number
  default     = null

  validation {
    condition     = var.lob_max_size_kb == null ? true : var.lob_max_size_kb >= 1 && var.lob_max_size_kb <= 102400
    error_message = "lob_max_size_kb is ${coalesce(var.lob_max_size_kb, 0)}. Allowed: 1 to 102400, or null."
  }
}

variable "max_full_load_subtasks" {
  description = "Tables and ranges of tables that load at the same time."
  type        = number
  default     = 8
  nullable    = false

  validation {
    condition     = var.max_full_load_subtasks >= 1 && var.max_full_load_subtasks <= 49
    error_message = "max_full_load_subtasks is ${var.max_full_load_subtasks}. Allowed: 1 to 49."
  }
}

variable "data_error_policy" {
  description = <<-EOT
    Effect of a row that DMS cannot process: `SUSPEND_TABLE` (the table stands still until it is loaded again, the
    others continue) or `STOP_TASK`. DMS's other policies lose the row.
  EOT
  type        = string
  default     = "SUSPEND_TABLE"
  nullable    = false

  validation {
    condition = contains(["SUSPEND_TABLE", "STOP_TASK"], var.data_error_policy)
    error_message = join(" ", [
      "data_error_policy is ${jsonencode(var.data_error_policy)}. Allowed: SUSPEND_TABLE,",
      "STOP_TASK. IGNORE_RECORD and LOG_ERROR go on without the row.",
    ])
  }
}

variable "change_processing_tuning" {
  description = <<-EOT
    Memory for large or many transactions, as in DMS's ChangeProcessingTuning: `MemoryLimitTotal` (MB), `MemoryKeepTime`
    (s), `MinTransactionSize`, `CommitTimeout` (s), `StatementCacheSize`.
  EOT
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition = length(
      setsubtract(keys(var.change_processing_tuning), ["MemoryLimitTotal", "MemoryKeepTime", "MinTransactionSize", "CommitTimeout", "StatementCacheSize"]),
    ) == 0
    error_message = join(" ", [
      "change_processing_tuning has",
      format(
        "%s.",
        join(
          ", ",
          setsubtract(keys(var.change_processing_tuning), ["MemoryLimitTotal", "MemoryKeepTime", "MinTransactionSize", "CommitTimeout", "StatementCacheSize"]),
        ),
      ),
      "Allowed: MemoryLimitTotal, MemoryKeepTime, MinTransactionSize, CommitTimeout, StatementCacheSize.",
    ])
  }
}

################################################################################
# Network, access, logs
################################################################################

variable "subnet_ids" {
  description = "Subnets in at least two zones of the VPC that reaches the database."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) >= 2
    error_message = "subnet_ids has ${length(var.subnet_ids)}. DMS wants subnets in at least two zones."
  }
}

variable "security_group_ids" {
  description = "Security groups of the replication. They must reach the database, S3 and Secrets Manager."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.security_group_ids) >= 1
    error_message = "security_group_ids is empty. Without one DMS takes the VPC's default group."
  }
}

variable "account_role_arns" {
  description = <<-EOT
    Output `role_arns` of the module dms-account-roles in the same stack: DMS is created after and destroyed before
    these roles. A change of the roles changes nothing here.
  EOT
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "kms_key_arn" {
  description = "KMS key of DMS's own disks and connection data; null means the key aws/dms."
  type        = string
  default     = null
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of the IAM roles; null means none."
  type        = string
  default     = null
}

variable "log_retention_days" {
  description = "Days to keep DMS's logs; null leaves the log group to DMS, which keeps it for ever."
  type        = number
  default     = 365

  validation {
    condition = (
      var.log_retention_days == null ?
      true :
      contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    )
    error_message = join(" ", [
      "log_retention_days is ${coalesce(var.log_retention_days, 0)}. Allowed: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827,",
      "2192, 2557, 2922, 3288, 3653, or null.",
    ])
  }
}

variable "log_kms_key_arn" {
  description = "KMS key of the log group, whose policy must allow CloudWatch Logs; null means CloudWatch's own encryption."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}
