################################################################################
# What to replicate
################################################################################

variable "name" {
  description = "Name of the pipeline; every resource's name begins with it."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^[a-z](-?[a-z0-9])*$", var.name)) && length(var.name) <= 31
    error_message = join(" ", [
      "name is ${jsonencode(var.name)}. DMS wants up to 31 lower case letters, digits and single",
      "hyphens, beginning with a letter and not ending with a hyphen.",
    ])
  }
}

variable "source_database" {
  description = <<-EOT
    The database to read from. Host, port, user and password are in the secret, a JSON object with `username`, `password`, `host` and `port`.
    - `engine`: `postgres`, `aurora-postgresql`, `mysql`, `mariadb` or `aurora-mysql`.
    - `database`: name of the database; required for the PostgreSQL engines. MySQL engines read the schemas that `tables` names.
    - `secret_arn`: ARN of the Secrets Manager secret.
    - `secret_kms_key_arn`: ARN of the secret's own KMS key; null means the key that AWS manages.
    - `tls.mode`: `verify-full`, `verify-ca`, `require` (PostgreSQL only; the certificate is not verified) or `none`;
      null means `verify-full` for PostgreSQL and `verify-ca` for MySQL.
    - `tls.ca_certificate_pem`, `tls.certificate_arn`: the CA bundle as text, or as a DMS certificate that exists; one
      of them with `verify-ca` and `verify-full`.
    - `postgres.plugin`: `pglogical` or `test_decoding`.
    - `postgres.heartbeat_minutes`: how often DMS writes to its heartbeat table, which lets the replication slot of an idle database move; 0 turns it off.
    - `postgres.artifacts_schema`: schema of DMS's own tables in the source, heartbeat and captured DDL; as in the
      module source-parameters, whose `setup_sql` makes it.
    - `postgres.capture_ddls`: false where DMS's user has no `rds_superuser`; as in the module source-parameters. Nothing tells DMS of new columns then.
    - `postgres.execute_timeout_seconds`: how long a statement of DMS may take.
    - `postgres.slot_name`: replication slot that exists; only with `migration_type` `cdc`, where `cdc_start_position` is a place in it.
    - `mysql.server_timezone`: time zone of a server that is not in UTC, such as `Europe/Paris`.
  EOT
  type = object({
    engine             = string
    database           = optional(string)
    secret_arn         = string
    secret_kms_key_arn = optional(string)
    tls = optional(object({
      mode               = optional(string)
      ca_certificate_pem = optional(string)
      certificate_arn    = optional(string)
    }), {})
    postgres = optional(object({
      plugin                  = optional(string, "pglogical")
      heartbeat_minutes       = optional(number, 5)
      artifacts_schema        = optional(string, "awsdms")
      capture_ddls            = optional(bool, true)
      execute_timeout_seconds = optional(number, 60)
      slot_name               = optional(string)
    }), {})
    mysql = optional(object({
      server_timezone = optional(string)
    }), {})
  })
  nullable = false

  validation {
    condition     = contains(["postgres", "aurora-postgresql", "mysql", "mariadb", "aurora-mysql"], var.source_database.engine)
    error_message = "source_database.engine is ${jsonencode(var.source_database.engine)}. Allowed: postgres, aurora-postgresql, mysql, mariadb, aurora-mysql."
  }

  validation {
    condition     = !contains(["postgres", "aurora-postgresql"], var.source_database.engine) || try(length(var.source_database.database) > 0, false)
    error_message = "source_database.database is missing: a PostgreSQL connection is made to one database."
  }

  validation {
    condition = can(regex("^arn:[^:]+:secretsmanager:[^:]+:[0-9]{12}:secret:.+$", var.source_database.secret_arn))
    error_message = join(" ", [
      "source_database.secret_arn is ${jsonencode(var.source_database.secret_arn)}. Give the full ARN of a Secrets Manager secret:",
      "arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME.",
    ])
  }

  validation {
    condition     = var.source_database.tls.mode == null ? true : contains(["none", "require", "verify-ca", "verify-full"], var.source_database.tls.mode)
    error_message = "source_database.tls.mode is ${jsonencode(var.source_database.tls.mode)}. Allowed: none, require, verify-ca, verify-full."
  }

  validation {
    condition = contains(["postgres", "aurora-postgresql"], var.source_database.engine) || var.source_database.tls.mode != "require"
    error_message = join(" ", [
      "source_database.tls.mode is \"require\", which DMS does not know for MySQL and MariaDB. Use",
      "verify-ca or verify-full with the CA certificate, or say none.",
    ])
  }

  validation {
    # All engines verify by default.
    condition = !contains(["verify-ca", "verify-full"], coalesce(var.source_database.tls.mode, "verify-full")) || (
      (var.source_database.tls.ca_certificate_pem == null) != (var.source_database.tls.certificate_arn == null)
    )
    error_message = join(" ", [
      "source_database.tls: verify-full (the default of PostgreSQL) and verify-ca (that of MySQL) need the CA certificate, as one of ca_certificate_pem (for",
      "RDS: file() of the region's bundle from https://truststore.pki.rds.amazonaws.com) and certificate_arn. PostgreSQL without a check of the certificate:",
      "tls = { mode = \"require\" }.",
    ])
  }

  validation {
    condition     = contains(["pglogical", "test_decoding"], var.source_database.postgres.plugin)
    error_message = "source_database.postgres.plugin is ${jsonencode(var.source_database.postgres.plugin)}. Allowed: pglogical, test_decoding."
  }

  validation {
    condition = (
      var.source_database.postgres.heartbeat_minutes >= 0 &&
      floor(var.source_database.postgres.heartbeat_minutes) == var.source_database.postgres.heartbeat_minutes
    )
    error_message = join(" ", [
      "source_database.postgres.heartbeat_minutes is",
      "${var.source_database.postgres.heartbeat_minutes}. Allowed: whole minutes, or 0 for no",
      "heartbeat.",
    ])
  }

  validation {
    condition = var.source_database.postgres.slot_name == null || var.migration_type == "cdc"
    error_message = join(" ", [
      "source_database.postgres.slot_name is for migration_type \"cdc\"; with a full load DMS",
      "makes a slot of its own, at the place where the load begins.",
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

variable "tables" {
  description = <<-EOT
    Source tables by `schema.table`, written as in the source. Nothing else is replicated. Per table:
    - `key`: columns of the primary key.
    - `load.parallel`: how the full load is split: `{ columns, boundaries }` for ranges of key columns; MySQL engines
      also by partitions, with `type` `partitions-auto`, or `partitions-list` and `partitions`.
    - `load.columns_as_text`: columns that DMS has to write as text: in PostgreSQL those of type `time`, whose Parquet type Spark cannot read.
  EOT
  type        = any
  nullable    = false

  # Checked in table_checks.tf: a validation cannot use what is derived from its own variable.
}

variable "migration_type" {
  description = "`full-load`, `cdc` (only changes from now on) or `full-load-and-cdc`."
  type        = string
  default     = "full-load-and-cdc"
  nullable    = false

  validation {
    condition     = contains(["full-load", "cdc", "full-load-and-cdc"], var.migration_type)
    error_message = "migration_type is ${jsonencode(var.migration_type)}. Allowed: full-load, cdc, full-load-and-cdc."
  }
}

variable "load_epoch" {
  description = "Number of the full load, in the bucket folder. Raise it to load everything again: a new replication writes to a new folder."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.load_epoch >= 1 && var.load_epoch <= 99999 && floor(var.load_epoch) == var.load_epoch
    error_message = "load_epoch is ${var.load_epoch}. Allowed: 1 to 99999. Raise it by one to load again; never lower it."
  }
}

variable "start" {
  description = <<-EOT
    Whether the replication runs. False stops a running one; the next true resumes it where it stopped. Terraform starts
    and stops a provisioned replication; the module trigger a serverless one, within minutes of an apply, through
    output `starter`.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "cdc_start_position" {
  description = "Where a provisioned `cdc` task begins: an LSN of `slot_name`, a binlog position, a checkpoint of DMS; null means now."
  type        = string
  default     = null

  validation {
    condition = var.cdc_start_position == null || (var.migration_type == "cdc" && var.mode == "provisioned")
    error_message = join(" ", [
      "cdc_start_position needs migration_type \"cdc\" and mode \"provisioned\": DMS",
      "Serverless knows no start position, and a full load sets its own.",
    ])
  }
}

################################################################################
# Where to write
################################################################################

variable "bronze" {
  description = <<-EOT
    The bucket DMS writes to.
    - `bucket`: name of the bucket, in this region.
    - `prefix`: folder without slashes at its ends, such as `dms/shop`; files go to
      `<prefix>/epoch-<load_epoch>/<schema>/<table>/`. Its last part must be `name`, so that two pipelines never share a
      folder.
    - `kms_key_arn`: KMS key of the objects; null means the bucket's own S3 key (SSE-S3).
    - `former_kms_key_arns`: keys that DMS may use besides: a replication that runs writes with the former key until it
      has been stopped and its endpoint modified.
    - `expected_owner`: account that owns the bucket; null means this one.
  EOT
  type = object({
    bucket              = string
    prefix              = string
    kms_key_arn         = optional(string)
    former_kms_key_arns = optional(list(string), [])
    expected_owner      = optional(string)
  })
  nullable = false

  validation {
    condition     = can(regex("^[A-Za-z0-9!_.*'()-]+(/[A-Za-z0-9!_.*'()-]+)*$", var.bronze.prefix))
    error_message = "bronze.prefix is ${jsonencode(var.bronze.prefix)}. Give a folder such as dms/${var.name}, without slashes at its ends."
  }

  validation {
    condition = reverse(split("/", var.bronze.prefix))[0] == var.name
    error_message = join(" ", [
      "bronze.prefix is ${jsonencode(var.bronze.prefix)}. Its last part must be ${jsonencode(var.name)}: two replications that write to one folder overwrite",
      "each other's files.",
    ])
  }

  validation {
    condition     = var.bronze.expected_owner == null || can(regex("^[0-9]{12}$", var.bronze.expected_owner))
    error_message = "bronze.expected_owner is ${jsonencode(var.bronze.expected_owner)}. Give the 12 digits of an account."
  }
}

variable "cdc_max_batch_interval_seconds" {
  description = "Seconds from a table's first change until its file is closed. Lower is fresher, with more and smaller files."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.cdc_max_batch_interval_seconds >= 1 && var.cdc_max_batch_interval_seconds <= 3600
    error_message = "cdc_max_batch_interval_seconds is ${var.cdc_max_batch_interval_seconds}. Allowed: 1 to 3600."
  }
}

variable "cdc_min_file_size_kb" {
  description = "KB of changes (before encoding) at which a table's file is closed before its interval is over."
  type        = number
  default     = 32000
  nullable    = false

  validation {
    condition     = var.cdc_min_file_size_kb >= 1 && var.cdc_min_file_size_kb <= 1048576
    error_message = "cdc_min_file_size_kb is ${var.cdc_min_file_size_kb}. Allowed: 1 to 1048576."
  }
}

variable "before_images" {
  description = <<-EOT
    Columns whose value before an update or delete is written (`column-filter` of the rule `add-before-image-columns`):
      `pk-only`, or `all` for tables whose keys are shifted or swapped within a transaction (deferrable keys; in
    PostgreSQL with `REPLICA IDENTITY FULL`). `all` nearly doubles the size of files of changes.
  EOT
  type        = string
  default     = "pk-only"
  nullable    = false

  validation {
    condition     = contains(["pk-only", "all"], var.before_images)
    error_message = "before_images is ${jsonencode(var.before_images)}. Allowed: \"pk-only\", \"all\"."
  }
}
