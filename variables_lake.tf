################################################################################
# Bronze
################################################################################

variable "bronze" {
  description = <<-EOT
    - `prefix`: folder of this pipeline in the bronze bucket, without slashes at its ends; by default `dms/<name>`. With
      `source_database` its last part is `name`, and the load epoch's folder follows;
      without, the files of `schema/table/` lie directly in it
    - `format`, `csv`, `change`: how something else than this module's replication writes the files: `bronze` of `docs/configuration.md`
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.bronze)) && length(setsubtract(try(keys(var.bronze), []), local.allowed.bronze)) == 0
    error_message = join(" ", [
      "bronze has",
      "${try(join(", ", setsubtract(keys(var.bronze), local.allowed.bronze)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.bronze)}.",
    ])
  }
  validation {
    condition = var.source_database == null || length(setintersection(try(keys(var.bronze), []), ["format", "csv", "change"])) == 0
    error_message = join(" ", [
      "bronze has ${try(join(", ", setintersection(keys(var.bronze), ["format", "csv", "change"])), "")}: these describe files of somebody else, and",
      "source_database makes files of our own.",
    ])
  }
  validation {
    condition     = try(var.bronze.prefix, null) == null ? true : can(regex("^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", var.bronze.prefix))
    error_message = "bronze.prefix is ${jsonencode(try(var.bronze.prefix, null))}. Give a folder such as dms/${var.name}, without slashes at its ends."
  }
}

variable "bronze_retention" {
  description = <<-EOT
    What becomes of old files of a created bronze bucket; {} keeps them as they are. The files of the current full load never expire.
    - `transition_after_days`, `storage_class`: move to `STANDARD_IA`, `INTELLIGENT_TIERING` or `GLACIER_IR`
    - `changes_expire_after_days`: delete change files; a later rebuild then needs a new full load
    - `past_epochs_expire_after_days`: delete the folders of load epochs before the last one
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.bronze_retention)) && length(setsubtract(try(keys(var.bronze_retention), []), local.allowed.retention)) == 0
    error_message = join(" ", [
      "bronze_retention has ${try(join(", ", setsubtract(keys(var.bronze_retention), local.allowed.retention)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.retention)}.",
    ])
  }
  validation {
    condition = (
      try(var.bronze_retention.changes_expire_after_days, null) == null ||
      !anytrue([for table in try(values(var.tables), []) : try(startswith(table.load.parallel.type, "partitions"), false)])
    )
    error_message = join(" ", [
      "bronze_retention.changes_expire_after_days: a table is loaded by partitions (load.parallel.type), whose folders may be named like the year folders of",
      "change files, and the full load would expire with them.",
    ])
  }
  validation {
    condition = try(var.bronze_retention.changes_expire_after_days, null) == null || var.source_database != null
    error_message = join(" ", [
      "bronze_retention.changes_expire_after_days: only in the layout of this module's replication can change files be distinguished from the full load;",
      "source_database is null.",
    ])
  }
}

variable "bronze_tables" {
  description = <<-EOT
    External Glue tables over bronze for Athena, by `schema.table`: `columns` (list of `{ name, type }` with Hive types)
    and `key`; see the module lake. None by default.
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = (
      can(keys(var.bronze_tables)) &&
      length(setsubtract(flatten([for table in try(values(var.bronze_tables), []) : try(keys(table), [])]), local.allowed.bronze_table)) == 0
    )
    error_message = join(" ", [
      "bronze_tables: found",
      "${try(join(", ", setsubtract(flatten([for table in values(var.bronze_tables) : keys(table)]), local.allowed.bronze_table)), "no object")}. Allowed for",
      "each table: ${join(", ", local.allowed.bronze_table)}.",
    ])
  }
  validation {
    condition     = try(length(var.bronze_tables) == 0, true) || try(var.bronze.format, null) == null || try(var.bronze.format, null) == "parquet"
    error_message = "bronze_tables: external tables are made over Parquet only; bronze.format is ${jsonencode(try(var.bronze.format, null))}."
  }
}

################################################################################
# Buckets, key, catalog
################################################################################

