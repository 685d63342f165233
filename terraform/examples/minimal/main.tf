# A PostgreSQL that exists: two of its tables as Iceberg tables.
module "pipeline" {
  source = "../../.." # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name = "shop"

  source_database = {
    engine     = "postgres"
    database   = "shop"
    identifier = var.database_identifier
    secret_arn = var.secret_arn
    tls        = { ca_certificate_pem = file(var.ca_bundle) }
  }

  network = {
    vpc_id                      = var.vpc_id
    subnet_ids                  = var.subnet_ids
    route_table_ids             = var.route_table_ids
    database_security_group_ids = [var.database_security_group_id]
  }

  tables = {
    "public.orders"      = { key = ["order_id"] }
    "public.order_lines" = { key = ["order_id", "line_no"] }
  }

  # How fresh silver is, and most of the bill: docs/costs.md.
  trigger = { min_minutes_between_runs = 15 }

  alarms = { emails = var.alarm_emails }
}
