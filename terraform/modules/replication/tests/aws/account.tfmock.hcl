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
  defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
}

mock_resource "aws_dms_certificate" {
  defaults = { certificate_arn = "arn:aws:dms:eu-central-1:123456789012:cert:MOCK" }
}

mock_resource "aws_dms_endpoint" {
  defaults = { endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:SOURCE" }
}

mock_resource "aws_dms_s3_endpoint" {
  defaults = { endpoint_arn = "arn:aws:dms:eu-central-1:123456789012:endpoint:TARGET" }
}

mock_resource "aws_dms_replication_config" {
  defaults = { arn = "arn:aws:dms:eu-central-1:123456789012:replication-config:shop-e1" }
}

mock_resource "aws_dms_replication_instance" {
  defaults = { replication_instance_arn = "arn:aws:dms:eu-central-1:123456789012:rep:MOCK" }
}

mock_resource "aws_dms_replication_task" {
  defaults = { replication_task_arn = "arn:aws:dms:eu-central-1:123456789012:task:TASK" }
}
