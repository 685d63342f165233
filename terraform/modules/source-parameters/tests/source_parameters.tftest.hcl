# Each engine gets the right kind of group, with what DMS needs and when it takes effect.

mock_provider "aws" {}

variables {
  name   = "shop"
  engine = "postgres"
  family = "postgres16"
}

run "postgres" {
  command = plan

  assert {
    condition     = output.parameter_group_name == "shop-postgres16" && output.cluster_parameter_group_name == null
    error_message = "RDS takes a group for instances"
  }
  assert {
    condition = {
      for parameter in aws_db_parameter_group.this[0].parameter : parameter.name => "${parameter.value} ${parameter.apply_method}"
      } == {
      "rds.logical_replication"         = "1 pending-reboot"
      "max_replication_slots"           = "20 pending-reboot"
      "max_wal_senders"                 = "25 pending-reboot"
      "max_logical_replication_workers" = "8 pending-reboot"
      "max_worker_processes"            = "GREATEST({DBInstanceVCPU*2},24) pending-reboot"
      "shared_preload_libraries"        = "pg_stat_statements,pglogical pending-reboot"
      "wal_sender_timeout"              = "60000 immediate"
    }
    error_message = "parameters of PostgreSQL: ${jsonencode(output.parameters)}"
  }
  assert {
    condition     = !contains(output.reboot_parameters, "wal_sender_timeout") && contains(output.reboot_parameters, "rds.logical_replication")
    error_message = "what needs a reboot: ${join(", ", output.reboot_parameters)}"
  }
  # What the statements do is shown on a real PostgreSQL: tests/terraform/test_source_sql.py.
  assert {
    condition     = slice(output.setup_sql, 0, 4) == tolist(["CREATE EXTENSION IF NOT EXISTS pglogical;", "GRANT rds_superuser, rds_replication TO \"dms\";", "CREATE SCHEMA IF NOT EXISTS \"awsdms\";", "GRANT USAGE, CREATE ON SCHEMA \"awsdms\" TO \"dms\";"])
    error_message = "statements: ${join(" ", output.setup_sql)}"
  }
  assert {
    condition     = length([for statement in output.setup_sql : statement if strcontains(statement, "GRANT SELECT")]) == 0 && strcontains(output.lob_sizes_sql, "NOT c.relispartition")
    error_message = "no tables are named: no rights on any, and all of them are looked at"
  }
  assert {
    condition     = contains(output.teardown_sql, "DROP EXTENSION IF EXISTS pglogical;") && output.teardown_sql[length(output.teardown_sql) - 1] == "DROP SCHEMA IF EXISTS \"awsdms\";"
    error_message = "statements: ${join(" ", output.teardown_sql)}"
  }
  assert {
    condition     = strcontains(output.check_sql, "'rds.logical_replication'")
    error_message = output.check_sql
  }
}

run "postgres_with_a_bounded_slot_and_own_parameters" {
  command = plan

  variables {
    plugin                    = "test_decoding"
    preload_libraries         = ["pg_stat_statements", "auto_explain"]
    max_slot_wal_keep_size_mb = 51200
    parameters                = { "log_min_duration_statement" = { value = "500" } }
  }
  assert {
    condition     = output.parameters["shared_preload_libraries"].value == "pg_stat_statements,auto_explain"
    error_message = "test_decoding needs nothing preloaded"
  }
  assert {
    condition     = output.parameters["max_slot_wal_keep_size"].value == "51200"
    error_message = "bound of the slot"
  }
  assert {
    condition     = output.parameters["log_min_duration_statement"] == { value = "500", apply_method = "immediate" }
    error_message = "own parameters"
  }
}

