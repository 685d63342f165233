################################################################################
# The group
################################################################################

variable "name" {
  description = "Prefix of the group's name. The family follows, so a new major version gets a new group."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^[a-z](-?[a-z0-9])*$", var.name)) && length(var.name) <= 63
    error_message = join(" ", [
      "name is ${jsonencode(var.name)}. RDS wants lower case letters, digits and single",
      "hyphens, beginning with a letter and not ending with a hyphen.",
    ])
  }
}

variable "engine" {
  description = "`postgres`, `mysql`, `mariadb` (a group for instances), `aurora-postgresql` or `aurora-mysql` (a group for clusters)."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["postgres", "aurora-postgresql", "mysql", "mariadb", "aurora-mysql"], var.engine)
    error_message = "engine is ${jsonencode(var.engine)}. Allowed: postgres, aurora-postgresql, mysql, mariadb, aurora-mysql."
  }
}

variable "family" {
  description = "Parameter group family, the engine with its major version: `postgres16`, `aurora-postgresql16`, `mysql8.0`, `mariadb11.4`, `aurora-mysql8.0`."
  type        = string
  nullable    = false

  validation {
    # PostgreSQL's major versions are one number, those of the others two.
    condition = can(regex("^${var.engine}[0-9]+${strcontains(var.engine, "postgres") ? "" : "\\.[0-9]+"}$", var.family))
    error_message = join(" ", [
      "family is ${jsonencode(var.family)}. It must be engine (${jsonencode(var.engine)}) and major version, such as postgres16, aurora-postgresql16,",
      "mysql8.0, mariadb11.4, aurora-mysql8.0.",
    ])
  }

  validation {
    condition     = !strcontains(var.engine, "postgres") || try(tonumber(trimprefix(var.family, var.engine)) >= 11, true)
    error_message = "family is ${jsonencode(var.family)}. Allowed: PostgreSQL 11 and newer."
  }
}

variable "parameters" {
  description = <<-EOT
    Further parameters of the group, by name, because a database has a single group. `apply_method` is `immediate` or,
    for static parameters, `pending-reboot`.
  EOT
  type = map(object({
    value        = string
    apply_method = optional(string, "immediate")
  }))
  default  = {}
  nullable = false

  validation {
    condition = length(
      setintersection(
        keys(var.parameters),
        [
          "binlog_checksum", "binlog_format", "binlog_row_image", "max_logical_replication_workers", "max_replication_slots", "max_slot_wal_keep_size",
          "max_wal_senders", "max_worker_processes", "rds.logical_replication", "shared_preload_libraries", "wal_sender_timeout",
        ],
      ),
    ) == 0
    error_message = join(" ", [
      "parameters sets",
      format(
        "%s,",
        join(
          ", ",
          setintersection(
            keys(var.parameters),
            [
              "binlog_checksum", "binlog_format", "binlog_row_image", "max_logical_replication_workers", "max_replication_slots", "max_slot_wal_keep_size",
              "max_wal_senders", "max_worker_processes", "rds.logical_replication", "shared_preload_libraries", "wal_sender_timeout",
            ],
          ),
        ),
      ),
      "which this module sets itself; the sizes have variables of their own.",
    ])
  }

  validation {
    condition = alltrue([for parameter in values(var.parameters) : contains(["immediate", "pending-reboot"], parameter.apply_method)])
    error_message = join(" ", [
      "parameters: apply_method of",
      "${join(", ", [for name, parameter in var.parameters : name if !contains(["immediate", "pending-reboot"], parameter.apply_method)])}. Allowed:",
      "immediate, pending-reboot.",
    ])
  }
}

variable "create" {
  description = "False makes no group; output `parameters` then lists the parameters for your own group."
  type        = bool
  default     = true
  nullable    = false
}

variable "tags" {
  description = "Tags of the group."
  type        = map(string)
  default     = {}
  nullable    = false
}

################################################################################
# PostgreSQL
################################################################################

variable "plugin" {
  description = "PostgreSQL: DMS's decoding plugin: `pglogical`, which must be preloaded, or `test_decoding`, which is built in."
  type        = string
  default     = "pglogical"
  nullable    = false

  validation {
    condition     = contains(["pglogical", "test_decoding"], var.plugin)
    error_message = "plugin is ${jsonencode(var.plugin)}. Allowed: pglogical, test_decoding."
  }
}

