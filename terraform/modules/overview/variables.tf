variable "name" {
  description = "Name of the dashboard."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,255}$", var.name))
    error_message = "name is ${jsonencode(var.name)}. Allowed: up to 255 letters, digits, '_' and '-'."
  }
}

variable "pipelines" {
  description = <<-EOT
    The pipelines of this account and Region by the name that the dashboard shows: output `alarms` of the root module, of which are used
    - `names`: the alarms by kind
    - `metric_namespace`: CloudWatch namespace of what is counted in the job's log
  EOT
  type        = map(object({ names = map(string), metric_namespace = string }))
  nullable    = false

  validation {
    condition     = length(var.pipelines) >= 1 && length(var.pipelines) <= 100
    error_message = "pipelines has ${length(var.pipelines)}. Allowed: 1 to 100; make another dashboard for more."
  }
}
