"""The address of a source database: a URL without a password, which comes from elsewhere."""

import json
import os
import ssl
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import attrs

from dms_iceberg.errors import ConfigError

PASSWORD_VARIABLE = "DMS_ICEBERG_SOURCE_PASSWORD"  # noqa: S105 - the name of a variable
_PARAMETERS = ("sslmode", "sslrootcert")


class Engine(StrEnum):
    """The databases that can be read."""

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

    @property
    def place(self) -> str:
        """Server and database, for people."""
        return f"{self.host}:{self.port}/{self.database}"

    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS context of a connection that must be encrypted, None if it need not be.

        Raises:
            ConfigError: the file of ``sslrootcert`` cannot be read, or holds no certificates.
        """
        if self.ssl_mode in (SslMode.DISABLE, SslMode.PREFER):
            return None
        try:
            context = ssl.create_default_context(cafile=self.ssl_root_certificate)
        except OSError as error:
            reason = "holds no certificates" if isinstance(error, ssl.SSLError) else error.strerror
            raise ConfigError(
                [f"--source: sslrootcert {self.ssl_root_certificate}: {reason}; give a file of PEM certificates"], "usage"
            ) from None
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
