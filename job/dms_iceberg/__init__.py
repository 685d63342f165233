"""dms-iceberg: merge what AWS DMS writes to S3 into Apache Iceberg tables."""

__version__ = "0.1.0"
