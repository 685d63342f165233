"""Repair: the source's rows of differing keys, as change files of the job's own below ``_repair/`` in the table's bronze folder.

Bronze is the log, so what repairs silver is in bronze as well, and the next run merges it like any other change. Its position has the
source's time just before the first snapshot. Both sides have not changed since then, so a change of the key that the row lacks was
committed later, and wins over the repair whenever it arrives.
"""

import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from dms_iceberg.bronze.keys import BronzeFile, repair_key, shown_time, table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.bronze.position import CLOCK_DIGITS, COUNTER_DIGITS
from dms_iceberg.config.model import BronzeFormat, Config
from dms_iceberg.config.model import Change as ChangeNames
from dms_iceberg.errors import ConfigError, TargetError
from dms_iceberg.loads.epochs import branch_state
from dms_iceberg.merge.ambiguous_keys import ambiguous_keys
from dms_iceberg.progress.progress import Progress
from dms_iceberg.sql.cdc_columns import ROW_ID
from dms_iceberg.sql.quoting import quote
from dms_iceberg.sql.types import decimal_of
from dms_iceberg.verify.columns import SourceColumn, shown_rows
from dms_iceberg.verify.compare import Comparison, Difference, Options
from dms_iceberg.verify.fingerprint import COLLIDED

_LOG = structlog.get_logger("dms_iceberg")
_KEYS_IN_FILE = 1_000
_MOST_KEYS = 100_000
_LEAST_SETTLE = 1.0
_NO_PLACE = (
    "bronze.change.sequence_column is null, so a repair would have no exact place in the order of changes, and could win over a newer one. "
    "Load the tables again instead; where the task writes $AR_H_CHANGE_SEQ, and the document names it, before a new load, differences "
    "after it can be repaired"
)
Change = tuple[str, dict[str, Any]]
"""Operation (I or D) and values by source column."""


def refuse_repair(config: Config, options: Options) -> None:
    """Refuse what cannot be repaired, whatever the comparison finds.

    Raises:
        ConfigError: change files of the job's own have no place in this bronze or its order; or a difference could be mere lateness.
    """
    change, problems = config.bronze.change, []
    if config.bronze.format is not BronzeFormat.PARQUET:
        problems.append(f"--repair: writes Parquet, but bronze.format is {config.bronze.format.value!r}; load the tables again instead")
    if change.sequence_column is None:
        problems.append(f"--repair: {_NO_PLACE}")
    if options.tries < 1 or options.settle < _LEAST_SETTLE:
        problems.append("--repair: needs --tries 1 and --settle 1s or more, as only differences that stay may be repaired")
    if problems:
        raise ConfigError(problems, "usage")


def write_repair(comparison: Comparison, difference: Difference) -> int:
    """Write change files for keys that remain different; return the number of changes in them.

    Raises:
        TargetError: there are too many keys, they do not determine the source's keys, a column is unknown, or silver's state forbids it.
        SourceError: the source cannot be read.
    """
    cleaning, context, table = comparison.cleaning, comparison.cleaning.context, comparison.cleaning.table
    # No change can repair a key that stands for several rows of the source.
    mendable = difference.rows.where(f"NOT {COLLIDED}")
    count = difference.count - comparison.verdict.differing["collided"]
    wanted = mendable.select(*(quote(name) for name in cleaning.shape.key))
    # If silver and source are equal by now, a repair resolves such rows of the quarantine.
    unclear = ambiguous_keys(context, table, comparison.target.progress(), cleaning.shape) if comparison.target.exists() else None
    if unclear is not None:
        wanted = wanted.union(unclear.drop(ROW_ID)).distinct()
    if count == 0 and unclear is None:
        return 0
    _refuse_state(comparison, count)
    keys = comparison.key_texts(wanted)
    _refuse_ends(comparison, keys)
    bronze = context.config.bronze
    shown = shown_rows(cleaning.all_columns, bronze)
    written = 0
    for start in range(0, len(keys), _KEYS_IN_FILE):
        with comparison.snapshot([column.sql for column in cleaning.all_columns]) as reader:
            found = [shown(row) for row in comparison.rows_of(reader, keys[start : start + _KEYS_IN_FILE])]
        _refuse_clock(comparison, reader.clock)
        rows = changes(cleaning.all_columns, cleaning.lookup or (), keys[start : start + _KEYS_IN_FILE], found)
        key = repair_key(table_prefix(table.schema_name, table.table_name), reader.clock)
        context.store.put(key, encode(cleaning.all_columns, bronze.change, rows, comparison.clock))
        written += len(rows)
        _LOG.info("repair_written", table=table.source, file=key, rows=len(rows))
    return written


