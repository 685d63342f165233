"""Iceberg without anything of DMS: transactions, commit errors, staged files, and a few rows read or written without Spark."""
