locals {
  # Both roles can be taken by DMS on behalf of this account only.
  # https://docs.aws.amazon.com/dms/latest/userguide/cross-service-confused-deputy-prevention.html
  source_account = { "aws:SourceAccount" = local.account }

  s3_actions = {
    objects = ["s3:PutObject", "s3:PutObjectTagging", "s3:DeleteObject"]
    bucket  = ["s3:ListBucket"]
  }
  kms_actions = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
  via_s3      = { StringEquals = { "kms:ViaService" = "s3.${local.region}.${local.dns_suffix}" } }
}

################################################################################
# To the bucket
################################################################################

resource "aws_iam_role" "s3" {
  name                 = join("-", compact(["${var.name}-dms-s3", var.region_suffix]))
  description          = "DMS writes the change files of ${var.name} to s3://${var.bronze.bucket}/${var.bronze.prefix}/"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Dms"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "dms.${local.dns_suffix}" }
      Condition = {
        StringEquals = local.source_account
        ArnLike      = { "aws:SourceArn" = "arn:${local.partition}:dms:${local.region}:${local.account}:*" }
      }
    }]
  })
}

resource "aws_iam_role_policy" "s3" {
  name = "write-bronze"
  role = aws_iam_role.s3.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Sid       = "WriteObjects"
          Effect    = "Allow"
          Action    = local.s3_actions.objects
          Resource  = "${local.bucket_arn}/${var.bronze.prefix}/*"
          Condition = { StringEquals = { "aws:ResourceAccount" = local.bucket_owner } }
        },
        {
          # Without a condition on the prefix: DMS asks also whether the bucket is there, which names none.
          Sid       = "FindBucket"
          Effect    = "Allow"
          Action    = local.s3_actions.bucket
          Resource  = local.bucket_arn
          Condition = { StringEquals = { "aws:ResourceAccount" = local.bucket_owner } }
        },
      ],
      [
        for arn in [var.bronze.kms_key_arn] : {
          Sid       = "EncryptObjects"
          Effect    = "Allow"
          Action    = local.kms_actions
          Resource  = arn
          Condition = local.via_s3
        } if arn != null
      ],
      # A replication that runs goes on with the key that its endpoint had: AWS modifies endpoints only while nothing runs.
      [
        for arns in [var.bronze.former_kms_key_arns] :
        { Sid = "EncryptAsBefore", Effect = "Allow", Action = local.kms_actions, Resource = arns, Condition = local.via_s3 }
        if length(arns) > 0
      ],
      # Asked of KMS itself, not by way of S3.
      [for arn in [var.bronze.kms_key_arn] : { Sid = "FindKey", Effect = "Allow", Action = ["kms:DescribeKey"], Resource = arn } if arn != null],
    )
  })
}

################################################################################
# To the secret
################################################################################

resource "aws_iam_role" "secret" {
  name                 = join("-", compact(["${var.name}-dms-secret", var.region_suffix]))
  description          = "DMS reads the credentials of the source database of ${var.name}"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "Dms"
      Effect = "Allow"
      Action = "sts:AssumeRole"
      # For secrets DMS comes under the name that it has in the region.
      # https://docs.aws.amazon.com/dms/latest/userguide/security_iam_secretsmanager.html
      Principal = { Service = "dms.${local.region}.${local.dns_suffix}" }
      # IfExists: AWS does not say that DMS names the account whenever it comes under this name.
      Condition = { StringEqualsIfExists = local.source_account }
    }]
  })
}

resource "aws_iam_role_policy" "secret" {
  name = "read-secret"
  role = aws_iam_role.secret.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid      = "ReadSecret"
        Effect   = "Allow"
        Action   = ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"]
        Resource = var.source_database.secret_arn
      }],
      [
        for arn in [var.source_database.secret_kms_key_arn] : {
          Sid       = "DecryptSecret"
          Effect    = "Allow"
          Action    = ["kms:Decrypt"]
          Resource  = arn
          Condition = { StringEquals = { "kms:ViaService" = "secretsmanager.${local.region}.${local.dns_suffix}" } }
        } if arn != null
      ],
      [
        for arn in [var.source_database.secret_kms_key_arn] :
        { Sid = "FindKey", Effect = "Allow", Action = ["kms:DescribeKey"], Resource = arn } if arn != null
      ],
    )
  })
}
