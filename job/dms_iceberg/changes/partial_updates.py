"""Columns that an update may leave out: which they are, how rows mark them, and what the table stores about them.

A column is not supplied if it is NULL in an update and declared ``null_in_update: keep``, or if a copied column has the text
``csv.no_supplement`` in an update. Such a column takes the last supplied value of its row (`fill_forward`).

A row has one position, but its columns may be older, and a late change must be compared with the column, not with the row: after positions
5 (c=5), 9 (without c) and 7 (c=7) arrive in this order, the row has c=7 at position 9. So the table has one more column, `KEPT_POSITIONS`:
the positions of those columns that the row's last change did not supply, as JSON. A column that is not in the JSON was supplied by that
change. So `KEPT_POSITIONS` is NULL in most rows and in all rows older than the declaration, and its structure never changes with the
table's. A position column for each kept column would double the width of every table of a CSV pipeline; deriving rows from bronze again
would need all of bronze.
"""

from collections.abc import Iterable, Sequence

import attrs

from dms_iceberg.bronze.columns import SourceColumns
from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.changes.normalise import is_op_sql, moved_sql
from dms_iceberg.config.chosen_tables import chosen_tables
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Bronze, BronzeFormat, Change, Column, Config, NullInUpdate, Table
from dms_iceberg.sql.cdc_columns import KEPT_POSITIONS, LACKS, MISPLACED, MOVED, N_LACKING, N_MOVED
from dms_iceberg.sql.quoting import quote, string_literal

_POSITIONS_COLUMN = Column(name=KEPT_POSITIONS, type="string", expr="CAST(NULL AS string)")


def marker_of(bronze: Bronze) -> str | None:
    """Return the text that marks a value that was not supplied, None when there is none."""
    return bronze.csv.no_supplement if bronze.format is BronzeFormat.CSV else None


def with_kept_positions(config: Config, table: Table) -> Table:
    """Return the table with `KEPT_POSITIONS` declared if updates may leave columns out.

    As a declared column, it is created, added to an existing table and shown in a plan like any other column.
    """
    if marker_of(config.bronze) is None and not any(column.null_in_update is NullInUpdate.KEEP for column in table.columns):
        return table
    return attrs.evolve(table, columns=(*table.columns, _POSITIONS_COLUMN))


def tables_with_kept_positions(config: Config, only: Iterable[str]) -> list[Table]:
    """Return the chosen tables as every step takes them: with the column that the job itself declares, if any (`with_kept_positions`).

    Raises:
        ConfigError: see `chosen_tables`.
    """
    return [with_kept_positions(config, table) for table in chosen_tables(config, only)]


def kept_columns(bronze: Bronze, table: Table, columns: Sequence[SilverColumn]) -> tuple[SilverColumn, ...]:
    """Return the silver columns that an update may leave out; none without `KEPT_POSITIONS`."""
    if _POSITIONS_COLUMN not in table.columns:
        return ()
    every = marker_of(bronze) is not None
    return tuple(c for c in columns if not c.is_key and c.source is not None and (every or c.declared.null_in_update is NullInUpdate.KEEP))


def mark_select(names: Sequence[str], columns: SourceColumns, bronze: Bronze, table: Table, silver: Sequence[SilverColumn]) -> list[str]:
    """Select list over a file's own columns: the same columns with markers as NULL, then `LACKS`, `MISPLACED` and `MOVED`.

    `LACKS` has a boolean per kept silver column, true where the row does not supply it. `MISPLACED` is the problem of a row with a marker
    where a value is needed. `MOVED` is whether the row has moved to another key.

    Args:
        names: all columns of the frame.
        columns: the classified columns of the files.
        bronze: how the files are written.
        table: the table's configuration.
        silver: all silver columns of the table.
    """
    change, marker, kept = bronze.change, marker_of(bronze), kept_columns(bronze, table, silver)
    update = is_op_sql(columns, change, "U")
    present = {name.lower(): name for name in columns.names}
    marked = {*columns.names, *columns.before_image.values()} if marker is not None else set()
    lacks = ", ".join(f"{string_literal(c.name)}, {_lacks_sql(c, present, update, marker)}" for c in kept)
    return [
        *(f"{_without_marker(name, marker or '')} AS {quote(name)}" if name in marked else quote(name) for name in names),
        f"named_struct({lacks}) AS {LACKS}",
        f"{_misplaced_sql(columns, change, table, silver, present, marker)} AS {MISPLACED}",
        f"coalesce({moved_sql(columns, change, lambda name: _without_marker(name, marker) if marker else quote(name))}, false) AS {MOVED}",
    ]


def _without_marker(name: str, marker: str) -> str:
    return f"nullif({quote(name)}, {string_literal(marker)})"


def _lacks_sql(column: SilverColumn, present: dict[str, str], update: str, marker: str | None) -> str:
    source = present.get((column.source or "").lower())
    keep = column.declared.null_in_update is NullInUpdate.KEEP
    if source is None:
        return f"coalesce({update}, false)" if keep else "false"
    signs = [f"{quote(source)} IS NULL"] if keep else []
    signs += [f"{quote(source)} = {string_literal(marker)}"] if marker is not None else []
    return f"coalesce(({update}) AND ({' OR '.join(signs)}), false)"


def _misplaced_sql(
    columns: SourceColumns, change: Change, table: Table, silver: Sequence[SilverColumn], present: dict[str, str], marker: str | None
) -> str:
    """SQL of the problem of a marker where a value is needed: in an insert, or in an update in a column that SQL of the table reads."""
    if marker is None:
        return "CAST(NULL AS string)"
    texts = [c.expr for c in table.columns if c.expr] + [rule.expr for rule in table.rules] + ([table.filter] if table.filter else [])
    named = {c.name.lower(): c.source for c in silver if c.source is not None}
    read = {name.lower() for text in texts for name in referenced_columns(text)}
    read_sources = [present[source] for name in sorted(read) if (source := (named.get(name) or name).lower()) in present]
    used = dict.fromkeys([*(present[c.source.lower()] for c in silver if c.source and c.source.lower() in present), *read_sources])
    keys = {key.lower() for key in table.key}
    update, insert = is_op_sql(columns, change, "U"), is_op_sql(columns, change, "I") if columns.op is not None else "true"
    cases = [
        f"WHEN ({insert}) AND {quote(name)} = {string_literal(marker)} THEN "
        + string_literal(f"malformed: {name} holds the marker for 'not supplied' (csv.no_supplement), but an insert supplies every column")
        for name in used
    ]
    cases += [
        f"WHEN ({update}) AND {quote(name)} = {string_literal(marker)} THEN "
        + string_literal(f"not_supplied: the update has no value for {name}, which an expression, the filter or a rule reads")
        for name in dict.fromkeys(read_sources)
        if name.lower() not in keys
    ]
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS string)"


def lacking_sql(kept: Sequence[str]) -> str:
    """SQL that is true for a row that does not supply every column; ``kept`` are silver names."""
    return "(" + " OR ".join(f"{LACKS}.{quote(name)}" for name in kept) + ")"


def count_aggregates(kept: Sequence[str]) -> dict[str, str]:
    """Aggregates per key: how many rows leave columns out, and how many have moved to another key."""
    return {N_LACKING: f"count_if({lacking_sql(kept)})", N_MOVED: f"count_if({MOVED})"}
