output "pipeline" {
  description = "Everything the module tells."
  value       = module.pipeline
}