run "postgres_without_capturing_ddl" {
  command = plan

  variables {
    plugin           = "test_decoding"
    capture_ddls     = false
    artifacts_schema = "public"
    user             = "reader"
    tables           = ["public.orders", "sales.Order lines"]
  }
  assert {
    condition = output.setup_sql == tolist([
      "GRANT rds_replication TO \"reader\";", "GRANT USAGE, CREATE ON SCHEMA \"public\" TO \"reader\";", "GRANT USAGE ON SCHEMA \"public\" TO \"reader\";",
      "GRANT USAGE ON SCHEMA \"sales\" TO \"reader\";", "GRANT SELECT ON TABLE \"public\".\"orders\" TO \"reader\";", "GRANT SELECT ON TABLE \"sales\".\"Order lines\" TO \"reader\";",
    ])
    error_message = "nothing of rds_superuser, no trigger: ${join(" ", output.setup_sql)}"
  }
  assert {
    condition     = alltrue([for statement in output.teardown_sql : !startswith(statement, "DROP SCHEMA")])
    error_message = "public is nobody's own"
  }
}

run "aurora_postgresql" {
  command = plan

  variables {
    engine = "aurora-postgresql"
    family = "aurora-postgresql15"
  }
  assert {
    condition     = output.cluster_parameter_group_name == "shop-aurora-postgresql15" && output.parameter_group_name == null
    error_message = "Aurora takes a group for clusters"
  }
  assert {
    condition     = length(aws_rds_cluster_parameter_group.this[0].parameter) == 7
    error_message = "parameters of Aurora PostgreSQL"
  }
}

run "mysql" {
  command = plan

  variables {
    engine                 = "mysql"
    family                 = "mysql8.0"
    binlog_retention_hours = 168
  }
  assert {
    condition = {
      for parameter in aws_db_parameter_group.this[0].parameter : parameter.name => "${parameter.value} ${parameter.apply_method}"
    } == { "binlog_format" = "ROW immediate", "binlog_row_image" = "FULL immediate", "binlog_checksum" = "NONE immediate" }
    error_message = "parameters of MySQL: ${jsonencode(output.parameters)}"
  }
  assert {
    condition     = output.parameter_group_name == "shop-mysql8-0"
    error_message = "a group's name has no dots"
  }
  assert {
    condition     = output.setup_sql[0] == "CALL mysql.rds_set_configuration('binlog retention hours', 168);"
    error_message = "retention is a statement"
  }
  assert {
    condition     = output.teardown_sql == tolist(["CALL mysql.rds_set_configuration('binlog retention hours', NULL);", "REVOKE REPLICATION CLIENT, REPLICATION SLAVE, SELECT ON *.* FROM 'dms'@'%';"])
    error_message = "what setup has made is taken away: ${join(" ", output.teardown_sql)}"
  }
  assert {
    condition     = length(output.reboot_parameters) == 0
    error_message = "MySQL takes them at once"
  }
}

run "mariadb" {
  command = plan

  variables {
    engine = "mariadb"
    family = "mariadb11.4"
  }
  assert {
    condition     = output.reboot_parameters == tolist(["binlog_format"])
    error_message = "MariaDB writes MIXED until it is rebooted"
  }
}

run "aurora_mysql" {
  command = plan

  variables {
    engine                 = "aurora-mysql"
    family                 = "aurora-mysql8.0"
    binlog_retention_hours = 720
  }
  assert {
    condition     = output.cluster_parameter_group_name == "shop-aurora-mysql8-0"
    error_message = "Aurora takes a group for clusters"
  }
  assert {
    condition     = output.reboot_parameters == tolist(["binlog_checksum", "binlog_format"])
    error_message = "static in Aurora: ${join(", ", output.reboot_parameters)}"
  }
}

run "off" {
  command = plan

  variables {
    create = false
  }
  assert {
    condition     = length(aws_db_parameter_group.this) + length(aws_rds_cluster_parameter_group.this) == 0
    error_message = "no group"
  }
  assert {
    condition     = output.parameters["rds.logical_replication"].value == "1"
    error_message = "the list is still there"
  }
}
