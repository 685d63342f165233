mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/shop-merge", id = "shop-merge" }
  }
  mock_resource "aws_glue_connection" {
    defaults = { arn = "arn:aws:glue:eu-central-1:123456789012:connection/shop-merge" }
  }
}

variables {
  name        = "shop"
  config_json = "{\"version\":1,\"catalog\":{\"name\":\"lake\",\"type\":\"glue\",\"warehouse\":\"s3://shop-silver/\",\"properties\":{\"glue.id\":\"210987654321\"}}}"
  buckets = {
    bronze     = { name = "shop-bronze", arn = "arn:aws:s3:::shop-bronze" }
    silver     = { name = "shop-silver", arn = "arn:aws:s3:::shop-silver" }
    quarantine = { name = "shop-quarantine", arn = "arn:aws:s3:::shop-quarantine" }
    artifacts  = { name = "shop-artifacts", arn = "arn:aws:s3:::shop-artifacts" }
  }
  bronze_prefix = "dms/shop/"
  databases     = { silver = ["shop"], quarantine = "shop_quarantine" }
  package       = { zip_path = "main.tf", requirements_path = "code.tf" } # any files: what is in them does not matter here
}

run "job" {
  command = apply

  assert {
    condition     = aws_iam_role.job.name == "shop-merge"
    error_message = "the name that it has always had"
  }

  assert {
    condition     = aws_glue_job.merge.glue_version == "5.1" && aws_glue_job.merge.worker_type == "G.1X" && aws_glue_job.merge.number_of_workers == 4 && aws_glue_job.merge.timeout == 480 && aws_glue_job.merge.max_retries == 1
    error_message = "plain defaults"
  }
  assert {
    condition     = one(aws_glue_job.merge.execution_property).max_concurrent_runs == 1 && !aws_glue_job.merge.job_run_queuing_enabled
    error_message = "one run at a time, none queued: the trigger relies on it"
  }
  assert {
    condition = output.arguments == tomap({
      "--enable-metrics"               = "true"
      "--enable-observability-metrics" = "true"
      "--command"                      = "run"
      "--config"                       = "s3://shop-artifacts/shop/config.json"
      "--json"                         = "true"
      "--datalake-formats"             = "iceberg"
      "--conf"                         = output.arguments["--conf"]
      "--extra-py-files"               = "s3://shop-artifacts/shop/code/job-${substr(filesha256("main.tf"), 0, 16)}.zip,s3://shop-artifacts/shop/code/requirements-${substr(filesha256("code.tf"), 0, 16)}.zip"
      "--enable-auto-scaling"          = "true"
      "--custom-logGroup-prefix"       = "/aws-glue/jobs/shop-merge"
    })
    error_message = "found ${jsonencode(output.arguments)}"
  }
  assert {
    condition     = length(setintersection(keys(coalesce(aws_glue_job.merge.non_overridable_arguments, {})), ["--command", "--config"])) == 0
    error_message = "the trigger gives both with each start"
  }
  assert {
    condition = split(" --conf ", output.arguments["--conf"]) == tolist([
      "spark.scheduler.mode=FAIR",
      "spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog",
      "spark.sql.catalog.lake.cache-enabled=true",
      "spark.sql.catalog.lake.cache.expiration-interval-ms=-1",
      "spark.sql.catalog.lake.catalog-impl=org.apache.iceberg.aws.glue.GlueCatalog",
      "spark.sql.catalog.lake.glue.id=210987654321",
      "spark.sql.catalog.lake.http-client.apache.connection-timeout-ms=5000",
      "spark.sql.catalog.lake.http-client.apache.socket-timeout-ms=20000",
      "spark.sql.catalog.lake.io-impl=org.apache.iceberg.aws.s3.S3FileIO",
      "spark.sql.catalog.lake.io.manifest.cache-enabled=true",
      "spark.sql.catalog.lake.io.manifest.cache.expiration-interval-ms=600000",
      "spark.sql.catalog.lake.io.manifest.cache.max-total-bytes=16777216",
      "spark.sql.catalog.lake.s3.retry.max-wait-ms=20000",
      "spark.sql.catalog.lake.s3.retry.min-wait-ms=2000",
      "spark.sql.catalog.lake.s3.retry.num-retries=5",
      "spark.sql.catalog.lake.warehouse=s3://shop-silver/",
      "spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
      "spark.sql.ui.retainedExecutions=50",
      "spark.ui.retainedJobs=200",
      "spark.ui.retainedStages=200",
      "spark.ui.retainedTasks=2000",
    ])
    error_message = "found ${output.arguments["--conf"]}"
  }
  assert {
    condition     = one(aws_glue_job.merge.command).script_location == "s3://shop-artifacts/shop/code/merge-${substr(filesha256("../../../job/merge.py"), 0, 16)}.py"
    error_message = "the script is keyed by its content"
  }
  assert {
    condition     = output.state_uri == "s3://shop-artifacts/shop/" && output.log_groups == { output = "/aws-glue/jobs/shop-merge/output", error = "/aws-glue/jobs/shop-merge/error" }
    error_message = "state and logs have their places"
  }
  assert {
    condition     = alltrue([for group in aws_cloudwatch_log_group.job : group.retention_in_days == 365])
    error_message = "logs are kept for a year"
  }
  assert {
    condition     = length(aws_glue_security_configuration.this) + length(aws_glue_connection.network) + length(aws_iam_role_policy.network) + length(aws_iam_role_policy.additional) == 0 && length(coalesce(aws_glue_job.merge.connections, [])) == 0
    error_message = "what is opt-in is off"
  }
}

