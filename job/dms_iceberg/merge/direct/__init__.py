"""The direct path of a small batch: no MERGE, no Spark job for the write."""
