"""Columns that say where a row comes from, and whether it could be read: `read.read_group` adds them to a file's own."""

FILE = "_cdc_file"
FILE_NAME = "_cdc_file_name"
ROW = "_cdc_row"
CORRUPT = "_cdc_corrupt"
NOT_TEXT = "_cdc_not_text"
ROW_ID = "_cdc_row_id"
"""Id of a row that comes from the quarantine; rows of files have none."""
ORIGIN_COLUMNS = frozenset({FILE, FILE_NAME, ROW, CORRUPT, NOT_TEXT, ROW_ID})


def origin_of_file() -> list[str]:
    """Select list of the columns that tell the file."""
    return [f"_metadata.file_path AS {FILE}", f"_metadata.file_name AS {FILE_NAME}"]
