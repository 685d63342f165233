variable "bronze_bucket" {
  description = "The bucket that the DMS task writes to, with events sent to EventBridge."
  type        = string
}

variable "task_arn" {
  description = "ARN of the DMS task."
  type        = string
}

variable "task_id" {
  description = "Identifier of the DMS task."
  type        = string
}

variable "target_endpoint_id" {
  description = "Identifier of the task's S3 endpoint."
  type        = string
}
