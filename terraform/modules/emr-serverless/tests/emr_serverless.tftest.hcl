mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_resource "aws_emrserverless_application" {
    defaults = { id = "00abc", arn = "arn:aws:emr-serverless:eu-central-1:123456789012:/applications/00abc" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-central-1:123456789012:function:shop-watch-starter" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/shop-watch", id = "shop-watch" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/emr-serverless/shop-watch" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-central-1:123456789012:rule/shop-watch-starter" }
  }
}

variables {
  name = "shop"
  job = {
    script_uri     = "s3://shop-artifacts/shop/code/merge-1.py"
    zip_uris       = ["s3://shop-artifacts/shop/code/job-1.zip", "s3://shop-artifacts/shop/code/requirements-1.zip"]
    config_uri     = "s3://shop-artifacts/shop/config.json"
    config_sha256  = "0"
    spark_settings = { "spark.scheduler.mode" = "FAIR", "spark.sql.catalog.lake" = "org.apache.iceberg.spark.SparkCatalog" }
    policy_json    = "{\"Version\":\"2012-10-17\",\"Statement\":[]}"
  }
  python    = { archive_s3_uri = "s3://acme-artifacts/python-1.tar.gz" }
  artifacts = { bucket = "shop-artifacts" }
}

run "few_inputs" {
  command = apply

  assert {
    condition     = output.run.mode == "STREAMING" && output.run.executionTimeoutMinutes == 0 && output.run.retryPolicy.maxFailedAttemptsPerHour == 5 && output.run.name == "shop-watch"
    error_message = "a streaming job without an end"
  }
  assert {
    condition     = output.run.jobDriver.sparkSubmit.entryPoint == "s3://shop-artifacts/shop/code/merge-1.py" && join(" ", output.run.jobDriver.sparkSubmit.entryPointArguments) == "--command watch --config s3://shop-artifacts/shop/config.json --interval 10s --json true"
    error_message = "found ${jsonencode(output.run.jobDriver)}"
  }
  assert {
    condition = alltrue([for part in [
      "--py-files s3://shop-artifacts/shop/code/job-1.zip,s3://shop-artifacts/shop/code/requirements-1.zip", "spark.scheduler.mode=FAIR", "spark.jars=/usr/share/aws/iceberg/lib/iceberg-spark3-runtime.jar",
      "spark.archives=s3://acme-artifacts/python-1.tar.gz#environment", "driverEnv.PYSPARK_PYTHON=./environment/bin/python", "spark.executorEnv.PYSPARK_PYTHON=./environment/bin/python",
      "spark.driver.memory=6g", "spark.driver.memoryOverhead=2g", "spark.executor.memory=3g", "spark.executor.memoryOverhead=1g", "spark.dynamicAllocation.minExecutors=1", "driverEnv.AWS_REGION=eu-central-1",
    ] : strcontains(output.run.jobDriver.sparkSubmit.sparkSubmitParameters, part)])
    error_message = "found ${output.run.jobDriver.sparkSubmit.sparkSubmitParameters}"
  }
  assert {
    condition     = aws_emrserverless_application.watch.maximum_capacity[0].cpu == "10 vCPU" && aws_emrserverless_application.watch.maximum_capacity[0].memory == "40 GB" && length(aws_emrserverless_application.watch.initial_capacity) == 0 && length(aws_emrserverless_application.watch.network_configuration) == 0
    error_message = "twice a driver of 2 and three executors of 1, none of which stands ready"
  }
  assert {
    condition     = aws_cloudwatch_event_rule.starter[0].schedule_expression == "rate(1 minute)" && jsondecode(aws_cloudwatch_event_target.starter[0].input) == jsondecode(aws_lambda_invocation.watch[0].input) && jsondecode(aws_lambda_invocation.watch[0].input).version == output.version && aws_lambda_invocation.watch[0].lifecycle_scope == "CRUD"
    error_message = "the schedule and the end of an apply want the same watch, and its end is heard of"
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.starter.policy).Statement : s.Sid => s.Resource } == {
      UseApplication = ["arn:aws:emr-serverless:eu-central-1:123456789012:/applications/00abc"]
      UseRuns        = ["arn:aws:emr-serverless:eu-central-1:123456789012:/applications/00abc/jobruns/*"]
      GiveRole       = ["arn:aws:iam::123456789012:role/shop-watch"]
    }
    error_message = "found ${aws_iam_role_policy.starter.policy}"
  }
  assert {
    condition     = anytrue([for s in jsondecode(aws_iam_role_policy.runtime.policy).Statement : s.Resource == ["arn:aws:s3:::acme-artifacts/python-1.tar.gz"]]) && length(aws_s3_object.python) == 0
    error_message = "an archive that is somewhere else is read there"
  }
  assert {
    condition     = length(output.alarm_names) == 0 && length(aws_iam_role_policy.additional) == 0
    error_message = "none without somebody to tell"
  }
}

