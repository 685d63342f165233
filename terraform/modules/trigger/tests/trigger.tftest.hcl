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
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-central-1:123456789012:shop-changes", url = "https://sqs/shop-changes" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-central-1:123456789012:function:shop-trigger" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/shop-trigger", id = "shop-trigger" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/lambda/shop-trigger" }
  }
}

variables {
  name   = "shop"
  job    = { name = "shop-merge", arn = "arn:aws:glue:eu-central-1:123456789012:job/shop-merge", config_uri = "s3://shop-artifacts/shop/config-0.json", role_name = "shop-merge-job" }
  bronze = { bucket = "shop-bronze", folder = "dms/shop/epoch-1/" }
}

run "event" {
  command = apply

  assert {
    condition     = aws_sqs_queue.changes.visibility_timeout_seconds == 420 && aws_sqs_queue.changes.message_retention_seconds == 1209600 && aws_sqs_queue.changes.receive_wait_time_seconds == 20 && jsondecode(aws_sqs_queue.changes.redrive_policy).maxReceiveCount == 1000
    error_message = "the queue holds a message as long as a full load lasts"
  }
  assert {
    condition     = aws_sqs_queue.changes.sqs_managed_sse_enabled && aws_sqs_queue.dead_letters.sqs_managed_sse_enabled && aws_sqs_queue.dead_letters.message_retention_seconds == 1209600
    error_message = "both queues are encrypted"
  }
  assert {
    condition = { for s in jsondecode(aws_sqs_queue.changes.policy).Statement : s.Sid => s.Condition if s.Effect == "Allow" } == {
      BucketTellsOfFiles       = { ArnEquals = { "aws:SourceArn" = "arn:aws:s3:::shop-bronze" }, StringEquals = { "aws:SourceAccount" = "123456789012" } }
      RulesTellOfFilesAndTimes = { ArnEquals = { "aws:SourceArn" = ["arn:aws:events:eu-central-1:123456789012:rule/shop-schedule", "arn:aws:events:eu-central-1:123456789012:rule/shop-files"] } }
      RuleTellsOfFailures      = { ArnEquals = { "aws:SourceArn" = "arn:aws:events:eu-central-1:123456789012:rule/shop-failures" } }
    }
    error_message = "found ${aws_sqs_queue.changes.policy}"
  }
  assert {
    condition = jsondecode(aws_cloudwatch_event_rule.failures[0].event_pattern) == {
      source      = ["aws.glue"]
      detail-type = ["Glue Job State Change"]
      detail      = { jobName = ["shop-merge"], state = ["FAILED", "TIMEOUT", "ERROR"] }
    }
    error_message = "found ${aws_cloudwatch_event_rule.failures[0].event_pattern}"
  }
  assert {
    condition     = alltrue([for policy in [aws_sqs_queue.changes.policy, aws_sqs_queue.dead_letters.policy] : anytrue([for s in jsondecode(policy).Statement : s.Sid == "DenyPlainHttp"])])
    error_message = "plain HTTP is refused"
  }
  assert {
    condition     = one(aws_s3_bucket_notification.bronze[0].queue).filter_prefix == "dms/shop/epoch-1/" && aws_s3_bucket_notification.bronze[0].bucket == "shop-bronze"
    error_message = "the bucket tells of the folder's files"
  }
  assert {
    condition     = aws_cloudwatch_event_rule.schedule[0].schedule_expression == "rate(6 hours)" && output.schedule == "rate(6 hours)" && aws_cloudwatch_event_target.schedule[0].input == null && length(aws_cloudwatch_event_rule.files) == 0
    error_message = "a quiet schedule beside the files"
  }
  assert {
    condition     = aws_lambda_function.trigger.runtime == "python3.13" && aws_lambda_function.trigger.architectures == tolist(["arm64"]) && aws_lambda_function.trigger.handler == "handler.handler" && aws_lambda_function.trigger.timeout == 60 && aws_lambda_function.trigger.reserved_concurrent_executions == null
    error_message = "the function as its README asks for"
  }
  assert {
    condition = one(aws_lambda_function.trigger.environment).variables == tomap({
      JOB_NAME                 = "shop-merge"
      CONFIG_URI               = "s3://shop-artifacts/shop/config-0.json"
      BRONZE_BUCKET            = "shop-bronze"
      BRONZE_PREFIX            = "dms/shop/epoch-1/"
      QUEUE_URL                = "https://sqs/shop-changes"
      DEAD_LETTER_QUEUE_URL    = "https://sqs/shop-changes"
      MIN_MINUTES_BETWEEN_RUNS = "5"
    })
    error_message = "found ${jsonencode(one(aws_lambda_function.trigger.environment).variables)}"
  }
  assert {
    condition     = aws_lambda_event_source_mapping.changes.batch_size == 1000 && aws_lambda_event_source_mapping.changes.maximum_batching_window_in_seconds == 20 && aws_lambda_event_source_mapping.changes.function_response_types == toset(["ReportBatchItemFailures"]) && one(aws_lambda_event_source_mapping.changes.scaling_config).maximum_concurrency == 2
    error_message = "the mapping as the README asks for"
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid => s.Resource } == {
      StartRuns      = ["arn:aws:glue:eu-central-1:123456789012:job/shop-merge"]
      ReadQueue      = ["arn:aws:sqs:eu-central-1:123456789012:shop-changes"]
      SetAside       = ["arn:aws:sqs:eu-central-1:123456789012:shop-changes-dead-letters"]
      SendToOwnQueue = ["arn:aws:sqs:eu-central-1:123456789012:shop-changes"]
      WriteLogs      = ["arn:aws:logs:eu-central-1:123456789012:log-group:/aws/lambda/shop-trigger:*"]
    }
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
  assert {
    condition     = jsondecode(output.applied.run).run && !jsondecode(output.applied.run).replication && can(regex("^[0-9a-f]{40}$", jsondecode(output.applied.run).applied)) && aws_lambda_invocation.applied[0].function_name == "shop-trigger"
    error_message = "found ${output.applied.run}"
  }
  assert {
    condition     = output.applied.replication == null
    error_message = "there is none to start"
  }
  assert {
    condition     = length(aws_cloudwatch_event_rule.replication) == 0 && jsondecode(output.resource_policies.bronze).Statement == [] && jsondecode(output.resource_policies.key).Statement == []
    error_message = "nobody is asked for complete loads, and nothing is allowed for it"
  }
  assert {
    condition     = one(aws_lambda_function.trigger.logging_config).log_format == "JSON" && one(aws_lambda_function.trigger.logging_config).log_group == "/aws/lambda/shop-trigger" && aws_cloudwatch_log_group.function.retention_in_days == 365
    error_message = "logs are JSON, and end"
  }
}

