output "buckets" {
  description = "`name`, `arn` and `kms_key_arn` (null with `SSE_S3`) of the buckets by role: `bronze`, `silver`, `quarantine`, `artifacts`."
  # What uses a bucket waits until it is safe to use.
  value = { for role, bucket in local.buckets : role => merge(bucket, { kms_key_arn = local.bucket_keys[role] }) }
  depends_on = [
    aws_s3_bucket_policy.this, aws_s3_bucket_public_access_block.this, aws_s3_bucket_server_side_encryption_configuration.this,
    # A replication must not start on a folder that belongs to another pipeline.
    aws_ssm_parameter.bronze_prefix,
  ]
}

output "destroy_guard_key" {
  description = <<-EOT
    Key of an object that nobody may delete from a created artefact bucket until `force_destroy` has been applied.
    Create it last: a destroy begins, and ends, with it.
  EOT
  value       = local.destroy_guard_key
}

output "kms_key_arn" {
  description = "Key of silver, artefacts, logs and alarms; null with `SSE_S3`."
  value       = local.key_arns.silver
}

output "unmasked_kms_key_arn" {
  description = "Key of bronze and quarantine (the key above if it is the only key); null with `SSE_S3`."
  value       = local.key_arns.unmasked
}

output "key_policy" {
  description = <<-EOT
    Statements (JSON) that the policy of an existing key (`encryption.key_arn`) needs for logs, alarms and Lake
    Formation; `encryption.unmasked_key_arn` needs only the last. Roles of the key's own account need no statement.
  EOT
  value       = data.aws_iam_policy_document.key_users.json
}

output "bucket_policies" {
  description = "By role, the policy (JSON) that a created bucket has and an existing bucket should have: no plain HTTP, and `bucket_policy_documents`."
  value       = { for role, document in data.aws_iam_policy_document.bucket : role => document.json }
}

output "reader_policy" {
  description = <<-EOT
    Policy (JSON) for roles that query the silver tables: catalog, files and key. Nothing of bronze or quarantine. With `lake_formation.enabled` the catalog and
    `lakeformation:GetDataAccess` only: Lake Formation then decides who reads what, and hands out access to the files.
  EOT
  value       = var.lake_formation.enabled ? local.governed_reader_policy : local.file_reader_policy
}

output "file_reader_policy" {
  description = <<-EOT
    Policy (JSON) for engines that read the files themselves (DuckDB, Trino, Spark, Snowflake): catalog, files, key. It
    bypasses the grants of Lake Formation, also on columns and rows; without Lake Formation it is `reader_policy`.
  EOT
  value       = local.file_reader_policy
}

locals {
  catalog_arn = "arn:${local.partition}:glue:${local.region}:${coalesce(var.databases.catalog_id, local.account)}"

  read_catalog = {
    Sid    = "ReadCatalog"
    Effect = "Allow"
    Action = ["glue:GetDatabase", "glue:GetDatabases", "glue:GetTable", "glue:GetTables"]
    Resource = concat(
      ["${local.catalog_arn}:catalog"],
      flatten([for name in var.databases.silver : ["${local.catalog_arn}:database/${name}", "${local.catalog_arn}:table/${name}/*"]]),
    )
  }
  read_files = [for statement in concat(
    [
      {
        Sid      = "ReadTables"
        Action   = ["s3:GetObject", "s3:GetObjectVersion"]
        Resource = [for name in var.databases.silver : "${local.buckets.silver.arn}/${name}/*"]
      },
      { Sid = "ListTables", Action = ["s3:ListBucket", "s3:GetBucketLocation"], Resource = [local.buckets.silver.arn] },
    ],
    [
      for arn in [local.key_arns.silver] :
      {
        Sid       = "DecryptTables"
        Action    = ["kms:Decrypt"]
        Resource  = [arn]
        Condition = { StringEquals = { "kms:ViaService" = "s3.${local.region}.${data.aws_partition.current.dns_suffix}" } }
      }
      if arn != null
    ],
  ) : merge({ Effect = "Allow" }, statement)]

  # The action knows no resource. https://docs.aws.amazon.com/lake-formation/latest/dg/access-control-underlying-data.html
  ask_lake_formation = { Sid = "AskLakeFormation", Effect = "Allow", Action = ["lakeformation:GetDataAccess"], Resource = ["*"] }

  file_reader_policy     = jsonencode({ Version = "2012-10-17", Statement = concat([local.read_catalog], local.read_files) })
  governed_reader_policy = jsonencode({ Version = "2012-10-17", Statement = [local.read_catalog, local.ask_lake_formation] })
}

output "warehouse" {
  description = "Location of Iceberg tables outside the known databases."
  value       = "s3://${local.buckets.silver.name}"
}

output "databases" {
  description = "Location of the Glue databases by name."
  value       = local.locations
  depends_on  = [aws_glue_catalog_database.this]

  precondition {
    # A lake of the same name that only uses the databases of another has other buckets.
    condition = (
      var.databases.create ||
      alltrue([for location in values(local.noted) : alltrue([for bucket in values(local.created) : !startswith(location, "s3://${bucket}/")])])
    )
    error_message = join(" ", [
      "databases.create is false, and this lake has made databases (noted below ${local.databases_path}). Terraform would delete them with every table in",
      "them. Let it forget them first: docs/deploy.md, 'Change and remove'.",
    ])
  }
}

output "bronze_tables" {
  description = "External tables over bronze as `database.table`."
  value       = [for name in keys(local.raw_layouts) : "${local.bronze_database}.${name}"]
}
