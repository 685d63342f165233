"""Columns that say where a row comes from, and whether it could be read: `read.read_group` adds them to a file's own."""

from dms_iceberg.identifiers import string_literal

FILE = "_cdc_file"
FILE_NAME = "_cdc_file_name"
ROW = "_cdc_row"
CORRUPT = "_cdc_corrupt"
NOT_TEXT = "_cdc_not_text"
ROW_ID = "_cdc_row_id"
"""Id of a row that comes from the quarantine; rows of files have none."""
ORIGIN_COLUMNS = frozenset({FILE, FILE_NAME, ROW, CORRUPT, NOT_TEXT, ROW_ID})

_REBUILD = "make the table again (run --rebuild, or a new load epoch)"
SWALLOWED = (
    "malformed: a value holds what looks like further rows of the file, as when a quote that is data is taken for one that opens a field. "
    f"If the endpoint's Rfc4180 is false, set bronze.csv.rfc4180 to false and {_REBUILD}"
)
SHIFTED = (
    "malformed: a service column holds what it cannot hold, so the row does not have the columns that the document names for files without "
    f"a header. If a source column was added or dropped, bring source_columns up to date and {_REBUILD}"
)
EMPTY_KEY = (
    "null_key: a key column is empty, which is NULL or empty text where bronze.csv.null is empty, and before-images could not tell a "
    "change of such a key. Set CsvNullValue at the endpoint and bronze.csv.null, or use Parquet"
)
EMPTY_IMAGE = (
    "ambiguous_before_image: the update's before-image is an empty field, which bronze.csv.null makes empty text; but inserts of its file "
    "have empty ones, too, and nothing stood before an insert. Let the task write Parquet"
)
MISREAD = (SWALLOWED, SHIFTED, EMPTY_KEY, EMPTY_IMAGE)
"""What `CORRUPT` holds, instead of the raw line, for rows that parse and cannot be what the file means: a reason and its detail."""
MANY_LINES = (
    "malformed: a row of several lines does not have the columns of its file. If the endpoint's Rfc4180 is false, set bronze.csv.rfc4180 "
    f"to false and {_REBUILD}"
)
UNPARSED = "malformed: the row does not parse, or does not have the columns of its file"


def origin_of_file() -> list[str]:
    """Select list of the columns that tell the file."""
    return [f"_metadata.file_path AS {FILE}", f"_metadata.file_name AS {FILE_NAME}"]


def unread_cases() -> list[str]:
    """SQL cases of `CORRUPT`: why such a row cannot be used."""
    return [
        f"WHEN {CORRUPT} IN ({', '.join(map(string_literal, MISREAD))}) THEN {CORRUPT}",
        f"WHEN instr({CORRUPT}, '\\n') > 0 THEN {string_literal(MANY_LINES)}",
        f"WHEN {CORRUPT} IS NOT NULL THEN {string_literal(UNPARSED)}",
    ]
