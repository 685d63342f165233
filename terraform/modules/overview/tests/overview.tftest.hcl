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
}

variables {
  name = "dms-iceberg"
  pipelines = { for name in ["shop", "billing", "crm", "erp", "web"] : name => {
    names            = { no-run = "${name}-no-run", job-failed = "${name}-job-failed" }
    metric_namespace = "dms-iceberg/${name}"
  } }
}

run "five_pipelines" {
  command = apply
  assert {
    condition     = [for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : one.properties.title if one.type == "alarm"] == ["billing", "crm", "erp", "shop", "web"]
    error_message = "the alarms of each, by name"
  }
  assert {
    condition = [for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : one.properties.alarms if one.properties.title == "shop"] == [[
      "arn:aws:cloudwatch:eu-central-1:123456789012:alarm:shop-job-failed", "arn:aws:cloudwatch:eu-central-1:123456789012:alarm:shop-no-run",
    ]]
    error_message = "as ARNs"
  }
  assert {
    condition     = alltrue([for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : [for metric in one.properties.metrics : metric[0]] == [for name in ["billing", "crm", "erp", "shop", "web"] : "dms-iceberg/${name}"] if one.type == "metric"])
    error_message = "every graph has a line for each"
  }
  assert {
    condition     = length(distinct([for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : "${one.x} ${one.y}"])) == 11 && alltrue([for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : one.x + one.width <= 24])
    error_message = "eleven widgets, each in its place"
  }
  assert {
    condition     = max([for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : one.y + one.height if one.type == "alarm"]...) <= min([for one in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : one.y if one.type == "metric"]...)
    error_message = "graphs are below the alarms"
  }
  assert {
    condition     = output.dashboard_name == "dms-iceberg"
    error_message = "the dashboard's name"
  }
}

run "refusals" {
  command = plan
  variables {
    name      = "dms iceberg"
    pipelines = {}
  }
  expect_failures = [var.name, var.pipelines]
}
