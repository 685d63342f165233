################################################################################
# Retention
################################################################################

variable "bronze_folder" {
  description = "Folder that DMS writes to now: `bronze_prefix`, or the folder of the current load epoch in it. With a slash at its end."
  type        = string
  default     = null

  validation {
    condition     = var.bronze_folder == null ? true : startswith(var.bronze_folder, var.bronze_prefix) && endswith(var.bronze_folder, "/")
    error_message = "bronze_folder: found ${jsonencode(var.bronze_folder)}; expected a folder in \"${var.bronze_prefix}\", with a slash at its end."
  }
}

variable "source_tables" {
  description = "Names (`schema.table`) of the replicated tables; needed where change files expire."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "past_bronze_folders" {
  description = <<-EOT
    Folders of past load epochs, each with a slash at its end, which expire
    by `bronze_retention.past_epochs_expire_after_days`. Leave out the newest until the following load is complete.
  EOT
  type        = list(string)
  default     = []
  nullable    = false
}

variable "bronze_retention" {
  description = <<-EOT
    Retention of files in a created bronze bucket; null keeps them. Files of the current full load never expire: silver
    can be rebuilt from them and the changes since.
    - `transition_after_days` and `storage_class`: move to `STANDARD_IA`, `INTELLIGENT_TIERING` or `GLACIER_IR` (all with immediate access)
    - `changes_expire_after_days`: delete change files of the current epoch; a later repair or rebuild then needs a new full load. At least 30
    - `past_epochs_expire_after_days`: delete the folders in `past_bronze_folders`
  EOT
  type = object({
    transition_after_days         = optional(number)
    storage_class                 = optional(string, "GLACIER_IR")
    changes_expire_after_days     = optional(number)
    past_epochs_expire_after_days = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition = contains(["STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"], var.bronze_retention.storage_class)
    error_message = join(" ", [
      "bronze_retention.storage_class: found \"${var.bronze_retention.storage_class}\"; allowed: STANDARD_IA, INTELLIGENT_TIERING, GLACIER_IR. Objects of",
      "other classes cannot be read when a late change needs them.",
    ])
  }
  validation {
    condition     = var.bronze_retention.storage_class != "STANDARD_IA" || try(var.bronze_retention.transition_after_days >= 30, true)
    error_message = "bronze_retention.transition_after_days: S3 moves objects to STANDARD_IA after 30 days at the earliest."
  }
  validation {
    condition = try(var.bronze_retention.changes_expire_after_days >= 30, true)
    error_message = join(" ", [
      "bronze_retention.changes_expire_after_days: found ${coalesce(var.bronze_retention.changes_expire_after_days, 0)}; at least 30: the job looks for late",
      "and deleted rows in them.",
    ])
  }
  validation {
    condition = var.bronze_retention.changes_expire_after_days == null || length(var.source_tables) > 0
    error_message = join(" ", [
      "bronze_retention.changes_expire_after_days: needs `source_tables`: without their folders,",
      "change files cannot be distinguished from full-load files.",
    ])
  }
}

################################################################################
# Catalog
################################################################################

variable "databases" {
  description = <<-EOT
    Glue databases of the Iceberg tables:
    - `create`: false takes existing ones
    - `silver`: names. Databases that leave the list are kept
    - `quarantine`: name of the one for rejected rows; its tables are in a bucket of their own
    - `catalog_id`: account id of another account's catalog; null for this one
  EOT
  type = object({
    create     = optional(bool, true)
    silver     = list(string)
    quarantine = string
    catalog_id = optional(string)
  })
  nullable = false

  validation {
    condition = alltrue([for name in concat(var.databases.silver, [var.databases.quarantine]) : can(regex("^[a-z0-9_]{1,255}$", name))])
    error_message = join(" ", [
      "databases: found",
      "${jsonencode(concat(var.databases.silver, [var.databases.quarantine]))}; a Glue database",
      "has lower-case letters, digits and '_'.",
    ])
  }
  validation {
    condition = !contains(var.databases.silver, var.databases.quarantine)
    error_message = join(" ", [
      "databases.quarantine: '${var.databases.quarantine}' is a silver database too;",
      "rejected rows are unmasked and need access rules of their own.",
    ])
  }
  validation {
    condition     = var.databases.catalog_id == null ? true : can(regex("^[0-9]{12}$", var.databases.catalog_id))
    error_message = "databases.catalog_id: found ${jsonencode(var.databases.catalog_id)}; expected an account id of 12 digits."
  }
}

variable "bronze_tables" {
  description = <<-EOT
    External Glue tables over bronze to query raw changes in Athena; none by default. Two for each source table: `<schema>_<table>` with all files, and
    `<schema>_<table>_changes` with the change files by hour. By `schema.table`:
    - `columns`: the source's columns as `{ name, type }` with Hive types
    - `key`: names of its key columns, whose before-images are columns too
  EOT
  type = map(object({
    columns = list(object({ name = string, type = string }))
    key     = optional(list(string), [])
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for table in var.bronze_tables : length(table.columns) > 0])
    error_message = "bronze_tables: columns are missing: ${join(", ", [for name, table in var.bronze_tables : name if length(table.columns) == 0])}."
  }
  validation {
    condition     = alltrue([for name in keys(var.bronze_tables) : can(regex("^[^./]+[.][^/]+$", name))])
    error_message = "bronze_tables: found ${join(", ", keys(var.bronze_tables))}; names are schema.table."
  }
  validation {
    condition = alltrue(
      [for table in var.bronze_tables : length(setsubtract([for key in table.key : lower(key)], [for column in table.columns : lower(column.name)])) == 0],
    )
    error_message = join(" ", [
      "bronze_tables: every column of `key` must be among `columns`:",
      format(
        "%s.",
        join(
          ", ",
          [
            for name, table in var.bronze_tables :
            name
            if length(setsubtract([for key in table.key : lower(key)], [for column in table.columns : lower(column.name)])) > 0
          ],
        ),
      ),
    ])
  }
}

variable "bronze_database" {
  description = "Glue database of `bronze_tables`; by default `<name>_bronze` with `_` for `-`."
  type        = string
  default     = null
}

variable "lake_formation" {
  description = <<-EOT
    Grants of Lake Formation, for accounts that use it instead of IAM alone; off by default:
    - `enabled`: grant. Others' access depends on the account's setting for new databases and tables (`IAMAllowedPrincipals`), which this module does not change
    - `register_locations`: register the created silver and quarantine buckets
    - `writers`: ARNs of roles that write all databases, by any name; the job's role
    - `readers`: ARNs of principals that may query the silver databases, by any name
    - `quarantine_readers`: ARNs of principals that may query the quarantine, by any name
  EOT
  type = object({
    enabled            = optional(bool, false)
    register_locations = optional(bool, false)
    writers            = optional(map(string), {})
    readers            = optional(map(string), {})
    quarantine_readers = optional(map(string), {})
  })
  default  = {}
  nullable = false

  validation {
    condition = (
      var.lake_formation.enabled ||
      !var.lake_formation.register_locations && length(merge(var.lake_formation.readers, var.lake_formation.quarantine_readers)) == 0
    )
    error_message = "lake_formation: readers or locations are given, but `enabled` is false; nothing would be granted."
  }
}
