# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html
resource "aws_dms_s3_endpoint" "target" {
  # A new epoch gets a new endpoint: a replication that still runs must not find its folder moved.
  endpoint_id             = "${var.name}-target-epoch-${var.load_epoch}"
  endpoint_type           = "target"
  service_access_role_arn = aws_iam_role.s3.arn
  kms_key_arn             = var.kms_key_arn
  tags                    = var.tags

  bucket_name                       = var.bronze.bucket
  bucket_folder                     = local.folder
  expected_bucket_owner             = local.bucket_owner
  encryption_mode                   = local.encryption_mode
  server_side_encryption_kms_key_id = var.bronze.kms_key_arn

  # Parquet knows NULL from an empty text, and has types.
  data_format                      = "parquet"
  compression_type                 = "GZIP"
  parquet_timestamp_in_millisecond = false

  # Without these a full load has no Op column, and rows of a load are younger than changes that came while it ran.
  include_op_for_full_load                    = true
  timestamp_column_name                       = local.service_columns.timestamp_column
  use_task_start_time_for_full_load_timestamp = true

  # Both would leave deletes out, and preserved transactions are CSV that mixes tables.
  cdc_inserts_only        = false
  cdc_inserts_and_updates = false
  preserve_transactions   = false

  # Hour folders keep listings short. The zone stays UTC: in another one names of files go back when the clocks do.
  date_partition_enabled   = true
  date_partition_sequence  = "yyyymmddhh"
  date_partition_delimiter = "slash"

  cdc_max_batch_interval = var.cdc_max_batch_interval_seconds
  cdc_min_file_size      = var.cdc_min_file_size_kb

  # The job owns the catalog.
  glue_catalog_generation = false

  depends_on = [aws_iam_role_policy.s3]

  lifecycle {
    precondition {
      condition = !local.epoch_is_lowered
      error_message = join(" ", [
        "load_epoch is ${var.load_epoch}, and epoch ${try(max(local.epochs_begun...), 0)} has begun. A lower epoch would load over files that are merged. Set",
        "load_epoch to ${try(max(local.epochs_begun...), 0)}, or to ${try(max(local.epochs_begun...), 0) + 1} to load everything again.",
      ])
    }
    precondition {
      condition = length(local.epoch_changes) == 0
      error_message = join(" ", [
        "Load epoch ${var.load_epoch} has begun with other settings: ${join("; ", local.epoch_changes)}. A running replication cannot take these over without",
        "losing changes. Set load_epoch to ${var.load_epoch + 1} in the same change to load everything again, or take the change back.",
      ])
    }
  }
}
