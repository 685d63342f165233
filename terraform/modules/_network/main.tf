# DMS 3.4.7 and newer reaches S3 and Secrets Manager from the VPC, and DMS Serverless has no public address.
# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_VPC_Endpoints.html
data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  create_group       = length(var.security_group_ids) == 0
  security_group_ids = local.create_group ? aws_security_group.replication[*].id : var.security_group_ids
  service            = "${data.aws_partition.current.reverse_dns_prefix}.${data.aws_region.current.id}"
}

################################################################################
# The replication
################################################################################

resource "aws_security_group" "replication" {
  #checkov:skip=CKV2_AWS_5: attached by the module that makes the replication
  count = local.create_group ? 1 : 0

  name        = "${var.name}-replication"
  description = "DMS replication of ${var.name}: to the database, S3 and Secrets Manager, and nothing in"
  vpc_id      = var.vpc_id
  tags        = merge(var.tags, { Name = "${var.name}-replication" })
}

resource "aws_vpc_security_group_egress_rule" "database_group" {
  count = local.create_group ? length(var.database_security_group_ids) : 0

  security_group_id            = aws_security_group.replication[0].id
  description                  = "To the database"
  ip_protocol                  = "tcp"
  from_port                    = var.database_port
  to_port                      = var.database_port
  referenced_security_group_id = var.database_security_group_ids[count.index]
  tags                         = var.tags
}

