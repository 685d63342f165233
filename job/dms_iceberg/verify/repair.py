"""Repair: the source's rows of differing keys, as change files of the job's own below ``_repair/`` in the table's bronze folder.

Bronze is the log, so what repairs silver is in bronze as well, and the next run merges it like any other change. Its position has the
source's time just before the first look (C). These hold, so that a repair never wins over a change that its row lacks, and is never
ahead of one that it has:

- Whatever the row lacks was committed after the read for its file, which is in a later second than C. So its commit time is after C, also
  where commit times are whole seconds (MySQL): it wins over the repair, whenever it arrives.
- The row is read, and compared with what was seen before, in one snapshot: a key that the source has changed since it was compared is left
  out, and the change file that is to come brings it. So nothing is written that was inserted, or came back, since the look.
"""

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import structlog
from pyspark.sql import DataFrame

from dms_iceberg.bronze.keys import repair_key, shown_time, table_prefix
from dms_iceberg.bronze.position import CLOCK_DIGITS, COUNTER_DIGITS
from dms_iceberg.config.model import BronzeFormat, Config
from dms_iceberg.config.model import Change as ChangeNames
from dms_iceberg.errors import ConfigError
from dms_iceberg.merge.ambiguous_keys import ambiguous_keys
from dms_iceberg.source.errors import SourceError
from dms_iceberg.spark.broadcast import materialised
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import decimal_of
from dms_iceberg.verify.columns import SourceColumn, shown_rows
from dms_iceberg.verify.compare import Comparison, Difference
from dms_iceberg.verify.facts import NotedSource
from dms_iceberg.verify.fingerprint import ANY_KIND, KIND, SOURCE, SourceState
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.repair_checks import check_repair, clock_doubt, doubts, end_doubt, refuse, repaired_columns
from dms_iceberg.verify.verdict import shown_counts

_LOG = structlog.get_logger("dms_iceberg")
_KEYS_IN_FILE = 1_000
_LEAST_SETTLE = 1.0
_KIND = "_cdc_kind"
_SECOND_DIGITS = 14
_MOST_WAITS = 60
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


def write_repair(comparison: Comparison, difference: Difference, noted: NotedSource | None) -> None:
    """Write change files for keys that remain different; the verdict gets what is to be written, then the number of written changes.

    Keys that the source has changed since they were compared are left out.

    Args:
        comparison: the finished comparison.
        difference: what it has found.
        noted: what earlier comparisons have noted of the source.

    Raises:
        TargetError: something speaks against the repair (`repair_checks`).
        SourceError: the source cannot be read.
    """
    cleaning, verdict, options = comparison.cleaning, comparison.verdict, comparison.options
    chosen = _chosen(comparison, difference)
    if chosen is None:
        return
    by_kind = {row.kind: row.n for row in chosen.groupBy(_KIND).count().toDF("kind", "n").collect()}
    left_out = {"collided": True, "missing": not options.insert_missing}
    if left_out["missing"] and by_kind.get("missing"):
        verdict.warnings.append(
            f"{by_kind['missing']:,} rows that silver lacks are left out of the repair: a selection filter of the task may keep "
            "them out on purpose. If it has none, or the document's filter repeats it, add --insert-missing"
        )
    counts = {kind: n for kind, n in by_kind.items() if not left_out.get(kind)}
    if not counts:
        return
    columns = repaired_columns(cleaning)
    check_repair(comparison, columns, counts, noted)
    kinds = ", ".join(string_literal(kind) for kind in counts)
    seen = comparison.seen_at_source(chosen.where(f"{_KIND} IN ({kinds})"))
    refuse(comparison, end_doubt(comparison, [*seen]))
    verdict.to_repair = counts
    _LOG.info("repair_planned", table=cleaning.table.source, keys=len(seen), **counts)
    options.say(f"{cleaning.table.source}: the repair will {shown_counts(counts)}")
    if not options.dry_run:
        _write(comparison, columns, seen, noted)


