"""Which reader the source's address asks for."""

from dms_iceberg.verify.source import Address, Engine, Source, Throttle


def open_source(address: Address, throttle: Throttle) -> Source:
    """Connect to the source; the driver is imported here.

    Raises:
        SourceError: it cannot be reached.
    """
    if address.engine is Engine.POSTGRESQL:
        from dms_iceberg.verify.postgres import PostgresSource

        return PostgresSource(address, throttle)
    from dms_iceberg.verify.mysql import MySqlSource

    return MySqlSource(address, throttle)
