"""What orders the changes of a load, and what it promises less than the sequence does. Pure.

The one place with these words: `validate`, `plan`, `status` and `init` say them. ``docs/guarantees.md``, "The three orders", has the whole
table, in the same terms.
"""

from typing import Final

from dms_iceberg.config.model import Change

_UPLOADED: Final = "changes of a file that is uploaded again with other rows are told apart by their place alone"
_SEQUENCE: Final = "a mapping rule (add-column) with $AR_H_CHANGE_SEQ, named in bronze.change.sequence_column"


def order_of(change: Change) -> str:
    """Return what orders the changes, in words."""
    if change.sequence_column is not None:
        return "by the sequence"
    return "by file and place in the file" if change.orders_by_file else "by commit time, file and place in the file"


def weaker_order(change: Change) -> str | None:
    """Return what the order of changes does not promise, and which settings of the task would; None with a sequence."""
    if change.sequence_column is not None:
        return None
    if not change.orders_by_file:
        return (
            f"changes are ordered {order_of(change)}, because the task writes no sequence. Weaker than with one: {_UPLOADED}; verify "
            f"--repair is refused. All promises need {_SEQUENCE}; the load may go on with it"
        )
    return (
        f"changes are ordered {order_of(change)}, because the task writes neither sequence nor commit time. Weaker than with them: after a "
        "restart of the task, changes that it writes again win until all of them are written again; keys that are shifted within a "
        f"transaction may lose a row; {_UPLOADED}; commit times and lag are those of the files; modes 'history' and 'append', run "
        f"--truncate and verify --repair are refused. All promises need {_SEQUENCE}, and TimestampColumnName of the target endpoint, named "
        "in bronze.change.timestamp_column; either needs a new load epoch, or a rebuild where all files of the load have the column"
    )
