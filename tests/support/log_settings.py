"""Settings of the logs that all tests of a process share, for the time of one of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from dms_iceberg.logs import configure_logs


@contextmanager
def logs_for(*, terminal: bool) -> Iterator[None]:
    """Let logs be those for a person at a terminal, or JSON, and put back what was."""
    before = structlog.get_config()
    configure_logs(terminal=terminal)
    try:
        yield
    finally:
        structlog.configure(**before)
