# Written by `make fmt` from terraform/modules/pipeline, which checks the values.

variable "name" {
  description = "Name of the pipeline; every name begins with it. Up to 31 lower-case letters, digits and single hyphens, beginning with a letter and not ending with a hyphen."
  type        = string
  nullable    = false
}

variable "tables" {
  description = <<-EOT
    Source tables by `schema.table`. Their keys are those of `docs/configuration.md`, checked by the job's own schema, with two differences:
    - `target` may be left out: it is `<silver database>.<table>` then
    - `load`: how DMS loads the table: `load.parallel`, `load.columns_as_text` of the module replication
    Only `key` is required.
  EOT
  type        = any
  nullable    = false
}

variable "region_suffix" {
  description = "Ends the names that all Regions of an account share, of IAM roles, buckets and the dashboard: give one, such as `use1`, to a second pipeline of this name in another Region. Do not change it later: other buckets are another lake."
  type        = string
  default     = ""
  nullable    = false
}

variable "table_defaults" {
  description = "Values for every table that does not give its own: `defaults` of `docs/configuration.md`."
  type        = any
  default     = {}
  nullable    = false
}

variable "gold" {
  description = "Gold models by target `database.table`, as in `gold` of `docs/configuration.md`: queries over the tables, refreshed after these have changed. Their databases are made like those of the tables."
  type        = any
  default     = {}
  nullable    = false
}

variable "source_database" {
  description = <<-EOT
    The database, read by DMS. null when something else writes the files: then only what comes after bronze is made. Host, port, user and password are in the secret
    (`username`, `password`, `host`, `port`), never in Terraform.
    - `engine`: `postgres`, `aurora-postgresql`, `mysql`, `mariadb`, `aurora-mysql`
    - `secret_arn`, `secret_kms_key_arn`: the Secrets Manager secret, and its key unless that is AWS's own
    - `database`: name of the database; PostgreSQL engines only
    - `port`: for the security group; by default 5432 or 3306
    - `identifier`: of the RDS instance or Aurora cluster, for the alarms on what it keeps for DMS and on its disk. Required for PostgreSQL engines; null, written here as such, for none
    - `tls`: `ca_certificate_pem` or `certificate_arn`, which the server's certificate is verified with; `mode`
    - `postgres`, `mysql`: further settings of the module replication
  EOT
  type        = any
  default     = null
}

variable "network" {
  description = <<-EOT
    Where DMS runs; required with `source_database`.
    - `vpc_id`, `subnet_ids`: a VPC that reaches the database, subnets in two zones
    - `route_table_ids`: of these subnets, for the S3 gateway endpoint that is made; `create_s3_endpoint = false` where there is one
    - `create_secrets_manager_endpoint`: false where there is one with private DNS, or a NAT gateway; then `secrets_manager_cidr_blocks` says where
    - `database_security_group_ids` or `database_cidr_blocks`: the database; rules let the replication in unless `open_database_security_groups` is false
    - `security_group_ids`: groups of your own for the replication, instead of one that is made
    - `secrets_manager_client_cidr_blocks`: further hosts that use the endpoint
  EOT
  type        = any
  default     = null
}

variable "migration_type" {
  description = "`full-load`, `cdc` (only changes from now on) or `full-load-and-cdc`."
  type        = string
  default     = "full-load-and-cdc"
  nullable    = false
}

variable "load_epoch" {
  description = "Number of the full load, in the bucket folder. A higher one makes a new replication that loads everything again into a new folder."
  type        = number
  default     = 1
  nullable    = false
}

variable "replication" {
  description = <<-EOT
    Size and habits of DMS, as in the module replication; {} is serverless with 1 to 8 capacity units.
    - `mode`: `serverless` or `provisioned`
    - `min_capacity_units`, `max_capacity_units`; `instance_class`, `allocated_storage_gb`, `engine_version`; `multi_az`, `maintenance_window`, `kms_key_arn`
    - `cdc_max_batch_interval_seconds`, `cdc_min_file_size_kb`: when a file of changes is closed
    - `before_images`: `pk-only`, or `all` for tables whose keys are shifted or swapped within a transaction
    - `lob_max_size_kb`, `max_full_load_subtasks`, `data_error_policy`, `change_processing_tuning`
    - `start`: false stops it; `cdc_start_position`
    Without `source_database`, for a replication that somebody else owns, which is read and followed, and never changed:
    - `existing_task_arn`: of the replication task or of the serverless replication config. Its complete loads are noted; no alarm goes off when it fails or stops
    - `existing_target_endpoint_id`: identifier of its S3 endpoint, whose settings become `bronze`; what `bronze` gives itself counts more
    - `existing_task_id`: identifier of the task, whose mapping rules name its service columns; required for a task
    - `existing_migration_type`: of a serverless replication, whose configuration cannot be read; `bronze.change` then gives `sequence_column`, `stream_position_column` and `before_image_prefix`
  EOT
  type        = any
  default     = {}
  nullable    = false
}

