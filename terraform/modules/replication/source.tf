# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.PostgreSQL.html
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.MySQL.html

locals {
  dms_engine = var.source_database.engine == "aurora-mysql" ? "aurora" : var.source_database.engine
  tls_mode   = coalesce(var.source_database.tls.mode, local.is_postgres ? "verify-full" : "verify-ca")

  # Numbers that are not given are sent as 0, and 0 is not DMS's default (provider issue 47884).
  postgres_settings = local.is_postgres ? [{
    plugin_name          = var.source_database.postgres.plugin
    slot_name            = var.source_database.postgres.slot_name
    heartbeat_enable     = local.has_cdc && var.source_database.postgres.heartbeat_minutes > 0
    heartbeat_frequency  = max(var.source_database.postgres.heartbeat_minutes, 1)
    heartbeat_schema     = var.source_database.postgres.artifacts_schema
    ddl_artifacts_schema = var.source_database.postgres.artifacts_schema
    execute_timeout      = var.source_database.postgres.execute_timeout_seconds
    max_file_size        = 32768
  }] : []

  # A change inside postgres_settings is never sent to AWS (provider issue 35834), so another setting makes another endpoint, as another key does.
  # Its name must be another one, too: the old endpoint can be deleted only when nothing refers to it any more.
  endpoint_marks = concat(
    # What is true by default is not marked.
    (
      local.is_postgres ?
      [
        substr(
          sha1(
            jsonencode([for settings in local.postgres_settings : merge(settings, var.source_database.postgres.capture_ddls ? {} : { capture_ddls = false })]),
          ),
          0,
          8,
        ),
      ] :
      []
    ),
    [for arn in [var.kms_key_arn] : substr(sha1(arn), 0, 8) if arn != null],
    # AWS modifies no endpoint that a running replication reads from. A serverless one is pointed to another, in the apply that stops it anyway.
    [for first in terraform_data.source_access[*].input : substr(local.source_access, 0, 8) if first != local.source_access],
  )
  source_access = sha1(
    jsonencode([var.source_database.secret_arn, local.tls_mode, var.source_database.tls, var.source_database.mysql, var.source_database.database]),
  )
  source_endpoint_id = join("-", concat(["${var.name}-source"], local.endpoint_marks))
  certificate_id     = "${var.name}-ca-${substr(sha1(coalesce(var.source_database.tls.ca_certificate_pem, "-")), 0, 8)}"
}

# How the pipeline began to reach its source: the endpoint of other settings needs another name. In a new epoch as well: Terraform changes the
# source endpoint before it deletes the old replication, which still reads from it.
resource "terraform_data" "source_access" {
  count = local.is_provisioned ? 0 : 1

  input = local.source_access

  lifecycle {
    ignore_changes = [input]
  }
}

resource "aws_dms_certificate" "this" {
  count = var.source_database.tls.ca_certificate_pem == null || local.tls_mode == "none" ? 0 : 1

  certificate_id  = local.certificate_id
  certificate_pem = var.source_database.tls.ca_certificate_pem
  tags            = var.tags

  lifecycle {
    create_before_destroy = true
  }
}

# The credentials are in the secret and nowhere else; Terraform knows its ARN only.
resource "aws_dms_endpoint" "source" {
  endpoint_id   = local.source_endpoint_id
  endpoint_type = "source"
  engine_name   = local.dms_engine
  # For MySQL the provider does not send it together with a secret, and would find it missing at every plan.
  database_name                   = local.is_postgres ? var.source_database.database : null
  secrets_manager_arn             = var.source_database.secret_arn
  secrets_manager_access_role_arn = aws_iam_role.secret.arn
  kms_key_arn                     = var.kms_key_arn
  ssl_mode                        = local.tls_mode
  certificate_arn = one(
    concat(aws_dms_certificate.this[*].certificate_arn, [for arn in [var.source_database.tls.certificate_arn] : arn if arn != null]),
  )
  extra_connection_attributes = (
    local.is_postgres || var.source_database.mysql.server_timezone == null ?
    null :
    "serverTimezone=${var.source_database.mysql.server_timezone}"
  )
  # AWS refuses to modify the endpoint of a running task. The provider may leave the task stopped (its issue 46139).
  pause_replication_tasks = local.is_provisioned
  tags                    = var.tags

  dynamic "postgres_settings" {
    for_each = local.postgres_settings

    content {
      plugin_name          = postgres_settings.value.plugin_name
      slot_name            = postgres_settings.value.slot_name
      heartbeat_enable     = postgres_settings.value.heartbeat_enable
      heartbeat_frequency  = postgres_settings.value.heartbeat_frequency
      heartbeat_schema     = postgres_settings.value.heartbeat_schema
      ddl_artifacts_schema = postgres_settings.value.ddl_artifacts_schema
      execute_timeout      = postgres_settings.value.execute_timeout
      max_file_size        = postgres_settings.value.max_file_size
      # Without it nothing tells DMS of a new column.
      capture_ddls = var.source_database.postgres.capture_ddls
      # The default cuts a long value and says so in the log only.
      fail_tasks_on_lob_truncation = true
      map_boolean_as_boolean       = true
      map_jsonb_as_clob            = false
      map_long_varchar_as          = "wstring"
    }
  }

  depends_on = [aws_iam_role_policy.secret]

  lifecycle {
    create_before_destroy = true
  }
}
