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
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of the role; null means none."
  type        = string
  default     = null
}

################################################################################
# When runs start
################################################################################

variable "type" {
  description = "`event`: when change files arrive. `schedule`: at the times of `schedule`. `continuous`: runs that watch for `watch.hours` follow each other."
  type        = string
  default     = "event"
  nullable    = false

  validation {
    condition     = contains(["event", "schedule", "continuous"], var.type)
    error_message = "type is ${jsonencode(var.type)}. Allowed: event, schedule, continuous."
  }
}

variable "schedule" {
  description = <<-EOT
    `rate(...)` or `cron(...)` of EventBridge, in UTC: when a run is asked for, one that is active is never disturbed.
    Required with type `schedule`; null means `rate(6 hours)` with `event`, which picks up what a
    run that was stopped by hand left when no new file comes, and `rate(1 minute)` with `continuous`. `off` for none, with `event` only.
  EOT
  type        = string
  default     = null

  validation {
    condition = (
      var.schedule == null ?
      true :
      can(regex("^(rate\\(\\d+ (minute|minutes|hour|hours|day|days)\\)|cron\\(\\S+( \\S+){5}\\)|off)$", var.schedule))
    )
    error_message = "schedule is ${jsonencode(var.schedule)}. Allowed: rate(5 minutes), cron(0 * * * ? *) with six fields, off, or null."
  }
  validation {
    condition     = var.type != "schedule" || var.schedule != null
    error_message = "schedule is missing: type \"schedule\" needs one, such as cron(0 * * * ? *)."
  }
  validation {
    condition     = var.type == "event" || var.schedule == null || var.schedule != "off"
    error_message = "schedule is off, so type ${jsonencode(var.type)} would never start a run."
  }
}

variable "watch" {
  description = <<-EOT
    With `continuous`:
    - `hours`: hours until the next run takes over, on new machines. The job's timeout must be longer
    - `queue`: whether a queue of its own notifies it of new files. It looks at a table at once when it has some, and
      every five minutes besides. Merge jobs in a network without a way to the internet need an endpoint
      of SQS. False looks at all tables by the clock
    - `interval_seconds`: without the queue, seconds between two listings of a table, each a paid request to S3
  EOT
  type = object({
    hours            = optional(number, 3)
    queue            = optional(bool, true)
    interval_seconds = optional(number, 10)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.watch.hours >= 1 && var.watch.hours <= 160 && floor(var.watch.hours) == var.watch.hours
    error_message = "watch.hours is ${var.watch.hours}. Allowed: 1 to 160 (Glue ends a run after 7 days)."
  }
  validation {
    condition     = var.watch.interval_seconds >= 1 && var.watch.interval_seconds <= 3600
    error_message = "watch.interval_seconds is ${var.watch.interval_seconds}. Allowed: 1 to 3600."
  }
}

variable "starts_runs" {
  description = <<-EOT
    Whether the function starts runs of the job. False if the module emr-serverless keeps a watch running: the function
    then only asks the replication which loads are complete.
  EOT
  type        = bool
  default     = true
  nullable    = false

  validation {
    condition = var.starts_runs || var.type == "continuous"
    error_message = join(" ", [
      "starts_runs is false, and type is ${jsonencode(var.type)}: nothing would merge the files that this type is about. Allowed with type continuous, beside",
      "a watch that something else keeps running.",
    ])
  }
}

variable "batching_window_seconds" {
  description = "Seconds for which notifications are gathered: 1 to 300. More means fewer runs and a higher latency."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.batching_window_seconds >= 1 && var.batching_window_seconds <= 300 && floor(var.batching_window_seconds) == var.batching_window_seconds
    error_message = "batching_window_seconds is ${var.batching_window_seconds}. Allowed: 1 to 300 (Lambda gathers more than ten messages only with a window)."
  }
}

variable "min_minutes_between_runs" {
  description = <<-EOT
    With `event`: least minutes between the beginnings of two runs, 0 to 360. It bounds costs; files that arrive
    meanwhile share a run. Scheduled runs and watches ignore it.
  EOT
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.min_minutes_between_runs >= 0 && var.min_minutes_between_runs <= 360
    error_message = "min_minutes_between_runs is ${var.min_minutes_between_runs}. Allowed: 0 to 360."
  }
}

################################################################################
# What is started, and by which files
################################################################################

variable "job" {
  description = <<-EOT
    The Glue job: `name`, `arn`, and `config_uri`, its configuration document: outputs of the module merge-job.
    With `continuous` and `watch.queue` also `role_name`, which gets access to that queue.
    `revision`: any text; a change asks for a run after the next apply.
  EOT
  type        = object({ name = string, arn = string, config_uri = string, role_name = optional(string), revision = optional(string, "") })
  nullable    = false

  validation {
    condition = var.type != "continuous" || !var.watch.queue || var.job.role_name != null
    error_message = join(" ", [
      "job.role_name is missing: a watch reads its queue with the job's role. Give the output",
      "role_name of the module merge-job, or watch = { queue = false }.",
    ])
  }
}