run "everything" {
  command = apply
  variables {
    python                       = { archive_path = "main.tf" }
    artifacts                    = { bucket = "shop-artifacts", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/1" }
    watch                        = { queue_url = "https://sqs/shop-news", interval_seconds = 5 }
    release_label                = "emr-7.13.0"
    driver                       = { cpu = 1, memory_gb = 4 }
    executor                     = { cpu = 2, memory_gb = 8, min = 2, max = 2 }
    initial_capacity             = { drivers = 1, executors = 2 }
    max_failed_attempts_per_hour = 10
    spark_conf                   = { "spark.executor.extraJavaOptions" = "-Xss4m" }
    network                      = { subnet_ids = ["subnet-1", "subnet-2"], security_group_ids = ["sg-1"] }
    alarms                       = { create = true, topic_arn = "arn:aws:sns:eu-central-1:123456789012:shop-alarms", disabled = ["watch-failed"] }
  }
  assert {
    condition     = startswith(aws_s3_object.python[0].key, "shop/code/python-") && strcontains(output.run.jobDriver.sparkSubmit.sparkSubmitParameters, "spark.archives=s3://shop-artifacts/${aws_s3_object.python[0].key}#environment") && aws_s3_object.python[0].kms_key_id == "arn:aws:kms:eu-central-1:123456789012:key/1"
    error_message = "the archive is uploaded under a key with its hash"
  }
  assert {
    condition     = join(" ", slice(output.run.jobDriver.sparkSubmit.entryPointArguments, 4, 10)) == "--interval 5s --json true --queue https://sqs/shop-news"
    error_message = "found ${join(" ", output.run.jobDriver.sparkSubmit.entryPointArguments)}"
  }
  assert {
    condition     = { for one in aws_emrserverless_application.watch.initial_capacity : one.initial_capacity_type => one.initial_capacity_config[0].worker_count } == { Driver = 1, Executor = 2 } && length(aws_emrserverless_application.watch.network_configuration[0].subnet_ids) == 2
    error_message = "workers stand ready, in the VPC"
  }
  assert {
    condition     = output.alarm_names == { watch-not-running = "shop-watch-not-running", watch-starter-errors = "shop-watch-starter-errors" } && aws_cloudwatch_metric_alarm.this["watch-not-running"].treat_missing_data == "breaching"
    error_message = "found ${join(", ", keys(output.alarm_names))}"
  }
  assert {
    condition     = output.version != run.few_inputs.version
    error_message = "other settings are another watch"
  }
}

run "paused" {
  command = plan
  variables {
    start  = false
    alarms = { create = true, topic_arn = "arn:aws:sns:eu-central-1:123456789012:shop-alarms" }
  }
  assert {
    condition     = length(aws_lambda_invocation.watch) == 0 && length(aws_cloudwatch_event_rule.starter) == 0 && length(output.alarm_names) == 0
    error_message = "nothing starts a watch, and nobody misses it"
  }
}
