# The two roles that DMS looks for in an account.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws", dns_suffix = "amazonaws.com" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
  }
}

run "both" {
  command = apply

  variables {
    permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
    tags                 = { team = "data" }
  }
  assert {
    condition     = keys(output.role_arns) == ["dms-cloudwatch-logs-role", "dms-vpc-role"]
    error_message = "the names are DMS's: ${join(", ", keys(output.role_arns))}"
  }
  assert {
    condition = { for name, attachment in aws_iam_role_policy_attachment.this : name => attachment.policy_arn } == {
      dms-cloudwatch-logs-role = "arn:aws:iam::aws:policy/service-role/AmazonDMSCloudWatchLogsRole"
      dms-vpc-role             = "arn:aws:iam::aws:policy/service-role/AmazonDMSVPCManagementRole"
    }
    error_message = "policies"
  }
  assert {
    condition = alltrue([for role in aws_iam_role.this : jsondecode(role.assume_role_policy).Statement[0].Condition == {
      StringEqualsIfExists = { "aws:SourceAccount" = "123456789012" }
      ArnLikeIfExists      = { "aws:SourceArn" = "arn:aws:dms:*:123456789012:*" }
    }])
    error_message = "for this account only"
  }
  assert {
    condition     = alltrue([for role in aws_iam_role.this : jsondecode(role.assume_role_policy).Statement[0].Principal == { Service = "dms.amazonaws.com" }])
    error_message = "for DMS only"
  }
  assert {
    condition     = alltrue([for role in aws_iam_role.this : role.permissions_boundary == "arn:aws:iam::123456789012:policy/boundary" && role.tags["team"] == "data"])
    error_message = "boundary and tags"
  }
}

run "one_is_there_already" {
  command = plan

  variables {
    create_vpc_role = false
  }
  assert {
    condition     = keys(aws_iam_role.this) == ["dms-cloudwatch-logs-role"]
    error_message = "only the other one"
  }
}

run "off" {
  command = plan

  variables {
    create_vpc_role             = false
    create_cloudwatch_logs_role = false
  }
  assert {
    condition     = length(aws_iam_role.this) + length(aws_iam_role_policy_attachment.this) == 0
    error_message = "nothing"
  }
}

run "refuses_a_boundary_that_is_no_policy" {
  command = plan

  variables {
    permissions_boundary = "boundary"
  }
  expect_failures = [var.permissions_boundary]
}
