locals {
  families = {
    postgres          = "postgres16"
    aurora-postgresql = "aurora-postgresql16"
    mysql             = "mysql8.0"
    mariadb           = "mariadb11.4"
    aurora-mysql      = "aurora-mysql8.0"
  }
}

module "source_parameters" {
  source   = "../../../../terraform/modules/source-parameters"
  for_each = local.families

  name   = "shop-${each.key}"
  engine = each.key
  family = each.value
}

output "groups" {
  value = { for engine, group in module.source_parameters : engine => {
    instance = group.parameter_group_name
    cluster  = group.cluster_parameter_group_name
    wanted   = { for name, parameter in group.parameters : name => parameter.value }
  } }
}
