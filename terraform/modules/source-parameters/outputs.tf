output "parameter_group_name" {
  description = "Group for `aws_db_instance.parameter_group_name`; null for Aurora."
  value       = one(aws_db_parameter_group.this[*].name)
}

output "cluster_parameter_group_name" {
  description = "Group for `aws_rds_cluster.db_cluster_parameter_group_name`; null for RDS instances."
  value       = one(aws_rds_cluster_parameter_group.this[*].name)
}

output "family" {
  description = "The group's family."
  value       = var.family
}

output "parameters" {
  description = "All parameters by name, with value and apply method, for a group of your own."
  value       = local.parameters
}

output "reboot_parameters" {
  description = "Parameters that take effect when the database is rebooted (Aurora: the writer); applying them does not reboot it."
  value       = sort([for name, parameter in local.parameters : name if parameter.apply_method == "pending-reboot"])
}

output "setup_sql" {
  description = "Statements to run once as the master user, after the reboot: what no parameter can say."
  value = local.is_postgres ? concat(
    var.plugin == "pglogical" ? ["CREATE EXTENSION IF NOT EXISTS pglogical;"] : [],
    ["GRANT rds_superuser, rds_replication TO ${var.user};"],
    ) : [
    "CALL mysql.rds_set_configuration('binlog retention hours', ${var.binlog_retention_hours});",
    "GRANT REPLICATION CLIENT, REPLICATION SLAVE, SELECT ON *.* TO '${var.user}'@'%';",
  ]
}

output "check_sql" {
  description = "Statement that shows what is in effect."
  value = local.is_postgres ? (
    "SELECT name, setting, pending_restart FROM pg_settings WHERE name IN (${join(", ", [for name in sort(keys(local.required)) : "'${name}'"])});"
    ) : (
    # The last two tell whether a read replica writes a binary log of what it receives.
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', 'binlog_row_image', 'binlog_checksum', 'log_slave_updates', 'log_replica_updates');"
  )
}
