# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html
data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account = data.aws_caller_identity.current.account_id
  # `id` is the region's name in versions 5 and 6 of the provider; `name` and `region` are each unknown to one of them.
  region     = data.aws_region.current.id
  partition  = data.aws_partition.current.partition
  dns_suffix = data.aws_partition.current.dns_suffix

  is_postgres    = contains(["postgres", "aurora-postgresql"], var.source_database.engine)
  is_provisioned = var.mode == "provisioned"
  has_cdc        = var.migration_type != "full-load"

  folder       = "${var.bronze.prefix}/epoch-${var.load_epoch}"
  bucket_owner = coalesce(var.bronze.expected_owner, local.account)
  bucket_arn   = "arn:${local.partition}:s3:::${var.bronze.bucket}"

  # The names of the service columns, which are the job's defaults (bronze.change of its configuration).
  service_columns = {
    op_column              = "Op"
    timestamp_column       = "dms_commit_ts"
    sequence_column        = "dms_change_seq"
    stream_position_column = "dms_stream_position"
    before_image_prefix    = "BI_"
  }

  # DMS takes at most 31 characters; it is the last part of ARNs, and so of log group and metrics.
  resource_identifier = format(
    "%s-e%s",
    length(var.name) <= 23 ? var.name : "${trimsuffix(substr(var.name, 0, 16), "-")}-${substr(sha1(var.name), 0, 6)}",
    var.load_epoch,
  )
}

resource "aws_dms_replication_subnet_group" "this" {
  replication_subnet_group_id          = var.name
  replication_subnet_group_description = "Subnets of the replication of ${var.name}"
  subnet_ids                           = var.subnet_ids
  tags                                 = var.tags

  # An order, and no value: `depends_on` of a module would put off what the module reads at plan whenever a role has a change.
  # Whatever DMS runs here depends on this group.
  lifecycle {
    precondition {
      condition     = alltrue([for arn in values(var.account_role_arns) : can(regex("^arn:[^:]+:iam::[0-9]{12}:role/", arn))])
      error_message = "account_role_arns has ${join(", ", values(var.account_role_arns))}. Expected ARNs of roles, by any name."
    }
  }
}

################################################################################
# What a load epoch stands for
################################################################################

locals {
  # A replication that runs cannot get another of these: it would leave the changes that it has read or written behind.
  epoch_identity = {
    bucket             = var.bronze.bucket
    prefix             = var.bronze.prefix
    engine             = var.source_database.engine
    database           = coalesce(var.source_database.database, "-")
    migration_type     = var.migration_type
    mode               = var.mode
    cdc_start_position = coalesce(var.cdc_start_position, "-")
    # A task cannot get another source endpoint, and PostgreSQL settings make another one (source.tf).
    source_endpoint = local.is_provisioned ? local.source_endpoint_id : "-"
    # Another key replaces endpoints and replication; the new one would load everything again, over files that are merged.
    kms_key_arn     = coalesce(var.kms_key_arn, "-")
    encryption_mode = local.encryption_mode
  }

  # AWS takes an endpoint from SSE_KMS to SSE_S3, and not the other way.
  # https://docs.aws.amazon.com/dms/latest/APIReference/API_S3Settings.html
  encryption_mode = var.bronze.kms_key_arn == null ? "SSE_S3" : "SSE_KMS"
  may_change      = { encryption_mode = "SSE_S3" }

  epoch_changes = [
    for name, now in local.epoch_identity : "${name} was ${jsonencode(try(terraform_data.epoch.output[name], null))} and is to be ${jsonencode(now)}"
    if try(terraform_data.epoch.output[name] != now && lookup(local.may_change, name, "") != now, false)
  ]

  # What Terraform keeps of a resource is out of sight once it is to be replaced; what AWS keeps is not.
  epochs_begun     = [for value in nonsensitive(data.aws_ssm_parameters_by_path.epoch.values) : tonumber(value)]
  epoch_is_lowered = anytrue([for begun in local.epochs_begun : begun > var.load_epoch])
}

data "aws_ssm_parameters_by_path" "epoch" {
  path = "/dms-iceberg/epoch/${var.name}"
}

resource "aws_ssm_parameter" "epoch" {
  #checkov:skip=CKV2_AWS_34: a number, and no secret
  name        = "/dms-iceberg/epoch/${var.name}/last"
  description = "The last load epoch of ${var.name}. A plan with a lower one is refused: its files are there already."
  type        = "String"
  value       = tostring(var.load_epoch)
  tags        = var.tags
}

resource "terraform_data" "epoch" {
  input            = local.epoch_identity
  triggers_replace = [var.load_epoch]

  lifecycle {
    # So its output is what the epoch began with.
    ignore_changes = [input]

    precondition {
      condition     = length(local.table_problems) == 0
      error_message = "tables: ${length(local.table_problems)} problem(s):\n- ${join("\n- ", local.table_problems)}"
    }
  }
}
