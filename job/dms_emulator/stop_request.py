"""SIGTERM and Ctrl-C as a request that the code checks where work can stop."""

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_STDERR: Final = 2
_HEARD: Final = b"stopping ... Ctrl-C ends it at once\n"


class Stopped(BaseException):
    """The user asked for the end. Not a failure: code that catches every `Exception` does not catch this.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class StopRequest(threading.Event):
    """Set by the first SIGTERM or Ctrl-C within its context.

    The signal itself raises nothing: what a handler raises is lost if it comes while a finalizer or a library's callback
    runs (https://docs.python.org/3/library/signal.html#handlers-and-exceptions), and otherwise interrupts half-done work.
    After the first signal, Ctrl-C has its usual effect, for users who do not want to wait. SIGTERM has none, because it
    comes twice if `make` forwards a signal that its whole group has already received.

    Only the main thread can enter it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._number: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `Stopped` if the end was requested."""
        if self._number is not None:
            raise Stopped(self._number)

    def _take(self, number: int, _: FrameType | None) -> None:
        if self._number is not None:
            return
        self._number = number
        signal.signal(signal.SIGINT, self._before[signal.SIGINT])
        # Not through a stream, because the interrupted code may be writing to it.
        with contextlib.suppress(OSError):
            os.write(_STDERR, _HEARD)
        self.set()
