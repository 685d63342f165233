################################################################################
# For the job and the trigger
################################################################################

output "bronze_prefix" {
  description = "Folder in the bucket that DMS writes to in this epoch, with a slash at its end; `<schema>/<table>/` follow."
  value       = "${local.folder}/"
}

output "bronze_uri" {
  description = "The same as `s3://` address: `bronze.uri` of the job's configuration."
  value       = "s3://${var.bronze.bucket}/${local.folder}/"
}

output "service_columns" {
  description = "Names of the columns that DMS adds, under the keys of `bronze.change` of the job's configuration, where they are the defaults."
  value       = local.service_columns
}

output "load_epoch" {
  description = "The epoch that `bronze_prefix` belongs to."
  value       = var.load_epoch
}

output "starter" {
  description = <<-EOT
    What the module trigger needs to start, resume and stop a serverless replication, as its input `replication`; the
    ARN only when provisioned, where Terraform starts the task.
  EOT
  value = local.is_provisioned ? { arn = local.replication_arn, start = null, revision = "" } : {
    arn   = local.replication_arn
    start = var.start
    # The settings as well: an apply that ends between a change and what follows from it leaves the rest to the next.
    revision = sha1(jsonencode([
      local.replication_arn, terraform_data.changed[0].id, local.table_mappings, local.task_settings, local.compute,
      aws_dms_endpoint.source.endpoint_arn, aws_dms_s3_endpoint.target.endpoint_arn,
    ]))
  }
}

################################################################################
# For other accounts
################################################################################

output "s3_role_arn" {
  description = "Role by which DMS writes to the bucket."
  value       = aws_iam_role.s3.arn
}

output "secret_role_arn" {
  description = "Role by which DMS reads the secret."
  value       = aws_iam_role.secret.arn
}

output "resource_policies" {
  description = <<-EOT
    JSON policies for resources of another account, which must allow the role:
    `bronze`: for the policy of the bucket;
    `key`: for the policy of the bucket's KMS key.
  EOT
  value = {
    bronze = jsonencode({
      Version = "2012-10-17"
      Statement = [
        {
          Sid       = "${local.sid}WriteObjects"
          Effect    = "Allow"
          Principal = { AWS = aws_iam_role.s3.arn }
          Action    = local.s3_actions.objects
          Resource  = "${local.bucket_arn}/${var.bronze.prefix}/*"
        },
        {
          Sid       = "${local.sid}FindBucket"
          Effect    = "Allow"
          Principal = { AWS = aws_iam_role.s3.arn }
          Action    = local.s3_actions.bucket
          Resource  = local.bucket_arn
        },
      ]
    })
    key = jsonencode({
      Version = "2012-10-17"
      Statement = [
        {
          Sid       = "${local.sid}EncryptObjects"
          Effect    = "Allow"
          Principal = { AWS = aws_iam_role.s3.arn }
          Action    = local.kms_actions
          # In a key's policy this is the key itself.
          Resource  = "*"
          Condition = local.via_s3
        },
        { Sid = "${local.sid}FindKey", Effect = "Allow", Principal = { AWS = aws_iam_role.s3.arn }, Action = ["kms:DescribeKey"], Resource = "*" },
      ]
    })
  }
}

locals {
  # Statements of several pipelines in one policy need names of their own.
  sid = "Dms${join("", [for part in split("-", var.name) : title(part)])}"
}

################################################################################
# For operators
################################################################################

output "mode" {
  description = "`serverless` or `provisioned`."
  value       = var.mode
}

output "replication_arn" {
  description = "ARN of the serverless replication config, or of the replication task."
  value       = local.replication_arn
}

output "replication_config_arn" {
  description = "ARN of the serverless replication config; null when provisioned."
  value       = one(aws_dms_replication_config.this[*].arn)
}

output "replication_task_arn" {
  description = "ARN of the replication task; null when serverless."
  value       = one(aws_dms_replication_task.this[*].replication_task_arn)
}

