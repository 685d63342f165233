mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000000", key_id = "00000000-0000-0000-0000-000000000000" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::mock" }
  }
  mock_resource "aws_lakeformation_resource" {
    defaults = { arn = "arn:aws:s3:::mock" }
  }
}

variables {
  name          = "shop"
  bronze_prefix = "dms/shop/"
  databases     = { silver = ["shop"], quarantine = "shop_quarantine" }
}

run "defaults_are_safe" {
  command = plan

  assert {
    condition     = { for role, bucket in aws_s3_bucket.this : role => bucket.bucket } == { bronze = "shop-bronze-123456789012", silver = "shop-silver-123456789012", quarantine = "shop-quarantine-123456789012", artifacts = "shop-artifacts-123456789012" }
    error_message = "four buckets, named after role and account"
  }
  assert {
    condition     = alltrue([for block in aws_s3_bucket_public_access_block.this : block.block_public_acls && block.block_public_policy && block.ignore_public_acls && block.restrict_public_buckets])
    error_message = "public access is blocked"
  }
  assert {
    condition = alltrue([for document in data.aws_iam_policy_document.bucket : anytrue([
      for statement in document.statement : statement.effect == "Deny" && anytrue([for c in statement.condition : c.variable == "aws:SecureTransport" && tolist(c.values) == tolist(["false"])])
    ])])
    error_message = "plain HTTP is refused"
  }
  assert {
    condition     = alltrue([for config in aws_s3_bucket_server_side_encryption_configuration.this : one(config.rule).bucket_key_enabled && one(one(config.rule).apply_server_side_encryption_by_default).sse_algorithm == "aws:kms"])
    error_message = "KMS, with a bucket key"
  }
  assert {
    condition     = length(aws_s3_bucket_versioning.this) == 4 && alltrue([for key in aws_kms_key.this : key.enable_key_rotation]) && !aws_s3_bucket.this["bronze"].force_destroy
    error_message = "versioned, rotated, not destroyed with content"
  }
  assert {
    condition     = alltrue([for config in aws_s3_bucket_lifecycle_configuration.this : alltrue([for rule in config.rule : length(rule.transition) == 0 && (length(rule.expiration) == 0 || rule.id == "replaced-and-deleted")])])
    error_message = "by default no current object is moved or deleted"
  }
  assert {
    condition     = { for role, config in aws_s3_bucket_lifecycle_configuration.this : role => [for rule in config.rule : "${rule.id}: ${one(rule.expiration).expired_object_delete_marker}" if length(rule.expiration) > 0] } == { for role in ["bronze", "silver", "quarantine", "artifacts"] : role => ["replaced-and-deleted: true"] }
    error_message = "markers of deleted objects go with the last version"
  }
  assert {
    condition = { for role, document in data.aws_iam_policy_document.bucket : role => sort(flatten([for s in document.statement : s.actions if s.effect == "Deny" && length(s.condition) == 0])) } == merge(
      { for role in ["bronze", "silver", "quarantine"] : role => tolist(["s3:DeleteBucket", "s3:DeleteBucketPolicy"]) },
      { artifacts = tolist(["s3:DeleteBucket", "s3:DeleteBucketPolicy", "s3:DeleteObject", "s3:DeleteObjectVersion"]) },
    )
    error_message = "the policies refuse to be destroyed, and nothing else"
  }
  assert {
    condition     = [for s in data.aws_iam_policy_document.bucket["artifacts"].statement : s.resources if contains(s.actions, "s3:DeleteObject")] == [toset(["arn:aws:s3:::shop-artifacts-123456789012/shop/destroy-guard.txt"])] && output.destroy_guard_key == "shop/destroy-guard.txt"
    error_message = "of the objects only the guard stays"
  }
  assert {
    condition     = { for use, document in data.aws_iam_policy_document.key : use => [for s in document.statement : s.actions if s.effect == "Deny"] } == { for use in ["silver", "unmasked"] : use => [toset(["kms:ScheduleKeyDeletion"])] }
    error_message = "both keys refuse to be destroyed"
  }
  assert {
    condition = { for name, parameter in aws_ssm_parameter.database : parameter.name => parameter.value } == {
      "/dms-iceberg/databases/shop/shop"            = "s3://shop-silver-123456789012/shop"
      "/dms-iceberg/databases/shop/shop_quarantine" = "s3://shop-quarantine-123456789012/shop_quarantine"
    }
    error_message = "the databases are noted"
  }
  assert {
    condition     = { for name, database in aws_glue_catalog_database.this : name => database.location_uri } == { shop = "s3://shop-silver-123456789012/shop", shop_quarantine = "s3://shop-quarantine-123456789012/shop_quarantine" }
    error_message = "the quarantine is in a bucket of its own"
  }
  assert {
    condition     = aws_ssm_parameter.bronze_prefix[0].name == "/dms-iceberg/bronze/shop-bronze-123456789012/dms/shop"
    error_message = "the folder is claimed"
  }
  assert {
    condition     = length(aws_glue_catalog_table.bronze) + length(aws_glue_catalog_database.bronze) + length(aws_lakeformation_permissions.tables) + length(aws_lakeformation_resource.this) + length(aws_s3_bucket_logging.this) == 0
    error_message = "what is opt-in is off"
  }
}

