"""Which file a row comes from, by Spark's metadata column."""

from dms_iceberg.sql.cdc_columns import FILE, FILE_NAME


def origin_of_file() -> list[str]:
    """Return the select list of the columns that identify a row's file: `FILE` (full path) and `FILE_NAME`."""
    return [f"_metadata.file_path AS {FILE}", f"_metadata.file_name AS {FILE_NAME}"]
