"""A few rows of a table read, found, deleted and written without a Spark job."""