run "may_be_destroyed" {
  command = plan
  variables { force_destroy = true }
  assert {
    condition     = length([for s in flatten([for document in concat(values(data.aws_iam_policy_document.bucket), values(data.aws_iam_policy_document.key)) : document.statement]) : s if s.effect == "Deny" && length(s.condition) == 0]) == 0
    error_message = "nothing is refused any more"
  }
  assert {
    condition     = alltrue([for bucket in aws_s3_bucket.this : bucket.force_destroy])
    error_message = "buckets go with their objects"
  }
}

run "databases_that_were_there_stay" {
  command = plan
  override_data {
    target = data.aws_ssm_parameters_by_path.databases
    values = {
      names  = ["/dms-iceberg/databases/shop/gold", "/dms-iceberg/databases/shop/shop", "/dms-iceberg/databases/shop/shop_bronze"]
      values = ["s3://former-silver/gold", "s3://former-silver/shop", "raw changes"]
    }
  }
  assert {
    condition = { for name, database in aws_glue_catalog_database.this : name => database.location_uri } == {
      gold            = "s3://former-silver/gold"
      shop            = "s3://shop-silver-123456789012/shop"
      shop_quarantine = "s3://shop-quarantine-123456789012/shop_quarantine"
    }
    error_message = "no table is in gold any more"
  }
  assert {
    condition     = aws_glue_catalog_database.bronze[0].name == "shop_bronze" && length(aws_glue_catalog_table.bronze) == 0
    error_message = "no raw table is left, others may be in their database"
  }
  assert {
    condition     = sort(keys(aws_ssm_parameter.database)) == tolist(["gold", "shop", "shop_bronze", "shop_quarantine"])
    error_message = "they stay noted"
  }
  assert {
    condition     = sort(keys(output.databases)) == tolist(["shop", "shop_quarantine"])
    error_message = "the pipeline works with its own"
  }
}

run "another_lake_of_this_name_owns_the_databases" {
  command = plan
  variables {
    databases           = { create = false, silver = ["shop"], quarantine = "shop_quarantine" }
    claim_bronze_prefix = false
  }
  override_data {
    target = data.aws_ssm_parameters_by_path.databases
    values = {
      names  = ["/dms-iceberg/databases/shop/shop", "/dms-iceberg/databases/shop/shop_bronze"]
      values = ["s3://shop-silver/shop", "raw changes"]
    }
  }
  assert {
    condition     = length(aws_glue_catalog_database.this) + length(aws_glue_catalog_database.bronze) + length(aws_ssm_parameter.database) == 0
    error_message = "what it has noted is not made twice"
  }
}

