"""Connections to MySQL and MariaDB through PyMySQL, which is pure Python and so fits into the job's zip."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql

from dms_iceberg.source.address import Address, SslMode
from dms_iceberg.source.errors import SourceError, cannot_connect


def connect(address: Address, session: Sequence[str] = ()) -> Any:
    """Return a connection, each statement a transaction of its own.

    Args:
        session: statements that set the session up.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """
    try:
        connection: Any = pymysql.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            # As bytes: the driver encodes a text as Latin-1, and its error shows a character of it.
            password=(address.password or "").encode(),
            database=address.database or None,
            charset="utf8mb4",
            autocommit=True,
            **_encryption(address),
        )
        with connection.cursor() as cursor:
            for statement in session:
                cursor.execute(statement)
    except (pymysql.MySQLError, OSError) as error:
        raise cannot_connect("MySQL", address, _reason(error)) from None
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
        raise SourceError(f"{what}: the source cannot be read: {_reason(error)}") from None


def _encryption(address: Address) -> dict[str, Any]:
    if address.ssl_mode is SslMode.DISABLE:
        return {"ssl_disabled": True}
    # Without a context the driver tries encryption, and connects without it if the server has none.
    context = address.ssl_context()
    return {"ssl": context} if context is not None else {}


def _reason(error: BaseException) -> str:
    # Messages quote values, except those about access and the connection.
    number = error.args[0] if error.args else None
    text = str(error.args[1]) if len(error.args) > 1 else type(error).__name__
    hidden = isinstance(error, pymysql.DataError | pymysql.IntegrityError)
    return f"error {number}" if hidden else re.sub(r"\s+", " ", f"{text} (error {number})")
