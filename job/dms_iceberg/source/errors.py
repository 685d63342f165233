"""Errors of reading the source database. No message contains row data or a password."""

from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.source.address import Address


class SourceError(DmsIcebergError):
    """The source database cannot be reached or read. The message contains no row data."""


class KeyDoesNotFitError(SourceError):
    """A key that is looked up has a value that the source's type does not allow."""


def cannot_connect(server: str, address: Address, reason: str) -> SourceError:
    """Return the error of a server that refuses a connection, or does not answer."""
    return SourceError(
        f"source: cannot connect to {server} on {address.host}:{address.port}: {reason}. Check address, user, password (see --help), "
        "sslmode, and that the network lets this machine in."
    )