variable "buckets" {
  description = <<-EOT
    The buckets `bronze`, `silver`, `quarantine` and `artifacts`; {} creates all four. For each:
    - `create`: false takes an existing one, with
    - `name`
    - `owner`: account of an existing bronze bucket, when it is another one
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = (
      can(keys(var.buckets)) &&
      length(setsubtract(try(keys(var.buckets), []), local.allowed.buckets)) == 0 &&
      length(setsubtract(flatten([for bucket in try(values(var.buckets), []) : try(keys(bucket), [])]), local.allowed.bucket)) == 0
    )
    error_message = join(" ", [
      "buckets has",
      format(
        "%s.",
        try(
          join(
            ", ",
            concat(
              tolist(setsubtract(keys(var.buckets), local.allowed.buckets)),
              tolist(setsubtract(flatten([for bucket in values(var.buckets) : keys(bucket)]), local.allowed.bucket)),
            ),
          ),
          "no keys",
        ),
      ),
      "Allowed: ${join(", ", local.allowed.buckets)}, and for each ${join(", ", local.allowed.bucket)}.",
    ])
  }
}

variable "encryption" {
  description = <<-EOT
    - `mode`: `SSE_KMS` (default) or `SSE_S3`
    - `create_key`: true makes two KMS keys, one for bronze and quarantine (unmasked rows), one for silver and all else; false takes
    - `key_arn`: an existing one, whose policy must allow what output `cross_account_policies` says under `key`
    - `unmasked_key_arn`: another existing one for bronze and quarantine; by default `key_arn`
    - `encrypt_logs`: encrypt logs and alarms with the key of silver as well; true by default
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.encryption)) && length(setsubtract(try(keys(var.encryption), []), local.allowed.encryption)) == 0
    error_message = join(" ", [
      "encryption has",
      "${try(join(", ", setsubtract(keys(var.encryption), local.allowed.encryption)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.encryption)}.",
    ])
  }
}

variable "versioning" {
  description = "Days to keep replaced and deleted objects of created buckets: `bronze` (30), `silver` (7), `quarantine` (7), `artifacts` (90); 0 for none."
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition = length(setsubtract(keys(var.versioning), local.allowed.versioning)) == 0
    error_message = join(" ", [
      "versioning has",
      "${join(", ", setsubtract(keys(var.versioning), local.allowed.versioning))}. Allowed:",
      "${join(", ", local.allowed.versioning)}.",
    ])
  }
}

variable "catalog" {
  description = <<-EOT
    The Glue catalog of the Iceberg tables.
    - `id`: account id of another account's catalog
    - `name`: its name in Spark SQL; `lake` by default
    - `properties`: further Iceberg catalog properties
    - `create_databases`: false takes existing databases
    - `silver_database`: of tables without a `target`; by default `name` with `_` for `-`
    - `quarantine_database`: by default `<silver database>_quarantine`
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.catalog)) && length(setsubtract(try(keys(var.catalog), []), local.allowed.catalog)) == 0
    error_message = join(" ", [
      "catalog has",
      "${try(join(", ", setsubtract(keys(var.catalog), local.allowed.catalog)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.catalog)}.",
    ])
  }
  validation {
    condition = (
      try(var.catalog.properties, null) == null ?
      true :
      can({ for key, value in var.catalog.properties : key => tostring(value) }) && can(keys(var.catalog.properties))
    )
    error_message = join(" ", [
      "catalog.properties is ${try(jsonencode(var.catalog.properties), "something")}. Expected an",
      "object of texts, such as { \"client.region\" = \"eu-central-1\" }.",
    ])
  }
}

variable "lake_formation" {
  description = <<-EOT
    Grants of Lake Formation; {} for none. The job's role is granted what it needs.
    - `enabled`, `register_locations`
    - `readers`, `quarantine_readers`: ARNs of principals, by any name
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.lake_formation)) && length(setsubtract(try(keys(var.lake_formation), []), local.allowed.lake_formation)) == 0
    error_message = join(" ", [
      "lake_formation has ${try(join(", ", setsubtract(keys(var.lake_formation), local.allowed.lake_formation)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.lake_formation)}.",
    ])
  }
}

variable "access_logs" {
  description = "Bucket, and folder in it, that gets the S3 access logs of the created buckets: `{ bucket, prefix }`; null for none."
  type        = map(string)
  default     = null

  validation {
    condition = (
      var.access_logs == null ?
      true :
      length(setsubtract(keys(var.access_logs), local.allowed.access_logs)) == 0 && contains(keys(var.access_logs), "bucket")
    )
    error_message = "access_logs has ${try(join(", ", keys(var.access_logs)), "no keys")}. Allowed: bucket, which is required, and prefix."
  }
}

variable "force_destroy" {
  description = <<-EOT
    Let `terraform destroy` delete the pipeline: created buckets with their objects, the key, the databases, and what
    runs. Until true has been applied, AWS refuses the first deletion, also when the buckets are empty, and nothing is
    destroyed.
  EOT
  type        = bool
  default     = false
  nullable    = false
}
