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
  description = "Suffix of the dashboard's name, which is unique in an account: set it (`use1`) for a pipeline of this name in another Region."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]{0,7}$", var.region_suffix))
    error_message = "region_suffix is ${jsonencode(var.region_suffix)}. Allowed: up to 7 lower-case letters and digits, such as \"use1\", or \"\" for none."
  }
}

variable "tags" {
  description = "Tags of every resource that can have them."
  type        = map(string)
  default     = {}
  nullable    = false
}

################################################################################
# Who is notified
################################################################################

variable "topic" {
  description = <<-EOT
    The SNS topic of the notifications.
    - `create`: false takes `arn`, whose policy must let CloudWatch and EventBridge publish
    - `arn`: an existing topic
    - `kms_key_arn`: key of the created topic, whose policy must let CloudWatch and EventBridge use it; null for none. Messages hold names and numbers, no rows
    - `emails`: addresses that are subscribed to the created topic; each must confirm
  EOT
  type = object({
    create      = optional(bool, true)
    arn         = optional(string)
    kms_key_arn = optional(string)
    emails      = optional(set(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.topic.create == (var.topic.arn == null)
    error_message = "topic: either `create` is true, or it is false and `arn` names an existing topic."
  }
  validation {
    condition     = var.topic.create || length(var.topic.emails) == 0
    error_message = "topic.emails: only a topic that is made here gets subscriptions; found ${length(var.topic.emails)} for ${coalesce(var.topic.arn, "-")}."
  }
  validation {
    condition = alltrue([for address in var.topic.emails : can(regex("^[^@\\s]+@[^@\\s]+$", address))])
    error_message = join(" ", [
      "topic.emails: found ${join(", ", [for address in var.topic.emails : jsonencode(address) if !can(regex("^[^@\\s]+@[^@\\s]+$", address))])}; expected",
      "addresses.",
    ])
  }
}

variable "disabled_alarms" {
  description = "Alarms to leave out, by the names in the README of this module."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition = length(
      setsubtract(
        var.disabled_alarms,
        [
          "job-failed", "table-failed", "no-run", "rows-quarantined", "lag", "dead-letters", "trigger-needs-help", "trigger-errors", "source-latency",
          "target-latency", "replication-capacity", "table-suspended", "value-truncated", "load-error", "log-silent", "slot-lag", "source-storage",
          "replication-state", "job-state",
        ],
      ),
    ) == 0
    error_message = join(" ", [
      "disabled_alarms has ${join(", ", var.disabled_alarms)}. Allowed: job-failed, table-failed, no-run, rows-quarantined, lag, dead-letters,",
      "trigger-needs-help, trigger-errors, source-latency, target-latency, replication-capacity, table-suspended, value-truncated, load-error, log-silent,",
      "slot-lag, source-storage, replication-state, job-state.",
    ])
  }
}

variable "runbook" {
  description = <<-EOT
    Location of `docs/operations.md`, which each notification names with the alarm's paragraph: a URL that your
    operators can open, such as in your wiki.
  EOT
  type        = string
  default     = "docs/operations.md"
  nullable    = false

  validation {
    condition = can(regex("^[^\\s#\"]{1,300}$", var.runbook))
    error_message = join(" ", [
      "runbook is ${jsonencode(var.runbook)}. Write a path or a URL of at most 300 characters,",
      "without blanks, quotes and '#': the alarm's own anchor is added.",
    ])
  }
}

variable "dashboard" {
  description = "Make a CloudWatch dashboard."
  type        = bool
  default     = true
  nullable    = false
}

variable "thresholds" {
  description = <<-EOT
    When an alarm fires:
    - `hours_without_run`: no run has ended for so many hours; more than the longest time between two runs
    - `quarantined_rows`: more rows than this were quarantined in an hour
    - `lag_seconds`: a change was in silver more than so many seconds after its commit; null for no such alarm. Full loads count from the start of the task
    - `source_latency_seconds`: DMS is so far behind the source, for 15 minutes
    - `target_latency_seconds`: the same for unwritten changes; null is the batch interval and 5 minutes
    - `replication_capacity_percent`: a serverless replication has used so much of its memory, on average, for 30 minutes
    - `slot_lag_bytes`: the source keeps so much log for DMS
    - `free_storage_bytes`: the source's disk has less than this left, for 15 minutes; not Aurora. Give a tenth of the disk or more
  EOT
  type = object({
    hours_without_run            = optional(number, 12)
    quarantined_rows             = optional(number, 0)
    lag_seconds                  = optional(number)
    source_latency_seconds       = optional(number, 300)
    target_latency_seconds       = optional(number)
    replication_capacity_percent = optional(number, 90)
    slot_lag_bytes               = optional(number, 10737418240)
    free_storage_bytes           = optional(number, 2147483648)
  })
  default  = {}
  nullable = false

  validation {
    condition = (
      var.thresholds.hours_without_run >= 1 &&
      var.thresholds.hours_without_run <= 168 &&
      floor(var.thresholds.hours_without_run) == var.thresholds.hours_without_run
    )
    error_message = join(" ", [
      "thresholds.hours_without_run is ${var.thresholds.hours_without_run}. Allowed: 1 to 168 (CloudWatch looks back 7 days); without such an alarm,",
      "disabled_alarms = [\"no-run\"].",
    ])
  }
  validation {
    condition = var.thresholds.replication_capacity_percent < 100
    error_message = join(" ", [
      "thresholds.replication_capacity_percent is ${var.thresholds.replication_capacity_percent}. Allowed: 0 to less than 100; without such an alarm,",
      "disabled_alarms = [\"replication-capacity\"].",
    ])
  }
  validation {
    condition     = alltrue([for value in values(var.thresholds) : try(value >= 0, value == null)])
    error_message = "thresholds: found ${jsonencode(var.thresholds)}; no number may be below 0."
  }
}

################################################################################
# What is watched
################################################################################

variable "job" {
  description = <<-EOT
    The Glue job: `name`; `log_group`, the group with its JSON lines (output `log_groups.output` of the module
    merge-job); `maintenance_name`, the job that runs `maintain`, null for none; `watch_log_group`, the group of a watch
    that merges instead of the job (output `log_group` of the module emr-serverless), null for none.
  EOT
  type        = object({ name = string, log_group = string, maintenance_name = optional(string), watch_log_group = optional(string) })
  nullable    = false
}

variable "trigger" {
  description = "The trigger: `queue_name`, `dead_letter_queue_name`, `function_name` and its `log_group`; null for none."
  type = object({
    queue_name             = string
    dead_letter_queue_name = string
    function_name          = string
    log_group              = string
  })
  default = null
}

variable "replication" {
  description = <<-EOT
    The DMS replication; null for none.
    - `arn`, `metric_dimensions`: outputs `replication_arn` and `metric_dimensions` of the module replication
    - `log_group`: its log group, if Terraform makes it; with null suspended tables, cut values and errors of the full load are not counted
    - `has_cdc`: false for a full load only, which has no latency
    - `started`: false if it is not meant to run; its silence is then no alarm
    - `batch_interval_seconds`: seconds for which DMS gathers changes for a file
  EOT
  type = object({
    arn                    = string
    metric_dimensions      = map(string)
    log_group              = optional(string)
    has_cdc                = optional(bool, true)
    started                = optional(bool, true)
    batch_interval_seconds = optional(number, 60)
  })
  default = null
}

variable "source_database" {
  description = <<-EOT
    The database, for the alarms on its slot and disk; null for none. MySQL engines, which keep their binlog for a set time, have only the latter.
    - `engine`: as in the module replication
    - `identifier`: of the RDS instance, or of the Aurora cluster
  EOT
  type        = object({ engine = string, identifier = string })
  default     = null

  validation {
    condition = (
      var.source_database == null ?
      true :
      contains(["postgres", "aurora-postgresql", "mysql", "mariadb", "aurora-mysql"], var.source_database.engine)
    )
    error_message = join(" ", [
      "source_database.engine is ${jsonencode(try(var.source_database.engine, null))}. Allowed:",
      "postgres, aurora-postgresql, mysql, mariadb, aurora-mysql.",
    ])
  }
  validation {
    condition = var.source_database == null ? true : var.source_database.identifier != null
    error_message = join(" ", [
      "source_database.identifier is null. Without a name there is nothing to watch: source_database = null; in the root module write identifier = null",
      "itself, for a variable that is null cannot be told from a name that is yet to be made.",
    ])
  }
}
