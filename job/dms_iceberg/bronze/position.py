"""A change's place in the order, as text that compares like the order: ``epoch | clock | file time | counter``.

Why the file's close time stands in the middle of the sequence: its counter half restarts when a DMS task is created anew, and the
commit time repeats within a transaction, so neither is an order by itself. A re-emitted change keeps its commit clock and comes in a
later file; with the close time between clock and counter it sorts behind everything its clock tick had before
(``docs/adr/0001-order-of-changes.md``).

Encoding: the epoch carries its length as a letter in front (``a9`` < ``b10``), the rest has fixed width. A LOAD row has clock zero, so
it lies below every change of its epoch; its file stands where the close time would.
"""

import re

from dms_iceberg.bronze.keys import AHEAD_HOURS, earlier

CLOCK_DIGITS = 16
COUNTER_DIGITS = 19
FILE_DIGITS = 17
SEQUENCE_DIGITS = CLOCK_DIGITS + COUNTER_DIGITS
ZONE_MINUTES = 30
"""The least that a zone is behind UTC is an hour, and the newest change of a file was committed shortly before its close."""
_NO_CLOCK = "0" * CLOCK_DIGITS
_MONTH_AND_DAY = "((0[13578]|1[02])(0[1-9]|[12][0-9]|3[01])|(0[469]|11)(0[1-9]|[12][0-9]|30)|02(0[1-9]|[12][0-9]))"
_SEQUENCE = f"^[0-9]{{4}}{_MONTH_AND_DAY}([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][0-9]{{2}}[0-9]{{{COUNTER_DIGITS}}}"


def epoch_prefix(epoch: int) -> str:
    """Return the text all positions of an epoch begin with; later epochs sort higher."""
    digits = str(epoch)
    return chr(ord("a") - 1 + len(digits)) + digits


def load_position(epoch: int, order: str) -> str:
    """Return the position of every row of a LOAD file. ``order`` is `BronzeFile.order` (17 characters)."""
    return f"{epoch_prefix(epoch)}{_NO_CLOCK}{order}"


def sequence_position(epoch: int, sequence: str, file_time: str) -> str:
    """Return the position of a change with the 35-digit ``$AR_H_CHANGE_SEQ`` in a file closed at ``file_time`` (17 digits)."""
    return f"{epoch_prefix(epoch)}{sequence[:CLOCK_DIGITS]}{file_time}{sequence[CLOCK_DIGITS:]}"


def truncate_position(epoch: int, at: str) -> str:
    """Return text below the positions of all changes committed at or after ``at`` (17 digits), and above all others of the epoch.

    A clock has hundredths of a second: changes of the very tick count as later, so that rows inserted by the truncating transaction stay.
    """
    return f"{epoch_prefix(epoch)}{at[:CLOCK_DIGITS]}"


def is_load_position(position: str, epoch: int) -> bool:
    """Whether ``position`` is one of a LOAD row, or "" (nothing applied yet)."""
    return not position or position.startswith(epoch_prefix(epoch) + _NO_CLOCK)


def clock_of(position: str) -> str:
    """Return the commit time in ``position`` as 17 digits (a file name's precision)."""
    start = ord(position[0]) - ord("a") + 2
    return position[start : start + CLOCK_DIGITS] + "0"


def clock_number_sql(position: str, epoch: int) -> str:
    """SQL of the clock in a position of ``epoch`` as a number; ``position`` is an SQL expression."""
    return f"CAST(substr({position}, {len(epoch_prefix(epoch)) + 1}, {CLOCK_DIGITS}) AS bigint)"


def is_load_sql(position: str, epoch: int) -> str:
    """SQL that is true for the position of a LOAD row of ``epoch``; ``position`` is an SQL expression."""
    return f"startswith({position}, '{epoch_prefix(epoch)}{_NO_CLOCK}')"


def is_behind(position: str) -> bool:
    """Whether a change was committed well after the close time that its file is named after: the name is in a zone behind UTC."""
    closed = position[-FILE_DIGITS - COUNTER_DIGITS : -COUNTER_DIGITS]
    clock = clock_of(position)
    return clock > closed and earlier(clock, minutes=ZONE_MINUTES) > closed


