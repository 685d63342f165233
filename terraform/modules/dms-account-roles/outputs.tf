output "role_arns" {
  description = "ARNs of the roles made here, by name. What uses DMS depends on them, and on their policies."
  value       = { for name, role in aws_iam_role.this : name => role.arn }

  depends_on = [aws_iam_role_policy_attachment.this]
}
