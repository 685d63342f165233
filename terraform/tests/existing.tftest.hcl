# A replication that somebody else owns: what is read of it, and what is refused.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com", reverse_dns_prefix = "com.amazonaws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_dms_replication_task" {
    defaults = {
      replication_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:ERP"
      target_endpoint_arn  = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES"
      migration_type       = "full-load-and-cdc"
      table_mappings       = "{\"rules\": [{\"rule-type\": \"selection\", \"rule-action\": \"include\"}, {\"rule-action\": \"add-column\", \"value\": \"seq\", \"expression\": \"$AR_H_CHANGE_SEQ\"}, {\"rule-action\": \"add-before-image-columns\", \"before-image-def\": {\"column-prefix\": \"OLD_\"}}]}"
    }
  }
  mock_data "aws_dms_endpoint" {
    defaults = {
      endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES"
      engine_name  = "s3"
      s3_settings = [{
        bucket_name          = "acme-bronze", bucket_folder = "exports/erp/", data_format = "csv", add_column_name = false, csv_delimiter = ";", rfc_4180 = true, csv_null_value = "\\N",
        use_csv_no_sup_value = false, timestamp_column_name = "changed_at", include_op_for_full_load = true, cdc_inserts_only = false, cdc_inserts_and_updates = false, preserve_transactions = false,
        cdc_path             = ""
      }]
    }
  }
}

