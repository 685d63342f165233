"""Connections to PostgreSQL (12 and later) through pg8000, which is pure Python and so fits into the job's zip."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pg8000.exceptions
import pg8000.native

from dms_iceberg.source.address import Address, SslMode
from dms_iceberg.source.errors import KeyDoesNotFitError, SourceError, cannot_connect

_DATA_EXCEPTIONS = ("22", "23")
Refusal = pg8000.exceptions.DatabaseError
"""The driver's error of a statement that the server refuses; the connection goes on."""


def connect(address: Address, purpose: str, session: Sequence[str] = ()) -> Any:
    """Return a connection of pg8000's native interface.

    Args:
        purpose: the command, which the server shows in the connection's application name.
        session: statements that set the session up.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """
    try:
        connection = pg8000.native.Connection(
            address.user,
            host=address.host,
            port=address.port,
            database=address.database,
            password=address.password,
            # None: the driver tries encryption, and connects without it if the server has none.
            ssl_context=False if address.ssl_mode is SslMode.DISABLE else address.ssl_context(),
            application_name=f"dms-iceberg {purpose}",
        )
        for statement in session:
            connection.execute_simple(statement)
    except (pg8000.exceptions.Error, OSError) as error:
        raise cannot_connect("PostgreSQL", address, _reason(error)) from None
    return connection


def close(connection: Any) -> None:
    """Close a connection, which may be broken."""
    with contextlib.suppress(pg8000.exceptions.Error, OSError):
        connection.close()


def roll_back(connection: Any) -> None:
    """End a transaction of a connection, which may be broken."""
    with contextlib.suppress(pg8000.exceptions.Error, OSError):
        connection.run("ROLLBACK")


def columns_sql(condition: str) -> str:
    """Return the SELECT of the columns of some relations, in their order. A domain is resolved to its base type, with the modifier it sets.

    Its columns are: oid of the relation, name, whether it is NOT NULL, ``attgenerated``, name of a built-in type or "", type modifier, the
    type as `format_type` shows it, and of the type ``typname``, ``typtype`` and ``typcategory``.

    Args:
        condition: SQL over ``pg_attribute``.
    """
    return f"""
        WITH RECURSIVE typed AS (
            SELECT attrelid, attnum, attname, attnotnull, attgenerated, atttypid AS typid, atttypmod AS typmod
            FROM pg_catalog.pg_attribute WHERE attnum > 0 AND NOT attisdropped AND {condition}
            UNION ALL
            SELECT attrelid, attnum, attname, attnotnull, attgenerated, typbasetype, typtypmod
            FROM typed JOIN pg_catalog.pg_type t ON t.oid = typid WHERE typtype = 'd'
        )
        SELECT attrelid::int8, attname::text, attnotnull, attgenerated::text,
               CASE WHEN typnamespace = 'pg_catalog'::regnamespace THEN typname::text ELSE '' END, typmod::int4,
               pg_catalog.format_type(typid, typmod), typname::text, typtype::text, typcategory::text
        FROM typed JOIN pg_catalog.pg_type t ON t.oid = typid WHERE typtype <> 'd' ORDER BY attrelid, attnum
    """


@contextlib.contextmanager
def translated(what: str, connection: Any) -> Iterator[None]:
    """Turn the driver's errors on this connection into `SourceError`.

    Raises:
        SourceError: the server refused a statement, the connection broke, or a text cannot be read.
    """
    try:
        yield
    except UnicodeError:
        # The driver has read a part of the answer: the next statement would get the rest as its own.
        close(connection)
        raise SourceError(
            f"{what}: the source cannot be read: a text in it is not in the encoding that the database names (SQL_ASCII names none, and "
            "checks nothing)"
        ) from None
    except (pg8000.exceptions.Error, OSError) as error:
        kind = KeyDoesNotFitError if _code(error).startswith(_DATA_EXCEPTIONS) else SourceError
        raise kind(f"{what}: the source cannot be read: {_reason(error)}") from None


def _detail(error: BaseException) -> dict[str, Any]:
    return error.args[0] if error.args and isinstance(error.args[0], dict) else {}


def _code(error: BaseException) -> str:
    return str(_detail(error).get("C", ""))


def _reason(error: BaseException) -> str:
    code = _code(error)
    if not code:
        return str(error)
    # Messages about values quote them.
    message = "a value does not fit" if code.startswith(_DATA_EXCEPTIONS) else str(_detail(error).get("M", ""))
    return f"{message} (SQLSTATE {code})"
