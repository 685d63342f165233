################################################################################
# Job, trigger, alarms
################################################################################

variable "merge_job" {
  description = <<-EOT
    The Glue job; {} is up to four workers of the smallest size, added and removed as needed.
    - `worker_type`, `number_of_workers`, `auto_scaling`, `execution_class`, `glue_version`, `timeout_minutes`, `max_retries`, `arguments`, `spark_conf`
    - `parallelism`: tables merged side by side in a run; `batch`, `maintenance`, `timestamps`: as in `docs/configuration.md`
    - `network`: subnet and groups to run in, where the job must reach the database
    - `reach_source`: true lets a job with a `network` into the database's security groups, and read its secret: for the
      command `verify`, which compares tables with their source
    - `security_configuration`: of Glue; none by default, since the buckets and log groups are encrypted without one
    - `package`: other code, or other requirements of it (README of the module merge-job); `additional_policy_json`: a
      further policy of its role; `maintenance_schedule`: when the tables are put in order (compaction, orphan files);
      `cron(0 3 * * ? *)`, each night in UTC, by default, null for never
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.merge_job)) && length(setsubtract(try(keys(var.merge_job), []), local.allowed.merge_job)) == 0
    error_message = join(" ", [
      "merge_job has ${try(join(", ", setsubtract(keys(var.merge_job), local.allowed.merge_job)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.merge_job)}. One run at a time is what the trigger relies on, so concurrency is no setting.",
    ])
  }
  validation {
    condition = (
      try(var.merge_job.security_configuration, null) == null ?
      true :
      can(keys(var.merge_job.security_configuration)) && length(setsubtract(try(keys(var.merge_job.security_configuration), []), ["create", "name"])) == 0
    )
    error_message = join(" ", [
      "merge_job.security_configuration is",
      "${try(jsonencode(var.merge_job.security_configuration), "something")}. Expected an",
      "object with create or name.",
    ])
  }
  validation {
    condition = (
      try(var.merge_job.package, null) == null ?
      true :
      can(keys(var.merge_job.package)) && length(setsubtract(try(keys(var.merge_job.package), []), local.allowed.package)) == 0
    )
    error_message = join(" ", [
      "merge_job.package has ${try(join(", ", setsubtract(keys(var.merge_job.package), local.allowed.package)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.package)}.",
    ])
  }
  validation {
    condition = (
      try(var.merge_job.reach_source, null) == null ||
      try(var.merge_job.reach_source == false, false) ||
      var.source_database != null && try(var.merge_job.network != null, false)
    )
    error_message = "merge_job.reach_source: the job reaches the database only with merge_job.network, and where there is a source_database."
  }
}

variable "runtime" {
  description = <<-EOT
    What merges. `glue`: runs of the Glue job, started as `trigger` says. `emr-serverless`: one watch that runs all the
    time on EMR Serverless (`emr_serverless`); the Glue job stays for maintenance and for commands by hand,
    and `trigger` starts none of its runs.
  EOT
  type        = string
  default     = "glue"
  nullable    = false

  validation {
    condition     = contains(["glue", "emr-serverless"], var.runtime)
    error_message = "runtime is ${jsonencode(var.runtime)}. Allowed: glue, emr-serverless."
  }
  validation {
    condition = var.runtime == "glue" || try(contains(["-", "continuous"], coalesce(var.trigger.type, "-")), true)
    error_message = join(" ", [
      "runtime is emr-serverless, where a watch runs all the time, and trigger.type is",
      "${try(jsonencode(var.trigger.type), "-")}. Leave trigger.type out.",
    ])
  }
  validation {
    condition = (
      var.runtime == "glue" ||
      length(setintersection(try(keys({ for key, value in var.trigger : key => value if value != null }), []), ["min_minutes_between_runs"])) == 0
    )
    error_message = "runtime is emr-serverless, where no runs are started one by one: trigger.min_minutes_between_runs does not apply. Leave it out."
  }
}

variable "emr_serverless" {
  description = <<-EOT
    With `runtime = "emr-serverless"`: inputs of the module emr-serverless.
    - `python`: the archive with the Python of the watch (`archive_path` or `archive_s3_uri`); required
    - `driver`, `executor`, `initial_capacity`: size; `release_label`, `spark_conf`, `max_failed_attempts_per_hour`
    - `network`: `subnet_ids` and `security_group_ids` of a VPC to run in; with it a queue notifies the watch of new files
    - `start`: false cancels the watch and stops the application
    - `starter_zip_path`: another zip of the function that keeps the watch running
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.emr_serverless)) && length(setsubtract(try(keys(var.emr_serverless), []), local.allowed.emr_serverless)) == 0
    error_message = join(" ", [
      "emr_serverless has ${try(join(", ", setsubtract(keys(var.emr_serverless), local.allowed.emr_serverless)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.emr_serverless)}.",
    ])
  }
  validation {
    condition = var.runtime == "glue" || try(var.trigger.watch.queue, false) != true || try(var.emr_serverless.network != null, false)
    error_message = join(" ", [
      "trigger.watch.queue is true, and emr_serverless.network is missing: without a VPC, EMR Serverless reaches S3, Glue and some other services, SQS not",
      "among them. Give a network that reaches SQS, or leave the queue out: the watch then looks at each table every trigger.watch.interval_seconds.",
    ])
  }
  validation {
    condition = length(try(keys(var.emr_serverless), [])) == 0 || var.runtime == "emr-serverless"
    error_message = join(" ", [
      "emr_serverless is given, and runtime is ${jsonencode(var.runtime)}, which does not",
      "use it. Set runtime = \"emr-serverless\", or leave it out.",
    ])
  }
}

