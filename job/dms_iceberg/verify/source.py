"""The interface of a source database, and its address: a URL without a password; the password comes from elsewhere."""

import json
import os
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import attrs

from dms_iceberg.errors import ConfigError, DmsIcebergError
from dms_iceberg.verify.columns import SourceColumn

PASSWORD_VARIABLE = "DMS_ICEBERG_SOURCE_PASSWORD"  # noqa: S105 - the name of a variable
_PARAMETERS = ("sslmode", "sslrootcert")


class SourceError(DmsIcebergError):
    """The source database cannot be reached or read. The message contains no row data."""


class KeyDoesNotFitError(SourceError):
    """A key that is looked up has a value that the source's type does not allow."""


def cannot_connect(server: str, address: "Address", reason: str) -> SourceError:
    """Return the error of a server that refuses a connection, or does not answer."""
    return SourceError(
        f"source: cannot connect to {server} on {address.host}:{address.port}: {reason}. Check address, user, password (see --help), "
        "sslmode, and that the network lets this machine in."
    )


def no_such_table(table: str, rights: str) -> SourceError:
    """Return the error of a table that is not there, or that the user may not see without certain rights."""
    return SourceError(
        f"{table}: the source has no such table, or the user may not see it. Names are compared as they are in the configuration; "
        f"grant {rights}."
    )


class Engine(StrEnum):
    """The databases that can be compared."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"


class SslMode(StrEnum):
    """How a connection is encrypted, with the names of libpq."""

    DISABLE = "disable"
    PREFER = "prefer"
    REQUIRE = "require"
    VERIFY_FULL = "verify-full"


_SCHEMES = {"postgresql": Engine.POSTGRESQL, "postgres": Engine.POSTGRESQL, "mysql": Engine.MYSQL, "mariadb": Engine.MYSQL}
_PORTS = {Engine.POSTGRESQL: 5432, Engine.MYSQL: 3306}
_ENGINE_VARIABLES = {Engine.POSTGRESQL: "PGPASSWORD", Engine.MYSQL: "MYSQL_PWD"}


@attrs.frozen(kw_only=True)
class Address:
    """The source's address and user. Its representation never shows the password."""

    engine: Engine
    host: str
    port: int
    database: str
    user: str
    password: str | None = attrs.field(default=None, repr=False)
    ssl_mode: SslMode = SslMode.PREFER
    ssl_root_certificate: str | None = None

    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS context of a connection that must be encrypted, None if it need not be."""
        if self.ssl_mode in (SslMode.DISABLE, SslMode.PREFER):
            return None
        context = ssl.create_default_context(cafile=self.ssl_root_certificate)
        if self.ssl_mode is SslMode.REQUIRE:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def parse_source(url: str) -> Address:
    """Read ``postgresql://user@host:5432/database?sslmode=verify-full`` or ``mysql://user@host/database``.

    Raises:
        ConfigError: it is not such a URL, or contains a password. The message never repeats the URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url("it cannot be read; special characters in user and database are percent-encoded") from None
    engine = _SCHEMES.get(parts.scheme)
    if engine is None:
        raise _bad_url("it begins with neither postgresql:// nor mysql://")
    given = dict(parse_qsl(parts.query))
    if parts.password is not None or "password" in given:
        raise _bad_url(
            "it holds a password, which every user of this machine can read in the process list, and a Glue job's arguments in the "
            f"console. Leave it out and set {PASSWORD_VARIABLE}, or name a secret with --source-secret"
        )
    unknown = [name for name in given if name not in _PARAMETERS]
    if unknown:
        raise _bad_url(f"the parameter {unknown[0]!r} is unknown; allowed are {' and '.join(_PARAMETERS)}")
    return Address(
        engine=engine,
        host=parts.hostname or "localhost",
        port=port or _PORTS[engine],
        database=_database(parts, engine),
        user=unquote(parts.username or ""),
        ssl_mode=_ssl_mode(given.get("sslmode", SslMode.PREFER)),
        ssl_root_certificate=given.get("sslrootcert"),
    )


def _database(parts: SplitResult, engine: Engine) -> str:
    database = unquote(parts.path.strip("/"))
    if engine is Engine.POSTGRESQL and not database:
        raise _bad_url("it names no database")
    return database


def _ssl_mode(word: str) -> SslMode:
    if word not in set(SslMode):
        raise _bad_url(f"sslmode is {word!r}; allowed are {', '.join(SslMode)}")
    return SslMode(word)


def _bad_url(problem: str) -> ConfigError:
    return ConfigError([f"--source: {problem}; write postgresql://user@host:5432/database or mysql://user@host:3306/database"], "usage")


def with_credentials(address: Address, secret: str | None, environment: Mapping[str, str] = os.environ) -> Address:
    """Return the address with user and password.

    Args:
        secret: text of a secret, None without one: JSON with ``username`` and ``password`` as DMS and RDS write it, or the password alone.
        environment: where the password is looked for without a secret (`PASSWORD_VARIABLE`).

    Raises:
        ConfigError: there is no user, or the secret is JSON without a password.
    """
    user = address.user
    if secret is None:
        password = environment.get(PASSWORD_VARIABLE) or environment.get(_ENGINE_VARIABLES[address.engine])
    else:
        named, password = _read_secret(secret)
        user = user or named
    if not user:
        raise ConfigError(["--source: no user, neither in the URL nor in the secret; write postgresql://user@host/database"], "usage")
    return attrs.evolve(address, user=user, password=password)


def _read_secret(text: str) -> tuple[str, str]:
    try:
        document = json.loads(text)
    except ValueError:
        return "", text
    if not isinstance(document, dict):
        return "", text
    if not isinstance(document.get("password"), str):
        raise ConfigError(["--source-secret: the secret is JSON without a text 'password'; store username and password in it"], "usage")
    return str(document.get("username", "")), document["password"]


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

    def __enter__(self) -> "Reader":
        """Begin the snapshot."""
        ...

    def __exit__(self, *_: object) -> None:
        """End it."""
        ...


class Source(Protocol):
    """A connection to the source; only one table uses it at a time."""

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of a table, in its order; raise `SourceError` if there is no such table."""
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
