# Composition only: it decides which module gets which input.
#
# Inputs are read from local.given, not with try: of a list that holds something yet to be made, try forgets even how long it is.
locals {
  replicates = var.source_database != null
  source     = local.given.source_database
  engine     = try(local.source.engine, "")
  kms        = try(coalesce(var.encryption.mode, "SSE_KMS"), "SSE_KMS") == "SSE_KMS"
  encrypts   = local.kms && try(coalesce(var.encryption.encrypt_logs, true), true)
  log_key    = local.encrypts ? module.lake.kms_key_arn : null

  bronze_prefix = try(coalesce(try(var.bronze.prefix, null), local.existing_folder, "dms/${var.name}"), "dms/${var.name}")
  bronze_folder = local.replicates ? module.replication[0].bronze_prefix : "${local.bronze_prefix}/"

  emr           = var.runtime == "emr-serverless"
  is_serverless = try(coalesce(var.replication.mode, "serverless"), "serverless") == "serverless"
  trigger_type  = local.emr ? "continuous" : try(coalesce(var.trigger.type, "event"), "event")
  # A replication that only captures changes loads nothing; a serverless one is started by the trigger nevertheless.
  loads        = (local.follows ? local.existing_type : var.migration_type) != "cdc"
  hears_of_dms = local.replicates ? local.loads || local.is_serverless : local.follows && local.loads
  alarms       = try(coalesce(var.alarms.enabled, true), true)
  # An identifier that is yet to be made cannot be compared with null. But it is a text, so it never equals false, which stands for null here.
  watches_source = coalesce(local.source.identifier, false) != false
  reaches        = try(coalesce(var.merge_job.reach_source, false), false)

  # Twice the time between two wake-ups; a day and two hours where the clock asks daily. Null where that is not known.
  schedule = try(coalesce(var.trigger.schedule, null), lookup({ event = "rate(6 hours)", continuous = "rate(1 minute)" }, local.trigger_type, "-"))
  rate     = try(regex("^rate\\(([0-9]+) (minute|hour|day)s?\\)$", local.schedule), null)
  interval = local.rate == null ? null : tonumber(local.rate[0]) * { minute = 1 / 60, hour = 1, day = 24 }[local.rate[1]]
  daily    = can(regex("^cron\\(\\S+ \\S+ ([*] [*] [?]|[?] [*] [*]) [*]\\)$", local.schedule))
  watches  = local.trigger_type == "continuous" ? try(coalesce(var.trigger.watch.hours, 3), 3) : 0
  # A watch on EMR Serverless hears of files by the queue where it reaches SQS: in a VPC only.
  has_queue       = local.emr && try(var.emr_serverless.network != null, false) && try(coalesce(var.trigger.watch.queue, true), true)
  watch_alarms    = ["watch-not-running", "watch-failed", "watch-starter-errors"]
  disabled_alarms = toset(try(coalesce(var.alarms.disabled, []), []))
  no_run          = try(local.interval > 84 ? null : max(4, ceil(2 * local.interval), local.watches + 2), local.daily ? 26 : null)
}

module "lake" {
  source = "./terraform/modules/lake"

  name          = var.name
  region_suffix = var.region_suffix
  tags          = var.tags
  buckets       = { for role, bucket in var.buckets : role => { create = try(bucket.create, null), name = try(bucket.name, null) } }

  bronze_prefix = "${local.bronze_prefix}/"
  bronze_folder = local.bronze_folder
  source_tables = keys(var.tables)
  past_bronze_folders = (
    local.replicates ?
    [for epoch in range(max(1, var.load_epoch - 20), max(1, var.load_epoch - 1)) : "${local.bronze_prefix}/epoch-${epoch}/"] :
    []
  )
  bronze_retention = var.bronze_retention
  versioning       = var.versioning
  encryption       = { for key, value in var.encryption : key => value if key != "encrypt_logs" }
  access_logs      = var.access_logs
  force_destroy    = var.force_destroy