variable "capture_ddls" {
  description = <<-EOT
    PostgreSQL: let `setup_sql` set up the capture of DDL; the same value as `source_database.postgres.capture_ddls`.
    False needs no `rds_superuser`: DMS's user gets `rds_replication`, and SELECT on `tables`.
  EOT
  type        = bool
  default     = true
  nullable    = false

  validation {
    # The schema pglogical is closed to others: https://github.com/2ndQuadrant/pglogical/issues/483
    condition = var.capture_ddls || var.plugin == "test_decoding" || !strcontains(var.engine, "postgres")
    error_message = join(" ", [
      "capture_ddls = false needs plugin = \"test_decoding\", here and in source_database.postgres: without rds_superuser DMS's user may not use the schema",
      "of pglogical.",
    ])
  }
}

variable "artifacts_schema" {
  description = <<-EOT
    PostgreSQL: schema for DMS's own tables in the source, as `source_database.postgres.artifacts_schema`. `setup_sql`
    makes it, unless it is `public`.
  EOT
  type        = string
  default     = "awsdms"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z_][a-z0-9_]{0,62}$", var.artifacts_schema)) && !startswith(var.artifacts_schema, "pg_")
    error_message = "artifacts_schema is ${jsonencode(var.artifacts_schema)}. Give up to 63 lower case letters, digits and underscores, not beginning with pg_."
  }
}

variable "replace_event_triggers" {
  description = <<-EOT
    PostgreSQL: let `setup_sql` replace DMS's event triggers that call a function of another schema (made by DMS itself,
    or for a former `artifacts_schema`). Otherwise setup fails, because another replication may need them.
  EOT
  type        = bool
  default     = false
  nullable    = false
}

variable "slot_names" {
  description = <<-EOT
    PostgreSQL: the slots that `teardown_sql` drops, such as `postgres.slot_name` of the pipeline. Without any it drops
    the slot with a name of DMS's form, and fails if there are several, because another replication may need them.
  EOT
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for name in var.slot_names : can(regex("^[a-z0-9_]{1,63}$", name))])
    error_message = "slot_names has ${join(", ", var.slot_names)}. Allowed in the name of a slot: a to z, 0 to 9 and _."
  }
}

variable "preload_libraries" {
  description = "PostgreSQL: libraries to preload besides pglogical. The list replaces the engine's own (pg_stat_statements)."
  type        = list(string)
  default     = ["pg_stat_statements"]
  nullable    = false
}

variable "max_replication_slots" {
  description = "PostgreSQL: maximum number of slots. Each DMS replication takes a slot, and a second during its replacement; the engine's default is 20."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.max_replication_slots >= 5 && var.max_replication_slots <= 1000
    error_message = "max_replication_slots is ${var.max_replication_slots}. Allowed: 5 to 1000."
  }
}

variable "max_wal_senders" {
  description = "PostgreSQL: processes that send WAL, for each slot in use, and for physical replicas and backups."
  type        = number
  default     = 25
  nullable    = false

  validation {
    condition = var.max_wal_senders >= var.max_replication_slots && var.max_wal_senders <= 1000
    error_message = join(" ", [
      "max_wal_senders is ${var.max_wal_senders}. Allowed: from max_replication_slots (${var.max_replication_slots}) to 1000; a slot without a sender stands",
      "still and keeps WAL.",
    ])
  }
}

variable "max_logical_replication_workers" {
  description = "PostgreSQL: workers of logical replication."
  type        = number
  default     = 8
  nullable    = false

  validation {
    condition     = var.max_logical_replication_workers >= 4 && var.max_logical_replication_workers <= 1000
    error_message = "max_logical_replication_workers is ${var.max_logical_replication_workers}. Allowed: 4 (the engine's default) to 1000."
  }
}

