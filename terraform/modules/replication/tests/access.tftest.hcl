# Who may do what: this pipeline's folder, this secret, for DMS on behalf of this account.

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name = "shop"
  source_database = {
    engine     = "aurora-postgresql"
    database   = "shop"
    secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
  }
  tables             = { "public.orders" = { key = ["order_id"] } }
  bronze             = { bucket = "acme-bronze", prefix = "dms/shop" }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
}

run "own_account" {
  command = plan

  variables {
    bronze = { bucket = "acme-bronze", prefix = "dms/shop", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/bronze" }
  }
  assert {
    condition = jsondecode(aws_iam_role.s3.assume_role_policy).Statement == [{
      Sid       = "Dms"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "dms.amazonaws.com" }
      Condition = {
        StringEquals = { "aws:SourceAccount" = "123456789012" }
        ArnLike      = { "aws:SourceArn" = "arn:aws:dms:eu-central-1:123456789012:*" }
      }
    }]
    error_message = "who writes: ${aws_iam_role.s3.assume_role_policy}"
  }
  assert {
    condition     = aws_iam_role.s3.name == "shop-dms-s3" && aws_iam_role.secret.name == "shop-dms-secret"
    error_message = "the names that they have always had"
  }
  assert {
    condition = jsondecode(aws_iam_role_policy.s3.policy).Statement == [
      {
        Sid       = "WriteObjects"
        Effect    = "Allow"
        Action    = ["s3:PutObject", "s3:PutObjectTagging", "s3:DeleteObject"]
        Resource  = "arn:aws:s3:::acme-bronze/dms/shop/*"
        Condition = { StringEquals = { "aws:ResourceAccount" = "123456789012" } }
      },
      {
        Sid       = "FindBucket"
        Effect    = "Allow"
        Action    = ["s3:ListBucket"]
        Resource  = "arn:aws:s3:::acme-bronze"
        Condition = { StringEquals = { "aws:ResourceAccount" = "123456789012" } }
      },
      {
        Sid       = "EncryptObjects"
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
        Resource  = "arn:aws:kms:eu-central-1:123456789012:key/bronze"
        Condition = { StringEquals = { "kms:ViaService" = "s3.eu-central-1.amazonaws.com" } }
      },
      { Sid = "FindKey", Effect = "Allow", Action = ["kms:DescribeKey"], Resource = "arn:aws:kms:eu-central-1:123456789012:key/bronze" },
    ]
    error_message = "what it may: ${aws_iam_role_policy.s3.policy}"
  }
  assert {
    condition = jsondecode(aws_iam_role.secret.assume_role_policy).Statement == [{
      Sid       = "Dms"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "dms.eu-central-1.amazonaws.com" }
      Condition = { StringEqualsIfExists = { "aws:SourceAccount" = "123456789012" } }
    }]
    error_message = "who reads the secret: ${aws_iam_role.secret.assume_role_policy}"
  }
  assert {
    condition = jsondecode(aws_iam_role_policy.secret.policy).Statement == [{
      Sid      = "ReadSecret"
      Effect   = "Allow"
      Action   = ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"]
      Resource = var.source_database.secret_arn
    }]
    error_message = "which secret: ${aws_iam_role_policy.secret.policy}"
  }
}

run "a_key_that_a_running_replication_still_uses" {
  command = plan
  variables {
    region_suffix = "use1"
    bronze = {
      bucket              = "acme-bronze"
      prefix              = "dms/shop"
      kms_key_arn         = "arn:aws:kms:eu-central-1:123456789012:key/unmasked"
      former_kms_key_arns = ["arn:aws:kms:eu-central-1:123456789012:key/lake"]
    }
  }
  assert {
    condition = [for s in jsondecode(aws_iam_role_policy.s3.policy).Statement : s if s.Sid == "EncryptAsBefore"] == [{
      Sid       = "EncryptAsBefore"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
      Resource  = ["arn:aws:kms:eu-central-1:123456789012:key/lake"]
      Condition = { StringEquals = { "kms:ViaService" = "s3.eu-central-1.amazonaws.com" } }
    }]
    error_message = "until it is stopped: ${aws_iam_role_policy.s3.policy}"
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.server_side_encryption_kms_key_id == "arn:aws:kms:eu-central-1:123456789012:key/unmasked"
    error_message = "from then on the new one"
  }
  assert {
    condition     = aws_iam_role.s3.name == "shop-dms-s3-use1" && aws_iam_role.secret.name == "shop-dms-secret-use1"
    error_message = "roles are named for all Regions"
  }
}

run "bucket_of_another_account" {
  command = apply

  variables {
    bronze = { bucket = "acme-bronze", prefix = "dms/shop", expected_owner = "999999999999", kms_key_arn = "arn:aws:kms:eu-central-1:999999999999:key/bronze" }
  }
  assert {
    condition     = aws_dms_s3_endpoint.target.expected_bucket_owner == "999999999999"
    error_message = "the owner is checked"
  }
  assert {
    condition     = alltrue([for statement in slice(jsondecode(aws_iam_role_policy.s3.policy).Statement, 0, 2) : statement.Condition.StringEquals["aws:ResourceAccount"] == "999999999999"])
    error_message = "the role's own policy: ${aws_iam_role_policy.s3.policy}"
  }
  assert {
    condition = jsondecode(output.resource_policies.bronze).Statement == [
      {
        Sid       = "DmsShopWriteObjects"
        Effect    = "Allow"
        Principal = { AWS = "arn:aws:iam::123456789012:role/mock" }
        Action    = ["s3:PutObject", "s3:PutObjectTagging", "s3:DeleteObject"]
        Resource  = "arn:aws:s3:::acme-bronze/dms/shop/*"
      },
      {
        Sid       = "DmsShopFindBucket"
        Effect    = "Allow"
        Principal = { AWS = "arn:aws:iam::123456789012:role/mock" }
        Action    = ["s3:ListBucket"]
        Resource  = "arn:aws:s3:::acme-bronze"
      },
    ]
    error_message = output.resource_policies.bronze
  }
  assert {
    condition     = jsondecode(output.resource_policies.key).Statement[0].Principal.AWS == "arn:aws:iam::123456789012:role/mock" && jsondecode(output.resource_policies.key).Statement[0].Condition.StringEquals["kms:ViaService"] == "s3.eu-central-1.amazonaws.com"
    error_message = output.resource_policies.key
  }
}
