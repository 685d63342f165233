"""S3 and Glue on this machine: a moto server that, unlike moto's own, honours the VersionId of Glue's UpdateTable.

Iceberg's GlueCatalog commits by compare-and-swap on that version. The server is a process of its own, so that Spark does not share this
one's lock with it. Run as a script, this file is the server.
"""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_START_SECONDS = 60


@contextmanager
def aws_server() -> Iterator[dict[str, str]]:
    """Start the server on a free port; yields the environment variables that point AWS clients at it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, __file__, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL)
    try:
        _wait(server, port)
        yield {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.terminate()
        server.wait(30)


def _wait(server: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError as error:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the moto server did not start on port {port} (exit code {server.poll()})") from error
            time.sleep(0.1)


def _serve(arguments: list[str]) -> None:
    from moto.server import main

    from support.moto_gaps.glue_catalog import compare_and_swap

    compare_and_swap()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    main(arguments)


if __name__ == "__main__":
    # The folder of this file is on the path of a script; it holds modules named like the standard library's. The one above is meant.
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [os.path.dirname(here), *(entry for entry in sys.path if entry != here)]  # noqa: PTH120
    _serve(sys.argv[1:])
