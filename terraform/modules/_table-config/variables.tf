variable "tables" {
  description = "Source tables by `schema.table`, with the table keys of `docs/configuration.md` and the key `load`, which is for DMS only."
  type        = any
  nullable    = false

  validation {
    condition     = can(keys(var.tables)) && try(length(var.tables) > 0, false)
    error_message = "tables: expected an object with at least one table, such as { \"public.orders\" = { key = [\"order_id\"] } }."
  }
}

variable "defaults" {
  description = "Values for every table that does not give its own: the keys of `defaults` in `docs/configuration.md`."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.defaults))
    error_message = "table_defaults: expected an object, such as { schema_changes = \"strict\" }."
  }
}

variable "gold" {
  description = "Gold models by target `database.table`: `gold` of `docs/configuration.md`."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.gold))
    error_message = "gold: expected an object of models, such as { \"gold.orders_by_city\" = { sql = \"SELECT ...\" } }."
  }
}

variable "silver_database" {
  description = "Glue database of the tables that do not give a `target`: theirs is then `<silver_database>.<table>`."
  type        = string
  nullable    = false
}

variable "quarantine_database" {
  description = "Glue database of the quarantine tables. No target may be in it: it holds unmasked rows."
  type        = string
  nullable    = false
}

variable "bronze" {
  description = <<-EOT
    How the files are written, where it is not our module replication that has DMS write them: `format`, `csv`, `change`
    of `bronze` in `docs/configuration.md`.
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.bronze))
    error_message = "bronze: expected an object, such as { format = \"csv\" }."
  }
}

variable "settings" {
  description = "How the job works: `batch`, `maintenance`, `parallelism`, `timestamps` of `docs/configuration.md`."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.settings))
    error_message = "merge_job: expected an object, such as { parallelism = 8 }."
  }
}
