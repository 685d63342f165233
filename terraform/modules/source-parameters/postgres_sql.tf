# What a DMS user that is not the master user needs in PostgreSQL, made by the master user. The table is AWS's, so are the names of function and trigger:
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.PostgreSQL.html#CHAP_Source.PostgreSQL.RDSPostgreSQL.NonMasterUser
# AWS lets the DMS user own table and function, and gives everyone all rights on the table. Here the master user owns them, and the function writes with
# its rights: applications need none, and the DMS user cannot exchange what runs in other users' migrations.
locals {
  schema = "\"${var.artifacts_schema}\""
  role   = "\"${var.user}\""

  # As DMS splits them: the schema is all before the first dot.
  names = [for name in sort(tolist(var.tables)) : { schema = split(".", name)[0], table = join(".", slice(split(".", name), 1, length(split(".", name)))) }]
  # An identifier in double quotes, a text in single quotes. (A quote within a placeholder is more than checkov can read.)
  quote   = "\""
  quotes  = "\"\""
  parts   = [for name in local.names : { schema = replace(name.schema, local.quote, local.quotes), table = replace(name.table, local.quote, local.quotes) }]
  tables  = [for part in local.parts : "\"${part.schema}\".\"${part.table}\""]
  schemas = distinct([for part in local.parts : "\"${part.schema}\""])

  # The schema `public` is nobody's own: it is neither made nor dropped.
  own_schema = var.artifacts_schema != "public"
  roles      = var.capture_ddls ? "rds_superuser, rds_replication" : "rds_replication"

  # How DMS names its slots: resource, database, UUID. The templates begin and end it.
  slot_pattern = "[a-z0-9]+_[0-9]{8}_[a-z0-9]{8}(_[a-z0-9]{4}){3}_[a-z0-9]{12,13}"
  slots = (
    length(var.slot_names) > 0 ?
    "slot_name IN (${join(", ", [for name in sort(tolist(var.slot_names)) : "'${name}'"])})" :
    "slot_name ~ '^${local.slot_pattern}$'"
  )

  postgres_setup = concat(
    var.plugin == "pglogical" ? ["CREATE EXTENSION IF NOT EXISTS pglogical;"] : [],
    ["GRANT ${local.roles} TO ${local.role};"],
    # CREATE as well: DMS makes its heartbeat table there by itself. AWS documents no definition of it.
    local.own_schema ? ["CREATE SCHEMA IF NOT EXISTS ${local.schema};"] : [],
    ["GRANT USAGE, CREATE ON SCHEMA ${local.schema} TO ${local.role};"],
    var.capture_ddls ? [
      trimspace(<<-EOT
        CREATE TABLE IF NOT EXISTS ${local.schema}.awsdms_ddl_audit (
          c_key    bigserial PRIMARY KEY,
          c_time   timestamp,
          c_user   varchar(64),
          c_txn    varchar(16),
          c_tag    varchar(24),
          c_oid    integer,
          c_name   varchar(64),
          c_schema varchar(64),
          c_ddlqry text
        );
      EOT
      ),
      "GRANT ALL ON TABLE ${local.schema}.awsdms_ddl_audit TO ${local.role};",
      "GRANT ALL ON SEQUENCE ${local.schema}.awsdms_ddl_audit_c_key_seq TO ${local.role};",
      trimspace(templatefile("${path.module}/sql/intercept_ddl.sql.tftpl", { schema = local.schema })),
      # No right is needed where an event trigger calls it.
      "REVOKE ALL ON FUNCTION ${local.schema}.awsdms_intercept_ddl() FROM PUBLIC;",
      trimspace(templatefile("${path.module}/sql/event_triggers.sql.tftpl", { schema = local.schema, replaces = var.replace_event_triggers })),
    ] : [],
    # Last: they are for the tables' owner, where the master user is not it.
    [for schema in local.schemas : "GRANT USAGE ON SCHEMA ${schema} TO ${local.role};"],
    [for table in local.tables : "GRANT SELECT ON TABLE ${table} TO ${local.role};"],
  )

  postgres_teardown = concat(
    [
      trimspace(templatefile("${path.module}/sql/nothing_reads.sql.tftpl", { slots = local.slots, named = length(var.slot_names) > 0 })),
      trimspace(templatefile("${path.module}/sql/drop_triggers.sql.tftpl", { schema = local.schema })),
      "DROP FUNCTION IF EXISTS ${local.schema}.awsdms_intercept_ddl();",
      # The heartbeat table is the DMS user's; the owner of the schema may drop it.
      "DROP TABLE IF EXISTS ${local.schema}.awsdms_ddl_audit, ${local.schema}.awsdms_heartbeat;",
      trimspace(templatefile("${path.module}/sql/drop_slots.sql.tftpl", { slots = local.slots })),
    ],
    var.plugin == "pglogical" ? ["DROP EXTENSION IF EXISTS pglogical;"] : [],
    [trimspace(templatefile("${path.module}/sql/revoke.sql.tftpl", {
      role       = local.role
      user       = "'${var.user}'"
      schema     = local.schema
      own_schema = local.own_schema
      tables     = "ARRAY[${join(", ", [for table in local.tables : "'${replace(table, "'", "''")}'"])}]"
      schemas    = "ARRAY[${join(", ", [for schema in local.schemas : "'${replace(schema, "'", "''")}'"])}]"
    }))],
    # Last: where it holds anything else, it stays, and the error says what.
    local.own_schema ? ["DROP SCHEMA IF EXISTS ${local.schema};"] : [],
  )
}

################################################################################
# Sizes of large values
################################################################################

locals {
  name_list = join(", ", [for name in local.names : "('${replace(name.schema, "'", "''")}', '${replace(name.table, "'", "''")}')"])

  lob_sizes = local.is_postgres ? templatefile("${path.module}/sql/lob_sizes_postgres.sql.tftpl", {
    tables = length(local.names) > 0 ? "c.relkind IN ('r', 'p') AND (n.nspname, c.relname) IN (${local.name_list})" : (
      # What partitions hold, their table has.
      join(" ", [
        "c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'pglogical',",
        "'${var.artifacts_schema}')",
      ])
    )
    }) : templatefile("${path.module}/sql/lob_sizes_mysql.sql.tftpl", {
    tables = (
      length(local.names) > 0 ?
      "(table_schema, table_name) IN (${local.name_list})" :
      (
        join(" ", [
          "(table_schema, table_name) IN (SELECT t.table_schema, t.table_name FROM information_schema.tables AS t WHERE t.table_type = 'BASE TABLE' AND",
          "t.table_schema NOT IN ('mysql', 'sys', 'performance_schema'))",
        ])
      )
    )
  })
}