run "databases_that_this_lake_has_made_are_not_given_up" {
  command = plan
  variables {
    databases = { create = false, silver = ["shop"], quarantine = "shop_quarantine" }
  }
  override_data {
    target = data.aws_ssm_parameters_by_path.databases
    values = { names = ["/dms-iceberg/databases/shop/shop"], values = ["s3://shop-silver-123456789012/shop"] }
  }
  expect_failures = [output.databases]
}

run "another_name_for_the_database_of_raw_changes" {
  command = plan
  variables {
    bronze_tables   = { "public.orders" = { columns = [{ name = "order_id", type = "bigint" }] } }
    bronze_database = "raw"
  }
  override_data {
    target = data.aws_ssm_parameters_by_path.databases
    values = { names = ["/dms-iceberg/databases/shop/shop_bronze"], values = ["raw changes"] }
  }
  expect_failures = [aws_glue_catalog_database.bronze]
}

run "everything_off" {
  command = plan
  variables {
    buckets = {
      bronze     = { create = false, name = "acme-bronze" }
      silver     = { create = false, name = "acme-silver" }
      quarantine = { create = false, name = "acme-quarantine" }
      artifacts  = { create = false, name = "acme-artifacts" }
    }
    databases           = { create = false, silver = ["shop"], quarantine = "shop_quarantine", catalog_id = "210987654321" }
    encryption          = { create_key = false, key_arn = "arn:aws:kms:eu-central-1:210987654321:key/x" }
    claim_bronze_prefix = false
  }
  assert {
    condition     = length(aws_s3_bucket.this) + length(aws_s3_bucket_policy.this) + length(aws_s3_bucket_lifecycle_configuration.this) + length(aws_kms_key.this) + length(aws_glue_catalog_database.this) + length(aws_ssm_parameter.bronze_prefix) == 0
    error_message = "nothing is made when everything is brought along"
  }
  assert {
    condition     = output.buckets.silver == { name = "acme-silver", arn = "arn:aws:s3:::acme-silver", kms_key_arn = "arn:aws:kms:eu-central-1:210987654321:key/x" } && output.kms_key_arn == "arn:aws:kms:eu-central-1:210987654321:key/x" && output.unmasked_kms_key_arn == output.kms_key_arn && length(output.bucket_policies) == 4
    error_message = "what is brought along is passed on, with the policies its owner needs"
  }
}

run "two_keys_of_somebody_else" {
  command = plan
  variables {
    encryption = { create_key = false, key_arn = "arn:aws:kms:eu-central-1:210987654321:key/x", unmasked_key_arn = "arn:aws:kms:eu-central-1:210987654321:key/y" }
  }
  assert {
    condition     = length(aws_kms_key.this) == 0 && { for role, bucket in output.buckets : role => trimprefix(bucket.kms_key_arn, "arn:aws:kms:eu-central-1:210987654321:key/") } == { bronze = "y", quarantine = "y", silver = "x", artifacts = "x" }
    error_message = "each is used for its buckets"
  }
  assert {
    condition     = [for s in jsondecode(output.reader_policy).Statement : s.Resource if s.Sid == "DecryptTables"] == [["arn:aws:kms:eu-central-1:210987654321:key/x"]]
    error_message = "readers use the key of silver only"
  }
}

run "a_second_region" {
  command = plan
  variables { region_suffix = "use1" }
  assert {
    condition     = aws_s3_bucket.this["quarantine"].bucket == "shop-quarantine-123456789012-use1" && output.buckets.quarantine.arn == "arn:aws:s3:::shop-quarantine-123456789012-use1"
    error_message = "buckets are named for all Regions"
  }
}

run "the_longest_names_of_buckets_fit" {
  command = plan
  variables {
    name          = "a234567890123456789012345678901"
    region_suffix = "apse1ab"
  }
  assert {
    condition     = max([for bucket in aws_s3_bucket.this : length(bucket.bucket)]...) == 63
    error_message = "S3 allows 63 characters"
  }
}

run "sse_s3_needs_no_key" {
  command = plan
  variables { encryption = { mode = "SSE_S3" } }
  assert {
    condition     = length(aws_kms_key.this) == 0 && output.kms_key_arn == null && output.unmasked_kms_key_arn == null && output.buckets.bronze.kms_key_arn == null && one(one(aws_s3_bucket_server_side_encryption_configuration.this["silver"].rule).apply_server_side_encryption_by_default).sse_algorithm == "AES256"
    error_message = "SSE-S3"
  }
}

