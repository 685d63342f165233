# MySQL tables of an RDS instance that exists, read by a DMS instance of a fixed size and merged every quarter of an hour.
locals {
  name = "billing"
}

# Give this group to the instance (parameter_group_name) and run output setup_sql, before the first apply with start = true.
module "source_parameters" {
  source = "../../modules/source-parameters"

  name   = local.name
  engine = "mysql"
  family = var.family
  tables = ["billing.invoices", "billing.payments"]
}

module "pipeline" {
  source = "../../.." # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name = local.name

  source_database = {
    engine     = "mysql"
    secret_arn = var.secret_arn
    tls        = { mode = "verify-ca", ca_certificate_pem = file(var.ca_bundle) }
  }

  network = {
    vpc_id                      = var.vpc_id
    subnet_ids                  = var.subnet_ids
    database_security_group_ids = [var.database_security_group_id]
    # This VPC has a NAT gateway: no endpoints are made.
    create_s3_endpoint              = false
    create_secrets_manager_endpoint = false
    secrets_manager_cidr_blocks     = ["0.0.0.0/0"]
  }

  replication = {
    mode           = "provisioned"
    instance_class = "dms.t3.medium"
    start          = var.start
  }

  tables = {
    "billing.invoices" = {
      key          = ["invoice_id"]
      partition_by = ["months(issued_at)"]
      columns      = [{ name = "issued_at", type = "timestamp_ntz" }]
      load         = { parallel = { columns = ["invoice_id"], boundaries = [[1000000], [2000000]] } }
    }
    "billing.payments" = { key = ["payment_id"] }
  }

  trigger = { type = "schedule", schedule = "rate(15 minutes)" }

  bronze_retention = { transition_after_days = 90, storage_class = "GLACIER_IR" }
}
