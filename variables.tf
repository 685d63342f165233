variable "name" {
  description = <<-EOT
    Name of the pipeline; every name begins with it. Up to 31 lower-case letters, digits and single hyphens, beginning
    with a letter and not ending with a hyphen.
  EOT
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
    Ends the names that all Regions of an account share, of IAM roles, buckets and the dashboard: give one, such
    as `use1`, to a second pipeline of this name in another Region. Do not change it later: other buckets are another
    lake.
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

variable "tables" {
  description = <<-EOT
    Source tables by `schema.table`. Their keys are those of `docs/configuration.md`, checked by the job's own schema, with two differences:
    - `target` may be left out: it is `<silver database>.<table>` then
    - `load`: how DMS loads the table: `load.parallel`, `load.columns_as_text` of the module replication
    Only `key` is required.
  EOT
  type        = any
  nullable    = false

  validation {
    condition     = can(keys(var.tables)) && try(length(var.tables) > 0, false)
    error_message = "tables: expected an object with at least one table, such as { \"public.orders\" = { key = [\"order_id\"] } }."
  }
  validation {
    condition = var.source_database != null || !anytrue([for table in try(values(var.tables), []) : try(table.load != null, false)])
    error_message = join(" ", [
      "tables: `load` is for the replication of this module, and there is none (source_database is null):",
      "${join(", ", [for name, table in try({ for k, v in var.tables : k => v }, {}) : name if try(table.load != null, false)])}.",
    ])
  }
}

variable "table_defaults" {
  description = "Values for every table that does not give its own: `defaults` of `docs/configuration.md`."
  type        = any
  default     = {}
  nullable    = false
}

variable "gold" {
  description = <<-EOT
    Gold models by target `database.table`, as in `gold` of `docs/configuration.md`: queries over the tables, refreshed
    after these have changed. Their databases are made like those of the tables.
  EOT
  type        = any
  default     = {}
  nullable    = false
}

################################################################################
# Source
################################################################################

variable "source_database" {
  description = <<-EOT
    The database, read by DMS. null when something else writes the files: then only what comes after bronze is made.
    Host, port, user and password are in the secret
    (`username`, `password`, `host`, `port`), never in Terraform.
    - `engine`: `postgres`, `aurora-postgresql`, `mysql`, `mariadb`, `aurora-mysql`
    - `secret_arn`, `secret_kms_key_arn`: the Secrets Manager secret, and its key unless that is AWS's own
    - `database`: name of the database; PostgreSQL engines only
    - `port`: for the security group; by default 5432 or 3306
    - `identifier`: of the RDS instance or Aurora cluster, for the alarms on what it keeps for DMS and on its disk.
      Required for PostgreSQL engines; null, written here as such, for none
    - `tls`: `ca_certificate_pem` or `certificate_arn`, which the server's certificate is verified with; `mode`
    - `postgres`, `mysql`: further settings of the module replication
  EOT
  type        = any
  default     = null

  validation {
    condition = (
      var.source_database == null ?
      true :
      can(keys(var.source_database)) && length(setsubtract(try(keys(var.source_database), []), local.allowed.source_database)) == 0
    )
    error_message = join(" ", [
      "source_database has ${try(join(", ", setsubtract(keys(var.source_database), local.allowed.source_database)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.source_database)}.",
    ])
  }
  validation {
    condition = (
      var.source_database == null ||
      alltrue([for part in ["tls", "postgres", "mysql"] : length(setsubtract(try(keys(var.source_database[part]), []), local.allowed[part])) == 0])
    )
    error_message = join(" ", [
      "source_database: unknown keys:",
      format(
        "%s.",
        join(
          "; ",
          [
            for part in ["tls", "postgres", "mysql"] :
            join(" ", [
              "${part}.${join(", ${part}.", setsubtract(try(keys(var.source_database[part]), []), local.allowed[part]))} (allowed:",
              "${join(", ", local.allowed[part])})",
            ])
            if length(setsubtract(try(keys(var.source_database[part]), []), local.allowed[part])) > 0
          ],
        ),
      ),
    ])
  }
  validation {
    condition     = var.source_database == null ? true : alltrue([for key in ["engine", "secret_arn"] : try(var.source_database[key] != null, false)])
    error_message = "source_database: engine and secret_arn are required."
  }
  validation {
    # Also without alarms: a condition that refers to `alarms` would not be evaluated where that input is wrong, and its problem not shown.
    condition = !strcontains(try(var.source_database.engine, ""), "postgres") || contains(try(keys(var.source_database), []), "identifier")
    error_message = join(" ", [
      "source_database.identifier is missing: a replication slot that nobody reads fills the disk of the database, and its alarms need the name. Give the",
      "identifier of the RDS instance or Aurora cluster, or identifier = null for a database without (outside of RDS).",
    ])
  }
}

variable "network" {
  description = <<-EOT
    Where DMS runs; required with `source_database`.
    - `vpc_id`, `subnet_ids`: a VPC that reaches the database, subnets in two zones
    - `route_table_ids`: of these subnets, for the S3 gateway endpoint that is made; `create_s3_endpoint = false` where there is one
    - `create_secrets_manager_endpoint`: false where there is one with private DNS, or a NAT gateway; then `secrets_manager_cidr_blocks` says where
    - `database_security_group_ids` or `database_cidr_blocks`: the database; rules let the replication in unless `open_database_security_groups` is false
    - `security_group_ids`: groups of your own for the replication, instead of one that is made
    - `secrets_manager_client_cidr_blocks`: further hosts that use the endpoint
  EOT
  type        = any
  default     = null

  validation {
    condition = var.network == null ? true : can(keys(var.network)) && length(setsubtract(try(keys(var.network), []), local.allowed.network)) == 0
    error_message = join(" ", [
      "network has",
      "${try(join(", ", setsubtract(keys(var.network), local.allowed.network)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.network)}.",
    ])
  }
  validation {
    condition     = var.source_database == null || try(var.network.vpc_id != null && var.network.subnet_ids != null, false)
    error_message = "network: vpc_id and subnet_ids are required with source_database: DMS runs in a VPC that reaches the database."
  }
}

variable "migration_type" {
  description = "`full-load`, `cdc` (only changes from now on) or `full-load-and-cdc`."
  type        = string
  default     = "full-load-and-cdc"
  nullable    = false
}

variable "load_epoch" {
  description = "Number of the full load, in the bucket folder. A higher one makes a new replication that loads everything again into a new folder."
  type        = number
  default     = 1
  nullable    = false
}

variable "replication" {
  description = <<-EOT
    Size and habits of DMS, as in the module replication; {} is serverless with 1 to 8 capacity units.
    - `mode`: `serverless` or `provisioned`
    - `min_capacity_units`, `max_capacity_units`; `instance_class`, `allocated_storage_gb`, `engine_version`; `multi_az`, `maintenance_window`, `kms_key_arn`
    - `cdc_max_batch_interval_seconds`, `cdc_min_file_size_kb`: when a file of changes is closed
    - `before_images`: `pk-only`, or `all` for tables whose keys are shifted or swapped within a transaction
    - `lob_max_size_kb`, `max_full_load_subtasks`, `data_error_policy`, `change_processing_tuning`
    - `start`: false stops it; `cdc_start_position`
    Without `source_database`, for a replication that somebody else owns, which is read and followed, and never changed:
    - `existing_task_arn`: of the replication task or of the serverless replication config. Its complete loads are
      noted; no alarm goes off when it fails or stops
    - `existing_target_endpoint_id`: identifier of its S3 endpoint, whose settings become `bronze`; what `bronze` gives itself counts more
    - `existing_task_id`: identifier of the task, whose mapping rules name its service columns; required for a task
    - `existing_migration_type`: of a serverless replication, whose configuration cannot be read; `bronze.change` then
      gives `sequence_column`, `stream_position_column` and `before_image_prefix`
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = (
      can(keys(var.replication)) &&
      length(setsubtract(try(keys(var.replication), []), concat(local.allowed.replication, local.allowed.existing_task))) == 0
    )
    error_message = join(" ", [
      "replication has ${try(join(", ", setsubtract(keys(var.replication), concat(local.allowed.replication, local.allowed.existing_task))), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.replication)}; without source_database ${join(", ", local.allowed.existing_task)}.",
    ])
  }
  validation {
    condition = var.source_database != null || length(setsubtract(try(keys(var.replication), ["-"]), local.allowed.existing_task)) == 0
    error_message = join(" ", [
      "replication has ${try(join(", ", setsubtract(keys(var.replication), local.allowed.existing_task)), "")}, but there is no replication of this module:",
      "source_database is null. Allowed: ${join(", ", local.allowed.existing_task)}.",
    ])
  }
  validation {
    condition = var.source_database == null || length(setintersection(try(keys(var.replication), []), local.allowed.existing_task)) == 0
    error_message = join(" ", [
      "replication has ${try(join(", ", setintersection(keys(var.replication), local.allowed.existing_task)), "")}: these name a replication of somebody",
      "else, and source_database makes one. Give one of the two.",
    ])
  }
  validation {
    condition = (
      length(setintersection(try(keys(var.replication), []), local.allowed.existing_task)) == 0 ||
      alltrue([for key in ["existing_task_arn", "existing_target_endpoint_id"] : try(var.replication[key] != null, false)])
    )
    error_message = join(" ", [
      "replication: existing_task_arn and existing_target_endpoint_id are required for a replication of somebody else: the second names the S3 endpoint,",
      "which no ARN leads to.",
    ])
  }
  validation {
    condition = (
      !contains(try(keys(var.replication), []), "existing_task_arn") ||
      can(regex("^arn:[a-z-]+:dms:[^:]+:\\d{12}:(task|replication-config):.+$", var.replication.existing_task_arn))
    )
    error_message = join(" ", [
      "replication.existing_task_arn is ${jsonencode(try(var.replication.existing_task_arn, null))}. Write the ARN of a replication task",
      "(arn:aws:dms:<region>:<account>:task:...) or of a replication config (...:replication-config:...).",
    ])
  }
  validation {
    condition = (
      !can(regex(":task:", var.replication.existing_task_arn)) ||
      (try(var.replication.existing_task_id != null, false) && !contains(try(keys(var.replication), []), "existing_migration_type"))
    )
    error_message = join(" ", [
      "replication.existing_task_id is required for a task, and existing_migration_type is read of it: the identifier, as the console shows it, leads to its",
      "type and mapping rules; the ARN does not.",
    ])
  }
  validation {
    condition = (
      !can(regex(":replication-config:", var.replication.existing_task_arn)) ||
      (
        try(contains(["full-load", "cdc", "full-load-and-cdc"], var.replication.existing_migration_type), false) &&
        !contains(try(keys(var.replication), []), "existing_task_id")
      )
    )
    error_message = join(" ", [
      "replication.existing_migration_type is ${jsonencode(try(var.replication.existing_migration_type, null))}. A serverless replication cannot be read:",
      "allowed are full-load, cdc, full-load-and-cdc, and no existing_task_id.",
    ])
  }
}

variable "account_role_arns" {
  description = <<-EOT
    Output `role_arns` of the module dms-account-roles, where one stack has both: DMS then waits for these roles, and
    goes before them. Never give a module `depends_on` for that: it puts off whatever the module reads at plan, and
    buckets and key would be replaced.
  EOT
  type        = map(string)
  default     = {}
  nullable    = false
}

################################################################################
# Everything
################################################################################

variable "log_retention_days" {
  description = "Days to keep logs of DMS, job and trigger."
  type        = number
  default     = 365
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of all roles; null means none."
  type        = string
  default     = null

  validation {
    condition     = var.permissions_boundary == null ? true : can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.+$", var.permissions_boundary))
    error_message = "permissions_boundary is ${jsonencode(var.permissions_boundary)}. Give the ARN of an IAM policy, or null."
  }
}

variable "tags" {
  description = "Tags of every resource that can have them."
  type        = map(string)
  default     = {}
  nullable    = false
}
