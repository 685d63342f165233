"""The MERGE text and the pruning of its target. Pure."""

from collections.abc import Sequence

import attrs

from dms_iceberg.sql.cdc_columns import COMMITTED_AT, CONTEXT, DELETE, OP, POSITION
from dms_iceberg.sql.quoting import quote, typed_literal

IN_LIST_KEYS = 200
"""Up to so many keys of a batch are listed in ON. Iceberg compares no longer list with the bounds of files and row groups, and the
bloom filter over the keys does the rest sooner than a long list is parsed and analysed."""
# A range over these prunes files and row groups; floats are left out (NaN and -0.0 have no plain order), binaries have no literal.
_RANGED = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz")
LONGEST_LITERAL = 1_000
"""Characters of the longest key that is put into the text of a statement: a list of keys would make it megabytes otherwise."""
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


@attrs.frozen
class KeyRange:
    """Lowest and highest value of one key column among the winners, as Spark text; None where there is none."""

    column: str
    type: str
    low: str | None
    high: str | None

    def sql(self, prefix: str = "") -> str | None:
        """The condition on the column, None when its values have no exact literals. ``prefix`` is a table alias with its dot."""
        if self.low is None or self.high is None:
            return None
        low, high = _widened(int(self.low), int(self.high), self.type) if self.type in _INTEGER_BITS else (self.low, self.high)
        ends = _literals([low, high], self.type)
        return f"{prefix}{quote(self.column)} BETWEEN {ends[0]} AND {ends[1]}" if ends else None


def _widened(low: int, high: int, type_: str) -> tuple[str, str]:
    """Round a range outwards to a coarse grid: Spark compiles literals into its code, and equal literals let the next batch reuse it."""
    bits = _INTEGER_BITS[type_]
    step = 1 << max(0, (high - low).bit_length() - 3)
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return str(max(least, low // step * step)), str(min(most, -(-high // step) * step))


def mergeable() -> str:
    """SQL for the winners a MERGE gets: keys with a usable change that is not merely read again from bronze.

    The comparison is true for every position, and has to be one: Spark builds a runtime bloom filter only over a side that it takes
    for selective.
    """
    return f"{POSITION} >= '' AND NOT {CONTEXT}"


def key_list_sql(alias: str, column: str, type_: str, values: Sequence[str | None]) -> str | None:
    """Return an IN list over one key column for a small batch, None when some of the values have no exact literal."""
    listed = _literals(values, type_)
    return f"{alias}.{quote(column)} IN ({', '.join(listed)})" if listed else None


def _literals(values: Sequence[str | None], type_: str) -> list[str] | None:
    """Return all of the values as literals, or None: a condition that leaves one out would double its row."""
    if not (type_ in _RANGED or type_.startswith("decimal")):
        return None
    literals = [typed_literal(value, type_) for value in values if value is not None and len(value) <= LONGEST_LITERAL]
    exact = [literal for literal in literals if literal is not None]
    return exact if len(exact) == len(values) else None


def merge_sql(
    target: str,
    source: str,
    key: Sequence[str],
    values: Sequence[str],
    pruning: Sequence[str],
    *,
    compare: bool,
    rewrite: str | None = None,
) -> str:
    """Return the MERGE of a batch's winners.

    Args:
        target: quoted name of the table.
        source: name of the view of winners.
        key: silver key columns.
        values: the other silver columns.
        pruning: conditions on the target (alias ``t``) that hold for every key of the batch.
        compare: the batch may hold positions below the table's high-water position, so rows must be compared one by one. An in-order batch
            needs no such look, and then the position column of the target is not even read.
        rewrite: column of ``source`` that is true for rows that are written whatever the table has; only looked at when comparing.

    There is always a WHEN MATCHED clause: without one Spark plans an append, which no concurrent commit can conflict with.
    """
    on = " AND ".join([*(f"t.{quote(c)} = s.{quote(c)}" for c in key), *pruning])
    newer = f"s.{POSITION} > t.{POSITION}"
    if rewrite is not None:
        newer = f"({newer} OR s.{rewrite})"
    newer = f" AND {newer}" if compare else ""
    columns = [*(quote(c) for c in (*key, *values)), POSITION, OP, COMMITTED_AT]
    assignments = ", ".join(f"t.{column} = s.{column}" for column in columns)
    return (
        f"MERGE INTO {target} t USING {source} s ON {on} "
        f"WHEN MATCHED AND s.{DELETE}{newer} THEN DELETE "
        f"WHEN MATCHED{newer} THEN UPDATE SET {assignments} "
        f"WHEN NOT MATCHED AND NOT s.{DELETE} THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})"
    )


def insert_columns(columns: Sequence[str]) -> list[str]:
    """Return the quoted columns of an append, metadata columns last."""
    return [*(quote(column) for column in columns), POSITION, OP, COMMITTED_AT]
