# A job of its own: the merge job has one run at a time, and what starts its runs would wait for maintenance, or maintenance for ever.
# Both may work on a table at once (docs/adr/0011-maintenance-gives-way.md).
resource "aws_glue_job" "maintain" {
  count = var.maintenance_schedule == null ? 0 : 1

  name        = "${var.name}-maintain"
  description = "Puts the Iceberg tables of ${var.name} in order: compaction, manifests, old snapshots, orphan files"
  role_arn    = aws_iam_role.job.arn
  tags        = var.tags

  glue_version      = var.glue_version
  worker_type       = var.worker_type
  number_of_workers = var.number_of_workers
  execution_class   = var.execution_class
  timeout           = var.timeout_minutes

  # Not the merge job's: without one the provider plans null there and says "" once the job exists, which is no final plan for this job.
  security_configuration = local.security_configuration
  connections            = aws_glue_connection.network[*].name

  execution_property {
    max_concurrent_runs = 1
  }

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = local.script_uri
  }

  default_arguments = merge(aws_glue_job.merge.default_arguments, { "--command" = "maintain" })

  depends_on = [aws_cloudwatch_log_group.job, aws_iam_role_policy.job]
}

resource "aws_glue_trigger" "maintain" {
  count = var.maintenance_schedule == null ? 0 : 1

  name        = aws_glue_job.maintain[0].name
  description = "Starts ${aws_glue_job.maintain[0].name}"
  type        = "SCHEDULED"
  schedule    = var.maintenance_schedule
  tags        = var.tags

  actions {
    job_name = aws_glue_job.maintain[0].name
  }
}
