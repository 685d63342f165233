################################################################################
# Where things are
################################################################################

output "buckets" {
  description = "`name`, `arn` and `kms_key_arn` of the buckets `bronze`, `silver`, `quarantine` and `artifacts`."
  value       = module.lake.buckets
}

output "kms_key_arn" {
  description = "Key of silver, artefacts, logs and alarms; null with `SSE_S3`."
  value       = module.lake.kms_key_arn
}

output "unmasked_kms_key_arn" {
  description = "Key of bronze and quarantine: the one above where only one exists; null with `SSE_S3`."
  value       = module.lake.unmasked_kms_key_arn
}

output "bronze_uri" {
  description = "Folder of the change files; `<schema>/<table>/` follow."
  value       = local.document.bronze.uri
}

output "targets" {
  description = "Iceberg table (`database.table` of the Glue catalog) by source table."
  value       = { for name, table in module.table_config.config.tables : name => table.target }
}

output "databases" {
  description = "Location of the Glue databases by name."
  value       = module.lake.databases
}

output "quarantine_database" {
  description = "Glue database of rejected rows."
  value       = local.quarantine_database
}

output "reader_policy" {
  description = <<-EOT
    Policy for the role of whoever queries the silver tables, as JSON: catalog, files, key; nothing of bronze or
    quarantine. With `lake_formation.enabled` the catalog and `lakeformation:GetDataAccess` only.
  EOT
  value       = module.lake.reader_policy
}

output "file_reader_policy" {
  description = "The same for engines that read the files themselves, by IAM alone: where Lake Formation is enabled it goes around its grants."
  value       = module.lake.file_reader_policy
}

output "bronze_tables" {
  description = "External tables over bronze as `database.table`."
  value       = module.lake.bronze_tables
}

################################################################################
# What runs
################################################################################

output "config_json" {
  description = "The configuration document of the job; `dms-iceberg validate` checks it."
  value       = local.config_json
}

output "merge_job" {
  description = <<-EOT
    `name`, `arn`, `role_arn`, `arguments`, `script_uri`, `config_uri`, `state_uri`, `log_groups` and `start_command` of
    the Glue job, and `maintenance_name` of the one that puts the tables in order (null for none).
  EOT
  value = {
    name          = module.merge_job.job_name
    arn           = module.merge_job.job_arn
    role_arn      = module.merge_job.role_arn
    arguments     = module.merge_job.arguments
    script_uri    = module.merge_job.script_uri
    config_uri    = module.merge_job.config_uri
    state_uri     = module.merge_job.state_uri
    log_groups    = module.merge_job.log_groups
    start_command = module.merge_job.start_command

    maintenance_name = module.merge_job.maintenance_job_name
  }
}

output "trigger" {
  description = "`queue`, `news_queue` of a watch, `dead_letter_queue`, `function`, `schedule`, `bucket_notification` and `retry_command` of the trigger."
  value = {
    queue               = module.trigger.queue
    news_queue          = module.trigger.news_queue
    dead_letter_queue   = module.trigger.dead_letter_queue
    function            = module.trigger.function
    schedule            = module.trigger.schedule
    bucket_notification = module.trigger.bucket_notification
    retry_command       = module.trigger.retry_command
  }
}

output "watch" {
  description = <<-EOT
    With `runtime = "emr-serverless"`: `application` (`id`, `arn`, `name`), `role_arn`, `log_group`, `starter`
    (`name`, `arn`, `log_group`), `run`, `version` and `doctor_command` of the watch; null with `glue`.
  EOT
  value = local.emr ? {
    application    = module.emr_serverless[0].application
    role_arn       = module.emr_serverless[0].role_arn
    log_group      = module.emr_serverless[0].log_group
    starter        = module.emr_serverless[0].starter
    run            = module.emr_serverless[0].run
    version        = module.emr_serverless[0].version
    doctor_command = module.emr_serverless[0].doctor_command
  } : null
}

output "replication" {
  description = <<-EOT
    `arn`, `security_group_ids`, `s3_role_arn`, `log_group`, `table_mappings_json`, `task_settings_json` and `commands`
    of the replication; null without one.
  EOT
  value = local.replicates ? {
    arn                 = module.replication[0].replication_arn
    security_group_ids  = module.network[0].security_group_ids
    s3_role_arn         = module.replication[0].s3_role_arn
    log_group           = module.replication[0].log_group_name
    table_mappings_json = module.replication[0].table_mappings_json
    task_settings_json  = module.replication[0].task_settings_json
    commands            = module.replication[0].commands
  } : null
}

output "alarms" {
  description = "`topic_arn`, `names` by kind, `dashboard` and `metric_namespace` of the alarms; null without them. The module overview takes it."
  value = local.alarms ? {
    topic_arn = module.observability[0].topic_arn
    names     = merge(module.observability[0].alarm_names, local.emr ? module.emr_serverless[0].alarm_names : {})
    dashboard = module.observability[0].dashboard_name

    metric_namespace = module.observability[0].metric_namespace
  } : null

  # No validations: they would look at another variable, and be left out where that is wrong as well.
  precondition {
    condition = local.emr || local.watches * 60 < try(coalesce(var.merge_job.timeout_minutes, 480), 480)
    error_message = join(" ", [
      "trigger.watch.hours: a run would watch for ${local.watches} hours, and Glue end it after ${try(coalesce(var.merge_job.timeout_minutes, 480), 480)}",
      "minutes (merge_job.timeout_minutes). Give the timeout more.",
    ])
  }

  precondition {
    condition = (
      local.emr ||
      !local.alarms ||
      local.no_run != null ||
      try(contains(var.alarms.disabled, "no-run"), false) ||
      try(var.alarms.thresholds.hours_without_run != null, false)
    )
    error_message = join(" ", [
      "alarms.thresholds.hours_without_run is missing: from trigger.schedule = ${jsonencode(local.schedule)} it cannot be told how many hours without a run",
      "are too many. Give it (1 to 168, more than the longest time between two runs), or disabled = [\"no-run\"].",
    ])
  }
}

################################################################################
# For other accounts
################################################################################

output "cross_account_policies" {
  description = <<-EOT
    What owners of resources in other accounts must allow the roles of this pipeline, as JSON policies:
    `bronze`, `silver`, `quarantine`, `artifacts`: for the policy of an existing bucket;
    `key`: for the policy of an existing KMS key; logs and alarms of this account, and Lake Formation, included where they use it;
    `catalog`: for the resource policy of the Glue catalog.
  EOT
  value = merge(module.merge_job.resource_policies, {
    bronze = jsonencode(
      {
        Version = "2012-10-17"
        Statement = flatten(
          [
            for policy in concat(
              [module.merge_job.resource_policies.bronze, module.trigger.resource_policies.bronze],
              module.replication[*].resource_policies.bronze,
            ) :
            jsondecode(policy).Statement
          ],
        )
      },
    )
    key = jsonencode({
      Version = "2012-10-17"
      Statement = concat(
        flatten(
          [
            for policy in concat([module.merge_job.resource_policies.key, module.trigger.resource_policies.key], module.replication[*].resource_policies.key) :
            jsondecode(policy).Statement
          ],
        ),
        # Logs and alarms only if they are encrypted with it.
        [for statement in jsondecode(module.lake.key_policy).Statement : statement if local.encrypts || try(statement.Sid, "") == "LakeFormation"],
      )
    })
  })
}