def _chosen(comparison: Comparison, difference: Difference) -> DataFrame | None:
    """Return the keys that a repair is about: those that differ, and those of the quarantine.

    Each is there once, with its kind in `_KIND` and what was seen of it at the source.

    If silver and source are equal by now, a repair resolves rows of the quarantine that do not identify the row they change.
    """
    cleaning, target = comparison.cleaning, comparison.target
    names = [quote(name) for name in cleaning.shape.key]
    # Without a difference, the frame has no states.
    differing = difference.rows.selectExpr(*names, f"{KIND} AS {_KIND}", SOURCE) if difference.count else None
    unclear = ambiguous_keys(cleaning.context, cleaning.table, target.progress(), cleaning.shape) if target.exists() else None
    if unclear is None:
        return differing
    others = unclear.select(*names).distinct()
    if differing is not None:
        others = others.join(differing, on=list(cleaning.shape.key), how="left_anti")
    found = comparison.states_now(materialised(others)).selectExpr(*names, f"{ANY_KIND} AS {_KIND}", SOURCE)
    return materialised(found if differing is None else differing.union(found))


def _write(
    comparison: Comparison, columns: Sequence[SourceColumn], seen: Mapping[tuple[str, ...], SourceState], noted: NotedSource | None
) -> None:
    cleaning, context, table = comparison.cleaning, comparison.cleaning.context, comparison.cleaning.table
    bronze = context.config.bronze
    shown, keys, left = shown_rows(columns, bronze), [*seen], 0
    # One read for both: the row to write, and what it is compared with.
    expressions = list(dict.fromkeys([*cleaning.expressions, *(column.sql for column in columns)]))
    compared, written = _picker(expressions, cleaning.expressions), _picker(expressions, [column.sql for column in columns])
    for start in range(0, len(keys), _KEYS_IN_FILE):
        part = keys[start : start + _KEYS_IN_FILE]
        clock, found = _read(comparison, expressions, part, noted)
        now = comparison.source_states([compared(row) for row in found])
        same = [key for key in part if now.get(key) == seen[key]]
        left += len(part) - len(same)
        rows = changes(columns, cleaning.lookup or (), same, [shown(written(row)) for row in found])
        if not rows:
            continue
        key = repair_key(table_prefix(table.schema_name, table.table_name), clock)
        context.store.put(key, encode(columns, bronze.change, rows, comparison.clock))
        comparison.verdict.repaired += len(rows)
        _LOG.info("repair_written", table=table.source, file=key, rows=len(rows))
    if left:
        comparison.verdict.warnings.append(
            f"{left:,} keys were left out of the repair, because the source has changed them since they were compared: their change files "
            "are to come. Compare again once they are merged"
        )


def _read(
    comparison: Comparison, expressions: Sequence[str], keys: Sequence[Sequence[str]], noted: NotedSource | None
) -> tuple[str, list[str]]:
    """Return the source's clock and its rows of these keys, read in a later second than the first look.

    Raises:
        TargetError: something speaks against the repair by now.
        SourceError: the source cannot be read, or its clock stands still.
    """
    for _ in range(_MOST_WAITS):
        with comparison.snapshot(expressions) as reader:
            # Each file is from a connection or transaction of its own, which may have come to another server.
            refuse(comparison, [*doubts(comparison, reader.facts(), noted), *clock_doubt(comparison, reader.clock)])
            if reader.clock[:_SECOND_DIGITS] > comparison.clock[:_SECOND_DIGITS]:
                return reader.clock, list(comparison.rows_of(reader, keys))
        comparison.options.wait(_LEAST_SETTLE)
    stands = f"the source's clock still shows the second of the first look, {shown_time(comparison.clock[:_SECOND_DIGITS])}"
    raise SourceError(f"{comparison.cleaning.table.source}: {stands}, after {_MOST_WAITS} waits of a second. Look at its clock.")


def _picker(every: Sequence[str], some: Sequence[str]) -> Callable[[str], str]:
    """Return a function that turns a row of the expressions ``every`` into one of ``some`` of them, both JSON arrays of texts."""
    places = [every.index(one) for one in some]

    def picked(row: str) -> str:
        cells = json.loads(row)
        return json.dumps([cells[place] for place in places], ensure_ascii=False)

    return picked


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