run "eventbridge_of_a_bucket_elsewhere" {
  command = apply
  variables {
    notification         = "eventbridge"
    schedule             = "off"
    bronze               = { bucket = "acme-bronze", folder = "dms/shop/epoch-1/", owner = "210987654321" }
    kms_key_arn          = "arn:aws:kms:eu-central-1:123456789012:key/x"
    permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
    package              = { zip_s3_uri = "s3://acme-code/trigger.zip" }
  }
  assert {
    condition     = length(aws_s3_bucket_notification.bronze) == 0 && length(aws_cloudwatch_event_rule.schedule) == 0 && output.schedule == "off"
    error_message = "nothing of the bucket is touched"
  }
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.files[0].event_pattern).detail == { bucket = { name = ["acme-bronze"] }, object = { key = [{ prefix = "dms/shop/epoch-1/" }] } }
    error_message = "the rule is for this folder"
  }
  assert {
    condition     = [for s in jsondecode(aws_sqs_queue.changes.policy).Statement : s.Condition.StringEquals["aws:SourceAccount"] if s.Sid == "BucketTellsOfFiles"] == ["210987654321"]
    error_message = "the bucket's account is named"
  }
  assert {
    condition     = aws_sqs_queue.changes.kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/x" && anytrue([for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid == "UseKeyOfQueues"])
    error_message = "a key of one's own"
  }
  assert {
    condition     = aws_lambda_function.trigger.s3_bucket == "acme-code" && aws_lambda_function.trigger.s3_key == "trigger.zip" && aws_lambda_function.trigger.filename == null && aws_iam_role.function.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary"
    error_message = "given code, boundary"
  }
}