output "replication_task_id" {
  description = "Identifier of the replication task, for event subscriptions; null when serverless."
  value       = one(aws_dms_replication_task.this[*].replication_task_id)
}

output "replication_instance_id" {
  description = "Identifier of the replication instance; null when serverless."
  value       = one(aws_dms_replication_instance.this[*].replication_instance_id)
}

output "replication_instance_arn" {
  description = "ARN of the replication instance; null when serverless."
  value       = one(aws_dms_replication_instance.this[*].replication_instance_arn)
}

output "source_endpoint_id" {
  description = "Identifier of the source endpoint."
  value       = aws_dms_endpoint.source.endpoint_id
}

output "source_endpoint_arn" {
  description = "ARN of the source endpoint."
  value       = aws_dms_endpoint.source.endpoint_arn
}

output "target_endpoint_arn" {
  description = "ARN of the S3 target endpoint."
  value       = aws_dms_s3_endpoint.target.endpoint_arn
}

output "metric_dimensions" {
  description = "Dimensions of the replication's metrics in the namespace AWS/DMS."
  value = local.is_provisioned ? {
    ReplicationInstanceIdentifier = var.name
    # Not the task's identifier: CloudWatch knows it by the last part of its ARN.
    ReplicationTaskIdentifier = reverse(split(":", local.replication_arn))[0]
    } : {
    ReplicationConfigId = "${local.account}:${reverse(split(":", local.replication_arn))[0]}"
  }
}

output "log_group_name" {
  description = "Log group that DMS writes to."
  value       = local.log_group_name

  # Who counts its lines needs the group to be there.
  depends_on = [aws_cloudwatch_log_group.dms]
}

output "suspended_tables_prefix" {
  description = "Folder where DMS notes tables that it has suspended: such a table gets no more changes although the replication runs."
  value       = "${local.folder}/awsdms_suspended_tables/"
}

output "table_mappings_json" {
  description = "The mapping rules that DMS has been given."
  value       = jsonencode(local.table_mappings)
}

output "task_settings_json" {
  description = "The task settings that DMS has been given."
  value       = jsonencode(local.task_settings)
}

output "commands" {
  description = <<-EOT
    Commands for operators: state, tables, stop, resume. Serverless also start, for a first start that no module trigger
    does, and delete, for one that is deprovisioned, which Terraform can neither change nor delete.
  EOT
  value = local.is_provisioned ? {
    state  = "aws dms describe-replication-tasks --region ${local.region} --filters Name=replication-task-arn,Values=${local.replication_arn}"
    tables = "aws dms describe-table-statistics --region ${local.region} --replication-task-arn ${local.replication_arn}"
    stop   = "aws dms stop-replication-task --region ${local.region} --replication-task-arn ${local.replication_arn}"
    resume = join(" ", [
      "aws dms start-replication-task --region ${local.region} --replication-task-arn",
      "${local.replication_arn} --start-replication-task-type resume-processing",
    ])
    } : {
    state  = "aws dms describe-replications --region ${local.region} --filters Name=replication-config-arn,Values=${local.replication_arn}"
    tables = "aws dms describe-replication-table-statistics --region ${local.region} --replication-config-arn ${local.replication_arn}"
    stop   = "aws dms stop-replication --region ${local.region} --replication-config-arn ${local.replication_arn}"
    start  = "aws dms start-replication --region ${local.region} --replication-config-arn ${local.replication_arn} --start-replication-type start-replication"
    resume = "aws dms start-replication --region ${local.region} --replication-config-arn ${local.replication_arn} --start-replication-type resume-processing"
    delete = "aws dms delete-replication-config --region ${local.region} --replication-config-arn ${local.replication_arn}"
  }
}

locals {
  replication_arn = local.is_provisioned ? one(aws_dms_replication_task.this[*].replication_task_arn) : one(aws_dms_replication_config.this[*].arn)
}