variable "bronze" {
  description = <<-EOT
    Where change files arrive.
    - `bucket`: its name
    - `folder`: folder that DMS writes to, with a slash at its end
    - `owner`: account of the bucket; null for this one
    - `kms_key_arn`: key that the bucket encrypts with; null for none. Used only with `replication`
  EOT
  type = object({
    bucket      = string
    folder      = string
    owner       = optional(string)
    kms_key_arn = optional(string)
  })
  nullable = false

  validation {
    condition = can(regex("^([A-Za-z0-9_.-]+/)+$", var.bronze.folder))
    error_message = join(" ", [
      "bronze.folder is ${jsonencode(var.bronze.folder)}. Write a folder such as \"dms/shop/epoch-1/\": letters, digits, '_', '.' and '-', a slash at the end",
      "and none at the beginning.",
    ])
  }
}

variable "replication" {
  description = <<-EOT
    The DMS replication that writes to `bronze.folder`: output `starter` of the module replication, or the ARN of somebody else's. Null for none.
    - `arn`: of the replication task, or of the serverless replication config
    - `loads`: whether it does full loads, so that it is asked which are complete: a new epoch then also becomes the
      content of tables without changes, and empty tables are made
    - `start`: for a serverless one that writes to the folder of a load epoch, whether it should run: the function
      starts, resumes or stops it after an apply. Null leaves it alone
    - `revision`: any text; after a change the function checks the replication's state
  EOT
  type        = object({ arn = string, loads = optional(bool, true), start = optional(bool), revision = optional(string, "") })
  default     = null

  validation {
    condition = var.replication == null ? true : can(regex("^arn:[a-z-]+:dms:[^:]+:\\d{12}:(task|replication-config):.+$", var.replication.arn))
    error_message = join(" ", [
      "replication.arn is ${jsonencode(try(var.replication.arn, null))}. Write the ARN of a replication task (arn:aws:dms:<region>:<account>:task:...) or of",
      "a replication config (...:replication-config:...).",
    ])
  }
  validation {
    condition = try(var.replication.start, null) == null || can(regex("(^|/)epoch-\\d{1,9}/$", var.bronze.folder))
    error_message = join(" ", [
      "replication.start is given, but bronze.folder ${jsonencode(var.bronze.folder)} is not that of a load epoch, such as \"dms/shop/epoch-2/\": only by its",
      "folder can a second load over the first be told. Leave start out.",
    ])
  }
  validation {
    condition = try(var.replication.start, null) == null || !can(regex(":dms:[^:]*:\\d{12}:task:", var.replication.arn))
    error_message = join(" ", [
      "replication.start is for a serverless replication, and ${jsonencode(try(var.replication.arn, null))} is a task: Terraform starts that itself (start of",
      "the module replication).",
    ])
  }
}

variable "notification" {
  description = <<-EOT
    How the queue learns of new files.
    - `s3`: this module sets the bucket's notifications, and removes all others
    - `eventbridge`: by a rule; the bucket's owner has switched EventBridge on for it, and, if it is another account's,
      forwards these events to the default bus of this one
    - `none`: others send, by output `bucket_notification` or by SNS
  EOT
  type        = string
  default     = "s3"
  nullable    = false

  validation {
    condition     = contains(["s3", "eventbridge", "none"], var.notification)
    error_message = "notification is ${jsonencode(var.notification)}. Allowed: s3, eventbridge, none."
  }
}

################################################################################
# Function, queue, logs
################################################################################

variable "package" {
  description = <<-EOT
    The function's code; by default this module's.
    - `zip_path`: another file on the machine that runs Terraform
    - `zip_s3_uri`: an object that exists; a new version should have a new key
  EOT
  type = object({
    zip_path   = optional(string)
    zip_s3_uri = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition = var.package.zip_s3_uri != null || fileexists(coalesce(var.package.zip_path, "${path.module}/../../../dist/trigger.zip"))
    error_message = join(" ", [
      "package: there is no file ${coalesce(var.package.zip_path, "dist/trigger.zip in this version of the repository")}. Give zip_path or zip_s3_uri; `make",
      "dist` builds the zip.",
    ])
  }
  validation {
    condition     = var.package.zip_s3_uri == null ? true : can(regex("^s3://[^/]+/.+$", var.package.zip_s3_uri))
    error_message = "package.zip_s3_uri is ${jsonencode(var.package.zip_s3_uri)}. Write s3://bucket/key."
  }
}

variable "kms_key_arn" {
  description = <<-EOT
    KMS key of the queues, whose policy must let S3 and EventBridge use it; null means SQS's own encryption. Messages
    hold keys of objects, no rows.
  EOT
  type        = string
  default     = null
}

variable "log_retention_days" {
  description = "Days to keep the function's logs."
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
  description = "KMS key of the log group, whose policy must allow CloudWatch Logs; null means CloudWatch's own encryption."
  type        = string
  default     = null
}
