"""Connections to MySQL and MariaDB through PyMySQL, which is pure Python and so fits into the job's zip."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pymysql

from dms_iceberg.source.address import Address, SslMode
from dms_iceberg.source.errors import SourceError, cannot_connect

# A limit would leave rows out without a word.
_VALUES: Final = {"time_zone": "+00:00", "sql_mode": "", "sql_select_limit": str(2**64 - 1)}
SESSION_VALUES: Final = {
    **_VALUES,
    # The isolation level has two names.
    **dict.fromkeys(("transaction_isolation", "tx_isolation"), "REPEATABLE-READ"),
    # MariaDB shows rows of system-versioned tables as they were at a time of the session's.
    "system_versioning_asof": "DEFAULT",
}
"""What variables of a session, in so far as the server has them, hold after `READING_SESSION`: texts and rows depend on them."""
READING_SESSION: Final = (
    f"SET SESSION time_zone = '{_VALUES['time_zone']}'",
    # Between two fetches the reader works; with the server's default of a minute the connection would end.
    "SET SESSION net_write_timeout = 86400",
    f"SET SESSION sql_mode = '{_VALUES['sql_mode']}'",
    f"SET SESSION sql_select_limit = {_VALUES['sql_select_limit']}",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
"""Statements of a session that reads tables as texts in one snapshot."""


def driver_arguments(address: Address) -> dict[str, Any]:
    """Return PyMySQL's arguments for a connection, each statement a transaction of its own."""
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        # As bytes: the driver encodes a text as Latin-1, and its error shows a character of it.
        "password": (address.password or "").encode(),
        "database": address.database or None,
        "charset": "utf8mb4",
        "autocommit": True,
        **_encryption(address),
    }


def connect(address: Address, session: Sequence[str] = ()) -> Any:
    """Return a connection, each statement a transaction of its own.

    Args:
        session: statements that set the session up.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """
    try:
        connection: Any = pymysql.connect(**driver_arguments(address))
        with connection.cursor() as cursor:
            for statement in session:
                cursor.execute(statement)
    except (pymysql.MySQLError, OSError) as error:
        raise cannot_connect("MySQL", address, reason(error)) from None
    return connection


def close(connection: Any) -> None:
    """Close a connection, which may be broken."""
    with contextlib.suppress(pymysql.MySQLError, OSError):
        connection.close()


def roll_back(connection: Any) -> None:
    """End a transaction of a connection, which may be broken."""
    with contextlib.suppress(pymysql.MySQLError, OSError):
        connection.rollback()


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn the driver's errors into `SourceError`.

    Raises:
        SourceError: the server refused a statement, or the connection broke.
    """
    try:
        yield
    except (pymysql.MySQLError, OSError) as error:
        raise SourceError(f"{what}: the source cannot be read: {reason(error)}") from None


def _encryption(address: Address) -> dict[str, Any]:
    if address.ssl_mode is SslMode.DISABLE:
        return {"ssl_disabled": True}
    # Without a context the driver tries encryption, and connects without it if the server has none.
    context = address.ssl_context()
    return {"ssl": context} if context is not None else {}


def reason(error: BaseException) -> str:
    """Return the driver's message, or only its number where the message could quote a value."""
    # Messages quote values, except those about access and the connection.
    number = error.args[0] if error.args else None
    text = str(error.args[1]) if len(error.args) > 1 else type(error).__name__
    hidden = isinstance(error, pymysql.DataError | pymysql.IntegrityError)
    return f"error {number}" if hidden else re.sub(r"\s+", " ", f"{text} (error {number})")
