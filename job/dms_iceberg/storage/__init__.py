"""Objects on S3 or in a local folder."""
