# The one configuration document of the job: docs/configuration.md.
module "table_config" {
  source = "./terraform/modules/_table-config"

  tables              = var.tables
  defaults            = var.table_defaults
  gold                = var.gold
  bronze              = local.bronze_settings
  settings            = try({ for key, value in var.merge_job : key => value if contains(["batch", "maintenance", "parallelism", "timestamps"], key) }, {})
  silver_database     = local.silver_database
  quarantine_database = local.quarantine_database
}

locals {
  silver_database     = try(coalesce(var.catalog.silver_database, replace(var.name, "-", "_")), replace(var.name, "-", "_"))
  quarantine_database = try(coalesce(var.catalog.quarantine_database, "${local.silver_database}_quarantine"), "${local.silver_database}_quarantine")
  catalog_id          = try(var.catalog.id, null)

  document = merge(module.table_config.config.document, {
    version  = 1
    pipeline = var.name
    bronze   = merge(module.table_config.config.document.bronze, { uri = "s3://${module.lake.buckets.bronze.name}/${local.bronze_folder}" })
    catalog = merge(
      { name = try(coalesce(var.catalog.name, "lake"), "lake"), type = "glue", warehouse = module.lake.warehouse },
      { for key, properties in { properties = local.catalog_properties } : key => properties if length(properties) > 0 },
    )
    quarantine = { namespace = local.quarantine_database }
    state_uri  = "s3://${module.lake.buckets.artifacts.name}/${var.name}/"
  })

  catalog_properties = merge(
    # Iceberg's name for the catalog of another account.
    local.catalog_id == null ? {} : { "glue.id" = local.catalog_id },
    try({ for key, value in var.catalog.properties : key => tostring(value) }, {}),
  )

  config_json = jsonencode(local.document)
}
