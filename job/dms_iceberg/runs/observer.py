"""Callbacks of a run: progress per table, and a request to stop."""


class RunObserver:
    """Hears what a run does, and says whether it should end. This one hears nothing and never ends a run: override what you need.

    The methods are called from the tables' own threads.
    """

    def doing(self, table: str, what: str) -> None:
        """Hear what is about to be done to a table, in a few words."""

    def done(self, table: str) -> None:
        """Hear that the run does nothing more to a table."""

    @property
    def is_stopping(self) -> bool:
        """Whether the run should end after the batches at hand."""
        return False


NO_OBSERVER = RunObserver()
