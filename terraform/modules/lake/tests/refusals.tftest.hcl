# Each run breaks one rule of every variable it names: a start of the provider costs a second.
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name          = "shop"
  bronze_prefix = "dms/shop/"
  databases     = { silver = ["shop"], quarantine = "shop_quarantine" }
}

run "first_rules" {
  command = plan
  variables {
    name                    = "Shop"
    region_suffix           = "eu-west-1"
    buckets                 = { bronze = { create = false } } # which one?
    bronze_prefix           = "dms/shop"
    versioning              = { silver = 0.5 }
    bucket_policy_documents = { gold = [] }
    encryption              = { mode = "SSE-KMS" }
    bronze_retention        = { transition_after_days = 30, storage_class = "GLACIER" } # cannot be read at once
    databases               = { silver = ["Shop"], quarantine = "q" }
    bronze_tables           = { "public.orders" = { columns = [] } }
    lake_formation          = { readers = { analysts = "arn:aws:iam::123456789012:role/analysts" } } # grants that are off
  }
  expect_failures = [
    var.name, var.region_suffix, var.buckets, var.bronze_prefix, var.versioning, var.bucket_policy_documents, var.encryption, var.bronze_retention, var.databases,
    var.bronze_tables, var.lake_formation,
  ]
}

run "second_rules" {
  command = plan
  variables {
    buckets          = { bronze = { create = false, name = "s3://acme" } }
    bronze_prefix    = ""                                                            # the whole bucket
    encryption       = { create_key = false }                                        # no key at all
    bronze_retention = { transition_after_days = 10, storage_class = "STANDARD_IA" } # too early
    databases        = { silver = ["shop", "q"], quarantine = "q" }
    bronze_tables    = { "orders" = { columns = [{ name = "id", type = "int" }] } } # no schema
    lake_formation   = { register_locations = true }
  }
  expect_failures = [var.buckets, var.bronze_prefix, var.encryption, var.bronze_retention, var.databases, var.bronze_tables, var.lake_formation]
}

run "third_rules" {
  command = plan
  variables {
    encryption       = { key_arn = "arn:aws:kms:eu-central-1:123456789012:key/x" } # beside a new one
    bronze_folder    = "dms/crm/epoch-1/"                                          # of another pipeline
    bronze_retention = { changes_expire_after_days = 7 }
    source_tables    = ["public.orders"]
    databases        = { silver = ["shop"], quarantine = "q", catalog_id = "main" }
    bronze_tables    = { "public.orders" = { columns = [{ name = "id", type = "int" }], key = ["order_id"] } }
  }
  expect_failures = [var.encryption, var.bronze_folder, var.bronze_retention, var.databases, var.bronze_tables]
}

run "a_second_key_beside_created_ones" {
  command = plan
  variables { encryption = { unmasked_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/y" } }
  expect_failures = [var.encryption]
}

run "fourth_rules" {
  command = plan
  variables {
    encryption       = { mode = "SSE_S3", create_key = false, key_arn = "arn:aws:kms:eu-central-1:123456789012:key/x" }
    bronze_retention = { changes_expire_after_days = 60 } # of which tables?
  }
  expect_failures = [var.encryption, var.bronze_retention]
}
