"""Output while the demo runs: a live line on a terminal, a line per step elsewhere."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import attrs
from rich.console import Console
from rich.status import Status


@attrs.frozen
class _Fresh:
    """Text that is computed again each time it is drawn."""

    make: Callable[[], str]

    def __rich__(self) -> str:
        return self.make()


class Screen:
    """Prints the steps.

    Args:
        console: the output; its own ``is_terminal`` decides whether there is a live line.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started = time.monotonic()
        self._status = Status("", console=console) if console.is_terminal else None

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def step(self, text: str) -> None:
        """Print a permanent line, with the time since the beginning."""
        self.console.print(f"{self.elapsed:6.1f} s  {text}", markup=False, highlight=False, soft_wrap=True)

    def now(self, text: str | Callable[[], str]) -> None:
        """Show what is going on now, on a terminal only; a function is called again several times a second."""
        if self._status is not None:
            self._status.update(text if isinstance(text, str) else _Fresh(text))
