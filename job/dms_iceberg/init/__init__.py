"""A configuration from the files that are there: what a DMS task writes, found by samples of their contents. Without Spark, read only."""
