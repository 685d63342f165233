variable "lake_role_arn" {
  description = "Role in the lake's account that Terraform may take."
  type        = string
}

variable "secret_arn" {
  description = "Secrets Manager secret with `username`, `password`, `host` and `port` of the database."
  type        = string
}

variable "database_identifier" {
  description = "Identifier of the RDS instance, for the alarms on its replication slot and its disk."
  type        = string
}

variable "ca_bundle" {
  description = "File with the CA certificates of RDS in this region: https://truststore.pki.rds.amazonaws.com/<region>/<region>-bundle.pem."
  type        = string
}

variable "network" {
  description = "`network` of the pipeline: VPC, subnets, route tables and the database's security groups."
  type        = any
}

variable "start" {
  description = "Whether DMS runs: false for the first apply."
  type        = bool
  default     = false
}
