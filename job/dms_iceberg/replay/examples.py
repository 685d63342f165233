"""What may be shown of a rejected row to people who may read silver but not the quarantine. Pure."""

import json
import re

import attrs

from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.config.model import Table

HIDDEN = "(hidden)"
# The only mask that a key column may have.
_SHA256 = re.compile(r"[0-9a-f]{64}")


@attrs.frozen
class Example:
    """One rejected row: its key as silver has it, its operation, and its origin. None of its other values.

    Attributes:
        key: JSON; the value of a masked column is hidden unless it is masked already.
        row: number of the row in its file, from 0.
    """

    key: str
    op: str | None
    file: str
    row: int


def shown_key(text: str | None, table: Table) -> str:
    """Return a stored key as it may be shown: only silver's key columns, without values that must be masked now and were not then."""
    keys = {column.name.lower(): column.declared.mask for column in silver_columns(table, table.key) if column.is_key}
    shown = {}
    for name, value in (json.loads(text) if text else {}).items():
        if name.lower() in keys:
            mask = keys[name.lower()]
            may_be_seen = mask is None or value is None or _SHA256.fullmatch(str(value)) is not None
            shown[name] = value if may_be_seen else HIDDEN
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
