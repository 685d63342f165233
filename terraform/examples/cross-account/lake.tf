# The lake's account. In earnest its team has this half, and takes the policies as input.
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