run "glue_6" {
  command = plan
  variables {
    glue_version         = "6.0"
    maintenance_schedule = "cron(0 3 * * ? *)"
  }
  assert {
    condition     = aws_glue_job.merge.glue_version == "6.0" && one(aws_glue_job.maintain).glue_version == "6.0"
    error_message = "both jobs take the version"
  }
  assert {
    condition     = output.arguments["--conf"] == run.job.arguments["--conf"]
    error_message = "the arguments are the same with both versions"
  }
}

run "keys_of_the_buckets" {
  command = plan
  variables {
    kms_key_arn   = "arn:aws:kms:eu-central-1:123456789012:key/silver"
    region_suffix = "use1"
    buckets = {
      bronze     = { name = "shop-bronze", arn = "arn:aws:s3:::shop-bronze", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/unmasked" }
      silver     = { name = "shop-silver", arn = "arn:aws:s3:::shop-silver", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/silver" }
      quarantine = { name = "shop-quarantine", arn = "arn:aws:s3:::shop-quarantine", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/unmasked" }
      artifacts  = { name = "shop-artifacts", arn = "arn:aws:s3:::shop-artifacts", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/silver" }
    }
  }
  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s.Resource if s.Sid == "EncryptObjects"] == [["arn:aws:kms:eu-central-1:123456789012:key/silver", "arn:aws:kms:eu-central-1:123456789012:key/unmasked"]]
    error_message = "each key once: ${aws_iam_role_policy.job.policy}"
  }
  assert {
    condition     = aws_iam_role.job.name == "shop-merge-use1" && aws_glue_job.merge.name == "shop-merge"
    error_message = "only the role's name is one of all Regions"
  }
}

run "role_may_no_more_than_it_must" {
  command = apply
  variables {
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/x"
    secret_arns = ["arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"]

    secret_kms_key_arns = ["arn:aws:kms:eu-central-1:123456789012:key/secrets"]
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s.Sid => sort(s.Resource) } == {
      ReadChanges     = tolist(["arn:aws:s3:::shop-bronze/dms/shop/*"])
      WriteTables     = tolist(["arn:aws:s3:::shop-silver/shop.db/*", "arn:aws:s3:::shop-silver/shop/*"])
      WriteQuarantine = tolist(["arn:aws:s3:::shop-quarantine/shop_quarantine/*"])
      ReadCode        = tolist(["arn:aws:s3:::shop-artifacts/shop/*"])
      WriteState      = tolist(["arn:aws:s3:::shop-artifacts/shop/runs/*"])
      ListBronze      = tolist(["arn:aws:s3:::shop-bronze"])
      ListSilver      = tolist(["arn:aws:s3:::shop-silver"])
      ListQuarantine  = tolist(["arn:aws:s3:::shop-quarantine"])
      ListArtifacts   = tolist(["arn:aws:s3:::shop-artifacts"])
      WriteCatalog = tolist([
        "arn:aws:glue:eu-central-1:123456789012:catalog", "arn:aws:glue:eu-central-1:123456789012:database/shop", "arn:aws:glue:eu-central-1:123456789012:database/shop_quarantine",
        "arn:aws:glue:eu-central-1:123456789012:table/shop/*", "arn:aws:glue:eu-central-1:123456789012:table/shop_quarantine/*",
      ])
      WriteLogs = tolist([
        "arn:aws:logs:eu-central-1:123456789012:log-group:/aws-glue/jobs/shop-merge/error:*",
        "arn:aws:logs:eu-central-1:123456789012:log-group:/aws-glue/jobs/shop-merge/output:*",
      ])
      WriteMetrics   = tolist(["*"])
      EncryptObjects = tolist(["arn:aws:kms:eu-central-1:123456789012:key/x"])
      ReadSecrets    = tolist(["arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"])
      DecryptSecrets = tolist(["arn:aws:kms:eu-central-1:123456789012:key/secrets"])
    }
    error_message = "found ${jsonencode({ for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s.Sid => sort(s.Resource) })}"
  }
  assert {
    condition     = !anytrue([for s in jsondecode(aws_iam_role_policy.job.policy).Statement : anytrue([for action in s.Action : strcontains(action, "*")])])
    error_message = "no wildcards in actions"
  }
  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s.Condition.StringEquals["cloudwatch:namespace"] if s.Sid == "WriteMetrics"] == ["Glue"]
    error_message = "metrics are bound to their namespace"
  }
  assert {
    condition     = jsondecode(output.resource_policies.silver).Statement[0].Principal.AWS == "arn:aws:iam::123456789012:role/shop-merge" && sort(keys(output.resource_policies)) == tolist(["artifacts", "bronze", "catalog", "key", "quarantine", "silver"])
    error_message = "owners in other accounts are told what to allow"
  }
}