variable "max_worker_processes" {
  description = <<-EOT
    PostgreSQL: background processes: a number, or a formula of RDS. It must hold the workers of logical replication,
    autovacuum (3) and parallel queries (8 on small instances).
  EOT
  type        = string
  default     = "GREATEST({DBInstanceVCPU*2},24)"
  nullable    = false

  validation {
    condition = can(regex("\\{", var.max_worker_processes)) || try(tonumber(var.max_worker_processes) >= var.max_logical_replication_workers + 11, false)
    error_message = join(" ", [
      "max_worker_processes is ${jsonencode(var.max_worker_processes)}. Give a number of at least ${var.max_logical_replication_workers + 11}",
      "(max_logical_replication_workers + 3 for autovacuum + 8 for parallel queries), or a formula such as GREATEST({DBInstanceVCPU*2},24).",
    ])
  }
}

variable "wal_sender_timeout_ms" {
  description = "PostgreSQL: milliseconds after which a silent receiver is dropped; 0 is never. Over five minutes delay the failover of a DMS instance."
  type        = number
  default     = 60000
  nullable    = false

  validation {
    condition     = var.wal_sender_timeout_ms == 0 || (var.wal_sender_timeout_ms >= 10000 && var.wal_sender_timeout_ms < 300000)
    error_message = "wal_sender_timeout_ms is ${var.wal_sender_timeout_ms}. Allowed: 0, or 10000 to 299999; DMS fails with less."
  }
}

variable "max_slot_wal_keep_size_mb" {
  description = <<-EOT
    PostgreSQL 13 and newer, not Aurora: MB of WAL that a slot may keep. Saves the disk when DMS is away for long, at
    the price of a new full load; null keeps all of it.
  EOT
  type        = number
  default     = null

  validation {
    condition     = var.max_slot_wal_keep_size_mb == null || (var.engine == "postgres" && try(tonumber(trimprefix(var.family, "postgres")) >= 13, false))
    error_message = "max_slot_wal_keep_size_mb exists in RDS for PostgreSQL 13 and newer; family is ${jsonencode(var.family)}."
  }

  validation {
    condition = var.max_slot_wal_keep_size_mb == null ? true : var.max_slot_wal_keep_size_mb >= 1024
    error_message = join(" ", [
      "max_slot_wal_keep_size_mb is ${coalesce(var.max_slot_wal_keep_size_mb, 0)}. Allowed: 1024 and",
      "more: with less, a short pause of DMS means a new full load.",
    ])
  }
}

################################################################################
# MySQL
################################################################################

variable "binlog_retention_hours" {
  description = "MySQL: hours to keep the binary log, longer than any outage of DMS. Not a parameter: output `setup_sql` has the statement."
  type        = number
  default     = 72
  nullable    = false

  validation {
    condition = (
      var.binlog_retention_hours >= 24 &&
      var.binlog_retention_hours <= (startswith(var.engine, "aurora") ? 2160 : 168) &&
      floor(var.binlog_retention_hours) == var.binlog_retention_hours
    )
    error_message = "binlog_retention_hours is ${var.binlog_retention_hours}. Allowed: 24 to 168, for Aurora to 2160."
  }
}

variable "user" {
  description = "The database user of DMS, for the statements in `setup_sql`."
  type        = string
  default     = "dms"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z_][a-z0-9_]{0,31}$", var.user))
    error_message = "user is ${jsonencode(var.user)}. Give up to 32 lower case letters, digits and underscores."
  }
}

variable "tables" {
  description = <<-EOT
    Source tables as `schema.table`, written as in the source: the keys of the pipeline's `tables`. With
    PostgreSQL `setup_sql` grants SELECT on them; `lob_sizes_sql` reads only them. Without any, no rights on tables are
    granted, and all tables are read.
  EOT
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    # A text between two dollar signs could end the quoted block of a statement.
    condition = alltrue([for name in var.tables : can(regex("^[^./\\\\%]+\\.[^/\\\\%]+$", name)) && !can(regex("\\$[a-z]*\\$", name))])
    error_message = join(" ", [
      "tables has",
      "${join(", ", [for name in var.tables : jsonencode(name) if !can(regex("^[^./\\\\%]+\\.[^/\\\\%]+$", name)) || can(regex("\\$[a-z]*\\$", name))])}.",
      "Expected schema.table, without slashes, backslashes, % and texts between two dollar signs.",
    ])
  }
}