def is_behind_sql(position: str) -> str:
    """SQL for `is_behind`, NULL for rows of a full load."""
    # Behind the letter and as many digits as it says.
    clock = f"substr({position}, ascii({position}) - {ord('a') - 3}, {CLOCK_DIGITS})"
    closed = f"substr({position}, {-FILE_DIGITS - COUNTER_DIGITS}, {FILE_DIGITS})"
    times = [f"try_to_timestamp(substr({text}, 1, 14), 'yyyyMMddHHmmss')" for text in (clock, closed)]
    # Nearly every change was committed before its file was closed: comparing text spares those the parsing of two times.
    return f"{clock} > {closed} AND {times[0]} > {times[1]} + INTERVAL '{ZONE_MINUTES}' MINUTE"


def load_position_sql(epoch: int, order: str) -> str:
    """SQL for `load_position`; ``order`` is an SQL expression."""
    return f"concat('{epoch_prefix(epoch)}{_NO_CLOCK}', {order})"


def sequence_position_sql(epoch: int, sequence: str, file_time: str) -> str:
    """SQL for `sequence_position`; NULL unless ``sequence`` is 35 digits that begin with a date. The arguments are SQL expressions."""
    whole = f"octet_length({sequence}) = {SEQUENCE_DIGITS} AND {sequence} RLIKE '{_SEQUENCE}'"
    clock, counter = bytes_sql(sequence, 1, CLOCK_DIGITS), bytes_sql(sequence, CLOCK_DIGITS + 1, COUNTER_DIGITS)
    epoch_bytes = f"CAST('{epoch_prefix(epoch)}' AS binary)"
    return f"CASE WHEN {whole} THEN CAST(concat({epoch_bytes}, {clock}, CAST({file_time} AS binary), {counter}) AS string) END"


def is_sequence(text: str) -> bool:
    """Whether ``text`` is 35 digits that begin with a date."""
    return len(text) == SEQUENCE_DIGITS and re.match(_SEQUENCE, text) is not None


def is_sequence_sql(sequence: str) -> str:
    """SQL that is true for 35 digits."""
    return f"{sequence} RLIKE '^[0-9]{{{SEQUENCE_DIGITS}}}$'"


def timestamp_position_sql(epoch: int, committed_at: str, file_time: str, row: str) -> str:
    """SQL for files without a sequence column: commit time (microseconds), file time, row number in the file."""
    clock = f"date_format({committed_at}, 'yyyyMMddHHmmssSSSSSS')"
    return f"concat('{epoch_prefix(epoch)}', {clock}, {file_time}, lpad(CAST({row} AS string), {COUNTER_DIGITS}, '0'))"


def sequence_beyond_sql(sequence: str, file_time: str) -> str:
    """SQL that is true for a ``sequence`` of the right form whose clock lies more than `AHEAD_HOURS` after its file's close time."""
    clock = f"try_to_timestamp(substr({sequence}, 1, 14), 'yyyyMMddHHmmss')"
    # Nearly every change was committed before its file was closed: comparing text spares those the parsing of two times.
    return f"{sequence} > {file_time} AND coalesce({clock} > {_latest_sql(file_time)}, true)"


def timestamp_beyond_sql(committed_at: str, file_time: str) -> str:
    """The same for files without a sequence column."""
    return f"{committed_at} > {_latest_sql(file_time)}"


def _latest_sql(file_time: str) -> str:
    return f"try_to_timestamp(substr({file_time}, 1, 14), 'yyyyMMddHHmmss') + INTERVAL '{AHEAD_HOURS}' HOUR"


def bytes_sql(text: str, start: int, length: int) -> str:
    """SQL for ``length`` bytes of ASCII text from ``start`` (1 is the first): Spark counts the characters of a string at every substr."""
    return f"substr(CAST({text} AS binary), {start}, {length})"
