variable "vpc_id" {
  description = "VPC of the database."
  type        = string
}

variable "subnet_ids" {
  description = "Two subnets of it, in two zones."
  type        = list(string)
}

variable "route_table_ids" {
  description = "Route tables of these subnets, for the S3 gateway endpoint."
  type        = list(string)
}

variable "database_security_group_id" {
  description = "Security group of the database; a rule lets DMS in."
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

variable "alarm_emails" {
  description = "Addresses that alarms notify; each must confirm."
  type        = set(string)
}

variable "secret_arn" {
  description = "Secrets Manager secret with `username`, `password`, `host` and `port` of the database."
  type        = string
}
