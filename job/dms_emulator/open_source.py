"""Which source an address names."""

from dms_emulator.postgres_source import PostgresSource
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import Source


def open_source(dsn: str, settings: EmulatorSettings) -> Source:
    """Return a connection to the source.

    Raises:
        EmulatorError: the source cannot be reached.
    """
    return PostgresSource(dsn, settings)
