output "pipeline" {
  description = "Everything the module tells."
  value       = module.pipeline
}

output "parameter_group_name" {
  description = "For the instance."
  value       = module.source_parameters.parameter_group_name
}

output "setup_sql" {
  description = "Statements to run once as the master user."
  value       = module.source_parameters.setup_sql
}