run "choices" {
  command = plan
  variables {
    versioning          = { silver = 0 }
    bronze_folder       = "dms/shop/epoch-3/"
    past_bronze_folders = ["dms/shop/epoch-1/"]
    source_tables       = ["public.orders", "public.order.lines"]
    bronze_retention    = { transition_after_days = 60, changes_expire_after_days = 400, past_epochs_expire_after_days = 90 }
    bronze_tables       = { "public.orders" = { columns = [{ name = "order_id", type = "bigint" }, { name = "amount", type = "decimal(12,2)" }], key = ["order_id"] } }
    access_logs         = { bucket = "acme-logs" }
    lake_formation = {
      enabled            = true
      register_locations = true
      writers            = { job = "arn:aws:iam::123456789012:role/shop-merge" }
      readers            = { analysts = "arn:aws:iam::123456789012:role/analysts" }
    }
  }

  # Versioning is a choice.
  assert {
    condition     = !contains(keys(aws_s3_bucket_versioning.this), "silver") && [for rule in aws_s3_bucket_lifecycle_configuration.this["silver"].rule : rule.id] == ["abandoned-uploads"]
    error_message = "no versions, no rule for them"
  }

  # Retention spares the full load.
  assert {
    condition = { for rule in aws_s3_bucket_lifecycle_configuration.this["bronze"].rule : one(rule.filter).prefix => one(rule.expiration).days if length(rule.expiration) > 0 && rule.id != "replaced-and-deleted" } == {
      "dms/shop/epoch-3/public/orders/20"      = 400
      "dms/shop/epoch-3/public/order.lines/20" = 400
      "dms/shop/epoch-1/"                      = 90
    }
    error_message = "found ${jsonencode({ for rule in aws_s3_bucket_lifecycle_configuration.this["bronze"].rule : one(rule.filter).prefix => one(rule.expiration).days if length(rule.expiration) > 0 && rule.id != "replaced-and-deleted" })}"
  }
  assert {
    condition     = [for rule in aws_s3_bucket_lifecycle_configuration.this["bronze"].rule : one(rule.transition).storage_class if length(rule.transition) > 0] == ["GLACIER_IR"]
    error_message = "colder, and still readable at once"
  }
  assert {
    condition     = alltrue([for role in ["silver", "quarantine", "artifacts"] : alltrue([for rule in aws_s3_bucket_lifecycle_configuration.this[role].rule : length(rule.transition) == 0 && (length(rule.expiration) == 0 || rule.id == "replaced-and-deleted")])])
    error_message = "only bronze ages"
  }

  # Raw tables for Athena.
  assert {
    condition     = sort(keys(aws_glue_catalog_table.bronze)) == tolist(["public_orders", "public_orders_changes"]) && aws_glue_catalog_database.bronze[0].name == "shop_bronze"
    error_message = "two tables in a database of their own"
  }
  assert {
    condition     = [for column in one(aws_glue_catalog_table.bronze["public_orders"].storage_descriptor).columns : "${column.name} ${column.type}"] == ["op string", "dms_commit_ts string", "order_id bigint", "amount decimal(12,2)", "dms_change_seq string", "dms_stream_position string", "bi_order_id bigint"]
    error_message = "columns as DMS writes them"
  }
  assert {
    condition     = aws_glue_catalog_table.bronze["public_orders_changes"].parameters["storage.location.template"] == "s3://shop-bronze-123456789012/dms/shop/epoch-3/public/orders/$${hour}/" && length(aws_glue_catalog_table.bronze["public_orders"].partition_keys) == 0
    error_message = "hours are partitions by projection"
  }

  # Access logs.
  assert {
    condition     = aws_s3_bucket_logging.this["silver"].target_prefix == "s3-access/shop-silver-123456789012/" && length(aws_s3_bucket_logging.this) == 4
    error_message = "a folder for each bucket"
  }

  # Lake Formation, which may use the key.
  assert {
    condition     = sort(keys(aws_lakeformation_permissions.tables)) == tolist(["read analysts shop", "write job shop", "write job shop_quarantine"])
    error_message = "readers see silver, not the quarantine"
  }
  assert {
    condition     = aws_lakeformation_permissions.tables["read analysts shop"].permissions == toset(["DESCRIBE", "SELECT"])
    error_message = "readers read"
  }
  assert {
    condition = { for s in jsondecode(output.reader_policy).Statement : s.Sid => s.Action } == {
      ReadCatalog      = ["glue:GetDatabase", "glue:GetDatabases", "glue:GetTable", "glue:GetTables"]
      AskLakeFormation = ["lakeformation:GetDataAccess"]
    }
    error_message = "Lake Formation hands out access to files and key: ${output.reader_policy}"
  }
  assert {
    condition     = sort(keys(aws_lakeformation_resource.this)) == tolist(["quarantine", "silver"]) && length(aws_lakeformation_permissions.location) == 2
    error_message = "locations are registered for the writer"
  }
  assert {
    condition     = [for s in data.aws_iam_policy_document.lake_formation.statement : tolist(s.condition)[0].values if s.sid == "LakeFormation"] == [tolist(["arn:aws:iam::123456789012:role/aws-service-role/lakeformation.amazonaws.com/AWSServiceRoleForLakeFormationDataAccess"])]
    error_message = "the service-linked role reads registered buckets"
  }
}

