# A replication that somebody else owns: it is read and followed, and nothing of it is changed.
locals {
  # By keys: values may be yet to be made.
  follows    = contains(try(keys(var.replication), []), "existing_task_arn")
  reads_task = local.follows && contains(try(keys(var.replication), []), "existing_task_id")
}

data "aws_dms_replication_task" "existing" {
  count = local.reads_task ? 1 : 0

  replication_task_id = var.replication.existing_task_id
}

data "aws_dms_endpoint" "existing" {
  count = local.follows ? 1 : 0

  endpoint_id = var.replication.existing_target_endpoint_id
}

locals {
  existing_type  = try(data.aws_dms_replication_task.existing[0].migration_type, var.replication.existing_migration_type, null)
  existing_rules = try(jsondecode(data.aws_dms_replication_task.existing[0].table_mappings).rules, [])
  # Through JSON: version 6 of the provider has no attribute s3_settings, and Terraform refuses an attribute that is in no schema.
  existing_s3 = one(flatten([for endpoint in data.aws_dms_endpoint.existing : lookup(jsondecode(jsonencode(endpoint)), "s3_settings", [])]))
  is_s3       = try(data.aws_dms_endpoint.existing[0].engine_name == "s3", false)

  # Names of the columns that the task adds, by what is in them.
  existing_columns = { for expression in ["$AR_H_CHANGE_SEQ", "$AR_H_STREAM_POSITION"] : expression => distinct([
    for rule in local.existing_rules : rule.value if try(rule.rule-action == "add-column" && trimspace(rule.expression) == expression, false)
  ]) }
  existing_before_images = distinct(
    [for rule in local.existing_rules : try(rule.before-image-def.column-prefix, "") if try(rule.rule-action == "add-before-image-columns", false)],
  )

  # bronze of docs/configuration.md, as far as the endpoint and the rules say it. What DMS leaves out is its default.
  read_bronze = merge({}, [for written in local.existing_s3[*] : merge(
    { format = lower(coalesce(written.data_format, "csv")) },
    lower(coalesce(written.data_format, "csv")) == "csv" ? { csv = {
      header        = written.add_column_name
      delimiter     = coalesce(written.csv_delimiter, ",")
      rfc4180       = written.rfc_4180
      null          = written.csv_null_value
      no_supplement = written.use_csv_no_sup_value ? written.csv_no_sup_value : null
    } } : {},
    { change = merge(
      {
        timestamp_column = written.timestamp_column_name == "" ? null : written.timestamp_column_name
        load_without_op  = !written.include_op_for_full_load
      },
      local.reads_task ? {
        sequence_column        = try(one(local.existing_columns["$AR_H_CHANGE_SEQ"]), null)
        stream_position_column = try(one(local.existing_columns["$AR_H_STREAM_POSITION"]), null)
        before_image_prefix    = try(coalesce(one(local.existing_before_images)), null)
      } : {},
    ) },
  )]...)

  given_bronze = try({ for key, value in var.bronze : key => value if key != "prefix" }, {})
  bronze_settings = merge(local.read_bronze, local.given_bronze, {
    for key, value in local.read_bronze : key => merge(value, try({ for inner, one in local.given_bronze[key] : inner => one }, {})) if key != "format"
  })
  given_settings = merge(
    {
      "bronze.prefix"                  = contains(try(keys(var.bronze), []), "prefix")
      "bronze.format"                  = contains(keys(local.given_bronze), "format")
      "bronze.change.timestamp_column" = contains(try(keys(var.bronze.change), []), "timestamp_column")
      "bronze.change.load_without_op"  = contains(try(keys(var.bronze.change), []), "load_without_op")
      "buckets.bronze.name"            = try(var.buckets.bronze.name, null) != null
    },
    (
      try(var.bronze.format, null) == "csv" ?
      { for name in ["header", "delimiter", "rfc4180", "null"] : "bronze.csv.${name}" => contains(try(keys(var.bronze.csv), []), name) } :
      {}
    ),
  )
  existing_folder = trim(try(local.existing_s3.bucket_folder, ""), "/")

  # What would be wrong in silence, or cannot be read and was not given.
  existing_problems = !local.follows ? [] : concat(
    [
      for task in data.aws_dms_replication_task.existing :
      "existing_task_id ${task.replication_task_id} is the task ${task.replication_task_arn}, and not existing_task_arn"
      if task.replication_task_arn != var.replication.existing_task_arn
    ],
    [
      for task in data.aws_dms_replication_task.existing :
      "the task writes to the endpoint ${task.target_endpoint_arn}, and existing_target_endpoint_id is ${data.aws_dms_endpoint.existing[0].endpoint_arn}"
      if task.target_endpoint_arn != data.aws_dms_endpoint.existing[0].endpoint_arn
    ],
    local.is_s3 ? [] : ["the endpoint ${var.replication.existing_target_endpoint_id} is none of S3: only files in S3 can be merged"],
    # Nothing is taken for granted of an endpoint that is not read.
    (
      local.existing_s3 == null && local.is_s3 ?
      [
        for name, is_given in local.given_settings :
        join(" ", [
          "${name} is missing: version 6 of the AWS provider does not read the endpoint's S3 settings. Give what the endpoint has (aws dms",
          "describe-endpoints, S3Settings)",
        ])
        if !is_given
      ] :
      []
    ),
    local.existing_s3 == null ? [] : concat(
      [
        for name in [local.existing_s3.bucket_name] :
        "DMS writes to the bucket ${name}: buckets.bronze must be { create = false, name = ${jsonencode(name)} }"
        if try(var.buckets.bronze.create != false || var.buckets.bronze.name != name, true)
      ],
      [
        for folder in [local.existing_folder] :
        "DMS writes to the folder ${jsonencode(folder)}, and bronze.prefix is ${jsonencode(local.bronze_prefix)}: leave bronze.prefix out"
        if folder != local.bronze_prefix && folder != ""
      ],
      local.existing_folder == "" ? ["DMS writes to the top of the bucket: its endpoint needs a bucket folder, whose files can be told from others"] : [],
      [
        for name in ["cdc_inserts_only", "cdc_inserts_and_updates"] :
        "the endpoint has ${name}: deletes of the source would never arrive"
        if local.existing_s3[name]
      ],
      (
        local.existing_s3.preserve_transactions || local.existing_s3.cdc_path != "" ?
        ["the endpoint preserves transactions (cdc_path): such files mix tables, and cannot be merged"] :
        []
      ),
      # false and "" are also what is read of an endpoint that leaves it to DMS's default.
      [
        for name, unread in { rfc4180 = !local.existing_s3.rfc_4180, null = local.existing_s3.csv_null_value == "" } :
        "bronze.csv.${name} is missing: the endpoint does not say it. Give what its files have"
        if try(local.read_bronze.format == "csv", false) && unread && !contains(try(keys(var.bronze.csv), []), name)
      ],
    ),
    # The provider can read endpoints of serverless replications, and not their rules.
    [
      for name in ["sequence_column", "stream_position_column", "before_image_prefix"] :
      join(" ", [
        "bronze.change.${name} is missing: the mapping rules of a serverless replication cannot be",
        "read. Give the name, or null where the rules add no such column",
      ])
      if !local.reads_task && !contains(try(keys(var.bronze.change), []), name)
    ],
    [
      for expression, names in local.existing_columns :
      "mapping rules add ${expression} under several names (${join(", ", names)}), and the job knows one"
      if length(names) > 1
    ],
    (
      length(local.existing_before_images) > 1 ?
      ["mapping rules give before-images several prefixes (${join(", ", local.existing_before_images)}), and the job knows one"] :
      []
    ),
  )
}

output "existing_task" {
  description = <<-EOT
    What was read of the replication that `replication.existing_task_arn` names: `arn`, `migration_type` and `bronze`,
    the settings of the job's document that follow from it; null without one.
  EOT
  value       = local.follows ? { arn = var.replication.existing_task_arn, migration_type = local.existing_type, bronze = local.bronze_settings } : null

  precondition {
    condition     = length(local.existing_problems) == 0
    error_message = "replication.existing_task_arn: ${length(local.existing_problems)} problem(s):\n- ${join("\n- ", local.existing_problems)}"
  }
}
