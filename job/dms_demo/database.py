"""What the demo asks of its source database, whatever its engine is."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from dms_demo.sample import Shop

Parameters = Sequence[Any] | Mapping[str, Any]


class Session(Protocol):
    """A connection with a transaction at a time."""

    def execute(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Run a statement, with ``%s`` or ``%(name)s`` for values; return its rows."""
        ...

    def commit(self) -> None:
        """Commit."""
        ...

    def rollback(self) -> None:
        """Roll back."""
        ...

    def __enter__(self) -> Self:
        """Return the session."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the connection; what was not committed is rolled back."""
        ...


class ConnectionSession:
    """What sessions of all engines share: the end of a transaction and of the connection.

    Args:
        connection: of the engine's library, not in autocommit mode.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def commit(self) -> None:
        """Commit."""
        self._connection.commit()

    def rollback(self) -> None:
        """Roll back."""
        self._connection.rollback()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()


class Database(Protocol):
    """A server of the demo's own, which runs while the context lasts.

    Attributes:
        engine: the name to show.
        schema: the schema of the shop's tables.
        now: SQL of the time, with microseconds.
        cancel_order: statements that delete an order and its lines, each with the order's number.
        renumber_order: statements that give an order, and its lines, another number; the same.
        column_types: types to declare in the configuration for columns of a table, for what DMS makes of the engine's types.
    """

    engine: str
    schema: str
    now: str
    cancel_order: tuple[str, ...]
    renumber_order: tuple[str, ...]
    column_types: Mapping[str, Mapping[str, str]]

    @property
    def dsn(self) -> str:
        """The address, as the emulated DMS understands it."""
        ...

    def create(self, shop: Shop) -> None:
        """Create and fill the tables."""
        ...

    def session(self) -> Session:
        """Return a new connection, whose times are in UTC."""
        ...

    def is_conflict(self, error: Exception) -> bool:
        """Whether the server ended a transaction because of another one."""
        ...

    def expected(self, table: str, salt: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return columns and rows of a table as silver should show them, cleaned by the database's own SQL."""
        ...

    def log_end(self) -> str:
        """Return the end of the log, as the emulated DMS understands it."""
        ...

    def version(self) -> str:
        """Return the server's version, such as ``18.6``."""
        ...

    def __enter__(self) -> Self:
        """Start the server."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it, and remove its data."""
        ...
