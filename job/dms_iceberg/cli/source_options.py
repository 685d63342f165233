"""How commands take the source database: its URL, and where its password is."""

from typing import Annotated

import typer

from dms_iceberg.source.address import PASSWORD_VARIABLE, Address, parse_source, with_credentials

SourceUrl = Annotated[
    str,
    typer.Option(help=f"postgresql://user@host/database or mysql://user@host; password in ${PASSWORD_VARIABLE}.", show_default=False),
]
SourceSecret = Annotated[str | None, typer.Option(metavar="ARN", help="Secret with the source's user and password.", show_default=False)]


def source_address(url: str, secret_arn: str | None) -> Address:
    """Return the address of ``--source``, with the password of ``--source-secret`` or of the environment.

    Raises:
        ConfigError: see `parse_source` and `with_credentials`.
    """
    address = parse_source(url)
    secret = None
    if secret_arn is not None:
        from dms_iceberg.secrets import read_secret

        secret = read_secret(secret_arn)
    return with_credentials(address, secret)
