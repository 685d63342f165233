locals {
  buckets = { for role, bucket in var.buckets : role => {
    name = coalesce(bucket.name, join("-", compact([var.name, role, local.account, var.region_suffix])))
    arn  = "arn:${local.partition}:s3:::${coalesce(bucket.name, join("-", compact([var.name, role, local.account, var.region_suffix])))}"
  } }
  created = { for role, bucket in var.buckets : role => local.buckets[role].name if bucket.create }

  # Buckets that must not be destroyed: until force_destroy has been applied, which is how their owner says that the content may go.
  guarded           = var.force_destroy ? [] : keys(local.created)
  destroy_guard_key = "${var.name}/destroy-guard.txt"

  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id

  content = {
    bronze     = "files as DMS wrote them"
    silver     = "Iceberg tables"
    quarantine = "rejected rows, unmasked"
    artifacts  = "code, configuration and run state of the merge job"
  }
}

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_144: bronze can be loaded again from the database and silver built again from bronze; for a copy elsewhere add replication
  #checkov:skip=CKV2_AWS_62: the module trigger has bronze notify its queue; nobody waits for events of the others
  for_each = local.created

  bucket        = each.value
  force_destroy = var.force_destroy
  tags          = merge(var.tags, { Name = each.value, content = local.content[each.key] })
}

resource "aws_s3_bucket_ownership_controls" "this" {
  for_each = local.created

  bucket = aws_s3_bucket.this[each.key].id
  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each = local.created

  bucket                  = aws_s3_bucket.this[each.key].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  for_each = local.created

  bucket = aws_s3_bucket.this[each.key].id
  rule {
    # A key per bucket instead of per object: about a hundredth of the KMS requests.
    bucket_key_enabled = local.has_kms
    apply_server_side_encryption_by_default {
      sse_algorithm     = local.has_kms ? "aws:kms" : "AES256"
      kms_master_key_id = local.bucket_keys[each.key]
    }
  }
}

resource "aws_s3_bucket_versioning" "this" {
  for_each = { for role in keys(local.created) : role => var.versioning[role] if var.versioning[role] > 0 }

  bucket = aws_s3_bucket.this[each.key].id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_logging" "this" {
  for_each = var.access_logs == null ? {} : local.created

  bucket        = aws_s3_bucket.this[each.key].id
  target_bucket = var.access_logs.bucket
  target_prefix = "${var.access_logs.prefix}${each.value}/"
}

data "aws_iam_policy_document" "bucket" {
  for_each = local.buckets

  source_policy_documents = try(var.bucket_policy_documents[each.key], [])

  statement {
    sid       = "DenyPlainHttp"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [each.value.arn, "${each.value.arn}/*"]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }

  # A refused call is what stops Terraform. Whoever may change the policy can still take the statements out: force_destroy does.
  dynamic "statement" {
    for_each = (
      contains(local.guarded, each.key) ?
      merge(
        { RefuseToDestroy = { actions = ["s3:DeleteBucket", "s3:DeleteBucketPolicy"], resource = each.value.arn } },
        (
          each.key != "artifacts" ?
          {} :
          { KeepDestroyGuard = { actions = ["s3:DeleteObject", "s3:DeleteObjectVersion"], resource = "${each.value.arn}/${local.destroy_guard_key}" } }
        ),
      ) :
      {}
    )
    content {
      sid       = statement.key
      effect    = "Deny"
      actions   = statement.value.actions
      resources = [statement.value.resource]
      principals {
        type        = "*"
        identifiers = ["*"]
      }
    }
  }
}

# Made last and so destroyed first: as long as its deletion is refused, Terraform goes on to nothing that protects the content.
resource "aws_s3_bucket_policy" "this" {
  for_each = local.created

  bucket = aws_s3_bucket.this[each.key].id
  policy = data.aws_iam_policy_document.bucket[each.key].json

  depends_on = [
    # S3 refuses two changes of a bucket's access at once.
    aws_s3_bucket_public_access_block.this, aws_s3_bucket_ownership_controls.this,
    aws_s3_bucket_server_side_encryption_configuration.this, aws_s3_bucket_versioning.this, aws_s3_bucket_logging.this,
    # Not the lifecycle rules, which take S3 a minute: without them nothing is deleted.
    aws_kms_key.this, aws_kms_alias.this, aws_glue_catalog_database.this, aws_glue_catalog_database.bronze, aws_ssm_parameter.database,
    aws_ssm_parameter.bronze_prefix,
  ]
}

# Two DMS tasks on one folder overwrite each other's files, and nothing would say so. The second one cannot create this parameter.
resource "aws_ssm_parameter" "bronze_prefix" {
  #checkov:skip=CKV2_AWS_34: the name of the pipeline is no secret
  count = var.claim_bronze_prefix ? 1 : 0

  name        = "/dms-iceberg/bronze/${local.buckets.bronze.name}/${trimsuffix(var.bronze_prefix, "/")}"
  description = "The pipeline that this folder of the bronze bucket belongs to. A second pipeline must choose another folder."
  type        = "String"
  value       = var.name
  tags        = var.tags
}