  databases = {
    create     = local.given.catalog.create_databases
    silver     = module.table_config.config.databases
    quarantine = local.quarantine_database
    catalog_id = local.catalog_id
  }
  bronze_tables = var.bronze_tables
  lake_formation = merge(
    { for key, value in var.lake_formation : key => value },
    (
      try(var.lake_formation.enabled, false) == true ?
      { writers = merge({ job = module.merge_job.role_arn }, local.emr ? { watch = module.emr_serverless[0].role_arn } : {}) } :
      {}
    ),
  )
}

module "network" {
  source = "./terraform/modules/_network"
  count  = local.replicates ? 1 : 0

  name       = var.name
  tags       = var.tags
  vpc_id     = var.network.vpc_id
  subnet_ids = var.network.subnet_ids

  security_group_ids            = local.given.network.security_group_ids
  database_port                 = try(coalesce(local.source.port, null), strcontains(local.engine, "postgres") ? 5432 : 3306)
  database_security_group_ids   = local.given.network.database_security_group_ids
  database_cidr_blocks          = local.given.network.database_cidr_blocks
  job_security_group_ids        = local.reaches ? lookup(var.merge_job.network, "security_group_ids", null) : []
  open_database_security_groups = local.given.network.open_database_security_groups

  create_s3_endpoint                 = local.given.network.create_s3_endpoint
  route_table_ids                    = local.given.network.route_table_ids
  create_secrets_manager_endpoint    = local.given.network.create_secrets_manager_endpoint
  secrets_manager_cidr_blocks        = local.given.network.secrets_manager_cidr_blocks
  secrets_manager_client_cidr_blocks = local.given.network.secrets_manager_client_cidr_blocks
}

module "replication" {
  source = "./terraform/modules/replication"
  count  = local.replicates ? 1 : 0

  name                 = var.name
  region_suffix        = var.region_suffix
  tags                 = var.tags
  permissions_boundary = var.permissions_boundary
  source_database      = { for key, value in local.source : key => value if !contains(["port", "identifier"], key) }
  tables = {
    for name, table in module.table_config.config.tables : name => { for key, value in table : key => value if key != "target" && value != null }
  }
  migration_type = var.migration_type
  load_epoch     = var.load_epoch

  bronze = {
    bucket         = module.lake.buckets.bronze.name
    prefix         = local.bronze_prefix
    kms_key_arn    = module.lake.unmasked_kms_key_arn
    expected_owner = try(var.buckets.bronze.owner, null)
  }
  subnet_ids         = var.network.subnet_ids
  security_group_ids = module.network[0].security_group_ids
  account_role_arns  = var.account_role_arns

  mode                           = local.given.replication.mode
  min_capacity_units             = local.given.replication.min_capacity_units
  max_capacity_units             = local.given.replication.max_capacity_units
  instance_class                 = local.given.replication.instance_class
  allocated_storage_gb           = local.given.replication.allocated_storage_gb
  engine_version                 = local.given.replication.engine_version
  multi_az                       = local.given.replication.multi_az
  maintenance_window             = local.given.replication.maintenance_window
  kms_key_arn                    = local.given.replication.kms_key_arn
  lob_max_size_kb                = local.given.replication.lob_max_size_kb
  max_full_load_subtasks         = local.given.replication.max_full_load_subtasks
  data_error_policy              = local.given.replication.data_error_policy
  change_processing_tuning       = local.given.replication.change_processing_tuning
  cdc_max_batch_interval_seconds = local.given.replication.cdc_max_batch_interval_seconds
  cdc_min_file_size_kb           = local.given.replication.cdc_min_file_size_kb
  before_images                  = local.given.replication.before_images
  cdc_start_position             = local.given.replication.cdc_start_position
  start                          = local.given.replication.start

  log_retention_days = var.log_retention_days
  log_kms_key_arn    = local.log_key
}

module "merge_job" {
  source = "./terraform/modules/merge-job"

