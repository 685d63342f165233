output "pipeline" {
  description = "Everything the module tells."
  value       = module.pipeline
}

output "setup_sql" {
  description = "Statements to run as the master user, before the first load."
  value       = module.source_parameters.setup_sql
}

output "lob_sizes_sql" {
  description = "Prints the largest values, for `replication.lob_max_size_kb`."
  value       = module.source_parameters.lob_sizes_sql
}

output "teardown_sql" {
  description = "Statements to run as the master user, before a major upgrade and at the end."
  value       = module.source_parameters.teardown_sql
}
