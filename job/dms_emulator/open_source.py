"""Which source an address names."""

from dms_emulator.mysql_source import MySqlSource
from dms_emulator.postgres_source import PostgresSource
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import Source
from dms_iceberg.source.address import parse_source, with_credentials

_MYSQL = ("mysql://", "mariadb://")


def is_mysql(dsn: str) -> bool:
    """Whether an address is that of a MySQL or MariaDB."""
    return dsn.startswith(_MYSQL)


def open_source(dsn: str, settings: EmulatorSettings) -> Source:
    """Return a connection to the source.

    Args:
        dsn: ``mysql://user@host:3306/``, or what libpq understands.
        settings: those of the task.

    Raises:
        ConfigError: the URL of a MySQL is none.
        EmulatorError: the source cannot be reached.
    """
    if is_mysql(dsn):
        return MySqlSource(with_credentials(parse_source(dsn), None), settings)
    return PostgresSource(dsn, settings)
