variable "alarm_emails" {
  description = "Addresses that alarms notify."
  type        = set(string)
  default     = []
}

variable "ca_bundle" {
  description = "File with the CA certificates of RDS in this region: https://truststore.pki.rds.amazonaws.com/<region>/<region>-bundle.pem."
  type        = string
}

variable "password_version" {
  description = "A higher number gives cluster and secret a new password, the same one. Raise it when an apply has failed between the two."
  type        = number
  default     = 1
}

variable "deletion_protection" {
  description = "Keep the database from being destroyed; false for a trial."
  type        = bool
  default     = true
}

variable "start" {
  description = "True once the tables are there and `setup_sql` was run: DMS fails on a database without them."
  type        = bool
  default     = false
}
