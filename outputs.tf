# Written by `make fmt` from terraform/modules/pipeline, which checks the values.

output "existing_task" {
  description = "What was read of the replication that `replication.existing_task_arn` names: `arn`, `migration_type` and `bronze`, the settings of the job's document that follow from it; null without one."
  value       = module.pipeline.existing_task
}

output "buckets" {
  description = "`name`, `arn` and `kms_key_arn` of the buckets `bronze`, `silver`, `quarantine` and `artifacts`."
  value       = module.pipeline.buckets
}

output "kms_key_arn" {
  description = "Key of silver, artefacts, logs and alarms; null with `SSE_S3`."
  value       = module.pipeline.kms_key_arn
}

output "unmasked_kms_key_arn" {
  description = "Key of bronze and quarantine: the one above where only one exists; null with `SSE_S3`."
  value       = module.pipeline.unmasked_kms_key_arn
}

output "bronze_uri" {
  description = "Folder of the change files; `<schema>/<table>/` follow."
  value       = module.pipeline.bronze_uri
}

output "targets" {
  description = "Iceberg table (`database.table` of the Glue catalog) by source table."
  value       = module.pipeline.targets
}

output "databases" {
  description = "Location of the Glue databases by name."
  value       = module.pipeline.databases
}

output "quarantine_database" {
  description = "Glue database of rejected rows."
  value       = module.pipeline.quarantine_database
}

output "reader_policy" {
  description = "Policy for the role of whoever queries the silver tables, as JSON: catalog, files, key; nothing of bronze or quarantine. With `lake_formation.enabled` the catalog and `lakeformation:GetDataAccess` only."
  value       = module.pipeline.reader_policy
}

output "file_reader_policy" {
  description = "The same for engines that read the files themselves, by IAM alone: where Lake Formation is enabled it goes around its grants."
  value       = module.pipeline.file_reader_policy
}

output "bronze_tables" {
  description = "External tables over bronze as `database.table`."
  value       = module.pipeline.bronze_tables
}

output "config_json" {
  description = "The configuration document of the job; `dms-iceberg validate` checks it."
  value       = module.pipeline.config_json
}

output "merge_job" {
  description = "`name`, `arn`, `role_arn`, `arguments`, `script_uri`, `config_uri`, `state_uri`, `log_groups` and `start_command` of the Glue job, and `maintenance_name` of the one that puts the tables in order (null for none)."
  value       = module.pipeline.merge_job
}

output "trigger" {
  description = "`queue`, `news_queue` of a watch, `dead_letter_queue`, `function`, `schedule`, `bucket_notification` and `retry_command` of the trigger."
  value       = module.pipeline.trigger
}

output "watch" {
  description = "With `runtime = \"emr-serverless\"`: `application` (`id`, `arn`, `name`), `role_arn`, `log_group`, `starter` (`name`, `arn`, `log_group`), `run`, `version` and `doctor_command` of the watch; null with `glue`."
  value       = module.pipeline.watch
}

output "replication" {
  description = "`arn`, `security_group_ids`, `s3_role_arn`, `log_group`, `table_mappings_json`, `task_settings_json` and `commands` of the replication; null without one."
  value       = module.pipeline.replication
}

output "alarms" {
  description = "`topic_arn`, `names` by kind, `dashboard` and `metric_namespace` of the alarms; null without them. The module overview takes it."
  value       = module.pipeline.alarms
}

output "cross_account_policies" {
  description = <<-EOT
    What owners of resources in other accounts must allow the roles of this pipeline, as JSON policies:
    `bronze`, `silver`, `quarantine`, `artifacts`: for the policy of an existing bucket;
    `key`: for the policy of an existing KMS key; logs and alarms of this account, and Lake Formation, included where they use it;
    `catalog`: for the resource policy of the Glue catalog.
  EOT
  value       = module.pipeline.cross_account_policies
}
