"""Tries what the job needs, where it runs: `dms-iceberg doctor`."""
