locals {
  # Iceberg puts a table below its database's location.
  locations = merge(
    { for name in var.databases.silver : name => "s3://${local.buckets.silver.name}/${name}" },
    { (var.databases.quarantine) = "s3://${local.buckets.quarantine.name}/${var.databases.quarantine}" },
  )
}

# Deleting a Glue database deletes every table in it, whoever made it. So a database that this module has made stays when the last of the pipeline's
# tables has left it: each is noted outside of Terraform's state, where the next plan can read it.
# No condition here: with one Terraform reads only after every change of what the condition names, and does not know the databases at plan.
data "aws_ssm_parameters_by_path" "databases" {
  path = local.databases_path
}

locals {
  databases_path = "/dms-iceberg/databases/${var.name}"
  noted = {
    for i, name in data.aws_ssm_parameters_by_path.databases.names :
    trimprefix(name, "${local.databases_path}/") => nonsensitive(data.aws_ssm_parameters_by_path.databases.values)[i]
  }

  # Another lake of this name may have made databases that this one only uses.
  kept_locations = var.databases.create ? merge({ for name, location in local.noted : name => location if location != local.raw }, local.locations) : {}

  # In place of a location. The database of raw changes belongs to the lake that the folder belongs to.
  raw             = "raw changes"
  noted_raw       = [for name, location in local.noted : name if location == local.raw && var.claim_bronze_prefix]
  has_bronze      = length(var.bronze_tables) + length(local.noted_raw) > 0
  noted_databases = merge(local.kept_locations, local.has_bronze && var.claim_bronze_prefix ? { (local.bronze_database) = local.raw } : {})
}

resource "aws_ssm_parameter" "database" {
  #checkov:skip=CKV2_AWS_34: names and locations are no secrets
  for_each = local.noted_databases

  name        = "${local.databases_path}/${each.key}"
  description = <<-EOT
    A Glue database of ${var.name} that Terraform keeps. Without this parameter it deletes the database, with all
    tables, once no table or model of the pipeline is in it.
  EOT
  type        = "String"
  value       = each.value
  tags        = var.tags
}

resource "aws_glue_catalog_database" "this" {
  for_each = local.kept_locations

  name         = each.key
  catalog_id   = var.databases.catalog_id
  location_uri = each.value
  description = (
    each.key == var.databases.quarantine || startswith(each.value, "s3://${local.buckets.quarantine.name}/") ?
    "Rows that the pipeline ${var.name} rejected, unmasked: for the few who mend them" :
    "Iceberg tables of the pipeline ${var.name}: the source's current state"
  )
  tags = var.tags
}

################################################################################
# Raw changes for Athena
################################################################################

locals {
  bronze_database = coalesce(var.bronze_database, "${replace(var.name, "-", "_")}_bronze")

  # DMS writes these around the source's columns; the names are those that the module replication sets.
  raw_tables = { for name, table in var.bronze_tables : name => {
    name     = replace(lower(replace(name, ".", "_")), "/[^a-z0-9_]/", "_")
    location = "s3://${local.buckets.bronze.name}/${local.bronze_folder}${join("/", regex("^([^.]+)[.](.+)$", name))}/"
    columns = concat(
      [{ name = "op", type = "string" }, { name = "dms_commit_ts", type = "string" }],
      table.columns,
      [{ name = "dms_change_seq", type = "string" }, { name = "dms_stream_position", type = "string" }],
      [
        for key in table.key :
        { name = lower("bi_${key}"), type = try([for column in table.columns : column.type if lower(column.name) == lower(key)][0], "string") }
      ],
    )
  } }

  # The change files by hour: partitions that follow from the clock, so that nobody has to add them.
  raw_layouts = merge(
    { for name, table in local.raw_tables : table.name => merge(table, { by_hour = false, about = "full load and changes" }) },
    { for name, table in local.raw_tables : "${table.name}_changes" => merge(table, { by_hour = true, about = "changes by hour of their folder (UTC)" }) },
  )
}

resource "aws_glue_catalog_database" "bronze" {
  count = local.has_bronze ? 1 : 0

  name        = local.bronze_database
  catalog_id  = var.databases.catalog_id
  description = "Files of DMS for the pipeline ${var.name} as they are, for questions about raw changes"
  tags        = var.tags

  lifecycle {
    precondition {
      condition = length(setsubtract(local.noted_raw, [local.bronze_database])) == 0
      error_message = join(" ", [
        "bronze_database was ${join(", ", local.noted_raw)} and is to be ${local.bronze_database}: Terraform would delete the former one, with all tables in",
        "it. Keep the name. If nothing in it is needed, delete the SSM parameter ${local.databases_path}/${join(", ", local.noted_raw)} first.",
      ])
    }
  }
}

resource "aws_glue_catalog_table" "bronze" {
  for_each = local.raw_layouts

  name          = each.key
  database_name = aws_glue_catalog_database.bronze[0].name
  catalog_id    = var.databases.catalog_id
  description   = "Raw files of ${each.value.location}: ${each.value.about}"
  table_type    = "EXTERNAL_TABLE"

  parameters = merge({ EXTERNAL = "TRUE", classification = "parquet" }, each.value.by_hour ? {
    "projection.enabled"            = "true"
    "projection.hour.type"          = "date"
    "projection.hour.format"        = "yyyy/MM/dd/HH"
    "projection.hour.range"         = "2020/01/01/00,NOW"
    "projection.hour.interval"      = "1"
    "projection.hour.interval.unit" = "HOURS"
    "storage.location.template"     = "${each.value.location}$${hour}/"
  } : {})

  dynamic "partition_keys" {
    for_each = each.value.by_hour ? [1] : []
    content {
      name = "hour"
      type = "string"
    }
  }

  storage_descriptor {
    location      = each.value.location
    input_format  = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
    output_format = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"

    ser_de_info {
      serialization_library = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    }

    dynamic "columns" {
      for_each = each.value.columns
      content {
        name = columns.value.name
        type = columns.value.type
      }
    }
  }
}
