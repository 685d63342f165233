locals {
  catalog_account = coalesce(var.databases.catalog_id, local.account)
  catalog_arn     = "arn:${local.partition}:glue:${local.region}:${local.catalog_account}"
  database_names  = concat(var.databases.silver, [var.databases.quarantine])
  network_count   = var.network == null ? 0 : 1

  # Below each database's location: the one that the module lake gives it, or Iceberg's own for a database without one.
  silver_objects     = flatten([for name in var.databases.silver : ["${var.buckets.silver.arn}/${name}/*", "${var.buckets.silver.arn}/${name}.db/*"]])
  quarantine_objects = ["${var.buckets.quarantine.arn}/${var.databases.quarantine}/*"]
  given_objects = [
    for uri in distinct([var.package.script_s3_uri, var.package.zip_s3_uri, var.package.requirements_s3_uri]) :
    "arn:${local.partition}:s3:::${trimprefix(uri, "s3://")}"
    if uri != null
  ]

  # By bucket, so that the owner of a bucket in another account can be given the same statements.
  bucket_statements = {
    bronze = [
      { Sid = "ReadChanges", Action = ["s3:GetObject"], Resource = ["${var.buckets.bronze.arn}/${var.bronze_prefix}*"] },
    ]
    silver = [
      { Sid = "WriteTables", Action = local.write_actions, Resource = local.silver_objects },
    ]
    quarantine = [
      { Sid = "WriteQuarantine", Action = local.write_actions, Resource = local.quarantine_objects },
    ]
    artifacts = [
      { Sid = "ReadCode", Action = ["s3:GetObject"], Resource = ["${var.buckets.artifacts.arn}/${local.home}*"] },
      { Sid = "WriteState", Action = ["s3:PutObject", "s3:DeleteObject"], Resource = ["${var.buckets.artifacts.arn}/${local.home}runs/*"] },
    ]
  }
  write_actions = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]

  # Not narrowed to a prefix: for an object that is not there, S3 answers "forbidden" instead of "not found" to whoever may list a prefix only,
  # and the job tells a file that has vanished from one that it may not read.
  list_statements = {
    for role, bucket in var.buckets : role => { Sid = "List${title(role)}", Action = ["s3:ListBucket", "s3:GetBucketLocation"], Resource = [bucket.arn] }
  }

  # That of silver and of what Terraform uploads, and that of unmasked rows.
  key_arns     = distinct(compact(concat([var.kms_key_arn], [for bucket in values(var.buckets) : bucket.kms_key_arn])))
  key_actions  = ["kms:Decrypt", "kms:GenerateDataKey"]
  key_via      = { StringEquals = { "kms:ViaService" = "s3.${local.region}.${local.dns_suffix}" } }
  glue_actions = ["glue:GetDatabase", "glue:GetTable", "glue:CreateTable", "glue:UpdateTable"]
  glue_resources = concat(
    ["${local.catalog_arn}:catalog"],
    flatten([for name in local.database_names : ["${local.catalog_arn}:database/${name}", "${local.catalog_arn}:table/${name}/*"]]),
  )
}

locals {
  # What a run needs, whatever runs it: output `run` hands both to the role of another runtime.
  data_statements = concat(
    flatten(values(local.bucket_statements)),
    values(local.list_statements),
    [for arn in local.given_objects : { Sid = "ReadGivenCode${substr(sha1(arn), 0, 6)}", Action = ["s3:GetObject"], Resource = [arn] }],
    [{ Sid = "WriteCatalog", Action = local.glue_actions, Resource = local.glue_resources }],
  )
  key_statements = concat(
    [for arns in [local.key_arns] : { Sid = "EncryptObjects", Action = local.key_actions, Resource = arns, Condition = local.key_via } if length(arns) > 0],
    [for arns in [var.secret_arns] : { Sid = "ReadSecrets", Action = ["secretsmanager:GetSecretValue"], Resource = arns } if length(arns) > 0],
    [
      for arns in [var.secret_kms_key_arns] :
      {
        Sid       = "DecryptSecrets"
        Action    = ["kms:Decrypt"]
        Resource  = arns
        Condition = { StringEquals = { "kms:ViaService" = "secretsmanager.${local.region}.${local.dns_suffix}" } }
      }
      if length(arns) > 0
    ],
  )
}

resource "aws_iam_role" "job" {
  name                 = join("-", compact([local.job_name, var.region_suffix]))
  description          = "Runs of the Glue job ${local.job_name}: read bronze, write silver and quarantine"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Glue"
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "glue.amazonaws.com" }
      # IfExists: AWS does not say that Glue names the account each time it takes a job's role.
      Condition = { StringEqualsIfExists = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_iam_role_policy" "job" {
  name = "merge"
  role = aws_iam_role.job.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for statement in concat(
      local.data_statements,
      [{ Sid = "WriteLogs", Action = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], Resource = [
        for name in values(local.log_groups) : "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:${name}:*"
      ] }],
      # Metrics have no ARN; their namespace is what can be bounded.
      [{ Sid = "WriteMetrics", Action = ["cloudwatch:PutMetricData"], Resource = ["*"], Condition = { StringEquals = { "cloudwatch:namespace" = "Glue" } } }],
      local.key_statements,
    ) : merge({ Effect = "Allow" }, statement)]
  })
}

resource "aws_iam_role_policy" "additional" {
  count = var.additional_policy_json == null ? 0 : 1

  name   = "additional"
  role   = aws_iam_role.job.id
  policy = var.additional_policy_json
}

# https://docs.aws.amazon.com/glue/latest/dg/create-service-policy.html
resource "aws_iam_role_policy" "network" {
  # EC2 knows no narrower resource for what only describes; interfaces are bound to the subnet and to Glue's own tag.
  count = local.network_count

  name = "network"
  role = aws_iam_role.job.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "UseConnection"
        Effect   = "Allow"
        Action   = ["glue:GetConnection"]
        Resource = ["arn:${local.partition}:glue:${local.region}:${local.account}:catalog", aws_glue_connection.network[0].arn]
      },
      {
        Sid    = "SeeNetwork"
        Effect = "Allow"
        Action = [
          "ec2:DescribeNetworkInterfaces", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcAttribute",
          "ec2:DescribeVpcEndpoints",
        ]
        Resource = ["*"]
      },
      {
        Sid    = "MakeInterfaces"
        Effect = "Allow"
        Action = ["ec2:CreateNetworkInterface"]
        Resource = concat(
          [
            "arn:${local.partition}:ec2:${local.region}:${local.account}:network-interface/*",
            "arn:${local.partition}:ec2:${local.region}:${local.account}:subnet/${var.network.subnet_id}",
          ],
          [for id in var.network.security_group_ids : "arn:${local.partition}:ec2:${local.region}:${local.account}:security-group/${id}"],
        )
      },
      {
        Sid       = "TagInterfaces"
        Effect    = "Allow"
        Action    = ["ec2:CreateTags", "ec2:DeleteTags"]
        Resource  = ["arn:${local.partition}:ec2:${local.region}:${local.account}:network-interface/*"]
        Condition = { "ForAllValues:StringEquals" = { "aws:TagKeys" = ["aws-glue-service-resource"] } }
      },
      {
        Sid       = "RemoveInterfaces"
        Effect    = "Allow"
        Action    = ["ec2:DeleteNetworkInterface"]
        Resource  = ["arn:${local.partition}:ec2:${local.region}:${local.account}:network-interface/*"]
        Condition = { ArnEquals = { "ec2:Subnet" = "arn:${local.partition}:ec2:${local.region}:${local.account}:subnet/${var.network.subnet_id}" } }
      },
    ]
  })
}
