"""Read the catalog of a source, by its engine."""

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.source.address import Address, Engine


def read_catalog(address: Address) -> Catalog:
    """Return the user's tables of a source. Reads only, by a number of queries that does not depend on the number of tables.

    Raises:
        SourceError: the server cannot be reached or read.
    """
    # Only the source's own driver is imported.
    if address.engine is Engine.POSTGRESQL:
        from dms_iceberg.discover.read_postgres import read_postgres

        return read_postgres(address)
    from dms_iceberg.discover.read_mysql import read_mysql

    return read_mysql(address)
