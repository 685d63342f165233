"""SIGTERM and Ctrl-C, as a wish that is looked at where work can stop."""

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
    """Somebody asked for the end. No failure: who catches every `Exception` does not catch this.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class StopRequest(threading.Event):
    """Set by the first SIGTERM or Ctrl-C within its context.

    Nothing is raised by the signal itself: what a handler raises is lost when it comes while a finalizer or a library's
    callback runs (https://docs.python.org/3/library/signal.html#handlers-and-exceptions), and else cuts through half-done work.
    After the first signal Ctrl-C has the effect that it has without this, for those who do not want to wait; SIGTERM has none,
    as it comes twice where `make` passes on what its whole group has got already.

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
        """Raise `Stopped` once it is asked for."""
        if self._number is not None:
            raise Stopped(self._number)

    def _take(self, number: int, _: FrameType | None) -> None:
        if self._number is not None:
            return
        self._number = number
        signal.signal(signal.SIGINT, self._before[signal.SIGINT])
        # Not through a stream, which the interrupted code may be writing to.
        with contextlib.suppress(OSError):
            os.write(_STDERR, _HEARD)
        self.set()
