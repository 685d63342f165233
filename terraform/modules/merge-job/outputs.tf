################################################################################
# For what starts runs
################################################################################

output "job_name" {
  description = "Name of the Glue job."
  value       = aws_glue_job.merge.name
}

output "job_arn" {
  description = "ARN of the Glue job."
  value       = aws_glue_job.merge.arn
}

output "maintenance_job_name" {
  description = "Name of the Glue job that runs `maintain`; null without `maintenance_schedule`."
  value       = one(aws_glue_job.maintain[*].name)
}

output "arguments" {
  description = "Default arguments of a run."
  value       = aws_glue_job.merge.default_arguments
}

output "script_uri" {
  description = "The script that Glue starts."
  value       = local.script_uri
}

output "config_uri" {
  description = "The configuration document of the job."
  value       = local.config_uri
}

output "state_uri" {
  description = "Folder of the run state (`runs/<pipeline>/<table>.json`): `state_uri` of the configuration document."
  value       = local.state_uri
}

output "start_command" {
  description = "Command that starts a run by hand."
  value       = "aws glue start-job-run --region ${local.region} --job-name ${aws_glue_job.merge.name}"
}

output "run" {
  description = <<-EOT
    For another runtime of the same code and document: `script_uri`, `zip_uris`, `config_uri`, `config_sha256`,
      `spark_settings`, `policy_json` (all that a run needs but its logs) and `additional_policy_json`.
  EOT
  value = {
    script_uri     = local.script_uri
    zip_uris       = local.zip_uris
    config_uri     = local.config_uri
    config_sha256  = sha256(var.config_json)
    spark_settings = local.spark_settings
    policy_json = jsonencode({
      Version   = "2012-10-17"
      Statement = [for statement in concat(local.data_statements, local.key_statements) : merge({ Effect = "Allow" }, statement)]
    })
    additional_policy_json = var.additional_policy_json
  }
}

################################################################################
# For alarms
################################################################################

output "log_groups" {
  description = "Log groups: `output` for the job's JSON lines, `error` for messages of Spark and Glue."
  value       = { for key, group in aws_cloudwatch_log_group.job : key => group.name }
}

################################################################################
# For other accounts
################################################################################

output "role_arn" {
  description = "Role of the job's runs."
  value       = aws_iam_role.job.arn
}

output "role_name" {
  description = "Name of the role."
  value       = aws_iam_role.job.name
}

output "resource_policies" {
  description = <<-EOT
    JSON policies for resources of another account, which must allow this job's role:
    `bronze`, `silver`, `quarantine`, `artifacts`: for the policy of the bucket;
    `key`: for the policy of the KMS key;
    `catalog`: for the resource policy of the Glue catalog.
  EOT
  value = merge(
    { for role, statements in local.bucket_statements : role => jsonencode({
      Version = "2012-10-17"
      Statement = [for statement in concat(statements, [local.list_statements[role]]) : merge(statement, {
        Sid = "${local.sid}${statement.Sid}", Effect = "Allow", Principal = local.principal
      })]
    }) },
    {
      key = jsonencode(
        {
          Version = "2012-10-17"
          Statement = [
            {
              Sid       = "${local.sid}Encrypt"
              Effect    = "Allow"
              Principal = local.principal
              Action    = local.key_actions
              Resource  = "*"
              Condition = local.key_via
            },
          ]
        },
      )
      catalog = jsonencode(
        {
          Version = "2012-10-17"
          Statement = [
            { Sid = "${local.sid}Catalog", Effect = "Allow", Principal = local.principal, Action = local.glue_actions, Resource = local.glue_resources },
          ]
        },
      )
    },
  )
}

locals {
  # A text where the job's role is the only one, as before there were others.
  principal  = { AWS = try(one(local.principals), local.principals) }
  principals = concat([aws_iam_role.job.arn], var.further_role_arns)
  sid        = join("", [for part in split("-", local.job_name) : title(part)])
}
