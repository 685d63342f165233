data "aws_availability_zones" "available" {
  #checkov:skip=CKV_AWS_394: two of them are taken, by name
  state = "available"
}

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_11: a VPC for trying; flow logs cost more than all else in it
  #checkov:skip=CKV2_AWS_12: nothing is in the default group
  cidr_block           = "10.20.0.0/16"
  enable_dns_hostnames = true # or the Secrets Manager endpoint would not be found
  tags                 = { Name = local.name }
}

resource "aws_subnet" "this" {
  for_each = { for i, zone in slice(data.aws_availability_zones.available.names, 0, 2) : zone => i }

  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 8, each.value)
  tags              = { Name = "${local.name}-${each.key}" }

  # DMS needs its roles for whatever it has in these subnets, and to take it away again: they come first and go last.
  depends_on = [module.dms_account_roles]
}

# Without a route to the internet: the pipeline adds endpoints for S3 and Secrets Manager.
resource "aws_route_table" "this" {
  vpc_id = aws_vpc.this.id
  tags   = { Name = local.name }
}

resource "aws_route_table_association" "this" {
  for_each = aws_subnet.this

  subnet_id      = each.value.id
  route_table_id = aws_route_table.this.id
}

resource "aws_security_group" "database" {
  name        = "${local.name}-database"
  description = "The Aurora cluster ${local.name}; the pipeline adds the rule that lets DMS in"
  vpc_id      = aws_vpc.this.id
}