  name                 = var.name
  region_suffix        = var.region_suffix
  tags                 = var.tags
  permissions_boundary = var.permissions_boundary

  config_json   = local.config_json
  buckets       = module.lake.buckets
  bronze_prefix = "${local.bronze_prefix}/"
  databases     = { silver = module.table_config.config.databases, quarantine = local.quarantine_database, catalog_id = local.catalog_id }
  kms_key_arn   = module.lake.kms_key_arn
  secret_arns   = concat(module.table_config.config.secret_arns, [for secret in [local.source.secret_arn] : secret if local.reaches])

  secret_kms_key_arns = [
    for key in [local.source.secret_kms_key_arn] : key
    if local.reaches && contains(try(keys(var.source_database), []), "secret_kms_key_arn")
  ]
  additional_policy_json = local.given.merge_job.additional_policy_json
  package                = local.given.merge_job.package
  glue_version           = local.given.merge_job.glue_version
  worker_type            = local.given.merge_job.worker_type
  number_of_workers      = local.given.merge_job.number_of_workers
  auto_scaling           = local.given.merge_job.auto_scaling
  execution_class        = local.given.merge_job.execution_class
  timeout_minutes        = local.given.merge_job.timeout_minutes
  max_retries            = local.given.merge_job.max_retries
  arguments              = local.given.merge_job.arguments
  spark_conf             = local.given.merge_job.spark_conf
  maintenance_schedule   = local.given.merge_job.maintenance_schedule
  network                = local.given.merge_job.network
  security_configuration = local.given.merge_job.security_configuration
  further_role_arns      = local.emr ? [module.emr_serverless[0].role_arn] : []

  log_retention_days = var.log_retention_days
  log_kms_key_arn    = local.log_key
}

module "emr_serverless" {
  source = "./terraform/modules/emr-serverless"
  count  = local.emr ? 1 : 0

  name                 = var.name
  region_suffix        = var.region_suffix
  tags                 = var.tags
  permissions_boundary = var.permissions_boundary

  job       = module.merge_job.run
  artifacts = { bucket = module.lake.buckets.artifacts.name, kms_key_arn = module.lake.kms_key_arn }
  watch = {
    queue_url        = local.has_queue ? module.trigger.news_queue.url : null
    interval_seconds = try(coalesce(var.trigger.watch.interval_seconds, 10), 10)
  }

  python                       = local.given.emr_serverless.python
  driver                       = local.given.emr_serverless.driver
  executor                     = local.given.emr_serverless.executor
  initial_capacity             = local.given.emr_serverless.initial_capacity
  release_label                = local.given.emr_serverless.release_label
  spark_conf                   = local.given.emr_serverless.spark_conf
  max_failed_attempts_per_hour = local.given.emr_serverless.max_failed_attempts_per_hour
  network                      = local.given.emr_serverless.network
  start                        = local.given.emr_serverless.start
  starter_zip_path             = local.given.emr_serverless.starter_zip_path

  alarms = {
    create    = local.alarms
    topic_arn = local.alarms ? module.observability[0].topic_arn : null
    disabled  = setintersection(local.disabled_alarms, local.watch_alarms)
  }

  log_retention_days = var.log_retention_days
  log_kms_key_arn    = local.log_key
}

module "trigger" {
  source = "./terraform/modules/trigger"

  name                 = var.name
  region_suffix        = var.region_suffix
  tags                 = var.tags
  permissions_boundary = var.permissions_boundary

  type         = local.trigger_type
  schedule     = local.given.trigger.schedule != null || !local.emr ? local.given.trigger.schedule : "rate(15 minutes)"
  notification = local.given.trigger.notification
  watch = merge(
    { for key, value in try(var.trigger.watch, null) == null ? {} : var.trigger.watch : key => value },
    local.emr ? { queue = local.has_queue } : {},
  )
  starts_runs              = !local.emr
  batching_window_seconds  = local.given.trigger.batching_window_seconds
  min_minutes_between_runs = local.given.trigger.min_minutes_between_runs
  package                  = local.given.trigger.package

