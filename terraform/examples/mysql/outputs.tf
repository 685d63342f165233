output "pipeline" {
  description = "Everything the module tells."
  value       = module.pipeline
}

output "parameter_group_name" {
  description = "For the instance."
  value       = module.source_parameters.parameter_group_name
}

output "setup_sql" {
  description = "Statements to run as the master user."
  value       = module.source_parameters.setup_sql
}

output "lob_sizes_sql" {
  description = "Prints the largest values, for `replication.lob_max_size_kb`."
  value       = module.source_parameters.lob_sizes_sql
}
