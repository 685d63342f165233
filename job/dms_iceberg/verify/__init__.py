"""Compare the source database with the silver tables: `dms-iceberg verify`."""
