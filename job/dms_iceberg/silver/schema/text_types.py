"""Which type defines the texts of silver columns that are text by their declaration, or because their files' types have no other in common.

A cast to text shows the file's type as well: 1.5 is ``1.50`` or ``1.500``. So a key, or what a mask hashes, would be another text in files
of another type, and a change would not find its row. Such a column therefore has the texts of the first type of its files that is not text
(`sql.mask_text`), which the table remembers.
"""

from collections.abc import Iterable, Mapping, Sequence

from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.config.model import Mask
from dms_iceberg.silver.schema.diff import Types
from dms_iceberg.sql.types import VOID, canonical

_TEXT = "string"
_NO_OTHER_TEXT = (_TEXT, "binary", VOID)
"""Types whose values have one text."""


def are_text(columns: Iterable[SilverColumn], types: Mapping[str, str]) -> list[SilverColumn]:
    """Return the columns that copy a source column as text, and in which equal values must have equal texts: keys, and masked ones.

    An expression is not among them: it says itself which text it makes.

    Args:
        columns: the silver columns.
        types: Spark type by silver column in lower case, as silver has them.
    """
    return [
        column
        for column in columns
        if column.source is not None
        and not column.retired
        and (
            _is_text(column.declared.type) and column.declared.mask is not Mask.REDACT
            if column.declared.mask
            else column.is_key
            and types.get(column.name.lower()) == _TEXT
            and (column.declared.type is None or _is_text(column.declared.type))
        )
    ]


def _is_text(type_: str | None) -> bool:
    return type_ is not None and canonical(type_) == _TEXT


def first_types(columns: Iterable[SilverColumn], groups: Sequence[ReadGroup]) -> Types:
    """Return, by silver column in lower case, the type of the first group that has the column as something else than text."""
    found: Types = {}
    for group in groups:
        types = {name.lower(): type_ for name, type_ in group.columns.source if type_ not in _NO_OTHER_TEXT}
        own = {column.name.lower(): types[source] for column in columns if (source := (column.source or "").lower()) in types}
        found = own | found
    return found
