"""Gold models of a watch: each is refreshed every ``refresh_seconds`` if its tables have changed."""

import time

from dms_iceberg.config.gold_checks import model_order
from dms_iceberg.context import RunContext
from dms_iceberg.gold.run import refresh_models

_LONGEST_BACK_OFF_SECONDS = 600.0


class WatchedModels:
    """The models of a configuration; one thread at a time refreshes them."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._due = dict.fromkeys(model_order(context.config), 0.0)
        self._failures = dict.fromkeys(self._due, 0)
        self.errors: dict[str, str] = {}
        """The error of the last refresh, by model."""

    def turn(self) -> float:
        """Refresh the model that has been due for longest; return the seconds until the next one is due."""
        due = min(self._due, key=self._due.__getitem__)
        if self._due[due] <= time.monotonic():
            (report,) = refresh_models(self._context, [due]).values()
            self.errors.pop(due, None)
            self._failures[due] = self._failures[due] + 1 if report.error else 0
            if report.error:
                self.errors[due] = report.error
            self._due[due] = time.monotonic() + self._pause(due)
        return max(0.0, min(self._due.values()) - time.monotonic())

    def _pause(self, name: str) -> float:
        seconds = self._context.config.gold[name].refresh_seconds
        return max(seconds, min(_LONGEST_BACK_OFF_SECONDS, seconds * 2.0 ** min(self._failures[name], 16)))
