"""The Iceberg side: schema, table creation, evolution and MERGE."""