run "schedule_does_not_listen_to_files" {
  command = plan
  variables {
    type     = "schedule"
    schedule = "cron(0 5 * * ? *)"
  }
  assert {
    condition     = length(aws_s3_bucket_notification.bronze) + length(aws_cloudwatch_event_rule.files) == 0 && aws_cloudwatch_event_rule.schedule[0].schedule_expression == "cron(0 5 * * ? *)"
    error_message = "only the clock"
  }
  assert {
    condition     = output.applied.run == null
    error_message = "an apply asks for no run"
  }
}

run "continuous" {
  command = apply
  variables {
    type        = "continuous"
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/queues"
  }
  assert {
    condition     = one(aws_s3_bucket_notification.bronze[0].queue).queue_arn == "arn:aws:sqs:eu-central-1:123456789012:shop-news" && output.bucket_notification.QueueArn == "arn:aws:sqs:eu-central-1:123456789012:shop-news"
    error_message = "files are told of to the watch"
  }
  assert {
    condition     = jsondecode(aws_lambda_function.trigger.environment[0].variables.RUN_ARGUMENTS) == { "--command" = "watch", "--for" = "3h", "--interval" = "10s", "--queue" = aws_sqs_queue.news[0].url }
    error_message = "found ${aws_lambda_function.trigger.environment[0].variables.RUN_ARGUMENTS}"
  }
  assert {
    condition = { for s in jsondecode(aws_sqs_queue.news[0].policy).Statement : s.Sid => "${s.Effect} ${s.Action} on ${s.Resource}: ${jsonencode(s.Condition)}" } == {
      DenyPlainHttp      = "Deny sqs:* on arn:aws:sqs:eu-central-1:123456789012:shop-news: ${jsonencode({ Bool = { "aws:SecureTransport" = "false" } })}"
      BucketTellsOfFiles = "Allow sqs:SendMessage on arn:aws:sqs:eu-central-1:123456789012:shop-news: ${jsonencode({ ArnEquals = { "aws:SourceArn" = "arn:aws:s3:::shop-bronze" }, StringEquals = { "aws:SourceAccount" = "123456789012" } })}"
      RuleTellsOfFiles   = "Allow sqs:SendMessage on arn:aws:sqs:eu-central-1:123456789012:shop-news: ${jsonencode({ ArnEquals = { "aws:SourceArn" = "arn:aws:events:eu-central-1:123456789012:rule/shop-files" } })}"
    }
    error_message = "found ${aws_sqs_queue.news[0].policy}"
  }
  assert {
    condition     = !contains(jsondecode(aws_sqs_queue.changes.policy).Statement[*].Sid, "BucketTellsOfFiles")
    error_message = "the bucket may not ask for runs"
  }
  assert {
    condition = aws_iam_role_policy.news[0].role == "shop-merge-job" && { for s in jsondecode(aws_iam_role_policy.news[0].policy).Statement : s.Sid => "${join(",", s.Action)} on ${join(",", s.Resource)}" } == {
      ReadNews     = "sqs:ReceiveMessage,sqs:DeleteMessage on arn:aws:sqs:eu-central-1:123456789012:shop-news"
      UseKeyOfNews = "kms:Decrypt on arn:aws:kms:eu-central-1:123456789012:key/queues"
    }
    error_message = "found ${aws_iam_role_policy.news[0].policy}"
  }
}

run "continuous_by_a_rule" {
  command = plan
  variables {
    type         = "continuous"
    notification = "eventbridge"
  }
  assert {
    condition     = length(aws_s3_bucket_notification.bronze) == 0 && aws_cloudwatch_event_target.files[0].arn == "arn:aws:sqs:eu-central-1:123456789012:shop-news"
    error_message = "the rule tells the watch"
  }
}

