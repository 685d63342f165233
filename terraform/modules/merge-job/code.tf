# Keys of code hold the hash of their content: new code is a change of the job's definition, and script and zips of a run belong together.
# The configuration keeps its key: a run that was started just before an apply must find one, and Terraform deletes what it replaces.
locals {
  home = "${var.name}/"

  script_path       = coalesce(var.package.script_path, "${path.module}/../../../job/merge.py")
  zip_path          = coalesce(var.package.zip_path, "${path.module}/../../../dist/job.zip")
  requirements_path = coalesce(var.package.requirements_path, "${path.module}/../../../dist/requirements.zip")

  files = merge(
    (
      var.package.script_s3_uri == null ?
      { script = { path = local.script_path, key = "${local.home}code/merge-${substr(filesha256(local.script_path), 0, 16)}.py" } } :
      {}
    ),
    var.package.zip_s3_uri == null ? { zip = { path = local.zip_path, key = "${local.home}code/job-${substr(filesha256(local.zip_path), 0, 16)}.zip" } } : {},
    (
      var.package.requirements_s3_uri == null ?
      { requirements = { path = local.requirements_path, key = "${local.home}code/requirements-${substr(filesha256(local.requirements_path), 0, 16)}.zip" } } :
      {}
    ),
  )

  script_uri = var.package.script_s3_uri != null ? var.package.script_s3_uri : "s3://${var.buckets.artifacts.name}/${aws_s3_object.code["script"].key}"
  zip_uri    = var.package.zip_s3_uri != null ? var.package.zip_s3_uri : "s3://${var.buckets.artifacts.name}/${aws_s3_object.code["zip"].key}"
  requirements_uri = (
    var.package.requirements_s3_uri != null ?
    var.package.requirements_s3_uri :
    "s3://${var.buckets.artifacts.name}/${aws_s3_object.code["requirements"].key}"
  )
  config_uri = "s3://${var.buckets.artifacts.name}/${aws_s3_object.config.key}"
  state_uri  = "s3://${var.buckets.artifacts.name}/${local.home}"

  # Python takes what it finds first: a zip that holds requirements as well, as former ones do, goes on with its own, and one that is given for
  # the requirements never hides the job's code. An object that is given for both is given once.
  zip_uris = distinct([local.zip_uri, local.requirements_uri])
}

resource "aws_s3_object" "code" {
  for_each = local.files

  bucket      = var.buckets.artifacts.name
  key         = each.value.key
  source      = each.value.path
  source_hash = filesha256(each.value.path)
  kms_key_id  = var.kms_key_arn

  # An object takes ten tags, which a provider's default tags may exceed.
  override_provider {
    default_tags {
      tags = {}
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "config" {
  bucket       = var.buckets.artifacts.name
  key          = "${local.home}config.json"
  content      = var.config_json
  content_type = "application/json"
  kms_key_id   = var.kms_key_arn

  override_provider {
    default_tags {
      tags = {}
    }
  }
}
