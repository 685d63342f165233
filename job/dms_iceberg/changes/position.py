"""A change's place in the order, as text that compares like the order: ``epoch | clock | file time | counter``.

Why the file's close time stands in the middle of the sequence: its counter half restarts when a DMS task is created anew, and the
commit time repeats within a transaction, so neither is an order by itself. A re-emitted change keeps its commit clock and comes in a
later file; with the close time between clock and counter it sorts behind everything its clock tick had before
(``docs/adr/0001-order-of-changes.md``).

Encoding: numbers of varying length carry their length as a letter in front (``b61`` < ``c100``), the rest has fixed width. A LOAD
row has clock zero, so it lies below every change of its epoch; its file stands where the close time would.
"""

CLOCK_DIGITS = 16
SEQUENCE_DIGITS = 35
_NO_CLOCK = "0" * CLOCK_DIGITS


def _counted(number: int) -> str:
    digits = str(number)
    return chr(ord("a") - 1 + len(digits)) + digits


def epoch_prefix(epoch: int) -> str:
    """Return the text all positions of an epoch begin with; later epochs sort higher."""
    return _counted(epoch)


def load_position(epoch: int, order: str) -> str:
    """Return the position of every row of a LOAD file. ``order`` is `BronzeFile.order` (17 characters)."""
    return f"{epoch_prefix(epoch)}{_NO_CLOCK}{order}{_counted(0)}"


def sequence_position(epoch: int, sequence: str, file_time: str) -> str:
    """Return the position of a change with the 35-digit ``$AR_H_CHANGE_SEQ`` in a file closed at ``file_time`` (17 digits)."""
    return f"{epoch_prefix(epoch)}{sequence[:CLOCK_DIGITS]}{file_time}{_counted(int(sequence[CLOCK_DIGITS:]))}"


def is_load_position(position: str, epoch: int) -> bool:
    """Whether ``position`` is one of a LOAD row, or "" (nothing applied yet)."""
    return not position or position.startswith(epoch_prefix(epoch) + _NO_CLOCK)


def clock_of(position: str) -> str:
    """Return the commit time in ``position`` as 17 digits (a file name's precision)."""
    start = ord(position[0]) - ord("a") + 2
    return position[start : start + CLOCK_DIGITS] + "0"


def _counted_sql(number: str) -> str:
    return f"concat(char(96 + length({number})), {number})"


def load_position_sql(epoch: int, order: str) -> str:
    """SQL for `load_position`; ``order`` is an SQL expression."""
    return f"concat('{epoch_prefix(epoch)}{_NO_CLOCK}', {order}, '{_counted(0)}')"


def sequence_position_sql(epoch: int, sequence: str, file_time: str) -> str:
    """SQL for `sequence_position`; NULL unless ``sequence`` is 35 digits. The arguments are SQL expressions."""
    counter = f"coalesce(nullif(ltrim('0', substr({sequence}, {CLOCK_DIGITS + 1})), ''), '0')"
    whole = f"length({sequence}) = {SEQUENCE_DIGITS} AND translate({sequence}, '0123456789', '') = ''"
    return (
        f"CASE WHEN {whole} THEN "
        f"concat('{epoch_prefix(epoch)}', substr({sequence}, 1, {CLOCK_DIGITS}), {file_time}, {_counted_sql(counter)}) END"
    )


def timestamp_position_sql(epoch: int, committed_at: str, file_time: str, row: str) -> str:
    """SQL for files without a sequence column: commit time (microseconds), file time, row number in the file."""
    clock = f"date_format({committed_at}, 'yyyyMMddHHmmssSSSSSS')"
    return f"concat('{epoch_prefix(epoch)}', {clock}, {file_time}, {_counted_sql(f'CAST({row} AS string)')})"
