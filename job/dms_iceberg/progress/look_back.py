"""How far back a run looks for late files. Pure."""

from datetime import datetime

import attrs

from dms_iceberg.bronze.keys import digits_of, earlier


@attrs.frozen
class LookBack:
    """How far back a run looks for late files: ``hours`` before now, or before the frontier if that is earlier."""

    hours: float
    now: datetime

    def begin(self, frontier: str) -> str:
        """Return the earliest close time (17 digits) of the look-back.

        File names may be ahead of now, in the zone of `DatePartitionTimezone` or by a wrong clock. Other files that come meanwhile are late
        in comparison, so names ahead of now must not shorten the look-back.
        """
        return earlier(min(frontier, digits_of(self.now)), hours=self.hours)
