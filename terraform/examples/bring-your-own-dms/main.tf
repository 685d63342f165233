# Somebody else's DMS task writes CSV files into a bucket that exists. It is read and followed; only what comes after is made.
module "pipeline" {
  source = "../../.." # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name = "legacy"

  # No source_database: no DMS of ours. The task and its endpoint are read: where the files are, how they are written, which columns it adds.
  replication = {
    existing_task_arn           = var.task_arn
    existing_task_id            = var.task_id
    existing_target_endpoint_id = var.target_endpoint_id
  }

  buckets = {
    bronze = { create = false, name = var.bronze_bucket }
  }

  tables = {
    "erp.suppliers" = {
      key            = ["supplier_id"]
      source_columns = ["supplier_id", "name", "location"]
      columns = [
        { name = "supplier_id", type = "bigint" },
        { name = "city", expr = "trim(split(location, ',')[0])", type = "string" },
        { name = "country", expr = "trim(split(location, ',')[1])", type = "string" },
      ]
      drop = ["location"]
    }
  }

  # The bucket keeps its own notifications; EventBridge must be switched on for it.
  trigger    = { notification = "eventbridge", min_minutes_between_runs = 15 }
  encryption = { mode = "SSE_S3" }
}
