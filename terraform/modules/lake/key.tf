locals {
  has_kms    = var.encryption.mode == "SSE_KMS"
  create_key = local.has_kms && var.encryption.create_key

  # Whoever reads silver needs its key; with a key of their own, files of unmasked rows stay closed to readers even where a bucket's policy fails.
  key_about = {
    silver   = "Encrypts silver, artefacts, logs and alarms of the pipeline ${var.name}"
    unmasked = "Encrypts bronze and quarantine of the pipeline ${var.name}: rows as they are in the source"
  }
  alias_names = { silver = "alias/${var.name}-lake", unmasked = "alias/${var.name}-unmasked" }

  key_arns = {
    for use, given in { silver = var.encryption.key_arn, unmasked = try(coalesce(var.encryption.unmasked_key_arn, var.encryption.key_arn), null) } :
    use => local.create_key ? aws_kms_key.this[use].arn : local.has_kms ? given : null
  }
  bucket_keys = { bronze = local.key_arns.unmasked, quarantine = local.key_arns.unmasked, silver = local.key_arns.silver, artifacts = local.key_arns.silver }
}

resource "aws_kms_key" "this" {
  for_each = local.create_key ? local.key_about : {}

  description             = each.value
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.key[each.key].json
  tags                    = merge(var.tags, { Name = trimprefix(local.alias_names[each.key], "alias/") })

  # So they outlive a destroy that the key's policy refuses, also where no bucket is made here.
  depends_on = [aws_glue_catalog_database.this, aws_ssm_parameter.database]
}

resource "aws_kms_alias" "this" {
  for_each = aws_kms_key.this

  name          = local.alias_names[each.key]
  target_key_id = each.value.key_id
}

# In the policy of a key, "*" is the key itself.
data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_109: the account's own IAM decides who may manage the key, as in the policy that AWS gives a key by default
  #checkov:skip=CKV_AWS_111: as above
  #checkov:skip=CKV_AWS_356: as above
  for_each = local.key_about

  # Logs and alarms use silver's key only.
  source_policy_documents = concat(
    [each.key == "silver" ? data.aws_iam_policy_document.key_users.json : data.aws_iam_policy_document.lake_formation.json],
    var.key_policy_documents,
  )

  statement {
    sid       = "AccountDecidesByIam"
    actions   = ["kms:*"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:${local.partition}:iam::${local.account}:root"]
    }
  }

  # Without the key nothing that it has encrypted can be read. Whoever may change the policy can still take this out: force_destroy does.
  dynamic "statement" {
    for_each = var.force_destroy ? [] : [1]
    content {
      sid       = "RefuseToDestroy"
      effect    = "Deny"
      actions   = ["kms:ScheduleKeyDeletion"]
      resources = ["*"]
      principals {
        type        = "AWS"
        identifiers = ["*"]
      }
    }
  }
}

# What any key of the pipeline must allow, also one that is brought along.
data "aws_iam_policy_document" "key_users" {
  source_policy_documents = [data.aws_iam_policy_document.lake_formation.json]

  statement {
    sid       = "LogGroups"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["logs.${local.region}.${data.aws_partition.current.dns_suffix}"]
    }
    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:${local.partition}:logs:${local.region}:${local.account}:log-group:*"]
    }
  }

  statement {
    sid       = "AlarmsToTopic"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey*"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["cloudwatch.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }

  # EventBridge sends neither aws:SourceAccount nor aws:SourceArn for encrypted topics; with such a condition messages are lost without
  # a word. https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
  statement {
    sid       = "EventsToTopic"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey*"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:sns:topicArn"
      values   = ["arn:${local.partition}:sns:${local.region}:${local.account}:*"]
    }
  }
}

data "aws_iam_policy_document" "lake_formation" {
  # Lake Formation reads registered buckets for those it has granted access. Not named as principal: the role is made when the first location is
  # registered, and a policy cannot name what is not there. https://docs.aws.amazon.com/lake-formation/latest/dg/register-encrypted.html
  dynamic "statement" {
    for_each = var.lake_formation.register_locations ? [1] : []
    content {
      sid       = "LakeFormation"
      actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
      resources = ["*"]
      principals {
        type        = "AWS"
        identifiers = ["*"]
      }
      condition {
        test     = "ArnEquals"
        variable = "aws:PrincipalArn"
        values   = ["arn:${local.partition}:iam::${local.account}:role/aws-service-role/lakeformation.amazonaws.com/AWSServiceRoleForLakeFormationDataAccess"]
      }
    }
  }
}
