# The pipeline; network.tf and database.tf have what it reads from.
locals {
  name = "shop"
}

# Once per account: remove it where the account has these roles.
module "dms_account_roles" {
  source = "../../modules/dms-account-roles"
}

module "pipeline" {
  source = "../../.." # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name = local.name

  account_role_arns = module.dms_account_roles.role_arns

  source_database = {
    engine     = "aurora-postgresql"
    database   = aws_rds_cluster.source.database_name
    identifier = aws_rds_cluster.source.id
    secret_arn = aws_secretsmanager_secret_version.source.arn
    tls        = { ca_certificate_pem = file(var.ca_bundle) }
  }

  network = {
    vpc_id                      = aws_vpc.this.id
    subnet_ids                  = values(aws_subnet.this)[*].id
    route_table_ids             = [aws_route_table.this.id]
    database_security_group_ids = [aws_security_group.database.id]
  }

  tables = {
    "public.customers" = {
      key     = ["customer_id"]
      columns = [{ name = "email", mask = "sha256", mask_salt = "secret:${aws_secretsmanager_secret.salt.arn}" }]
    }
    "public.orders" = {
      key   = ["order_id"]
      rules = [{ name = "amount_not_negative", expr = "amount >= 0", on_fail = "quarantine" }]
    }
  }

  # Started before its tables are there, DMS would fail: "no tables captured".
  replication = { start = var.start }

  # How fresh silver is, and most of the bill: docs/costs.md.
  trigger = { min_minutes_between_runs = 15 }

  alarms = { emails = var.alarm_emails }
}

# Made once and kept for the life of the tables: by another salt, values that are equal would be told apart.
ephemeral "aws_secretsmanager_random_password" "salt" {
  password_length     = 32
  exclude_punctuation = true
}

resource "aws_secretsmanager_secret" "salt" {
  #checkov:skip=CKV_AWS_149: encrypted with the account's key for Secrets Manager, which leaves the account with nobody
  #checkov:skip=CKV2_AWS_57: a salt must never rotate
  name        = "${local.name}/salt"
  description = "Salt of the masked columns of ${local.name}"
}

resource "aws_secretsmanager_secret_version" "salt" {
  secret_id                = aws_secretsmanager_secret.salt.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.salt.random_password
  secret_string_wo_version = 1
}
