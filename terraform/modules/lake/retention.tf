locals {
  bronze_folder = coalesce(var.bronze_folder, var.bronze_prefix)

  cleanup = {
    for role in keys(local.created) :
    role => [
      for days in [var.versioning[role]] :
      { id = "replaced-and-deleted", prefix = "", noncurrent = days, move = null, class = null, expire = null, markers = true }
      if days > 0
    ]
  }

  bronze = concat(
    var.bronze_retention.transition_after_days == null ? [] : [{
      id    = "colder-storage", prefix = var.bronze_prefix, noncurrent = null, move = var.bronze_retention.transition_after_days,
      class = var.bronze_retention.storage_class, expire = null, markers = false
    }],
    # Change files lie in folders that begin with the year, full-load files beside those folders: `20` leaves them alone.
    var.bronze_retention.changes_expire_after_days == null ? [] : [for table in sort(var.source_tables) : {
      id     = "changes-${substr(sha256(table), 0, 12)}", prefix = "${local.bronze_folder}${join("/", regex("^([^.]+)[.](.+)$", table))}/20",
      expire = var.bronze_retention.changes_expire_after_days, noncurrent = null, move = null, class = null, markers = false
    }],
    var.bronze_retention.past_epochs_expire_after_days == null ? [] : [for folder in sort(var.past_bronze_folders) : {
      id     = "past-epoch-${substr(sha256(folder), 0, 12)}", prefix = folder,
      expire = var.bronze_retention.past_epochs_expire_after_days, noncurrent = null, move = null, class = null, markers = false
    }],
  )

  rules = { for role, rules in local.cleanup : role => role == "bronze" ? concat(rules, local.bronze) : rules }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  for_each = local.rules

  bucket = aws_s3_bucket.this[each.key].id

  rule {
    id     = "abandoned-uploads"
    status = "Enabled"

    filter {
      prefix = ""
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = each.value
    content {
      id     = rule.value.id
      status = "Enabled"

      filter {
        prefix = rule.value.prefix
      }

      dynamic "noncurrent_version_expiration" {
        for_each = rule.value.noncurrent == null ? [] : [rule.value.noncurrent]
        content {
          noncurrent_days = noncurrent_version_expiration.value
        }
      }
      dynamic "transition" {
        for_each = rule.value.move == null ? [] : [rule.value.move]
        content {
          days          = transition.value
          storage_class = rule.value.class
        }
      }
      dynamic "expiration" {
        for_each = rule.value.expire == null ? [] : [rule.value.expire]
        content {
          days = expiration.value
        }
      }
      # What stays of a deleted object when its last version has expired: the job's listings would pass over more and more of them.
      dynamic "expiration" {
        for_each = rule.value.markers ? [true] : []
        content {
          expired_object_delete_marker = true
        }
      }
    }
  }

  # Rules for old versions are refused by a bucket that has none.
  depends_on = [aws_s3_bucket_versioning.this]
}
