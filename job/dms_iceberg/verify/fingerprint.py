"""Fingerprints of rows, computed in the same way on both sides: SQL over silver columns. Pure.

Both sides have the types of the silver table at this point, so equal values have equal texts. The key's hash divides a table into ranges
of about equal size, whatever type the key has and however it is masked. A range has a count and a sum of its rows' fingerprints, which
does not depend on the order of rows.
"""

from collections.abc import Mapping, Sequence

from dms_iceberg.sql.quoting import quote
from dms_iceberg.sql.value_text import value_text

RANGE, FINGERPRINT, REJECTED = "_cdc_range", "_cdc_fingerprint", "_cdc_rejected"
SOURCE, SILVER = "_cdc_source", "_cdc_silver"
"""The state of a key on one side: see `state`."""
_HASH_BITS = 64
_ROWS_IN_RANGE = 20_000
_FEWEST_BITS, _MOST_BITS = 4, 14
SourceState = tuple[int, int] | None
"""What the source has of a key: the number of its rows and the sum of their fingerprints; None if it has none."""


def range_bits(rows: int) -> int:
    """Return how many bits of the key's hash number the ranges of a table with about ``rows`` rows."""
    return min(_MOST_BITS, max(_FEWEST_BITS, (rows // _ROWS_IN_RANGE).bit_length()))


def _hash(names: Sequence[str], types: Mapping[str, str]) -> str:
    # A hash skips NULLs, so (NULL, 'a') and ('a', NULL) would have the same one.
    parts = [part for name in names for part in (f"{quote(name)} IS NULL", f"coalesce({value_text(name, types[name])}, '')")]
    return f"xxhash64({', '.join(parts)})"


def fingerprint_select(
    key: Sequence[str], columns: Sequence[str], types: Mapping[str, str], bits: int, rejected: str, outside: str = "false"
) -> list[str]:
    """Return a select list over silver columns: key, range, the row's fingerprint, and whether its state in silver is unknown.

    Args:
        columns: the other compared columns. The fingerprint includes the key; without it rows of one range could swap values unnoticed.
        rejected: SQL of the last column.
        outside: SQL that is true for a row that does not belong in silver: it gets no range.
    """
    range_ = f"CAST(shiftrightunsigned({_hash(key, types)}, {_HASH_BITS - bits}) AS int)"
    return [
        *(quote(name) for name in key),
        f"{range_} AS {RANGE}" if outside == "false" else f"CASE WHEN NOT {outside} THEN {range_} END AS {RANGE}",
        f"{_hash([*key, *columns], types)} AS {FINGERPRINT}",
        f"{rejected} AS {REJECTED}",
    ]


def column_hashes(columns: Sequence[str], types: Mapping[str, str]) -> str:
    """Return SQL of an array with a hash of each column's value."""
    return f"array({', '.join(_hash([name], types) for name in columns)})"


def range_aggregates() -> list[str]:
    """Aggregates of a range: rows, and the sum of their fingerprints (it wraps around, as the session is not ANSI)."""
    return ["count(1) AS n", f"sum({FINGERPRINT}) AS checksum"]


def key_aggregates(side: str) -> list[str]:
    """Aggregates of a key on one side, where it may occur more than once."""
    return [f"count(1) AS {side}_n", f"sum({FINGERPRINT}) AS {side}_sum", f"max({REJECTED}) AS {rejected(side)}"]


def rejected(side: str) -> str:
    """Return the column that shows, after `key_aggregates`, whether a side rejects a row of the key."""
    return f"{side}_rejected"


def state(side: str) -> str:
    """Return SQL of a key's state on one side, after `key_aggregates`: NULL if the side does not have the key."""
    return f"CASE WHEN {side}_n IS NOT NULL THEN struct({side}_n AS n, {side}_sum AS sum) END AS {side}"


DIFFERS = f"NOT ({SOURCE} <=> {SILVER})"
COLLIDED = f"coalesce({SOURCE}.n > 1 AND {SOURCE}.n > coalesce({SILVER}.n, 0), false)"
"""SQL over the states of both sides: several rows of the source have this one key in silver."""
KIND = (
    f"CASE WHEN {COLLIDED} THEN 'collided' WHEN {SILVER} IS NULL THEN 'missing' "
    f"WHEN {SOURCE} IS NULL OR {SILVER}.n > {SOURCE}.n THEN 'surplus' ELSE 'different' END"
)
"""SQL over the states of both sides."""
ANY_KIND = f"CASE WHEN {DIFFERS} THEN {KIND} WHEN {SILVER} IS NULL THEN 'absent' ELSE 'same' END"
"""The same for a key that need not differ: *same* on both sides, or *absent* from both."""
