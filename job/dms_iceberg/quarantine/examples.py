"""What may be shown of a rejected row to people who may read silver but not the quarantine. Pure."""

import json
import re
from collections.abc import Collection

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


class _Exact(str):
    """A number of JSON as it is written: a double would give two keys of 38 digits one text."""


def shown_key(text: str | None, table: Table, masked: Collection[str]) -> str:
    """Return a stored key as it may be shown: only silver's key columns, without values that must be masked now and were not then.

    Args:
        text: the stored key.
        table: the table's configuration.
        masked: the silver columns, in lower case, that the table records as masked. A value of another one may look like a hash.
    """
    keys = {column.name.lower(): column.declared.mask for column in silver_columns(table, table.key) if column.is_key}
    shown = {}
    for name, value in (json.loads(text, parse_int=_Exact, parse_float=_Exact) if text else {}).items():
        if name.lower() in keys:
            is_hash = name.lower() in masked and _SHA256.fullmatch(str(value)) is not None
            shown[name] = value if keys[name.lower()] is None or value is None or is_hash else HIDDEN
    members = (f"{_json(name)}:{value if isinstance(value, _Exact) else _json(value)}" for name, value in shown.items())
    return f"{{{','.join(members)}}}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
