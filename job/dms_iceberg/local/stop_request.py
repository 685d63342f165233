"""SIGTERM and Ctrl-C, as a wish that is looked at where work can stop."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stopped(Exception):
    """Somebody asked for the end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class StopRequest(threading.Event):
    """Set by the first SIGTERM or Ctrl-C within its context; the second has the effect it has without this.

    Nothing is raised by the signal itself: what a handler raises is lost when it comes while a finalizer or a library's
    callback runs (https://docs.python.org/3/library/signal.html#handlers-and-exceptions), and else cuts through half-done work.

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
        self._restore()

    def check(self) -> None:
        """Raise `Stopped` once it is asked for."""
        if self._number is not None:
            raise Stopped(self._number)

    def _take(self, number: int, _: FrameType | None) -> None:
        self._number = number
        self._restore()
        self.set()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
