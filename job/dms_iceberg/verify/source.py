"""What a comparison asks of a source database: its columns, and its rows at one moment."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from dms_iceberg.source.errors import SourceError
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.facts import Facts


def no_such_table(table: str, rights: str) -> SourceError:
    """Return the error of a table that is not there, or that the user may not see without certain rights."""
    return SourceError(
        f"{table}: the source has no such table, or the user may not see it. Names are compared as they are in the configuration; "
        f"grant {rights}."
    )


class Reader(Protocol):
    """A table of the source at one moment: everything that one `Reader` yields is from the same snapshot.

    Attributes:
        clock: the source's own UTC time just before the snapshot, 20 digits: ``yyyyMMddHHmmss`` and microseconds.
    """

    clock: str

    def rows(self) -> Iterator[str]:
        """Yield every row as a JSON array of texts, one per column, in no particular order."""
        ...

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the rows whose ``columns`` have one of ``keys`` (texts as `SourceColumn.sql` writes them)."""
        ...

    def facts(self) -> Facts:
        """Return what the snapshot shows of the server, the database and the table."""
        ...

    def __enter__(self) -> "Reader":
        """Begin the snapshot."""
        ...

    def __exit__(self, *_: object) -> None:
        """End it."""
        ...


class Source(Protocol):
    """A connection to the source; only one table uses it at a time.

    Attributes:
        name: server and database, as the operator has named them.
    """

    name: str

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of a table, in its order; raise `SourceError` if there is no such table, or it is not what DMS captures."""
        ...

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> Reader:
        """Return a reader of these expressions (texts, see `SourceColumn.sql`) of a table, in its own snapshot."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Throttle:
    """Limits a stream to a number of rows a second, by waiting."""

    def __init__(
        self, rows_per_second: float | None, clock: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._clock, self._wait = rows_per_second, clock, wait
        self._free_at: float | None = None

    def passed(self, rows: int) -> None:
        """Count rows that were read, and wait until the next may be read."""
        if self._rate is None:
            return
        now = self._clock()
        self._free_at = max(self._free_at or now, now) + rows / self._rate
        self._wait(max(0.0, self._free_at - now))


def chunks(texts: Iterable[str], rows: int, characters: int) -> Iterator[list[str]]:
    """Split a stream of texts into lists that are bounded in number and size of their texts."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if len(chunk) >= rows or size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