def _refuse_state(comparison: Comparison, count: int) -> None:
    cleaning = comparison.cleaning
    context, table = cleaning.context, cleaning.table
    if cleaning.lookup is None:
        raise TargetError(
            f"{table.source}: cannot be repaired, because its key in silver is masked, trimmed, cast or made by an expression, so that a "
            "surplus row does not tell which key was deleted at the source. Load the table again."
        )
    unknown = [column.name for column in cleaning.all_columns if column.unknown is not None]
    if unknown:
        raise TargetError(
            f"{table.source}: cannot be repaired, because nobody can say what DMS writes of the column {unknown[0]!r}, and a repair writes "
            "whole rows. Load the table again."
        )
    if count > _MOST_KEYS:
        raise TargetError(f"{table.source}: {count:,} keys differ, and at most {_MOST_KEYS:,} are repaired. Load the table again.")
    found = branch_state(cleaning)
    if found.branch is not None:
        raise TargetError(f"{table.source}: is being loaded again. Repair it, if it is still needed, once the new load is its content.")
    progress = found.progress
    prefix = table_prefix(table.schema_name, table.table_name)
    listing = list_files(context.store, prefix, progress.since, context.config.bronze.format, progress.to_come(context.look_back()))
    unmerged = sum(not (progress.has_merged(file) if file.is_cdc else _is_loaded(file, progress)) for file in listing)
    if unmerged:
        raise TargetError(f"{table.source}: bronze has {unmerged:,} files that are not merged yet. Run the job first, then verify again.")


def _refuse_ends(comparison: Comparison, keys: Sequence[Sequence[str]]) -> None:
    lookup = comparison.cleaning.lookup or ()
    for column, texts in zip(lookup, zip(*keys, strict=True), strict=False):
        if any(text in column.ends for text in texts):
            raise TargetError(
                f"{comparison.cleaning.table.source}: cannot be repaired, because differing keys hold the first or last time of the "
                f"calendar in {column.name!r}, which stands for everything beyond it as well. Load the table again."
            )


def _is_loaded(file: BronzeFile, progress: Progress) -> bool:
    # After a reload in place, an older file is left over from the previous load.
    return file.modified < progress.reloaded_at or progress.loads.has(file)


def _refuse_clock(comparison: Comparison, now: str) -> None:
    table = comparison.cleaning.table
    newest = comparison.target.progress().committed
    if newest > now[: len(newest)]:
        raise TargetError(
            f"{table.source}: silver holds a change committed at {shown_time(newest)}, but the source's clock shows "
            f"{shown_time(now[: len(newest)])}: it went back. A repair written now would be older than that change; repair "
            "when the clock has passed it, or load the table again."
        )


def changes(
    columns: Sequence[SourceColumn], key: Sequence[SourceColumn], wanted: Sequence[Sequence[str]], found: Sequence[str]
) -> list[Change]:
    """Return a change for each of the ``wanted`` keys: the row that the source has, or a delete if it has none.

    Args:
        key: the source columns whose texts a wanted key has.
        found: rows of the source as JSON arrays of texts; a loose collation may have found more keys than were wanted.
    """
    missing = {tuple(_value(column.type, text) for column, text in zip(key, texts, strict=True)) for texts in wanted}
    inserts: list[Change] = []
    for text in found:
        row = {column.name: _value(column.type, cell) for column, cell in zip(columns, json.loads(text), strict=True)}
        own = tuple(row[column.name] for column in key)
        if own in missing:
            missing.remove(own)
            inserts.append(("I", row))
    return inserts + [("D", dict(zip((column.name for column in key), values, strict=True))) for values in missing]


def encode(columns: Sequence[SourceColumn], names: ChangeNames, rows: Sequence[Change], clock: str) -> bytes:
    """Return a change file as DMS would write it; all its changes have the commit time ``clock`` (20 digits)."""
    words = {op: word for word, op in reversed(names.op_words.items())}
    committed = dt.datetime.strptime(clock, "%Y%m%d%H%M%S%f").isoformat(" ", "microseconds")
    arrays = {names.op_column: pa.array([words[op] for op, _ in rows], pa.string())}
    if names.timestamp_column is not None:
        arrays[names.timestamp_column] = pa.array([committed] * len(rows), pa.string())
    for column in columns:
        arrays[column.name] = pa.array([row.get(column.name) for _, row in rows], _arrow_type(column.type))
    arrays[str(names.sequence_column)] = pa.array([clock[:CLOCK_DIGITS] + "0" * COUNTER_DIGITS] * len(rows), pa.string())
    buffer = BytesIO()
    pq.write_table(pa.table(arrays), buffer)
    return buffer.getvalue()


def _float(text: str) -> float:
    """Return the number; NaN is always the same object, because two NaN objects would be different keys in a set."""
    value = float(text)
    return math.nan if math.isnan(value) else value


_INTEGERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_TYPES: dict[str, tuple[pa.DataType, Callable[[str], Any]]] = {
    **{name: (type_, int) for name, type_ in _INTEGERS.items()},
    "float": (pa.float32(), _float),
    "double": (pa.float64(), _float),
    "boolean": (pa.bool_(), lambda text: text == "true"),
    "binary": (pa.binary(), bytes.fromhex),
    "date": (pa.date32(), dt.date.fromisoformat),
    "timestamp": (pa.timestamp("us", "UTC"), lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)),
    "string": (pa.string(), str),
}


def _arrow_type(type_: str) -> pa.DataType:
    decimal = decimal_of(type_)
    return pa.decimal128(*decimal) if decimal else _TYPES[type_][0]


def _value(type_: str, text: str | None) -> Any:
    """Return the value of a text, None if the type does not have it, as with Spark's try_cast."""
    if text is None:
        return None
    try:
        return Decimal(text) if type_.startswith("decimal(") else _TYPES[type_][1](text)
    except ValueError:
        return None