variable "trigger" {
  description = <<-EOT
    When runs start; {} is when files arrive.
    - `type`: `event`, `schedule` or `continuous`
    - `schedule`: rate or cron, in UTC. With `off`, or a cron that is not daily, `alarms.thresholds.hours_without_run` is required
    - `notification`: how the queue hears of files: `s3` takes over the notifications of the bronze bucket,
      `eventbridge` and `none` leave them alone. Required for an existing bucket, unless no queue
      hears of files: type `schedule`, and `continuous` with `watch.queue = false`
    - `watch`: with `continuous`, `hours` that a run watches before the next takes over (3; less than
      `merge_job.timeout_minutes`), `queue` that tells it of new files (true), without which it looks at each table
      every `interval_seconds` (10)
    - `min_minutes_between_runs`: with `event`, minutes from the beginning of one run to that of the next, at least (5); more is cheaper, 0 is freshest
    - `batching_window_seconds`, `package`
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.trigger)) && length(setsubtract(try(keys(var.trigger), []), local.allowed.trigger)) == 0
    error_message = join(" ", [
      "trigger has",
      "${try(join(", ", setsubtract(keys(var.trigger), local.allowed.trigger)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.trigger)}.",
    ])
  }
  validation {
    condition = (
      try(var.trigger.watch, null) == null ||
      length(setsubtract(try(keys(var.trigger.watch), ["-"]), ["hours", "queue", "interval_seconds"])) == 0
    )
    error_message = "trigger.watch is ${try(jsonencode(var.trigger.watch), "something")}. Expected an object with hours, queue or interval_seconds."
  }
  validation {
    condition = (
      try(var.buckets.bronze.create, true) != false ||
      try(var.trigger.type == "schedule", false) ||
      try(var.trigger.type == "continuous" && var.trigger.watch.queue == false, false) ||
      try(var.trigger.notification != null, false)
    )
    error_message = join(" ", [
      "trigger.notification is missing: the bronze bucket exists already, and s3 would remove",
      "the notifications that it has. Say s3, eventbridge or none.",
    ])
  }
}

variable "alarms" {
  description = <<-EOT
    - `enabled`: false makes neither alarms, topic nor dashboard
    - `emails`: e-mail addresses to notify
    - `create_topic`: false takes `topic_arn`, an existing SNS topic
    - `dashboard`: false for none
    - `disabled`: names of alarms that are not made (README of the module observability)
    - `runbook`: URL of `docs/operations.md` where your operators read it; each notification names the paragraph of its alarm
    - `thresholds`: `hours_without_run`, `quarantined_rows`, `lag_seconds`, `source_latency_seconds`,
      `target_latency_seconds`, `replication_capacity_percent`, `slot_lag_bytes`, `free_storage_bytes`
  EOT
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition = can(keys(var.alarms)) && length(setsubtract(try(keys(var.alarms), []), local.allowed.alarms)) == 0
    error_message = join(" ", [
      "alarms has",
      "${try(join(", ", setsubtract(keys(var.alarms), local.allowed.alarms)), "no keys")}.",
      "Allowed: ${join(", ", local.allowed.alarms)}.",
    ])
  }
  validation {
    condition = (
      contains(try(keys(var.alarms), []), "topic_arn") ?
      try(var.alarms.topic_arn == null, false) || try(var.alarms.create_topic == false, false) :
      true
    )
    error_message = "alarms.topic_arn is given, and create_topic is not false; set it, since whether a topic is made must be known before its ARN may be."
  }
  validation {
    condition = (
      try(var.alarms.thresholds, null) == null ?
      true :
      can(keys(var.alarms.thresholds)) && length(setsubtract(try(keys(var.alarms.thresholds), []), local.allowed.thresholds)) == 0
    )
    error_message = join(" ", [
      "alarms.thresholds has ${try(join(", ", setsubtract(keys(var.alarms.thresholds), local.allowed.thresholds)), "no keys")}. Allowed:",
      "${join(", ", local.allowed.thresholds)}.",
    ])
  }
}
