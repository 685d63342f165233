"""Which columns of a file DMS has added, by the names that the document gives them."""

from collections.abc import Iterable

from dms_iceberg.config.model import Change


def is_sequenced(columns: Iterable[str], change: Change) -> bool:
    """Whether files with these columns have the sequence, whatever the case of its name."""
    return change.sequence_column is not None and change.sequence_column.lower() in {name.lower() for name in columns}
