"""Progress of reading the source, for a terminal and for the log. Counts only."""

import time
from collections.abc import Callable, Iterator

import attrs
import structlog

_LOG = structlog.get_logger("dms_iceberg")
_ROWS = 1_000
_SECONDS_BETWEEN_LOGS = 10.0


@attrs.frozen(kw_only=True)
class Read:
    """How much was read so far.

    Attributes:
        number: the table's number, from 1 to ``tables``.
        rows: source rows read since the comparison of the table began; a table may be read several times.
        expected: number of rows in silver.
    """

    table: str
    number: int
    tables: int
    rows: int
    expected: int


Listener = Callable[[Read], None]


class Reading:
    """Reports how much of one table was read: to a listener every thousand rows and after each reading, to the log every ten seconds."""

    def __init__(
        self, table: str, number: int, tables: int, listener: Listener | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._table, self._number, self._tables, self._listener, self._clock = table, number, tables, listener, clock
        self._logged, self._rows = clock(), 0
        self.expected = 0

    def counted(self, texts: Iterator[str]) -> Iterator[str]:
        """Pass rows on and count them."""
        for text in texts:
            self._rows += 1
            if self._rows % _ROWS == 0:
                self._report()
            yield text
        self._report()

    def _report(self) -> None:
        read = Read(table=self._table, number=self._number, tables=self._tables, rows=self._rows, expected=self.expected)
        if self._listener is not None:
            self._listener(read)
        if self._clock() - self._logged >= _SECONDS_BETWEEN_LOGS:
            self._logged = self._clock()
            _LOG.info("verify_reading", **attrs.asdict(read))
