variable "name" {
  description = "Name of the pipeline; every resource's name begins with it."
  type        = string
  nullable    = false
}

variable "vpc_id" {
  description = "VPC that reaches the database."
  type        = string
  nullable    = false
}

variable "subnet_ids" {
  description = "Subnets of the replication; the Secrets Manager endpoint gets an address in each, so no two may be in one zone."
  type        = list(string)
  nullable    = false
}

variable "security_group_ids" {
  description = "Security groups of your own for the replication; empty makes one, with rules that lead to the database, S3 and Secrets Manager only."
  type        = list(string)
  default     = []
  nullable    = false
}

################################################################################
# The database
################################################################################

variable "database_port" {
  description = "Port of the database."
  type        = number
  nullable    = false

  validation {
    condition     = var.database_port >= 1 && var.database_port <= 65535 && floor(var.database_port) == var.database_port
    error_message = "database_port is ${var.database_port}. Allowed: 1 to 65535."
  }
}

variable "database_security_group_ids" {
  description = "Security groups of the database. The replication may reach them on `database_port`."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "database_cidr_blocks" {
  description = "Address ranges of a database without such groups: on premises, or in a VPC that is not a peer."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([for block in var.database_cidr_blocks : can(cidrhost(block, 0))])
    error_message = join(" ", [
      "database_cidr_blocks: ${join(", ", [for block in var.database_cidr_blocks : jsonencode(block) if !can(cidrhost(block, 0))])}. Give ranges such as",
      "10.20.0.0/16.",
    ])
  }

  validation {
    condition     = length(var.security_group_ids) > 0 || length(var.database_security_group_ids) + length(var.database_cidr_blocks) > 0
    error_message = "The replication has no way to the database: give database_security_group_ids, database_cidr_blocks, or security_group_ids of your own."
  }
}

variable "open_database_security_groups" {
  description = <<-EOT
    Whether to add the rule that lets the replication in to each of `database_security_group_ids`. False where another
    stack owns the rules of those groups.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "job_security_group_ids" {
  description = "Security groups of the merge job, where it reaches the database as well: let in as the replication is."
  type        = list(string)
  default     = []
  nullable    = false
}

################################################################################
# S3 and Secrets Manager
################################################################################

variable "create_s3_endpoint" {
  description = "Whether to make the S3 gateway endpoint (free). False where the VPC has one for these route tables, or a NAT gateway."
  type        = bool
  default     = true
  nullable    = false
}

variable "route_table_ids" {
  description = "Route tables of `subnet_ids`, for the S3 gateway endpoint."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = !var.create_s3_endpoint || length(var.route_table_ids) > 0
    error_message = "route_table_ids is empty. Name the route tables of subnet_ids, or set create_s3_endpoint = false where they have a way to S3."
  }
}

variable "create_secrets_manager_endpoint" {
  description = <<-EOT
    Whether to make the Secrets Manager interface endpoint (about 8 USD a month per subnet). False where the VPC has one
    with private DNS, of which there can be only one, or a NAT gateway.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "secrets_manager_cidr_blocks" {
  description = <<-EOT
    Without an endpoint made here: where Secrets Manager is reached over HTTPS: the addresses of your endpoint, or
    0.0.0.0/0 through a NAT gateway.
  EOT
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([for block in var.secrets_manager_cidr_blocks : can(cidrhost(block, 0))])
    error_message = join(" ", [
      "secrets_manager_cidr_blocks: ${join(", ", [for block in var.secrets_manager_cidr_blocks : jsonencode(block) if !can(cidrhost(block, 0))])}. Give",
      "ranges such as 10.20.0.0/16.",
    ])
  }

  validation {
    condition = var.create_secrets_manager_endpoint || length(var.secrets_manager_cidr_blocks) > 0 || length(var.security_group_ids) > 0
    error_message = join(" ", [
      "The replication has no way to Secrets Manager: give secrets_manager_cidr_blocks, security_group_ids of your own, or leave",
      "create_secrets_manager_endpoint true.",
    ])
  }
}

variable "secrets_manager_client_cidr_blocks" {
  description = "Address ranges besides the VPC's first one whose hosts use the endpoint made here: secondary ranges, peers that share its DNS."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([for block in var.secrets_manager_client_cidr_blocks : can(cidrhost(block, 0))])
    error_message = join(" ", [
      "secrets_manager_client_cidr_blocks:",
      "${join(", ", [for block in var.secrets_manager_client_cidr_blocks : jsonencode(block) if !can(cidrhost(block, 0))])}. Give ranges such as",
      "10.20.0.0/16.",
    ])
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}
