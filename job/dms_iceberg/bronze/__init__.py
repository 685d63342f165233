"""What DMS writes to S3: names of its files, their order, their columns, and how they are read."""
