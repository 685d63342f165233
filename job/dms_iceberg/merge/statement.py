"""The pruning of a MERGE's target. Pure."""

from collections.abc import Sequence

import attrs

from dms_iceberg.sql.quoting import quote, typed_literal

IN_LIST_KEYS = 200
"""The most keys of a batch that ON lists. Iceberg does not compare longer lists with the bounds of files and row groups, and the bloom
filter over the keys is faster than parsing and analysing a long list."""
# A range over these types prunes files and row groups. Not floats (NaN and -0.0 have no plain order), nor binaries (no literal).
_RANGED = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz")
LONGEST_LITERAL = 1_000
"""The most characters of a key that is put into the text of a statement: longer keys could make a list megabytes long."""
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
# The least of Iceberg's type, an int or a long, and above it the widest `truncate`.
_LEAST_SAFE = {**dict.fromkeys(("tinyint", "smallint", "int"), 0), "bigint": (1 << 31) - (1 << 63)}


@attrs.frozen
class KeyRange:
    """Lowest and highest value of one key column among the latest changes, as Spark shows them; None where there is none."""

    column: str
    type: str
    low: str | None
    high: str | None

    def sql(self, prefix: str = "") -> str | None:
        """The condition on the column; None when its values have no exact literals, or Iceberg may prune by them wrongly.

        ``prefix`` is a table alias with its dot.
        """
        if self.low is None or self.high is None:
            return None
        found = _widened(int(self.low), int(self.high), self.type) if self.type in _INTEGER_BITS else (self.low, self.high)
        ends = _literals(found, self.type) if found is not None else None
        return f"{prefix}{quote(self.column)} BETWEEN {ends[0]} AND {ends[1]}" if ends else None


def _widened(low: int, high: int, type_: str) -> tuple[str, str] | None:
    """Round a range outwards to a coarse grid: Spark compiles literals into code, which the next batch can reuse if they are equal.

    Where a partition is ``truncate(n, column)``, Iceberg (``TruncateUtil``, 1.10 and 1.11) computes that of the lower end, and of rows,
    with an overflow if it is below the type's least value, and leaves out partitions that have rows of the range. The table may have had
    any such partition once, so None where that of the widest one would be.
    """
    least, most = _LEAST_SAFE[type_], (1 << (_INTEGER_BITS[type_] - 1)) - 1
    if low < least:
        return None
    step = 1 << max(0, (high - low).bit_length() - 3)
    return str(max(least, low // step * step)), str(min(most, -(-high // step) * step))


def key_list_sql(alias: str, column: str, type_: str, values: Sequence[str | None]) -> str | None:
    """Return an IN list over one key column for a small batch, None when some of the values have no exact literal."""
    listed = _literals(values, type_)
    return f"{alias}.{quote(column)} IN ({', '.join(listed)})" if listed else None


def _literals(values: Sequence[str | None], type_: str) -> list[str] | None:
    """Return all values as literals, or None if one has none: a condition without one of the keys would duplicate its row."""
    if not (type_ in _RANGED or type_.startswith("decimal")):
        return None
    literals = [typed_literal(value, type_) for value in values if value is not None and len(value) <= LONGEST_LITERAL]
    exact = [literal for literal in literals if literal is not None]
    return exact if len(exact) == len(values) else None
