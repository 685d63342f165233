output "buckets" {
  description = "`name` and `arn` of the buckets by role: `bronze`, `silver`, `quarantine`, `artifacts`."
  # What uses a bucket waits until it is safe to use.
  value = local.buckets
  depends_on = [
    aws_s3_bucket_policy.this, aws_s3_bucket_public_access_block.this, aws_s3_bucket_server_side_encryption_configuration.this,
    # A replication must not start on a folder that belongs to another pipeline.
    aws_ssm_parameter.bronze_prefix,
  ]
}

output "destroy_guard_key" {
  description = "Key of an object that the policy of a created artefact bucket lets nobody delete until `force_destroy` has been applied. An object made there after all else is what a destroy begins, and ends, with."
  value       = local.destroy_guard_key
}

output "kms_key_arn" {
  description = "Key of the buckets; null with `SSE_S3`."
  value       = local.key_arn
}

output "key_policy" {
  description = "Statements that the policy of an existing key (`encryption.key_arn`) must have for logs, alarms and Lake Formation, as JSON. Roles of the key's own account need no statement."
  value       = data.aws_iam_policy_document.key_users.json
}

output "bucket_policies" {
  description = "By role, the policy that a created bucket has and an existing one should have, as JSON: no plain HTTP, and `bucket_policy_documents`."
  value       = { for role, document in data.aws_iam_policy_document.bucket : role => document.json }
}

output "reader_policy" {
  description = "Policy for the role of whoever queries the silver tables (Athena, Spark, Trino, DuckDB, Snowflake), as JSON: the catalog, the tables' files, their key. Nothing of bronze or quarantine."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in concat(
      [
        { Sid = "ReadCatalog", Action = ["glue:GetDatabase", "glue:GetDatabases", "glue:GetTable", "glue:GetTables"], Resource = concat(
          ["${local.catalog_arn}:catalog"],
          flatten([for name in var.databases.silver : ["${local.catalog_arn}:database/${name}", "${local.catalog_arn}:table/${name}/*"]]),
        ) },
        { Sid = "ReadTables", Action = ["s3:GetObject", "s3:GetObjectVersion"], Resource = [for name in var.databases.silver : "${local.buckets.silver.arn}/${name}/*"] },
        { Sid = "ListTables", Action = ["s3:ListBucket", "s3:GetBucketLocation"], Resource = [local.buckets.silver.arn] },
      ],
      [for arn in [local.key_arn] : {
        Sid = "DecryptTables", Action = ["kms:Decrypt"], Resource = [arn], Condition = { StringEquals = { "kms:ViaService" = "s3.${local.region}.${data.aws_partition.current.dns_suffix}" } }
      } if arn != null],
    ) : merge({ Effect = "Allow" }, statement)]
  })
}

locals {
  catalog_arn = "arn:${local.partition}:glue:${local.region}:${coalesce(var.databases.catalog_id, local.account)}"
}

output "warehouse" {
  description = "Location of the Iceberg catalog's tables that are in no known database."
  value       = "s3://${local.buckets.silver.name}"
}

output "databases" {
  description = "Location of the Glue databases by name."
  value       = local.locations
  depends_on  = [aws_glue_catalog_database.this]
}

output "bronze_tables" {
  description = "External tables over bronze as `database.table`."
  value       = [for name in keys(local.raw_layouts) : "${local.bronze_database}.${name}"]
}
