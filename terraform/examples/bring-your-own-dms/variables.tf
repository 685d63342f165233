variable "bronze_bucket" {
  description = "The bucket that the DMS task writes to, with events sent to EventBridge."
  type        = string
}
