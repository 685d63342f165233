"""AWS on this machine: moto with its gaps closed, in this process, so that a test can also look inside and change states.

Every stack has an account of its own: names and account-wide roles never collide, and several stacks are applied side by side.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

REGION = "us-east-1"
_ACCOUNTS = itertools.count(100_000_000_001)


class LocalAws:
    """The server and its accounts."""

    def __init__(self, url: str) -> None:
        self.url = url

    def new_account(self) -> str:
        """Return the number of an account that nobody uses yet."""
        return str(next(_ACCOUNTS))

    def environment(self, account: str) -> dict[str, str]:
        """Return the variables that make every AWS client an administrator of an account here."""
        return self.environment_of(f"arn:aws:iam::{account}:role/administrator")

    def environment_of(self, role_arn: str) -> dict[str, str]:
        """Return the variables of a session of a role."""
        from support.moto_gaps.lambda_functions import credentials

        return credentials(role_arn, REGION) | {"AWS_ENDPOINT_URL": self.url}

    def client(self, service: str, account: str, region: str = REGION) -> Any:
        """Return a boto3 client with all rights in an account."""
        return self.client_of(f"arn:aws:iam::{account}:role/administrator", service, region)

    def client_of(self, role_arn: str, service: str, region: str = REGION) -> Any:
        """Return a boto3 client with the rights of a role."""
        variables = self.environment_of(role_arn)
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=variables["AWS_SESSION_TOKEN"],
        )


@contextmanager
def local_aws() -> Iterator[LocalAws]:
    """Start the server on a free port and stop it at the end."""
    import logging

    from moto.server import ThreadedMotoServer

    from support.moto_gaps import close_gaps, lambda_functions

    close_gaps()
    # A log line a request costs more than the request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    try:
        with lambda_functions.endpoint(url):
            yield LocalAws(url)
    finally:
        server.stop()
