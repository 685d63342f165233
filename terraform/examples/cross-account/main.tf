locals {
  name        = "shop"
  lake        = data.aws_caller_identity.lake.account_id
  buckets     = { for role in ["bronze", "silver", "quarantine"] : role => { create = false, name = "${local.name}-${role}-${local.lake}" } }
  silver      = "shop"
  quarantine  = "shop_quarantine"
  into_bronze = "dms/${local.name}"
}

data "aws_caller_identity" "lake" {
  provider = aws.lake
}

data "aws_caller_identity" "database" {}

data "aws_region" "current" {}

# The database's account: DMS, trigger, job. lake.tf and key.tf have the other.
module "pipeline" {
  source = "../../.." # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name    = local.name
  network = var.network
  tables  = { "public.orders" = { key = ["order_id"] } }

  source_database = {
    engine     = "postgres"
    database   = "shop"
    identifier = var.database_identifier
    secret_arn = var.secret_arn
    tls        = { ca_certificate_pem = file(var.ca_bundle) }
  }

  # The first apply makes the roles that the other account then trusts; the second one starts DMS.
  replication = { start = var.start }

  buckets    = merge(local.buckets, { bronze = merge(local.buckets.bronze, { owner = local.lake }) })
  encryption = { create_key = false, key_arn = aws_kms_key.lake.arn, encrypt_logs = false }
  catalog    = { id = local.lake, create_databases = false, silver_database = local.silver, quarantine_database = local.quarantine }
  trigger    = { notification = "none", min_minutes_between_runs = 15 }
}