run "continuous_by_the_clock" {
  command = plan
  variables {
    type  = "continuous"
    watch = { queue = false }
  }
  assert {
    condition     = length(aws_s3_bucket_notification.bronze) + length(aws_sqs_queue.news) + length(aws_iam_role_policy.news) == 0 && aws_cloudwatch_event_rule.schedule[0].schedule_expression == "rate(1 minute)" && output.news_queue == null
    error_message = "asked for every minute, told by nobody"
  }
  assert {
    condition     = jsondecode(aws_lambda_function.trigger.environment[0].variables.RUN_ARGUMENTS) == { "--command" = "watch", "--for" = "3h", "--interval" = "10s" }
    error_message = "found ${aws_lambda_function.trigger.environment[0].variables.RUN_ARGUMENTS}"
  }
}

run "somebody_else_notifies" {
  command = plan
  variables {
    notification  = "none"
    region_suffix = "use1"
  }
  assert {
    condition     = aws_iam_role.function.name == "shop-trigger-use1" && aws_lambda_function.trigger.function_name == "shop-trigger"
    error_message = "only the role's name is one of all Regions"
  }
  assert {
    condition     = length(aws_s3_bucket_notification.bronze) + length(aws_cloudwatch_event_rule.files) == 0 && output.bucket_notification.Prefix == "dms/shop/epoch-1/"
    error_message = "the owner of the bucket is told what to add"
  }
}

run "a_task_is_asked_for_complete_loads" {
  command = apply
  variables {
    bronze      = { bucket = "shop-bronze", folder = "dms/shop/epoch-2/", kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/lake" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:task:SHOP" }
  }
  assert {
    condition = jsondecode(aws_cloudwatch_event_rule.replication[0].event_pattern) == {
      source      = ["aws.dms"]
      detail-type = ["DMS Replication Task State Change", "DMS Replication State Change"]
      resources   = ["arn:aws:dms:eu-central-1:123456789012:task:SHOP"]
    }
    error_message = "found ${aws_cloudwatch_event_rule.replication[0].event_pattern}"
  }
  assert {
    condition     = aws_cloudwatch_event_target.replication[0].arn == aws_sqs_queue.changes.arn && aws_cloudwatch_event_target.replication[0].rule == "shop-replication" && aws_cloudwatch_event_target.replication[0].input == null
    error_message = "its events go to the queue as they are"
  }
  assert {
    condition     = { for s in jsondecode(aws_sqs_queue.changes.policy).Statement : s.Sid => s if s.Sid == "RuleTellsOfReplication" }["RuleTellsOfReplication"].Condition == { ArnEquals = { "aws:SourceArn" = "arn:aws:events:eu-central-1:123456789012:rule/shop-replication" } }
    error_message = "found ${aws_sqs_queue.changes.policy}"
  }
  assert {
    condition     = one(aws_lambda_function.trigger.environment).variables["REPLICATION_ARN"] == "arn:aws:dms:eu-central-1:123456789012:task:SHOP"
    error_message = "the function knows whom to ask"
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid => "${join(",", s.Action)} on ${join(",", s.Resource)}" if !contains(["StartRuns", "ReadQueue", "SetAside", "SendToOwnQueue", "WriteLogs"], s.Sid) } == {
      AskForTables      = "dms:DescribeTableStatistics on arn:aws:dms:eu-central-1:123456789012:task:SHOP"
      AskForReplication = "dms:DescribeReplicationTasks on *"
      NoteLoads         = "s3:PutObject on arn:aws:s3:::shop-bronze/dms/shop/epoch-2/_load_complete/*"
      UseKeyOfBronze    = "kms:GenerateDataKey on arn:aws:kms:eu-central-1:123456789012:key/lake"
    }
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
  assert {
    condition     = [for s in concat(jsondecode(output.resource_policies.bronze).Statement, jsondecode(output.resource_policies.key).Statement) : "${s.Sid} ${join(",", s.Action)} ${s.Principal.AWS}"] == ["ShopTriggerNoteLoads s3:PutObject arn:aws:iam::123456789012:role/shop-trigger", "ShopTriggerUseKeyOfBronze kms:GenerateDataKey arn:aws:iam::123456789012:role/shop-trigger"]
    error_message = "found ${output.resource_policies.bronze} and ${output.resource_policies.key}"
  }
}

