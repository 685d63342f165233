"""What a task asks of its source database: the tables, their rows at one moment, and the stream of their changes.

A log position is one number that rises along the source's log; only the source knows its text.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import attrs

from dms_emulator.errors import EmulatorError
from dms_emulator.layout import NOT_SUPPLIED, NotSupplied, TableLayout, Value
from dms_emulator.settings import Profile
from dms_iceberg.dms.convert import Converter

Texts: TypeAlias = list[str | NotSupplied | None]
"""A row as the source shows its values; None is NULL."""


@attrs.frozen
class SourceTable:
    """A table at one moment, with the converters that turn its texts into values."""

    layout: TableLayout
    converters: tuple[Converter, ...]
    key_indexes: tuple[int, ...]

    @property
    def name(self) -> str:
        """``schema.table``."""
        return f"{self.layout.schema}.{self.layout.name}"

    def values(self, texts: Sequence[Any]) -> tuple[Value, ...]:
        """Return the values of a whole row."""
        return tuple(
            [
                text if text is None or convert is None or text is NOT_SUPPLIED else convert(text)
                for text, convert in zip(texts, self.converters, strict=True)
            ]
        )

    def key_values(self, texts: Texts) -> tuple[Value, ...]:
        """Return the values of the key columns, in the order of ``TableLayout.key_columns``."""
        keys = self.key_indexes
        pairs = [(texts[index], self.converters[index]) for index in keys]
        return tuple(text if text is None or convert is None or text is NOT_SUPPLIED else convert(text) for text, convert in pairs)

    def only_key(self, texts: Texts) -> Texts:
        """Return the row with every other column NULL."""
        row: Texts = [None] * len(texts)
        for index in self.key_indexes:
            row[index] = texts[index]
        return row


Rows: TypeAlias = Callable[[SourceTable], Iterator[Sequence[str | None]]]
"""Returns the rows of a table, as texts."""


@attrs.define
class Begin:
    """Start of a committed transaction.

    Attributes:
        position: the transaction's own place in the log.
        commit_us: commit time, microseconds since 1970 UTC.
        label: the text of the position in ``$AR_H_STREAM_POSITION``.
    """

    position: int
    commit_us: int
    label: str


@attrs.define
class RowChange:
    """An insert, update or delete.

    Attributes:
        op: ``I``, ``U`` or ``D``.
        table: the table as it was at that moment. The same object as long as its structure is the same.
        new: the new row, None for a delete.
        old: the old row or key if the log has it, else None.
        old_is_row: whether ``old`` is a whole row and not just a key.
        size: bytes of the change in the log.
    """

    op: str
    table: SourceTable
    new: Texts | None
    old: Texts | None
    old_is_row: bool
    size: int


@attrs.define
class Commit:
    """End of a transaction: where the log can be read on."""

    end: int


Message: TypeAlias = Begin | RowChange | Commit


@attrs.define
class Batch:
    """The result of one poll.

    Attributes:
        end: where the log stands, if that is after all ``messages``; else 0.
        reply_wanted: the source asks for `ChangeStream.confirm`.
    """

    messages: list[Message] = attrs.field(factory=list)
    end: int = 0
    reply_wanted: bool = False


class ChangeStream(Protocol):
    """Reads committed transactions in the order of their commits."""

    def start(self, position: int) -> None:
        """Begin to read at a position between two transactions."""
        ...

    def poll(self, timeout: float) -> Batch:
        """Return what has arrived; wait up to ``timeout`` seconds if there is nothing."""
        ...

    def confirm(self, position: int, *, ask: bool = False) -> None:
        """Tell the source that everything before ``position`` is safe; ``ask`` requests the log's end in reply."""
        ...

    def close(self) -> None:
        """End reading; the source keeps its log."""
        ...


class Beginning(Protocol):
    """The moment at which a task began: from ``position`` on the source keeps changes."""

    position: int

    def reading(self, *, consistent: bool) -> AbstractContextManager[Rows]:
        """Return a reader of tables as they were at that moment, or, not ``consistent``, as they are when it reads them."""
        ...

    def close(self) -> None:
        """Let go of that moment; changes stay kept."""
        ...


class Source(Protocol):
    """A connection to the source database.

    Attributes:
        profile: the engine whose habits the files show.
    """

    profile: Profile

    def errors(self) -> AbstractContextManager[None]:
        """Return a context that turns errors of the server, which the user must correct, into `EmulatorError`."""
        ...

    def check(self, names: Sequence[str]) -> None:
        """Raise `EmulatorError` if the server or some tables cannot be captured; it names each, and what to do."""
        ...

    def check_free(self, state_dir: object) -> None:
        """Raise `EmulatorError` if another task, unknown in ``state_dir``, holds what this one would take."""
        ...

    def check_kept(self, position: int, state_dir: object) -> None:
        """Raise `EmulatorError` if changes since ``position``, the place of the state in ``state_dir``, are lost."""
        ...

    def table(self, name: str) -> SourceTable:
        """Return a table as the catalog shows it now; raise `EmulatorError` if it does not exist."""
        ...

    def begin(self, names: Sequence[str]) -> Beginning:
        """Make the source keep the changes of some tables from now on; what an earlier task kept ends."""
        ...

    def stream(self, names: Sequence[str]) -> ChangeStream:
        """Return a reader of the changes of some tables."""
        ...

    def position_number(self, text: str) -> int:
        """Return a log position; raise `EmulatorError` if the text is none."""
        ...

    def position_text(self, position: int) -> str:
        """Return a log position as the source shows it."""
        ...

    def drop(self) -> None:
        """Remove what the task has made in the source."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def split_name(name: str) -> tuple[str, str]:
    """Return schema and table of ``schema.table``.

    Raises:
        EmulatorError: there is no dot.
    """
    schema, dot, table = name.partition(".")
    if not dot or not schema or not table:
        raise EmulatorError(f"table {name!r}: expected schema.table")
    return schema, table
