"""Choose the driver for the source's address."""

from dms_iceberg.source.address import Address, Engine
from dms_iceberg.verify.source import Source, Throttle


def open_source(address: Address, throttle: Throttle) -> Source:
    """Connect to the source; only its own driver is imported, here.

    Raises:
        SourceError: the source cannot be reached.
    """
    if address.engine is Engine.POSTGRESQL:
        from dms_iceberg.verify.postgres import PostgresSource

        return PostgresSource(address, throttle)
    from dms_iceberg.verify.mysql import MySqlSource

    return MySqlSource(address, throttle)
