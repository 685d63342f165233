# Written by `make fmt` from terraform/modules/pipeline, which checks the values.
module "pipeline" {
  source = "./terraform/modules/pipeline"

  access_logs          = var.access_logs
  account_role_arns    = var.account_role_arns
  alarms               = var.alarms
  bronze               = var.bronze
  bronze_retention     = var.bronze_retention
  bronze_tables        = var.bronze_tables
  buckets              = var.buckets
  catalog              = var.catalog
  emr_serverless       = var.emr_serverless
  encryption           = var.encryption
  force_destroy        = var.force_destroy
  gold                 = var.gold
  lake_formation       = var.lake_formation
  load_epoch           = var.load_epoch
  log_retention_days   = var.log_retention_days
  merge_job            = var.merge_job
  migration_type       = var.migration_type
  name                 = var.name
  network              = var.network
  permissions_boundary = var.permissions_boundary
  region_suffix        = var.region_suffix
  replication          = var.replication
  runtime              = var.runtime
  source_database      = var.source_database
  table_defaults       = var.table_defaults
  tables               = var.tables
  tags                 = var.tags
  trigger              = var.trigger
  versioning           = var.versioning
}