  job = {
    name       = module.merge_job.job_name
    arn        = module.merge_job.job_arn
    config_uri = module.merge_job.config_uri
    role_name  = local.emr ? module.emr_serverless[0].role_name : module.merge_job.role_name
    revision   = sha1(local.config_json)
  }
  bronze = {
    bucket      = module.lake.buckets.bronze.name
    folder      = local.bronze_folder
    owner       = try(var.buckets.bronze.owner, null)
    kms_key_arn = module.lake.unmasked_kms_key_arn
  }
  replication = local.hears_of_dms ? {
    arn      = local.replicates ? module.replication[0].starter.arn : var.replication.existing_task_arn
    loads    = local.loads
    start    = local.replicates ? module.replication[0].starter.start : null
    revision = local.replicates ? module.replication[0].starter.revision : ""
  } : null

  log_retention_days = var.log_retention_days
  log_kms_key_arn    = local.log_key
}

module "observability" {
  source = "./terraform/modules/observability"
  count  = local.alarms ? 1 : 0

  name          = var.name
  region_suffix = var.region_suffix
  tags          = var.tags

  topic = {
    create      = local.given.alarms.create_topic
    arn         = local.given.alarms.topic_arn
    emails      = local.given.alarms.emails
    kms_key_arn = local.log_key
  }
  dashboard = local.given.alarms.dashboard
  # A watch that runs all the time comes to no end; the module emr-serverless has the alarm in place of no-run.
  disabled_alarms = local.emr ? setunion(setsubtract(local.disabled_alarms, local.watch_alarms), ["no-run"]) : local.given.alarms.disabled
  runbook         = local.given.alarms.runbook
  thresholds = merge(
    { for key, hours in { hours_without_run = local.no_run } : key => hours if hours != null },
    try({ for key, value in var.alarms.thresholds : key => value if value != null }, {}),
  )

  job = {
    name             = module.merge_job.job_name
    log_group        = module.merge_job.log_groups.output
    maintenance_name = module.merge_job.maintenance_job_name
    watch_log_group  = local.emr ? module.emr_serverless[0].log_group : null
  }
  trigger = {
    queue_name             = module.trigger.queue.name
    dead_letter_queue_name = module.trigger.dead_letter_queue.name
    function_name          = module.trigger.function.name
    log_group              = module.trigger.function.log_group
  }
  replication = local.replicates ? {
    arn                    = module.replication[0].replication_arn
    metric_dimensions      = module.replication[0].metric_dimensions
    log_group              = module.replication[0].log_group_name
    has_cdc                = var.migration_type != "full-load"
    started                = local.given.replication.start
    batch_interval_seconds = local.given.replication.cdc_max_batch_interval_seconds
  } : null
  source_database = local.watches_source ? { engine = local.engine, identifier = local.source.identifier } : null
}

################################################################################
# Destroy
################################################################################

# Depends on everything and so is destroyed first. The policy of the artefact bucket refuses that until force_destroy has been applied, and Terraform
# goes no further: DMS keeps its place in the source, runs go on, buckets, key and databases are as they were.
resource "aws_s3_object" "destroy_guard" {
  # An existing bucket has its owner's policy, which does not know of it.
  count = try(coalesce(var.buckets.artifacts.create, true), true) ? 1 : 0

  bucket       = module.lake.buckets.artifacts.name
  key          = module.lake.destroy_guard_key
  content      = "Keeps terraform destroy from touching the pipeline ${var.name}. To destroy it, apply force_destroy = true first.\n"
  content_type = "text/plain"
  kms_key_id   = module.lake.kms_key_arn

  depends_on = [module.lake, module.network, module.replication, module.merge_job, module.emr_serverless, module.trigger, module.observability]

  # An object takes ten tags, which a provider's default tags may exceed.
  override_provider {
    default_tags {
      tags = {}
    }
  }
}
