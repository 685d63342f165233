"""Positions: a change's place in the order of changes, as text that sorts in this order: ``load | clock | file time | counter``.

The file's close time is between the two halves of the sequence because neither half is an order by itself. The counter restarts when a DMS
task is created again, and the commit time repeats within a transaction. A change that DMS writes again keeps its commit clock and comes in
a later file; with the close time between clock and counter it sorts after everything that was written with its clock before
(``docs/adr/0001-order-of-changes.md``).

Encoding: the number of the load has its length as a letter in front (``a9`` < ``b10``), the rest has fixed width. A LOAD row has clock
zero, so it sorts below every change of its load; its file's order is in the place of the close time.
"""

import re

from dms_iceberg.bronze.keys import AHEAD_HOURS, earlier

CLOCK_DIGITS = 16
COUNTER_DIGITS = 19
FILE_DIGITS = 17
SEQUENCE_DIGITS = CLOCK_DIGITS + COUNTER_DIGITS
ZONE_MINUTES = 30
"""A zone behind UTC is at least an hour behind, and the newest change of a file was committed shortly before the close."""
_NO_CLOCK = "0" * CLOCK_DIGITS
_MONTH_AND_DAY = "((0[13578]|1[02])(0[1-9]|[12][0-9]|3[01])|(0[469]|11)(0[1-9]|[12][0-9]|30)|02(0[1-9]|[12][0-9]))"
_SEQUENCE = f"^[0-9]{{4}}{_MONTH_AND_DAY}([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][0-9]{{2}}[0-9]{{{COUNTER_DIGITS}}}"


def load_prefix(load: int) -> str:
    """Return the text with which all positions of a full load begin, by its number (`Progress.load`); later loads sort higher."""
    digits = str(load)
    return chr(ord("a") - 1 + len(digits)) + digits


def load_position(load: int, order: str) -> str:
    """Return the position that all rows of a LOAD file have. ``order`` is `BronzeFile.order` (17 characters)."""
    return f"{load_prefix(load)}{_NO_CLOCK}{order}"


def sequence_position(load: int, sequence: str, file_time: str) -> str:
    """Return the position of a change with the 35-digit ``$AR_H_CHANGE_SEQ`` in a file closed at ``file_time`` (17 digits)."""
    return f"{load_prefix(load)}{sequence[:CLOCK_DIGITS]}{file_time}{sequence[CLOCK_DIGITS:]}"


def truncate_position(load: int, at: str) -> str:
    """Return text that sorts below all changes committed at or after ``at`` (17 digits), and above all other positions of the load.

    A clock has hundredths of a second: changes of the same tick count as later, so that rows that the truncating transaction inserts stay.
    """
    return f"{load_prefix(load)}{at[:CLOCK_DIGITS]}"


def is_load_position(position: str, load: int) -> bool:
    """Whether ``position`` is that of a LOAD row, or "" (nothing applied yet)."""
    return not position or position.startswith(load_prefix(load) + _NO_CLOCK)


def clock_of(position: str) -> str:
    """Return the commit time in ``position`` as 17 digits (a file name's precision)."""
    start = _clock_start(position)
    return position[start : start + CLOCK_DIGITS] + "0"


def begin_before(position: str, **delta: float) -> str:
    """Return text that sorts below all positions of a load but those committed earlier than ``position`` by more than a `timedelta`."""
    return position[: _clock_start(position)] + earlier(clock_of(position), **delta)[:CLOCK_DIGITS] if position else ""


def _clock_start(position: str) -> int:
    return ord(position[0]) - ord("a") + 2


def clock_number_sql(position: str, load: int) -> str:
    """SQL of the clock in a position of ``load`` as a number; ``position`` is an SQL expression."""
    return f"CAST(substr({position}, {len(load_prefix(load)) + 1}, {CLOCK_DIGITS}) AS bigint)"


def is_load_sql(position: str, load: int) -> str:
    """SQL that is true for the position of a LOAD row of ``load``; ``position`` is an SQL expression."""
    return f"startswith({position}, '{load_prefix(load)}{_NO_CLOCK}')"


def is_named_behind_utc(position: str) -> bool:
    """Whether a change was committed over `ZONE_MINUTES` after the close time in its file's name: the name is in a zone behind UTC."""
    closed = position[-FILE_DIGITS - COUNTER_DIGITS : -COUNTER_DIGITS]
    clock = clock_of(position)
    return clock > closed and earlier(clock, minutes=ZONE_MINUTES) > closed


