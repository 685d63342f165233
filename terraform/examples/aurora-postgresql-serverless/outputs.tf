output "pipeline" {
  description = "Everything the module tells."
  value       = module.pipeline
}

output "setup_sql" {
  description = "Statements to run once as the master user, before the first load."
  value       = module.source_parameters.setup_sql
}