variables {
  name        = "erp"
  tables      = { "erp.suppliers" = { key = ["id"], source_columns = ["id", "name"] } }
  buckets     = { bronze = { create = false, name = "acme-bronze" } }
  trigger     = { notification = "eventbridge" }
  encryption  = { mode = "SSE_S3" }
  merge_job   = { package = { zip_path = "main.tf" } }
  replication = { existing_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:ERP", existing_task_id = "erp", existing_target_endpoint_id = "files" }
}

run "settings_are_read" {
  command = plan

  assert {
    condition = jsonencode(jsondecode(output.config_json).bronze) == jsonencode({
      uri    = "s3://acme-bronze/exports/erp/"
      format = "csv"
      csv    = { header = false, delimiter = ";", rfc4180 = true, null = "\\N" }
      change = { timestamp_column = "changed_at", load_without_op = false, sequence_column = "seq", stream_position_column = null, before_image_prefix = "OLD_" }
    })
    error_message = "found ${output.config_json}"
  }
  assert {
    condition     = output.existing_task.migration_type == "full-load-and-cdc" && output.replication == null && output.trigger.bucket_notification.Prefix == "exports/erp/"
    error_message = "it is followed, and is none of ours"
  }
  assert {
    condition     = local.hears_of_dms && local.loads
    error_message = "its complete loads are noted"
  }
}

run "what_is_given_counts_more" {
  command = plan
  variables {
    bronze = { csv = { header = true }, change = { op_column = "action", sequence_column = null } }
  }
  assert {
    condition     = jsondecode(output.config_json).bronze.csv.header && jsondecode(output.config_json).bronze.csv.delimiter == ";" && jsondecode(output.config_json).bronze.change.op_column == "action" && jsondecode(output.config_json).bronze.change.sequence_column == null
    error_message = "found ${output.config_json}"
  }
}

run "a_task_of_changes_alone_has_no_loads" {
  command = plan
  override_data {
    target = data.aws_dms_replication_task.existing
    values = {
      replication_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:ERP"
      target_endpoint_arn  = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES"
      migration_type       = "cdc"
      table_mappings       = "{\"rules\": []}"
    }
  }
  assert {
    condition     = !local.hears_of_dms && jsondecode(output.config_json).bronze.change.sequence_column == null
    error_message = "nothing to follow"
  }
}

run "another_task_and_another_place" {
  command = plan
  variables {
    bronze  = { prefix = "exports/crm" }
    buckets = { bronze = { create = false, name = "acme-other" } }
  }
  override_data {
    target = data.aws_dms_replication_task.existing
    values = {
      replication_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:CRM"
      target_endpoint_arn  = "arn:aws:dms:eu-central-1:123456789012:endpoint:OTHER"
      migration_type       = "full-load-and-cdc"
      table_mappings       = "{\"rules\": []}"
    }
  }
  expect_failures = [output.existing_task]

  assert {
    condition     = length(local.existing_problems) == 4
    error_message = join("\n", local.existing_problems)
  }
}

run "files_that_would_lack_rows_or_cannot_be_read" {
  command = plan
  override_data {
    target = data.aws_dms_endpoint.existing
    values = {
      endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES"
      engine_name  = "s3"
      s3_settings = [{
        bucket_name          = "acme-bronze", bucket_folder = "exports/erp/", data_format = "csv", add_column_name = false, csv_delimiter = ";", rfc_4180 = false, csv_null_value = "",
        use_csv_no_sup_value = false, timestamp_column_name = "changed_at", include_op_for_full_load = true, cdc_inserts_only = true, cdc_inserts_and_updates = false, preserve_transactions = false,
        cdc_path             = "cdc"
      }]
    }
  }
  expect_failures = [output.existing_task]

  assert {
    condition     = [for problem in local.existing_problems : split(":", problem)[0]] == ["the endpoint has cdc_inserts_only", "the endpoint preserves transactions (cdc_path)", "bronze.csv.null is missing", "bronze.csv.rfc4180 is missing"]
    error_message = join("\n", local.existing_problems)
  }
}

# What version 6 of the provider says of an endpoint.
run "an_endpoint_whose_settings_are_not_read" {
  command = plan
  override_data {
    target = data.aws_dms_endpoint.existing
    values = { endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES", engine_name = "s3", s3_settings = [] }
  }
  variables {
    bronze = { format = "csv", csv = { header = true } }
  }
  expect_failures = [output.existing_task]

  assert {
    condition = [for problem in local.existing_problems : split(" ", problem)[0]] == [
      "bronze.change.load_without_op", "bronze.change.timestamp_column", "bronze.csv.delimiter", "bronze.csv.null", "bronze.csv.rfc4180", "bronze.prefix",
    ]
    error_message = join("\n", local.existing_problems)
  }
}

run "an_endpoint_whose_settings_are_given" {
  command = plan
  override_data {
    target = data.aws_dms_endpoint.existing
    values = { endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES", engine_name = "s3", s3_settings = [] }
  }
  variables {
    bronze = { prefix = "exports/erp", format = "parquet", change = { timestamp_column = "changed_at", load_without_op = false } }
  }
  assert {
    condition = jsonencode(jsondecode(output.config_json).bronze) == jsonencode({
      uri = "s3://acme-bronze/exports/erp/", format = "parquet", change = { timestamp_column = "changed_at", load_without_op = false }
    })
    error_message = "found ${output.config_json}"
  }
}

run "an_endpoint_of_another_kind" {
  command = plan
  override_data {
    target = data.aws_dms_endpoint.existing
    values = { endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:FILES", engine_name = "kinesis", s3_settings = [] }
  }
  expect_failures = [output.existing_task]

  assert {
    condition     = length(local.existing_problems) == 1 && strcontains(local.existing_problems[0], "is none of S3")
    error_message = join("\n", local.existing_problems)
  }
}

run "a_serverless_replication_cannot_be_read" {
  command = plan
  variables {
    replication = { existing_task_arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:erp", existing_migration_type = "full-load", existing_target_endpoint_id = "files" }
    bronze      = { change = { sequence_column = null } }
  }
  expect_failures = [output.existing_task]

  assert {
    condition     = [for problem in local.existing_problems : split(" ", problem)[0]] == ["bronze.change.stream_position_column", "bronze.change.before_image_prefix"]
    error_message = join("\n", local.existing_problems)
  }
}

run "a_serverless_replication_with_what_cannot_be_read" {
  command = plan
  variables {
    replication = { existing_task_arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:erp", existing_migration_type = "full-load", existing_target_endpoint_id = "files" }
    bronze      = { change = { sequence_column = null, stream_position_column = null, before_image_prefix = "BI_" } }
  }
  assert {
    condition     = output.existing_task.migration_type == "full-load" && jsondecode(output.config_json).bronze.change.before_image_prefix == "BI_"
    error_message = "found ${output.config_json}"
  }
}

run "a_task_without_its_identifier" {
  command = plan
  variables { replication = { existing_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:ERP", existing_target_endpoint_id = "files" } }
  expect_failures = [var.replication]
}

run "a_task_without_its_endpoint_and_with_settings" {
  command = plan
  variables { replication = { existing_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:ERP", existing_task_id = "erp", max_capacity_units = 4 } }
  expect_failures = [var.replication]
}
