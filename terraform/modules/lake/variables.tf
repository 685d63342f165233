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
    Suffix of buckets' names, which are globally unique: set it (`use1`) for a lake of this name in another Region.
    Another value means other buckets, and the apply fails if buckets exist.
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
  description = "Tags of every resource that can have them."
  type        = map(string)
  default     = {}
  nullable    = false
}

################################################################################
# Buckets
################################################################################

variable "buckets" {
  description = <<-EOT
    The four buckets: `bronze` (files of DMS), `silver` (Iceberg tables), `quarantine` (rejected rows, unmasked)
    and `artifacts` (code, configuration, run state). For each:
    - `create`: false takes an existing bucket, whose settings stay its owner's
    - `name`: by default `<name>-<role>-<account id>`, and `-<region_suffix>` where there is one; required for an existing one
  EOT
  type = object({
    bronze     = optional(object({ create = optional(bool, true), name = optional(string) }), {})
    silver     = optional(object({ create = optional(bool, true), name = optional(string) }), {})
    quarantine = optional(object({ create = optional(bool, true), name = optional(string) }), {})
    artifacts  = optional(object({ create = optional(bool, true), name = optional(string) }), {})
  })
  default  = {}
  nullable = false

  validation {
    condition = alltrue([for role, bucket in var.buckets : bucket.create || bucket.name != null])
    error_message = join(" ", [
      "buckets: an existing bucket (`create = false`) needs its name:",
      "${join(", ", [for role, bucket in var.buckets : role if !bucket.create && bucket.name == null])}.",
    ])
  }
  validation {
    condition = alltrue([for bucket in var.buckets : try(bucket.name == null, true) ? true : can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", bucket.name))])
    error_message = join(" ", [
      "buckets: found ${jsonencode([for bucket in var.buckets : bucket.name if bucket.name != null])}; a name has 3 to 63 lower-case letters, digits, '.' and",
      "'-', and no s3:// before it.",
    ])
  }
}

variable "bronze_prefix" {
  description = "Folder of this pipeline in the bronze bucket, with a slash at its end. It must belong to this pipeline alone."
  type        = string
  nullable    = false

  validation {
    condition = can(regex("^([A-Za-z0-9_.-]+/)+$", var.bronze_prefix))
    error_message = join(" ", [
      "bronze_prefix: found \"${var.bronze_prefix}\"; write a folder such as \"dms/shop/\": letters, digits, '_', '.' and '-', a slash at the end and none at",
      "the beginning.",
    ])
  }
}

variable "claim_bronze_prefix" {
  description = <<-EOT
    Keep an SSM parameter named after bucket and folder, so that a second pipeline on the folder fails at apply: two DMS
    tasks would overwrite each other's files.
  EOT
  type        = bool
  default     = true
  nullable    = false
}

variable "versioning" {
  description = "Keep replaced and deleted objects of a created bucket for so many days; 0 turns versioning off for a bucket that never had it."
  type = object({
    bronze     = optional(number, 30)
    silver     = optional(number, 7)
    quarantine = optional(number, 7)
    artifacts  = optional(number, 90)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for days in var.versioning : days >= 0 && days == floor(days)])
    error_message = "versioning: found ${jsonencode(var.versioning)}; write whole days from 0."
  }
}

variable "bucket_policy_documents" {
  description = "Policy documents (JSON) to add to the policy of a created bucket, by role of the bucket, for roles of other accounts."
  type        = map(list(string))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.bucket_policy_documents), ["bronze", "silver", "quarantine", "artifacts"])) == 0
    error_message = "bucket_policy_documents: found ${join(", ", keys(var.bucket_policy_documents))}; allowed: bronze, silver, quarantine, artifacts."
  }
}

variable "access_logs" {
  description = "Bucket, and folder in it, that gets the S3 access logs of the created buckets; null for none."
  type = object({
    bucket = string
    prefix = optional(string, "s3-access/")
  })
  default = null
}

variable "force_destroy" {
  description = <<-EOT
    Let `terraform destroy` delete the created buckets with their objects, the key and the databases. Until true has
    been applied, the policies refuse the deletion of buckets and key, even of empty buckets.
  EOT
  type        = bool
  default     = false
  nullable    = false
}

################################################################################
# Encryption
################################################################################

variable "encryption" {
  description = <<-EOT
    How created buckets are encrypted:
    - `mode`: `SSE_KMS` or `SSE_S3`
    - `create_key`: make two KMS keys for this lake, with yearly rotation: one for bronze and quarantine (unmasked
      rows), one for silver and artefacts; false with `SSE_KMS` takes `key_arn`
    - `key_arn`: an existing key; output `key_policy` says what its policy must allow
    - `unmasked_key_arn`: another existing key for bronze and quarantine; by default `key_arn`
  EOT
  type = object({
    mode             = optional(string, "SSE_KMS")
    create_key       = optional(bool, true)
    key_arn          = optional(string)
    unmasked_key_arn = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = contains(["SSE_KMS", "SSE_S3"], var.encryption.mode)
    error_message = "encryption.mode: found \"${var.encryption.mode}\"; allowed: SSE_KMS, SSE_S3."
  }
  validation {
    condition     = var.encryption.mode != "SSE_KMS" || var.encryption.create_key == (var.encryption.key_arn == null)
    error_message = "encryption: with SSE_KMS either `create_key` is true, or it is false and `key_arn` names an existing key."
  }
  validation {
    condition     = var.encryption.mode != "SSE_S3" || var.encryption.key_arn == null
    error_message = "encryption.key_arn: SSE_S3 takes no key; remove it, or set the mode to SSE_KMS."
  }
  validation {
    condition     = var.encryption.unmasked_key_arn == null || (var.encryption.mode == "SSE_KMS" && var.encryption.key_arn != null)
    error_message = "encryption.unmasked_key_arn: only beside `key_arn`, with SSE_KMS and `create_key = false`; the keys that are made here are two already."
  }
}

variable "key_policy_documents" {
  description = "Policy documents (JSON) to add to the policies of the created keys, for roles of other accounts."
  type        = list(string)
  default     = []
  nullable    = false
}
