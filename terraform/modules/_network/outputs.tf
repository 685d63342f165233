output "security_group_ids" {
  description = "Security groups of the replication."
  value       = local.security_group_ids

  precondition {
    condition     = length(distinct(local.zones)) >= 2
    error_message = "subnet_ids: all in zone ${join(", ", distinct(local.zones))}; DMS wants subnets in two zones at least."
  }

  # A replication that starts before it can reach anything fails.
  depends_on = [
    aws_vpc_endpoint.s3,
    aws_vpc_endpoint.secrets_manager,
    aws_vpc_security_group_egress_rule.database_addresses,
    aws_vpc_security_group_egress_rule.database_group,
    aws_vpc_security_group_egress_rule.s3,
    aws_vpc_security_group_egress_rule.secrets_manager_addresses,
    aws_vpc_security_group_egress_rule.secrets_manager_group,
    aws_vpc_security_group_ingress_rule.database,
    aws_vpc_security_group_ingress_rule.database_job,
    aws_vpc_security_group_ingress_rule.secrets_manager,
  ]
}

output "s3_endpoint_id" {
  description = "The S3 gateway endpoint made here, or null."
  value       = one(aws_vpc_endpoint.s3[*].id)
}

output "secrets_manager_endpoint_id" {
  description = "The Secrets Manager interface endpoint made here, or null."
  value       = one(aws_vpc_endpoint.secrets_manager[*].id)
}
