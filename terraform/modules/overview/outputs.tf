output "dashboard_name" {
  description = "The dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}