run "a_serverless_replication_is_asked_for_complete_loads" {
  command = apply
  variables {
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2" }
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid => "${join(",", s.Action)} on ${join(",", s.Resource)}" if !contains(["StartRuns", "ReadQueue", "SetAside", "SendToOwnQueue", "WriteLogs"], s.Sid) } == {
      AskForTables      = "dms:DescribeReplicationTableStatistics on arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2"
      AskForReplication = "dms:DescribeReplications on *"
      NoteLoads         = "s3:PutObject on arn:aws:s3:::shop-bronze/epoch-2/_load_complete/*"
    }
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
}

run "beside_a_watch_that_something_else_keeps_running" {
  command = apply
  variables {
    type        = "continuous"
    starts_runs = false
    schedule    = "rate(15 minutes)"
  }
  assert {
    condition     = aws_lambda_function.trigger.environment[0].variables.STARTS_RUNS == "false" && aws_cloudwatch_event_rule.schedule[0].schedule_expression == "rate(15 minutes)"
    error_message = "the function starts nothing, and asks for complete loads by the clock"
  }
}

run "a_serverless_replication_is_started" {
  command = apply
  variables {
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2", start = true, revision = "1" }
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid => "${join(",", s.Action)} on ${join(",", s.Resource)}" if contains(["StartOrStopReplication", "ListBronzeFolder"], s.Sid) } == {
      StartOrStopReplication = "dms:StartReplication on arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2"
      ListBronzeFolder       = "s3:ListBucket on arn:aws:s3:::shop-bronze"
    }
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Condition if s.Sid == "ListBronzeFolder"] == [{ StringLike = { "s3:prefix" = "epoch-2/*" } }]
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
  assert {
    condition     = one(aws_lambda_function.trigger.environment).variables["START_REPLICATION"] == "true" && one(aws_lambda_function.trigger.environment).variables["REPLICATION_ARN"] == var.replication.arn
    error_message = "the function knows that it should run"
  }
  assert {
    condition     = [for s in jsondecode(output.resource_policies.bronze).Statement : s.Sid] == ["ShopTriggerNoteLoads", "ShopTriggerListBronzeFolder"]
    error_message = "found ${output.resource_policies.bronze}"
  }
}

run "a_changed_replication_is_looked_after_again" {
  command = plan
  variables {
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2", start = true, revision = "2" }
  }
  assert {
    condition     = output.applied.replication != run.a_serverless_replication_is_started.applied.replication && output.applied.run == run.a_serverless_replication_is_started.applied.run
    error_message = "the replication was changed, and nothing else"
  }
}

# Else a new mask would resume what a person has stopped.
run "a_changed_document_leaves_the_replication_alone" {
  command = plan
  variables {
    job         = { name = "shop-merge", arn = "arn:aws:glue:eu-central-1:123456789012:job/shop-merge", config_uri = "s3://shop-artifacts/shop/config.json", revision = "another" }
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2", start = true, revision = "1" }
  }
  assert {
    condition     = output.applied.run != run.a_serverless_replication_is_started.applied.run && output.applied.replication == run.a_serverless_replication_is_started.applied.replication
    error_message = "found ${jsonencode(output.applied)}"
  }
  assert {
    condition     = !jsondecode(output.applied.run).replication && jsondecode(output.applied.replication).replication && jsondecode(output.applied.replication).run
    error_message = "found ${jsonencode(output.applied)}"
  }
}

run "a_serverless_replication_of_changes_is_stopped" {
  command = apply
  variables {
    bronze      = { bucket = "shop-bronze", folder = "epoch-2/" }
    replication = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2", loads = false, start = false }
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.function.policy).Statement : s.Sid => "${join(",", s.Action)} on ${join(",", s.Resource)}" if !contains(["StartRuns", "ReadQueue", "SetAside", "SendToOwnQueue", "WriteLogs"], s.Sid) } == {
      AskForReplication      = "dms:DescribeReplications on *"
      StartOrStopReplication = "dms:StopReplication on arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e2"
    }
    error_message = "found ${aws_iam_role_policy.function.policy}"
  }
  assert {
    condition     = one(aws_lambda_function.trigger.environment).variables["START_REPLICATION"] == "false" && length(aws_cloudwatch_event_rule.replication) == 0
    error_message = "the function knows that it should not run; there are no loads to be told of"
  }
}
