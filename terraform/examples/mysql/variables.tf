variable "vpc_id" {
  description = "VPC of the database."
  type        = string
}

variable "subnet_ids" {
  description = "Two subnets of it, in two zones, with a route to a NAT gateway."
  type        = list(string)
}

variable "database_security_group_id" {
  description = "Security group of the database; a rule lets DMS in."
  type        = string
}

variable "secret_arn" {
  description = "Secrets Manager secret with `username`, `password`, `host` and `port` of the database."
  type        = string
}

variable "ca_bundle" {
  description = "File with the CA certificates of RDS in this region: https://truststore.pki.rds.amazonaws.com/<region>/<region>-bundle.pem."
  type        = string
}

variable "family" {
  description = "Parameter group family of the instance."
  type        = string
  default     = "mysql8.0"
}

variable "start" {
  description = "True once the instance was rebooted with the parameter group and `setup_sql` was run."
  type        = bool
  default     = false
}
