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
  description = "Parameters that take effect at the next reboot of the database (Aurora: the writer), which Terraform does not do."
  value       = sort([for name, parameter in local.parameters : name if parameter.apply_method == "pending-reboot"])
}

output "setup_sql" {
  description = "Repeatable statements for the master user, after the reboot. With PostgreSQL run them in the database that DMS reads."
  value = local.is_postgres ? local.postgres_setup : [
    "CALL mysql.rds_set_configuration('binlog retention hours', ${var.binlog_retention_hours});",
    "GRANT REPLICATION CLIENT, REPLICATION SLAVE, SELECT ON *.* TO '${var.user}'@'%';",
  ]
}

output "teardown_sql" {
  description = <<-EOT
    Statements for the master user that remove everything of `setup_sql` and DMS, before a major upgrade of PostgreSQL,
    and at the end. The first fails while DMS reads: stop at an error. Repeatable in PostgreSQL. In MySQL they end the
    retention of the binary log for every reader, fail once the user is dropped, and are not tested.
  EOT
  value = local.is_postgres ? local.postgres_teardown : [
    "CALL mysql.rds_set_configuration('binlog retention hours', NULL);",
    "REVOKE REPLICATION CLIENT, REPLICATION SLAVE, SELECT ON *.* FROM '${var.user}'@'%';",
  ]
}

output "lob_sizes_sql" {
  description = <<-EOT
    Script that prints, for each column whose values DMS handles as LOBs, the largest value in bytes and KB:
    set `lob_max_size_kb` by it before the first load. It reads each of these tables once (MySQL: once per column).
  EOT
  value       = local.lob_sizes
}

output "check_sql" {
  description = "Statement that shows the effective settings."
  value = local.is_postgres ? (
    "SELECT name, setting, pending_restart FROM pg_settings WHERE name IN (${join(", ", [for name in sort(keys(local.required)) : "'${name}'"])});"
    ) : (
    # The last two tell whether a read replica writes a binary log of what it receives.
    join(" ", [
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', 'binlog_row_image',",
      "'binlog_checksum', 'log_slave_updates', 'log_replica_updates');",
    ])
  )
}
