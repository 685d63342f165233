"""What `init` tells while it looks. The command line shows it."""

from typing import Protocol


class Progress(Protocol):
    """Hears what is looked at. Threads may call it."""

    def say(self, text: str) -> None:
        """Take that a step begins."""
        ...

    def now(self, text: str) -> None:
        """Take how far the step has come."""
        ...


class Silent:
    """Hears nothing."""

    def say(self, text: str) -> None:
        """Take no note."""

    def now(self, text: str) -> None:
        """Take no note."""
