# Somebody else's DMS task writes CSV files into a bucket that exists; only what comes after is made.
module "pipeline" {
  source = "../../modules/pipeline" # elsewhere git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT, with the repository's owner and the full hash of a commit

  name = "legacy"

  # No source_database: no DMS. Files are at s3://<bucket>/exports/erp/<schema>/<table>/.
  buckets = {
    bronze = { create = false, name = var.bronze_bucket }
  }

  bronze = {
    prefix = "exports/erp"
    format = "csv"
    csv    = { header = false, delimiter = ";", null = "\\N" }
    change = {
      op_column              = "action"
      op_words               = { INSERT = "I", UPDATE = "U", DELETE = "D" }
      timestamp_column       = "changed_at"
      sequence_column        = null
      stream_position_column = null
      before_image_prefix    = null
    }
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
  trigger    = { notification = "eventbridge" }
  encryption = { mode = "SSE_S3" }
}