run "apply" {
  command = apply
  override_resource {
    target = aws_kms_key.this["unmasked"]
    values = { arn = "arn:aws:kms:eu-central-1:123456789012:key/unmasked", key_id = "unmasked" }
  }
  assert {
    condition = { for role, config in aws_s3_bucket_server_side_encryption_configuration.this : role => one(one(config.rule).apply_server_side_encryption_by_default).kms_master_key_id } == {
      bronze     = "arn:aws:kms:eu-central-1:123456789012:key/unmasked"
      quarantine = "arn:aws:kms:eu-central-1:123456789012:key/unmasked"
      silver     = output.kms_key_arn
      artifacts  = output.kms_key_arn
    }
    error_message = "unmasked rows have a key of their own"
  }
  assert {
    condition     = { for role, bucket in output.buckets : role => bucket.kms_key_arn } == { bronze = output.unmasked_kms_key_arn, quarantine = output.unmasked_kms_key_arn, silver = output.kms_key_arn, artifacts = output.kms_key_arn }
    error_message = "each bucket says its key"
  }
  assert {
    condition     = { for use, alias in aws_kms_alias.this : alias.name => alias.target_key_id } == { "alias/shop-lake" = aws_kms_key.this["silver"].key_id, "alias/shop-unmasked" = "unmasked" }
    error_message = "each key has its alias"
  }
  assert {
    condition     = output.file_reader_policy == output.reader_policy
    error_message = "without Lake Formation there is one way to read"
  }
  assert {
    condition     = output.kms_key_arn == "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000000" && output.warehouse == "s3://shop-silver-123456789012"
    error_message = "outputs"
  }
  assert {
    condition = { for s in jsondecode(output.reader_policy).Statement : s.Sid => s.Resource } == {
      ReadCatalog   = ["arn:aws:glue:eu-central-1:123456789012:catalog", "arn:aws:glue:eu-central-1:123456789012:database/shop", "arn:aws:glue:eu-central-1:123456789012:table/shop/*"]
      ReadTables    = ["arn:aws:s3:::shop-silver-123456789012/shop/*"]
      ListTables    = ["arn:aws:s3:::shop-silver-123456789012"]
      DecryptTables = ["arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000000"]
    }
    error_message = "readers: ${output.reader_policy}"
  }
  assert {
    condition     = length([for s in data.aws_iam_policy_document.lake_formation.statement : s if s.sid == "LakeFormation"]) == 0
    error_message = "Lake Formation uses the key where it was asked for only"
  }
}
