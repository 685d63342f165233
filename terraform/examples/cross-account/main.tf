locals {
  name        = "shop"
  lake        = data.aws_caller_identity.lake.account_id
  buckets     = { for role in ["bronze", "silver", "quarantine"] : role => { create = false, name = "${local.name}-${role}-${local.lake}" } }
  silver      = "shop"
  quarantine  = "shop_quarantine"
  into_bronze = "dms/${local.name}"
}

data "aws_caller_identity" "lake" {
  provider = aws.lake
}

################################################################################
# The database's account
################################################################################

module "pipeline" {
  source = "../../modules/pipeline" # git::https://github.com/acme/dms-iceberg.git//terraform/modules/pipeline?ref=v0.1.0

  name            = local.name
  source_database = { engine = "postgres", database = "shop", secret_arn = var.secret_arn }
  network         = var.network
  tables          = { "public.orders" = { key = ["order_id"] } }

  # The first apply makes the roles that the other account then trusts; the second one starts DMS.
  replication = { start = var.start }

  buckets    = merge(local.buckets, { bronze = merge(local.buckets.bronze, { owner = local.lake }) })
  encryption = { create_key = false, key_arn = aws_kms_key.lake.arn, encrypt_logs = false }
  catalog    = { id = local.lake, create_databases = false, silver_database = local.silver, quarantine_database = local.quarantine }
  trigger    = { notification = "none" }
}

################################################################################
# The lake's account
################################################################################

resource "aws_kms_key" "lake" {
  provider = aws.lake

  description         = "Encrypts the lake of ${local.name}"
  enable_key_rotation = true
}

# Apart from the key: it names roles that are made with the key's ARN.
resource "aws_kms_key_policy" "lake" {
  provider = aws.lake

  key_id = aws_kms_key.lake.id
  policy = data.aws_iam_policy_document.key.json
}

data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_111: the policy of a key: its resource is the key itself
  #checkov:skip=CKV_AWS_356: as above
  #checkov:skip=CKV_AWS_109: as above, and the account's own administrators must be able to change it
  source_policy_documents = [module.pipeline.cross_account_policies.key]

  statement {
    sid       = "AccountDecidesByIam"
    actions   = ["kms:*"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${local.lake}:root"]
    }
  }
}

module "lake" {
  source    = "../../modules/lake"
  providers = { aws = aws.lake }

  name          = local.name
  bronze_prefix = "${local.into_bronze}/"
  buckets       = { artifacts = { create = false, name = module.pipeline.buckets.artifacts.name } }
  databases     = { silver = [local.silver], quarantine = local.quarantine }
  encryption    = { create_key = false, key_arn = aws_kms_key.lake.arn }

  bucket_policy_documents = { for role in keys(local.buckets) : role => [module.pipeline.cross_account_policies[role]] }
}

resource "aws_glue_resource_policy" "lake" {
  provider = aws.lake

  policy = module.pipeline.cross_account_policies.catalog
}

resource "aws_s3_bucket_notification" "bronze" {
  provider = aws.lake

  bucket = module.lake.buckets.bronze.name

  queue {
    queue_arn     = module.pipeline.trigger.bucket_notification.QueueArn
    events        = module.pipeline.trigger.bucket_notification.Events
    filter_prefix = module.pipeline.trigger.bucket_notification.Prefix
  }
}
