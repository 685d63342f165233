variable "create_vpc_role" {
  description = "Whether to make `dms-vpc-role`; false where the account has it."
  type        = bool
  default     = true
  nullable    = false
}

variable "create_cloudwatch_logs_role" {
  description = "Whether to make `dms-cloudwatch-logs-role`; false where the account has it."
  type        = bool
  default     = true
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of the roles; null means none."
  type        = string
  default     = null

  validation {
    condition     = var.permissions_boundary == null || can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.+$", var.permissions_boundary))
    error_message = "permissions_boundary is ${jsonencode(var.permissions_boundary)}. Give the ARN of an IAM policy, or null."
  }
}

variable "tags" {
  description = "Tags of the roles."
  type        = map(string)
  default     = {}
  nullable    = false
}
