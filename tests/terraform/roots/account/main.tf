module "dms_account_roles" {
  source = "../../../../terraform/modules/dms-account-roles"

  tags = { team = "data" }
}

output "role_arns" {
  value = module.dms_account_roles.role_arns
}