variable "account_role_arns" {
  description = "Output `role_arns` of the module dms-account-roles, where one stack has both: DMS then waits for these roles, and goes before them. Never give a module `depends_on` for that: it puts off whatever the module reads at plan, and buckets and key would be replaced."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "log_retention_days" {
  description = "Days to keep logs of DMS, job and trigger."
  type        = number
  default     = 365
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of all roles; null means none."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource that can have them."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "bronze" {
  description = <<-EOT
    - `prefix`: folder of this pipeline in the bronze bucket, without slashes at its ends; by default `dms/<name>`. With `source_database` its last part is `name`, and the load epoch's folder follows;
      without, the files of `schema/table/` lie directly in it
    - `format`, `csv`, `change`: how something else than this module's replication writes the files: `bronze` of `docs/configuration.md`
  EOT
  type        = any
  default     = {}
  nullable    = false
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
}

variable "bronze_tables" {
  description = "External Glue tables over bronze for Athena, by `schema.table`: `columns` (list of `{ name, type }` with Hive types) and `key`; see the module lake. None by default."
  type        = any
  default     = {}
  nullable    = false
}

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
}

variable "versioning" {
  description = "Days to keep replaced and deleted objects of created buckets: `bronze` (30), `silver` (7), `quarantine` (7), `artifacts` (90); 0 for none."
  type        = any
  default     = {}
  nullable    = false
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
}

variable "access_logs" {
  description = "Bucket, and folder in it, that gets the S3 access logs of the created buckets: `{ bucket, prefix }`; null for none."
  type = object({
    bucket = string
    prefix = optional(string)
  })
  default = null
}

variable "force_destroy" {
  description = "Let `terraform destroy` delete the pipeline: created buckets with their objects, the key, the databases, and what runs. Until true has been applied, AWS refuses the first deletion, also when the buckets are empty, and nothing is destroyed."
  type        = bool
  default     = false
  nullable    = false
}

variable "merge_job" {
  description = <<-EOT
    The Glue job; {} is up to four workers of the smallest size, added and removed as needed.
    - `worker_type`, `number_of_workers`, `auto_scaling`, `execution_class`, `glue_version`, `timeout_minutes`, `max_retries`, `arguments`, `spark_conf`
    - `parallelism`: tables merged side by side in a run; `batch`, `maintenance`, `timestamps`: as in `docs/configuration.md`
    - `network`: subnet and groups to run in, where the job must reach the database
    - `reach_source`: true lets a job with a `network` into the database's security groups, and read its secret: for the command `verify`, which compares tables with their source
    - `security_configuration`: of Glue; none by default, since the buckets and log groups are encrypted without one
    - `package`: [other code](../merge-job/README.md#code), or other requirements of it; `additional_policy_json`: a further policy of its role; `maintenance_schedule`: when the tables are put in order (compaction, orphan files); `cron(0 3 * * ? *)`, each night in UTC, by default, null for never
  EOT
  type        = any
  default     = {}
  nullable    = false
}

variable "runtime" {
  description = "What merges. `glue`: runs of the Glue job, started as `trigger` says. `emr-serverless`: one watch that runs all the time on EMR Serverless (`emr_serverless`); the Glue job stays for maintenance and for commands by hand, and `trigger` starts none of its runs."
  type        = string
  default     = "glue"
  nullable    = false
}

variable "emr_serverless" {
  description = <<-EOT
    With `runtime = "emr-serverless"`: inputs of the module [emr-serverless](../emr-serverless).
    - `python`: the archive with the Python of the watch (`archive_path` or `archive_s3_uri`); required
    - `driver`, `executor`, `initial_capacity`: size; `release_label`, `spark_conf`, `max_failed_attempts_per_hour`
    - `network`: `subnet_ids` and `security_group_ids` of a VPC to run in; with it a queue notifies the watch of new files
    - `start`: false cancels the watch and stops the application
    - `starter_zip_path`: another zip of the function that keeps the watch running
  EOT
  type        = any
  default     = {}
  nullable    = false
}

variable "trigger" {
  description = <<-EOT
    When runs start; {} is when files arrive.
    - `type`: `event`, `schedule` or `continuous`
    - `schedule`: rate or cron, in UTC. With `off`, or a cron that is not daily, `alarms.thresholds.hours_without_run` is required
    - `notification`: how the queue hears of files: `s3` takes over the notifications of the bronze bucket, `eventbridge` and `none` leave them alone. Required for an existing bucket, unless no queue
      hears of files: type `schedule`, and `continuous` with `watch.queue = false`
    - `watch`: with `continuous`, `hours` that a run watches before the next takes over (3; less than `merge_job.timeout_minutes`), `queue` that tells it of new files (true), without which it looks at each table
      every `interval_seconds` (10)
    - `min_minutes_between_runs`: with `event`, minutes from the beginning of one run to that of the next, at least (5); more is cheaper, 0 is freshest
    - `batching_window_seconds`, `package`
  EOT
  type        = any
  default     = {}
  nullable    = false
}

variable "alarms" {
  description = <<-EOT
    - `enabled`: false makes neither alarms, topic nor dashboard
    - `emails`: e-mail addresses to notify
    - `create_topic`: false takes `topic_arn`, an existing SNS topic
    - `dashboard`: false for none
    - `disabled`: names of alarms that are not made (README of the module observability)
    - `runbook`: URL of `docs/operations.md` where your operators read it; each notification names the paragraph of its alarm
    - `thresholds`: `hours_without_run`, `quarantined_rows`, `lag_seconds`, `source_latency_seconds`, `target_latency_seconds`, `replication_capacity_percent`, `slot_lag_bytes`, `free_storage_bytes`
  EOT
  type        = any
  default     = {}
  nullable    = false
}