run "another_runtime" {
  command = apply
  variables {
    further_role_arns = ["arn:aws:iam::123456789012:role/shop-watch"]
    kms_key_arn       = "arn:aws:kms:eu-central-1:123456789012:key/x"
  }
  assert {
    condition     = jsondecode(output.resource_policies.key).Statement[0].Principal.AWS == ["arn:aws:iam::123456789012:role/shop-merge", "arn:aws:iam::123456789012:role/shop-watch"]
    error_message = "owners in other accounts are told of both roles"
  }
  assert {
    condition     = setsubtract([for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s.Sid], [for s in jsondecode(output.run.policy_json).Statement : s.Sid]) == toset(["WriteLogs", "WriteMetrics"])
    error_message = "its role has all rights of this one but those of Glue: found ${output.run.policy_json}"
  }
  assert {
    condition     = join(",", output.run.zip_uris) == aws_glue_job.merge.default_arguments["--extra-py-files"] && output.run.spark_settings["spark.scheduler.mode"] == "FAIR" && output.run.config_sha256 == sha256(var.config_json)
    error_message = "the same code, settings and document"
  }
}

run "opt_ins" {
  command = apply
  variables {
    kms_key_arn            = "arn:aws:kms:eu-central-1:123456789012:key/x"
    log_kms_key_arn        = "arn:aws:kms:eu-central-1:123456789012:key/x"
    databases              = { silver = ["shop"], quarantine = "shop_quarantine", catalog_id = "210987654321" }
    security_configuration = { create = true }
    network                = { subnet_id = "subnet-1", availability_zone = "eu-central-1a", security_group_ids = ["sg-1"] }
    additional_policy_json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}"
    permissions_boundary   = "arn:aws:iam::123456789012:policy/boundary"
    package                = { zip_s3_uri = "s3://acme-code/job.zip", requirements_s3_uri = "s3://acme-code/requirements.zip", script_s3_uri = "s3://acme-code/merge.py" }
    arguments              = { "--enable-metrics" = "false", "--enable-spark-ui" = "true" }
    spark_conf             = { "spark.executor.memoryOverhead" = "2g" }
    execution_class        = "FLEX"
    auto_scaling           = false
  }
  assert {
    condition     = aws_glue_job.merge.security_configuration == "shop-merge" && one(one(aws_glue_security_configuration.this[0].encryption_configuration).s3_encryption).kms_key_arn == "arn:aws:kms:eu-central-1:123456789012:key/x"
    error_message = "security configuration"
  }
  assert {
    condition     = aws_glue_job.merge.connections == tolist(["shop-merge"]) && strcontains(aws_iam_role_policy.network[0].policy, "arn:aws:ec2:eu-central-1:123456789012:security-group/sg-1")
    error_message = "in the VPC"
  }
  assert {
    condition     = length(aws_s3_object.code) == 0 && output.script_uri == "s3://acme-code/merge.py" && output.arguments["--extra-py-files"] == "s3://acme-code/job.zip,s3://acme-code/requirements.zip"
    error_message = "code that is there is taken as it is"
  }
  assert {
    condition     = length([for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s if startswith(s.Sid, "ReadGivenCode")]) == 3
    error_message = "the role may read given code"
  }
  assert {
    condition     = output.arguments["--enable-metrics"] == "false" && output.arguments["--enable-spark-ui"] == "true" && output.arguments["--enable-auto-scaling"] == "false" && strcontains(output.arguments["--conf"], "spark.executor.memoryOverhead=2g")
    error_message = "arguments and settings are added"
  }
  assert {
    condition     = aws_iam_role.job.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary" && aws_glue_job.merge.execution_class == "FLEX" && aws_cloudwatch_log_group.job["error"].kms_key_id == "arn:aws:kms:eu-central-1:123456789012:key/x"
    error_message = "boundary, class, key of the logs"
  }
  assert {
    condition     = anytrue([for s in jsondecode(aws_iam_role_policy.job.policy).Statement : contains(s.Resource, "arn:aws:glue:eu-central-1:210987654321:table/shop/*") if s.Sid == "WriteCatalog"])
    error_message = "the catalog is the other account's"
  }
}

