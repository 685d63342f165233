# As the example minimal, with a watch that runs all the time on EMR Serverless in place of runs of the Glue job.
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

  runtime = "emr-serverless"
  emr_serverless = {
    python = { archive_path = var.python_archive } # built by `make python-archive`
  }
  # DMS closes files sooner than each minute, or the watch waits for them.
  replication = { cdc_max_batch_interval_seconds = 10 }

  alarms = { emails = var.alarm_emails }
}
