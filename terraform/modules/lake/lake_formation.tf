locals {
  governed = var.lake_formation.enabled ? keys(local.locations) : []
  silver   = var.lake_formation.enabled ? var.databases.silver : []

  writes = merge([for database in local.governed : { for name, arn in var.lake_formation.writers : "${name} ${database}" => {
    principal = arn, database = database, on_database = ["DESCRIBE", "CREATE_TABLE"], on_tables = ["SELECT", "INSERT", "DELETE", "ALTER", "DESCRIBE"]
  } }]...)
  reads = merge(
    merge([for database in local.silver : { for name, arn in var.lake_formation.readers : "${name} ${database}" => {
      principal = arn, database = database, on_database = ["DESCRIBE"], on_tables = ["SELECT", "DESCRIBE"]
    } }]...),
    { for name, arn in var.lake_formation.enabled ? var.lake_formation.quarantine_readers : {} : "${name} ${var.databases.quarantine}" => {
      principal = arn, database = var.databases.quarantine, on_database = ["DESCRIBE"], on_tables = ["SELECT", "DESCRIBE"]
    } },
  )
  grants = merge({ for key, grant in local.writes : "write ${key}" => grant }, { for key, grant in local.reads : "read ${key}" => grant })

  registered = (
    var.lake_formation.enabled && var.lake_formation.register_locations ?
    { for role, name in local.created : role => name if contains(["silver", "quarantine"], role) } :
    {}
  )
}

resource "aws_lakeformation_permissions" "database" {
  for_each = local.grants

  principal   = each.value.principal
  permissions = each.value.on_database
  catalog_id  = var.databases.catalog_id

  database {
    name       = each.value.database
    catalog_id = var.databases.catalog_id
  }

  depends_on = [aws_glue_catalog_database.this]
}

resource "aws_lakeformation_permissions" "tables" {
  for_each = local.grants

  principal   = each.value.principal
  permissions = each.value.on_tables
  catalog_id  = var.databases.catalog_id

  table {
    database_name = each.value.database
    wildcard      = true
    catalog_id    = var.databases.catalog_id
  }

  depends_on = [aws_glue_catalog_database.this]
}

resource "aws_lakeformation_resource" "this" {
  for_each = local.registered

  arn                     = aws_s3_bucket.this[each.key].arn
  use_service_linked_role = true
}

resource "aws_lakeformation_permissions" "location" {
  for_each = merge(
    [for role in keys(local.registered) : { for name, arn in var.lake_formation.writers : "${name} ${role}" => { role = role, principal = arn } }]...
  )

  principal   = each.value.principal
  permissions = ["DATA_LOCATION_ACCESS"]

  data_location {
    arn = aws_lakeformation_resource.this[each.value.role].arn
  }
}