run "a_former_zip_with_all_in_one_comes_before_the_requirements" {
  command = apply
  variables {
    package = { zip_s3_uri = "s3://acme-code/former.zip" }
  }
  assert {
    condition     = output.arguments["--extra-py-files"] == "s3://acme-code/former.zip,s3://shop-artifacts/shop/code/requirements-${substr(filesha256("../../../dist/requirements.zip"), 0, 16)}.zip"
    error_message = "found ${output.arguments["--extra-py-files"]}"
  }
  assert {
    condition     = sort(keys(aws_s3_object.code)) == tolist(["requirements", "script"])
    error_message = "what is not given is this module's"
  }
}

run "one_zip_for_code_and_requirements" {
  command = apply
  variables {
    package = { zip_s3_uri = "s3://acme-code/all.zip", requirements_s3_uri = "s3://acme-code/all.zip" }
  }
  assert {
    condition     = output.arguments["--extra-py-files"] == "s3://acme-code/all.zip" && length([for s in jsondecode(aws_iam_role_policy.job.policy).Statement : s if startswith(s.Sid, "ReadGivenCode")]) == 1
    error_message = "it is handed over, and may be read, once"
  }
}

run "a_catalog_that_is_not_glue" {
  command = plan
  variables {
    config_json = "{\"catalog\":{\"name\":\"ice\",\"type\":\"rest\",\"warehouse\":\"main\",\"properties\":{\"uri\":\"https://catalog.example\"}}}"
  }
  assert {
    condition     = strcontains(local.spark_conf, "spark.sql.catalog.ice.type=rest") && strcontains(local.spark_conf, "spark.sql.catalog.ice.uri=https://catalog.example") && !strcontains(local.spark_conf, "GlueCatalog")
    error_message = "found ${local.spark_conf}"
  }
}

run "no_maintenance_unless_it_is_scheduled" {
  command = plan
  assert {
    condition     = length(aws_glue_job.maintain) == 0 && length(aws_glue_trigger.maintain) == 0 && output.maintenance_job_name == null
    error_message = "there is no schedule"
  }
}

run "maintenance_has_a_job_of_its_own" {
  variables {
    maintenance_schedule = "cron(0 3 * * ? *)"
    arguments            = { "--enable-spark-ui" = "true" }
  }
  assert {
    condition     = aws_glue_trigger.maintain[0].schedule == "cron(0 3 * * ? *)" && aws_glue_trigger.maintain[0].type == "SCHEDULED" && one(aws_glue_trigger.maintain[0].actions).job_name == "shop-maintain"
    error_message = "the schedule starts the job of maintenance"
  }
  assert {
    condition     = aws_glue_job.maintain[0].default_arguments["--command"] == "maintain" && { for key, value in aws_glue_job.maintain[0].default_arguments : key => value if key != "--command" } == { for key, value in aws_glue_job.merge.default_arguments : key => value if key != "--command" }
    error_message = "it differs from the merge job by its command only"
  }
  assert {
    condition     = aws_glue_job.merge.default_arguments["--command"] == "run" && aws_glue_job.maintain[0].role_arn == aws_glue_job.merge.role_arn
    error_message = "the merge job stays as it is, and both have one role"
  }
}
