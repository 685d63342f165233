variable "name" {
  description = "Prefix of every name: up to 31 lower-case letters, digits and single hyphens; begins with a letter, does not end with a hyphen."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^[a-z](-?[a-z0-9])*$", var.name)) && length(var.name) <= 31
    error_message = join(" ", [
      "name is ${jsonencode(var.name)}. Allowed: up to 31 lower-case letters, digits and single",
      "hyphens, beginning with a letter and not ending with a hyphen.",
    ])
  }
}

variable "region_suffix" {
  description = <<-EOT
    Suffix of IAM roles' names, which are unique in an account: set it (`use1`) for a pipeline of this name in another
    Region. Another value replaces the roles.
  EOT
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition = can(regex("^[a-z0-9]{0,7}$", var.region_suffix))
    error_message = join(" ", [
      "region_suffix is ${jsonencode(var.region_suffix)}. Allowed: up to 7 lower-case letters and digits, such as \"use1\" (bucket names must stay within 63",
      "characters), or \"\" for none.",
    ])
  }
}

variable "tags" {
  description = "Tags of every resource that can have them; S3 objects get none, as they take ten at most."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "permissions_boundary" {
  description = "ARN of the permissions boundary of the role; null means none."
  type        = string
  default     = null
}

################################################################################
# What is merged
################################################################################

variable "config_json" {
  description = "The configuration document of the job (`docs/configuration.md`), as JSON. Its `state_uri` must be output `state_uri`."
  type        = string
  nullable    = false

  validation {
    condition     = can(jsondecode(var.config_json).catalog.warehouse)
    error_message = "config_json: expected the job's configuration document as JSON, with catalog.warehouse."
  }
}

variable "buckets" {
  description = "`name`, `arn` and `kms_key_arn` (null with SSE-S3) of the buckets by role: output `buckets` of the module lake."
  type = object({
    bronze     = object({ name = string, arn = string, kms_key_arn = optional(string) })
    silver     = object({ name = string, arn = string, kms_key_arn = optional(string) })
    quarantine = object({ name = string, arn = string, kms_key_arn = optional(string) })
    artifacts  = object({ name = string, arn = string, kms_key_arn = optional(string) })
  })
  nullable = false
}

variable "bronze_prefix" {
  description = "Folder in the bronze bucket that the job may read, with a slash at its end."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^([A-Za-z0-9_.-]+/)+$", var.bronze_prefix))
    error_message = join(" ", [
      "bronze_prefix is ${jsonencode(var.bronze_prefix)}. Write a folder such as \"dms/shop/\": letters, digits, '_', '.' and '-', a slash at the end and",
      "none at the beginning.",
    ])
  }
}

variable "databases" {
  description = <<-EOT
    Glue databases that the job writes to. They must exist.
    - `silver`: names
    - `quarantine`: name of the one for rejected rows
    - `catalog_id`: account id of another account's catalog; null for this one
  EOT
  type = object({
    silver     = list(string)
    quarantine = string
    catalog_id = optional(string)
  })
  nullable = false
}

variable "kms_key_arn" {
  description = "KMS key of Terraform's uploads into the artefact bucket, and of buckets without a key in `buckets`; null with SSE-S3."
  type        = string
  default     = null
}

variable "secret_arns" {
  description = "Secrets that the job may read: salts of masks, and the source's credentials for `verify`."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "secret_kms_key_arns" {
  description = "KMS keys of `secret_arns` other than AWS's own."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "additional_policy_json" {
  description = "A further policy (JSON) of the role, such as for databases in other locations, or a secret with its own KMS key; null means none."
  type        = string
  default     = null
}

variable "further_role_arns" {
  description = "Roles of other runtimes of this job (output `run`), to be named in output `resource_policies`."
  type        = list(string)
  default     = []
  nullable    = false
}

################################################################################
# Code
################################################################################

variable "package" {
  description = <<-EOT
    The job's code; each part defaults to this module's.
    - `zip_path`, `requirements_path`, `script_path`: other files on the machine that runs Terraform
    - `zip_s3_uri`, `requirements_s3_uri`, `script_s3_uri`: objects that exist, taken as they are; a new version should have a new key
  EOT
  type = object({
    zip_path            = optional(string)
    requirements_path   = optional(string)
    script_path         = optional(string)
    zip_s3_uri          = optional(string)
    requirements_s3_uri = optional(string)
    script_s3_uri       = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition = var.package.zip_s3_uri != null || fileexists(coalesce(var.package.zip_path, "${path.module}/../../../dist/job.zip"))
    error_message = join(" ", [
      "package: there is no file ${coalesce(var.package.zip_path, "dist/job.zip in this version of the repository")}. Give zip_path or zip_s3_uri; `make",
      "dist` builds the zip.",
    ])
  }
  validation {
    condition = (
      var.package.requirements_s3_uri != null ||
      fileexists(coalesce(var.package.requirements_path, "${path.module}/../../../dist/requirements.zip"))
    )
    error_message = join(" ", [
      "package: there is no file ${coalesce(var.package.requirements_path, "dist/requirements.zip in this version of the repository")}. Give",
      "requirements_path or requirements_s3_uri; `make dist` builds the zip.",
    ])
  }
  validation {
    condition = var.package.script_s3_uri != null || fileexists(coalesce(var.package.script_path, "${path.module}/../../../job/merge.py"))
    error_message = join(" ", [
      "package: there is no file",
      "${coalesce(var.package.script_path, "job/merge.py in this version of the repository")}.",
      "Give script_path or script_s3_uri.",
    ])
  }
  validation {
    condition     = var.package.script_s3_uri == null ? true : can(regex("^s3://[^/]+/.+$", var.package.script_s3_uri))
    error_message = "package.script_s3_uri is ${jsonencode(var.package.script_s3_uri)}. Write s3://bucket/key."
  }
  # Glue gets both in one text, parted by commas, and Python looks into files named .zip only.
  validation {
    condition = alltrue(
      [for uri in [var.package.zip_s3_uri, var.package.requirements_s3_uri] : uri == null ? true : can(regex("^s3://[^/,]+/[^,]+\\.zip$", uri))],
    )
    error_message = join(" ", [
      "package: found ${jsonencode([for uri in [var.package.zip_s3_uri, var.package.requirements_s3_uri] : uri if uri != null])}; write s3://bucket/key.zip,",
      "without a comma.",
    ])
  }
  # A run fetches both into one folder.
  validation {
    condition = try(
      var.package.zip_s3_uri == var.package.requirements_s3_uri || basename(var.package.zip_s3_uri) != basename(var.package.requirements_s3_uri),
      true,
    )
    error_message = join(" ", [
      "package: zip_s3_uri and requirements_s3_uri both end with ${try(basename(var.package.zip_s3_uri), "")}, so that one would take the other's place. Give",
      "the objects different names, or both the same URI if one zip holds all.",
    ])
  }
}
