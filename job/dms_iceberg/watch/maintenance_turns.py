"""When the tables of a watch are maintained: one at a time, and for as long again none.

Tables that began together need maintenance together. Each step costs a Spark job of a second or two, and if all tables took theirs in
the same minute, none would be merged in it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class MaintenanceTurns:
    """Says which table may be maintained. Threads share it."""

    def __init__(self) -> None:
        """Begin with a turn for whoever asks first."""
        self._taken = Lock()
        self._next = 0.0

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Yield whether the caller may maintain its table now, until the end of the context."""
        began = time.monotonic()
        if not self._taken.acquire(blocking=False):
            yield False
            return
        try:
            if began < self._next:
                yield False
                return
            try:
                yield True
            finally:
                ended = time.monotonic()
                self._next = ended + (ended - began)
        finally:
            self._taken.release()
