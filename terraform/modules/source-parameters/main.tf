# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.PostgreSQL.html
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.MySQL.html

locals {
  is_postgres = contains(["postgres", "aurora-postgresql"], var.engine)
  is_cluster  = startswith(var.engine, "aurora-")

  libraries = distinct(concat(var.preload_libraries, var.plugin == "pglogical" ? ["pglogical"] : []))

  postgres_parameters = merge(
    {
      "rds.logical_replication"         = { value = "1", apply_method = "pending-reboot" }
      "max_replication_slots"           = { value = tostring(var.max_replication_slots), apply_method = "pending-reboot" }
      "max_wal_senders"                 = { value = tostring(var.max_wal_senders), apply_method = "pending-reboot" }
      "max_logical_replication_workers" = { value = tostring(var.max_logical_replication_workers), apply_method = "pending-reboot" }
      "max_worker_processes"            = { value = var.max_worker_processes, apply_method = "pending-reboot" }
      "shared_preload_libraries"        = { value = join(",", local.libraries), apply_method = "pending-reboot" }
      "wal_sender_timeout"              = { value = tostring(var.wal_sender_timeout_ms), apply_method = "immediate" }
    },
    var.max_slot_wal_keep_size_mb == null ? {} : {
      "max_slot_wal_keep_size" = { value = tostring(var.max_slot_wal_keep_size_mb), apply_method = "immediate" }
    },
  )

  mysql_parameters = {
    # Static in Aurora. MariaDB takes it at once, and goes on writing MIXED until it is rebooted.
    "binlog_format"    = { value = "ROW", apply_method = var.engine == "mysql" ? "immediate" : "pending-reboot" }
    "binlog_row_image" = { value = "FULL", apply_method = "immediate" }
    "binlog_checksum"  = { value = "NONE", apply_method = local.is_cluster ? "pending-reboot" : "immediate" }
  }

  # One object type for all: conditional results must agree.
  required = {
    for name, parameter in merge(local.is_postgres ? local.postgres_parameters : {}, local.is_postgres ? {} : local.mysql_parameters) : name => parameter
  }
  parameters = merge(local.required, var.parameters)
  group_name = "${var.name}-${replace(var.family, ".", "-")}"
}

resource "aws_db_parameter_group" "this" {
  count = var.create && !local.is_cluster ? 1 : 0

  name        = local.group_name
  family      = var.family
  description = "${var.family} as a source of DMS"
  tags        = var.tags

  dynamic "parameter" {
    for_each = local.parameters

    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.apply_method
    }
  }

  lifecycle {
    # A group in use cannot be deleted: the database moves to the new one first.
    create_before_destroy = true
  }
}

resource "aws_rds_cluster_parameter_group" "this" {
  count = var.create && local.is_cluster ? 1 : 0

  name        = local.group_name
  family      = var.family
  description = "${var.family} as a source of DMS"
  tags        = var.tags

  dynamic "parameter" {
    for_each = local.parameters

    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.apply_method
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}
