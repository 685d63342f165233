# What is made, and what is not when it is brought.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws", reverse_dns_prefix = "com.amazonaws" }
  }
  mock_data "aws_region" {
    defaults = { id = "eu-central-1" }
  }
  mock_data "aws_prefix_list" {
    defaults = { id = "pl-s3" }
  }
  mock_data "aws_vpc" {
    defaults = { cidr_block = "10.20.0.0/16", enable_dns_support = true, enable_dns_hostnames = true }
  }
}

variables {
  name                        = "shop"
  vpc_id                      = "vpc-1"
  subnet_ids                  = ["subnet-1", "subnet-2"]
  route_table_ids             = ["rtb-1"]
  database_port               = 5432
  database_security_group_ids = ["sg-database"]
}

run "defaults_lead_to_three_places_only" {
  command = plan

  assert {
    condition     = aws_vpc_security_group_egress_rule.database_group[0].referenced_security_group_id == "sg-database" && aws_vpc_security_group_egress_rule.database_group[0].to_port == 5432
    error_message = "egress to the database"
  }
  assert {
    condition     = aws_vpc_security_group_egress_rule.s3[0].prefix_list_id == "pl-s3" && aws_vpc_security_group_egress_rule.s3[0].cidr_ipv4 == null
    error_message = "egress to S3 goes to its prefix list, not to the internet"
  }
  assert {
    condition     = length(aws_vpc_security_group_egress_rule.secrets_manager_group) == 1 && length(aws_vpc_security_group_egress_rule.secrets_manager_addresses) == 0
    error_message = "egress to the Secrets Manager endpoint"
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.database[0].security_group_id == "sg-database"
    error_message = "the database lets the replication in"
  }
  assert {
    condition     = aws_vpc_endpoint.s3[0].service_name == "com.amazonaws.eu-central-1.s3" && aws_vpc_endpoint.s3[0].vpc_endpoint_type == "Gateway"
    error_message = "S3 gateway endpoint"
  }
  assert {
    condition     = aws_vpc_endpoint.secrets_manager[0].service_name == "com.amazonaws.eu-central-1.secretsmanager" && aws_vpc_endpoint.secrets_manager[0].private_dns_enabled
    error_message = "Secrets Manager endpoint"
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.secrets_manager_vpc[0].cidr_ipv4 == "10.20.0.0/16"
    error_message = "the rest of the VPC keeps its way to Secrets Manager"
  }
}

run "everything_brought" {
  command = plan

  variables {
    security_group_ids              = ["sg-own"]
    create_s3_endpoint              = false
    route_table_ids                 = []
    create_secrets_manager_endpoint = false
    open_database_security_groups   = false
  }
  assert {
    condition     = output.security_group_ids == tolist(["sg-own"])
    error_message = "the groups brought are the groups used"
  }
  assert {
    condition = length(concat(
      aws_security_group.replication, aws_security_group.secrets_manager, aws_vpc_endpoint.s3, aws_vpc_endpoint.secrets_manager,
      aws_vpc_security_group_egress_rule.s3, aws_vpc_security_group_egress_rule.database_group, aws_vpc_security_group_ingress_rule.database,
    )) == 0
    error_message = "nothing is made"
  }
  assert {
    condition     = output.s3_endpoint_id == null && output.secrets_manager_endpoint_id == null
    error_message = "no endpoints"
  }
}

run "own_groups_with_endpoints_made_here" {
  command = plan

  variables {
    security_group_ids                 = ["sg-a", "sg-b"]
    secrets_manager_client_cidr_blocks = ["10.99.0.0/16"]
  }
  assert {
    condition     = toset(aws_vpc_security_group_ingress_rule.secrets_manager[*].referenced_security_group_id) == toset(["sg-a", "sg-b"])
    error_message = "both groups reach the endpoint"
  }
  assert {
    condition     = toset(aws_vpc_security_group_ingress_rule.database[*].referenced_security_group_id) == toset(["sg-a", "sg-b"])
    error_message = "both groups reach the database"
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.secrets_manager_clients["10.99.0.0/16"].from_port == 443
    error_message = "further clients are let in"
  }
}

run "the_job_reaches_the_database_too" {
  command = plan

  variables {
    database_security_group_ids = ["sg-database", "sg-other"]
    job_security_group_ids      = ["sg-job"]
  }
  assert {
    condition     = { for rule in aws_vpc_security_group_ingress_rule.database_job : rule.security_group_id => rule.referenced_security_group_id } == { sg-database = "sg-job", sg-other = "sg-job" }
    error_message = "its group is let in"
  }
}

run "through_a_nat_gateway" {
  command = plan

  variables {
    create_s3_endpoint              = false
    create_secrets_manager_endpoint = false
    secrets_manager_cidr_blocks     = ["0.0.0.0/0"]
    database_security_group_ids     = []
    database_cidr_blocks            = ["192.168.7.0/24"]
  }
  assert {
    condition     = aws_vpc_security_group_egress_rule.secrets_manager_addresses["0.0.0.0/0"].to_port == 443
    error_message = "HTTPS out"
  }
  assert {
    condition     = aws_vpc_security_group_egress_rule.database_addresses["192.168.7.0/24"].to_port == 5432
    error_message = "to the database on premises"
  }
}

run "refuses_no_way_to_the_database" {
  command = plan
  variables {
    database_security_group_ids = []
  }
  expect_failures = [var.database_cidr_blocks]
}

run "refuses_a_bad_database_range" {
  command = plan
  variables {
    database_cidr_blocks = ["10.0.0/8"]
  }
  expect_failures = [var.database_cidr_blocks]
}

run "refuses_a_bad_port" {
  command = plan
  variables {
    database_port = 0
  }
  expect_failures = [var.database_port]
}

run "refuses_an_s3_endpoint_without_route_tables" {
  command = plan
  variables {
    route_table_ids = []
  }
  expect_failures = [var.route_table_ids]
}

run "refuses_no_way_to_the_secret" {
  command = plan
  variables {
    create_secrets_manager_endpoint = false
  }
  expect_failures = [var.secrets_manager_cidr_blocks]
}

run "refuses_a_bad_secrets_manager_range" {
  command = plan
  variables {
    create_secrets_manager_endpoint = false
    secrets_manager_cidr_blocks     = ["everywhere"]
  }
  expect_failures = [var.secrets_manager_cidr_blocks]
}

run "refuses_a_vpc_without_dns" {
  command = plan
  override_data {
    target = data.aws_vpc.this[0]
    values = { cidr_block = "10.20.0.0/16", enable_dns_support = true, enable_dns_hostnames = false }
  }
  expect_failures = [aws_vpc_endpoint.secrets_manager]
}

run "refuses_two_subnets_of_a_zone_for_an_endpoint" {
  command = plan
  override_data {
    target = data.aws_subnet.this
    values = { availability_zone = "eu-central-1a" }
  }
  expect_failures = [aws_vpc_endpoint.secrets_manager]
}

run "refuses_subnets_in_one_zone" {
  command = plan
  variables {
    create_secrets_manager_endpoint = false
    secrets_manager_cidr_blocks     = ["0.0.0.0/0"]
  }
  override_data {
    target = data.aws_subnet.this
    values = { availability_zone = "eu-central-1a" }
  }
  expect_failures = [output.security_group_ids]
}

run "refuses_a_bad_client_range" {
  command = plan
  variables {
    secrets_manager_client_cidr_blocks = ["10.99"]
  }
  expect_failures = [var.secrets_manager_client_cidr_blocks]
}
