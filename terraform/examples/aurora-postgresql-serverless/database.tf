module "source_parameters" {
  source = "../../modules/source-parameters"

  name   = local.name
  engine = "aurora-postgresql"
  family = "aurora-postgresql16"
  user   = "postgres"
  tables = ["public.customers", "public.orders"]
}

resource "aws_db_subnet_group" "source" {
  name       = local.name
  subnet_ids = values(aws_subnet.this)[*].id
}

# Made again in every run and kept by nobody but Aurora and the secret; password_version says when both take a new one.
ephemeral "aws_secretsmanager_random_password" "source" {
  password_length     = 32
  exclude_punctuation = true
}

resource "aws_rds_cluster" "source" {
  #checkov:skip=CKV_AWS_162: DMS logs in with a password from the secret; it knows no IAM authentication for Aurora
  #checkov:skip=CKV_AWS_327: encrypted with the account's key for RDS; the stack stands in for a database that its owner encrypts
  #checkov:skip=CKV_AWS_324: as above, its logs are the owner's choice
  #checkov:skip=CKV2_AWS_8: as above, its backups are the owner's choice
  cluster_identifier              = local.name
  engine                          = "aurora-postgresql"
  engine_version                  = "16.6"
  database_name                   = local.name
  master_username                 = "postgres"
  master_password_wo              = ephemeral.aws_secretsmanager_random_password.source.random_password
  master_password_wo_version      = var.password_version
  db_subnet_group_name            = aws_db_subnet_group.source.name
  db_cluster_parameter_group_name = module.source_parameters.cluster_parameter_group_name
  vpc_security_group_ids          = [aws_security_group.database.id]
  storage_encrypted               = true
  deletion_protection             = var.deletion_protection
  skip_final_snapshot             = !var.deletion_protection
  copy_tags_to_snapshot           = true
  final_snapshot_identifier       = "${local.name}-final"

  serverlessv2_scaling_configuration {
    min_capacity = 0.5
    max_capacity = 4
  }
}

resource "aws_rds_cluster_instance" "source" {
  #checkov:skip=CKV_AWS_353: monitoring is the choice of the database's owner
  #checkov:skip=CKV_AWS_118: as above
  identifier         = local.name
  cluster_identifier = aws_rds_cluster.source.id
  engine             = aws_rds_cluster.source.engine
  engine_version     = aws_rds_cluster.source.engine_version
  instance_class     = "db.serverless"

  auto_minor_version_upgrade = true
}

resource "aws_secretsmanager_secret" "source" {
  #checkov:skip=CKV_AWS_149: encrypted with the account's key for Secrets Manager, which leaves the account with nobody
  #checkov:skip=CKV2_AWS_57: password_version rotates it, together with the password of the cluster
  name        = "${local.name}/dms"
  description = "How DMS reaches the Aurora cluster ${local.name}"
}

resource "aws_secretsmanager_secret_version" "source" {
  secret_id                = aws_secretsmanager_secret.source.id
  secret_string_wo_version = var.password_version
  secret_string_wo = jsonencode({
    username = aws_rds_cluster.source.master_username
    password = ephemeral.aws_secretsmanager_random_password.source.random_password
    host     = aws_rds_cluster.source.endpoint
    port     = aws_rds_cluster.source.port
  })

  # DMS starts with this secret: not before there is an instance to reach.
  depends_on = [aws_rds_cluster_instance.source]
}
