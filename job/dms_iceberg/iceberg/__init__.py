"""Iceberg without anything of DMS: transactions, commit errors, staged files, retries after a commit conflict."""