def is_named_behind_utc_sql(position: str) -> str:
    """SQL for `is_named_behind_utc`, NULL for rows of a full load."""
    # The clock begins after the letter and the number of digits that it encodes.
    clock = f"substr({position}, ascii({position}) - {ord('a') - 3}, {CLOCK_DIGITS})"
    closed = f"substr({position}, {-FILE_DIGITS - COUNTER_DIGITS}, {FILE_DIGITS})"
    # Nearly every change was committed before its file was closed: the comparison of text saves parsing two times for these.
    return f"{clock} > {closed} AND {_time_sql(clock)} > {_time_sql(closed)} + INTERVAL '{ZONE_MINUTES}' MINUTE"


def load_position_sql(load: int, segment: str, number: str) -> str:
    """SQL for `load_position`; the file's order is the text ``segment``, then the bytes of ``number``, an SQL expression."""
    return f"CAST(concat(CAST('{load_prefix(load)}{_NO_CLOCK}{segment}' AS binary), {number}) AS string)"


def sequence_position_sql(load: int, sequence: str, file_time: str) -> str:
    """SQL for `sequence_position`; NULL unless ``sequence`` is 35 digits that begin with a date. The arguments are SQL expressions."""
    whole = f"octet_length({sequence}) = {SEQUENCE_DIGITS} AND {sequence} RLIKE '{_SEQUENCE}'"
    clock, counter = bytes_sql(sequence, 1, CLOCK_DIGITS), bytes_sql(sequence, CLOCK_DIGITS + 1, COUNTER_DIGITS)
    load_bytes = f"CAST('{load_prefix(load)}' AS binary)"
    return f"CASE WHEN {whole} THEN CAST(concat({load_bytes}, {clock}, CAST({file_time} AS binary), {counter}) AS string) END"


def is_sequence(text: str) -> bool:
    """Whether ``text`` is 35 digits that begin with a date."""
    return len(text) == SEQUENCE_DIGITS and re.match(_SEQUENCE, text) is not None


def is_sequence_sql(sequence: str) -> str:
    """SQL that is true for 35 digits."""
    return f"{sequence} RLIKE '^[0-9]{{{SEQUENCE_DIGITS}}}$'"


def timestamp_position_sql(load: int, committed_at: str, file_time: str, row: str) -> str:
    """SQL of the position for files without a sequence column: commit time (microseconds), file time, row number in the file."""
    clock = f"date_format({committed_at}, 'yyyyMMddHHmmssSSSSSS')"
    return f"concat('{load_prefix(load)}', {clock}, {file_time}, lpad(CAST({row} AS string), {COUNTER_DIGITS}, '0'))"


def file_position_sql(load: int, file_time: str, row: str) -> str:
    """SQL of the position for files with neither sequence nor commit time: the file's close time is the clock, then the row's place."""
    place = f"lpad(CAST({row} AS string), {COUNTER_DIGITS}, '0')"
    return f"concat('{load_prefix(load)}', substr({file_time}, 1, {CLOCK_DIGITS}), {file_time}, {place})"


def file_time_sql(file_time: str) -> str:
    """SQL of a file's close time (17 digits, milliseconds) as a timestamp."""
    # Java does not parse a fraction that follows digits without a point (JDK-8031085).
    return f"try_to_timestamp(concat(substr({file_time}, 1, 14), '.', substr({file_time}, 15)), 'yyyyMMddHHmmss.SSS')"


def sequence_beyond_sql(sequence: str, file_time: str) -> str:
    """SQL that is true for a ``sequence`` of the right form whose clock is more than `AHEAD_HOURS` after its file's close time."""
    # Nearly every change was committed before its file was closed: the comparison of text saves parsing two times for these.
    return f"{sequence} > {file_time} AND coalesce({_time_sql(sequence)} > {_latest_sql(file_time)}, true)"


def timestamp_beyond_sql(committed_at: str, file_time: str) -> str:
    """`sequence_beyond_sql` for files without a sequence column."""
    return f"{committed_at} > {_latest_sql(file_time)}"


def _latest_sql(file_time: str) -> str:
    return f"{_time_sql(file_time)} + INTERVAL '{AHEAD_HOURS}' HOUR"


def _time_sql(digits: str) -> str:
    return f"try_to_timestamp(substr({digits}, 1, 14), 'yyyyMMddHHmmss')"


def bytes_sql(text: str, start: int | str, length: int) -> str:
    """SQL for ``length`` bytes of ASCII text from ``start`` (1 is the first): a substr of a string would count characters each time."""
    return f"substr(CAST({text} AS binary), {start}, {length})"