resource "aws_vpc_security_group_egress_rule" "database_addresses" {
  for_each = local.create_group ? toset(var.database_cidr_blocks) : []

  security_group_id = aws_security_group.replication[0].id
  description       = "To the database"
  ip_protocol       = "tcp"
  from_port         = var.database_port
  to_port           = var.database_port
  cidr_ipv4         = each.value
  tags              = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "database" {
  count = var.open_database_security_groups ? length(var.database_security_group_ids) * length(local.replication_groups) : 0

  security_group_id            = var.database_security_group_ids[floor(count.index / length(local.replication_groups))]
  description                  = "From the DMS replication of ${var.name}"
  ip_protocol                  = "tcp"
  from_port                    = var.database_port
  to_port                      = var.database_port
  referenced_security_group_id = local.security_group_ids[count.index % length(local.replication_groups)]
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "database_job" {
  count = var.open_database_security_groups ? length(var.database_security_group_ids) * length(var.job_security_group_ids) : 0

  security_group_id            = var.database_security_group_ids[floor(count.index / length(var.job_security_group_ids))]
  description                  = "From the merge job of ${var.name}, which compares tables with their source"
  ip_protocol                  = "tcp"
  from_port                    = var.database_port
  to_port                      = var.database_port
  referenced_security_group_id = var.job_security_group_ids[count.index % length(var.job_security_group_ids)]
  tags                         = var.tags
}

locals {
  # As many as security_group_ids, and known before they are: identifiers of groups that are yet to be made cannot be counted by.
  replication_groups = local.create_group ? [0] : range(length(var.security_group_ids))
}

################################################################################
# S3
################################################################################

resource "aws_vpc_endpoint" "s3" {
  count = var.create_s3_endpoint ? 1 : 0

  vpc_id            = var.vpc_id
  vpc_endpoint_type = "Gateway"
  service_name      = "${local.service}.s3"
  route_table_ids   = var.route_table_ids
  # No policy: whatever else is in these subnets takes this way to S3 as well, so it is the roles that limit.
  tags = merge(var.tags, { Name = "${var.name}-s3" })
}

data "aws_prefix_list" "s3" {
  count = local.create_group ? 1 : 0

  name = "${local.service}.s3"
}

resource "aws_vpc_security_group_egress_rule" "s3" {
  count = local.create_group ? 1 : 0

  security_group_id = aws_security_group.replication[0].id
  description       = "To S3"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  prefix_list_id    = data.aws_prefix_list.s3[0].id
  tags              = var.tags
}

################################################################################
# Secrets Manager
################################################################################

resource "aws_security_group" "secrets_manager" {
  count = var.create_secrets_manager_endpoint ? 1 : 0

  name        = "${var.name}-secrets-manager"
  description = "Secrets Manager endpoint of ${var.name}: HTTPS from the VPC"
  vpc_id      = var.vpc_id
  tags        = merge(var.tags, { Name = "${var.name}-secrets-manager" })
}

resource "aws_vpc_security_group_ingress_rule" "secrets_manager" {
  count = var.create_secrets_manager_endpoint ? length(local.replication_groups) : 0

  security_group_id            = aws_security_group.secrets_manager[0].id
  description                  = "From the DMS replication of ${var.name}"
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  referenced_security_group_id = local.security_group_ids[count.index]
  tags                         = var.tags
}

data "aws_subnet" "this" {
  count = length(var.subnet_ids)

  id = var.subnet_ids[count.index]
}

locals {
  zones = data.aws_subnet.this[*].availability_zone
}

data "aws_vpc" "this" {
  count = var.create_secrets_manager_endpoint ? 1 : 0

  id = var.vpc_id
}

# The endpoint answers for Secrets Manager in the whole VPC: hosts that are not let in would lose their way to their own secrets.
resource "aws_vpc_security_group_ingress_rule" "secrets_manager_vpc" {
  count = var.create_secrets_manager_endpoint ? 1 : 0

  security_group_id = aws_security_group.secrets_manager[0].id
  description       = "From the VPC, where the endpoint is the only way to Secrets Manager"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = data.aws_vpc.this[0].cidr_block
  tags              = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "secrets_manager_clients" {
  for_each = var.create_secrets_manager_endpoint ? toset(var.secrets_manager_client_cidr_blocks) : []

  security_group_id = aws_security_group.secrets_manager[0].id
  description       = "From hosts that resolve Secrets Manager to this endpoint"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = each.value
  tags              = var.tags
}

resource "aws_vpc_endpoint" "secrets_manager" {
  count = var.create_secrets_manager_endpoint ? 1 : 0

  vpc_id              = var.vpc_id
  vpc_endpoint_type   = "Interface"
  service_name        = "${local.service}.secretsmanager"
  subnet_ids          = var.subnet_ids
  security_group_ids  = [aws_security_group.secrets_manager[0].id]
  private_dns_enabled = true
  tags                = merge(var.tags, { Name = "${var.name}-secrets-manager" })

  lifecycle {
    precondition {
      condition = data.aws_vpc.this[0].enable_dns_support && data.aws_vpc.this[0].enable_dns_hostnames
      error_message = join(" ", [
        "The VPC ${var.vpc_id} has no DNS ${data.aws_vpc.this[0].enable_dns_support ? "hostnames" : "support"}: the Secrets Manager endpoint would not be",
        "found. Switch on enable_dns_support and enable_dns_hostnames.",
      ])
    }
    precondition {
      condition = length(distinct(local.zones)) == length(local.zones)
      error_message = join(" ", [
        "subnet_ids: zones ${join(", ", local.zones)}; the Secrets Manager endpoint takes one subnet of a zone. Give one for each zone, or make the endpoint",
        "yourself (create_secrets_manager_endpoint = false).",
      ])
    }
  }
}

resource "aws_vpc_security_group_egress_rule" "secrets_manager_group" {
  count = local.create_group && var.create_secrets_manager_endpoint ? 1 : 0

  security_group_id            = aws_security_group.replication[0].id
  description                  = "To Secrets Manager"
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  referenced_security_group_id = aws_security_group.secrets_manager[0].id
  tags                         = var.tags
}

resource "aws_vpc_security_group_egress_rule" "secrets_manager_addresses" {
  for_each = local.create_group && !var.create_secrets_manager_endpoint ? toset(var.secrets_manager_cidr_blocks) : []

  security_group_id = aws_security_group.replication[0].id
  description       = "To Secrets Manager"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = each.value
  tags              = var.tags
}
