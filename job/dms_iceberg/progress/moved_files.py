"""What a run, a plan and a status say of files that somebody has moved within their table's folder after they were merged. Pure."""

from collections.abc import Iterator, Sequence

from dms_iceberg.bronze.moved_keys import Moved
from dms_iceberg.config.problems import first_of

_SHOWN = 3
_WHY = (
    "The job looks up late changes, and makes a table again, from the files where DMS wrote them: move them back. Take no file of a table "
    "away, and move none, as long as late changes may come"
)


def moved_warnings(table: str, moved: Sequence[Moved]) -> Iterator[str]:
    """Yield what was moved, what becomes of it, and what to do.

    Args:
        table: the table's source name.
        moved: the files.
    """
    if same := [one for one in moved if one.is_same]:
        were = "it was" if len(same) == 1 else "they were"
        yield f"{table}: {_shown(same)}: moved since {were} merged from {_former(same)}, and not read again. {_WHY}."
    if other := [one for one in moved if not one.is_same]:
        yield (
            f"{table}: {_shown(other)}: named like what was merged from {_former(other)} and is not there any more, with another ETag. If "
            f"that was moved, its rows are read a second time, and those that cannot be judged go to quarantine. {_WHY}."
        )


def _shown(moved: Sequence[Moved]) -> str:
    return first_of([one.file.key for one in moved], _SHOWN)


def _former(moved: Sequence[Moved]) -> str:
    return first_of([one.former.key for one in moved], _SHOWN)
