# Key of the lake.
resource "aws_kms_key" "lake" {
  provider = aws.lake

  description         = "Encrypts the lake of ${local.name}, and what the pipeline keeps of its own beside the database"
  enable_key_rotation = true
  policy              = data.aws_iam_policy_document.key.json
}

# Names accounts, not roles: the artefact bucket is filled with this key before there is any role, by whoever applies.
data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_111: the policy of a key: its resource is the key itself
  #checkov:skip=CKV_AWS_356: as above
  #checkov:skip=CKV_AWS_109: as above, and the account's own administrators must be able to change it
  statement {
    sid       = "AccountDecidesByIam"
    actions   = ["kms:*"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${local.lake}:root"]
    }
  }

  statement {
    sid       = "DatabaseAccountDecidesByIam"
    actions   = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${data.aws_caller_identity.database.account_id}:root"]
    }
    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.current.id}.amazonaws.com"]
    }
  }

  statement {
    sid       = "DatabaseAccountFindsKey"
    actions   = ["kms:DescribeKey"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${data.aws_caller_identity.database.account_id}:root"]
    }
  }
}
