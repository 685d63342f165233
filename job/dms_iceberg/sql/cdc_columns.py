"""Names of the columns that this package adds to rows, and that more than one module knows.

Those of silver tables and of the quarantine are persisted: their names never change.
"""

FILE = "_cdc_file"
FILE_NAME = "_cdc_file_name"
ROW = "_cdc_row"
CORRUPT = "_cdc_corrupt"
NOT_TEXT = "_cdc_not_text"
ROW_ID = "_cdc_row_id"
"""Id of a row that comes from the quarantine; rows of files have none."""
ORIGIN_COLUMNS = frozenset({FILE, FILE_NAME, ROW, CORRUPT, NOT_TEXT, ROW_ID})
"""Where a row comes from, and whether Spark could read it: `bronze.read` adds these columns to a file's own."""

OP = "_cdc_op"
OP_TRUNCATE = "T"
"""Operation of the row that a truncate adds in mode ``append``."""
POSITION = "_cdc_position"
COMMITTED_AT = "_cdc_committed_at"
PROBLEM = "_cdc_problem"
OLD_KEY = "_cdc_old_key"
"""Which half of a change a row is: 0 the change itself, 1 the delete of the key that the row had before; for more see `half_sql`."""
MOVED = "_cdc_moved"
IMAGED = "_cdc_imaged"
FILE_TIME = "_cdc_file_time"

RECORD = "_cdc_record"
ROW_NUMBER = "_cdc_row_number"
LAYOUT = "_cdc_layout"
"""For the quarantine: the file's own record as JSON, its number in the file, and what else is needed to read it again."""
KEY_TEXT = "_cdc_key_text"
"""For the quarantine: the key's values as the file has them, as texts, by silver column; of a masked column the hash of the text."""
UNFIT = "_cdc_unfit"
"""Member of a rejected row's key in the quarantine: no row of silver has this key, because a part of it does not fit its type."""

FILTERED = "_cdc_filtered"
FAILED_RULE = "_cdc_failed_rule"
VALUE_PROBLEM = "_cdc_value_problem"

STREAM = "_cdc_stream_position"
IDENTITY, RANK = "_cdc_identity", "_cdc_rank"

KEPT_POSITIONS = "_cdc_kept_positions"
"""Places of the values that are older than the row's last change (`changes.partial_updates`)."""
LACKS = "_cdc_lacks"
MISPLACED = "_cdc_misplaced"
REFUSED = "_cdc_refused"
N_LACKING, N_MOVED = "_cdc_n_lacking", "_cdc_n_moved"

LATEST = "_cdc_latest"
DELETE = "_cdc_delete"
CONTEXT = "_cdc_context"
BATCH_POSITION = "_cdc_batch_position"
N_ROWS, N_QUARANTINED, N_FILTERED, N_GOOD = "_cdc_n_rows", "_cdc_n_quarantined", "_cdc_n_filtered", "_cdc_n_good"
LOW, HIGH = "_cdc_low", "_cdc_high"
DISORDER = "_cdc_disorder"

STALE = "_cdc_stale"
IN_QUARANTINE = "_cdc_in_quarantine"
"""Whether a row of a merged file is not merged, because it is in quarantine: `merge.late.older_files` marks it."""
STORED_POSITION, STORED_ROW_POSITION = "_cdc_stored_position", "_cdc_stored_row_position"

ROW_LATEST = "_cdc_latest_row"
ROW_POSITION, ROW_OP, ROW_COMMITTED_AT = "_cdc_row_position", "_cdc_row_op", "_cdc_row_committed_at"
"""Of a row that stays when it is deleted: the change that its values are from (`merge.soft_delete_state`)."""
DELETED, DELETED_AT = "_cdc_deleted", "_cdc_deleted_at"

VALID_FROM, VALID_TO, IS_CURRENT = "_valid_from", "_valid_to", "_is_current"
DELETE_POSITION = "_cdc_delete_position"

KEY_BEFORE = "_cdc_key_before"
