"""``$AR_H_CHANGE_SEQ``: 16 digits of commit time and 19 of a counter, with the properties of real files."""

import datetime as dt
from typing import Final

import attrs

_EPOCH: Final = dt.datetime(1970, 1, 1)

FIRST_COUNTER: Final = 61
STEP_IN_TRANSACTION: Final = 4
STEP_TO_NEW_TRANSACTION: Final = 12


def moment(micros: int) -> dt.datetime:
    """Return the naive UTC time of so many microseconds since 1970."""
    return _EPOCH + dt.timedelta(microseconds=micros)


def timestamp_text(micros: int) -> str:
    """Return ``yyyy-MM-dd HH:mm:ss.SSSSSS`` in UTC, as in the timestamp column."""
    return moment(micros).isoformat(" ", "microseconds")


def time_part(micros: int) -> str:
    """Return ``YYYYMMDDHHmmSShh`` of microseconds since 1970 UTC: 16 digits, with truncated hundredths of a second."""
    text = timestamp_text(micros)
    return text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19] + text[20:22]


@attrs.define
class ChangeSequence:
    """The counter of one task run, over all its tables.

    The first change of a run gets counter 61, the next of the same transaction 4 more, the first of another
    transaction 12 more. When the commit clock goes back, the time part stays the same, so that the text keeps rising
    within a run. A new run starts at 61 again, whatever went before.

    Attributes:
        counter: the last counter; ``FIRST_COUNTER - STEP_TO_NEW_TRANSACTION`` before the first.
        held: the highest time part so far, empty before the first.
    """

    counter: int = FIRST_COUNTER - STEP_TO_NEW_TRANSACTION
    held: str = ""
    _step: int = attrs.field(default=STEP_TO_NEW_TRANSACTION, init=False)

    def begin(self, commit_us: int) -> None:
        """Begin a transaction that was committed at ``commit_us`` microseconds since 1970 UTC."""
        part = time_part(commit_us)
        if part > self.held:
            self.held = part
        self._step = STEP_TO_NEW_TRANSACTION

    def advance(self) -> str:
        """Return the sequence of the transaction's next change: 35 digits."""
        self.counter += self._step
        self._step = STEP_IN_TRANSACTION
        return f"{self.held}{self.counter:019d}"
