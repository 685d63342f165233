"""Repair: the source's rows of differing keys, as change files of the job's own below ``_repair/`` in the table's bronze folder.

Bronze is the log, so what repairs silver is in bronze as well, and the next run merges it like any other change. Its position has the
source's time just before the first look (C). These hold, so that a repair never wins over a change that its row lacks, and is never
ahead of one that it has:

- Whatever the row lacks was committed after the read for its file, which is in a later second than C. So its commit time is after C, also
  where commit times are whole seconds (MySQL): it wins over the repair, whenever it arrives. What may be committed under an earlier time
  stops the repair (`facts.hidden_commit`).
- What is deleted is nothing that the source holds (`whole_repair`).
- The row is read, and compared with what was seen before, in one snapshot: a key that the source has changed since it was compared is left
  out, and the change file that is to come brings it. So nothing is written that was inserted, or came back, since the look.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs
import structlog
from pyspark.sql import DataFrame

from dms_iceberg.bronze.keys import repair_key, shown_time, table_prefix
from dms_iceberg.config.model import BronzeFormat, Config
from dms_iceberg.errors import ConfigError
from dms_iceberg.merge.crowded.ambiguous_keys import ambiguous_keys
from dms_iceberg.source.errors import KeyDoesNotFitError, SourceError
from dms_iceberg.spark.broadcast import materialised
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.verify.columns import SourceColumn, shown_rows
from dms_iceberg.verify.compare import Comparison, Difference
from dms_iceberg.verify.facts import NotedSource, hidden_commit
from dms_iceberg.verify.fingerprint import ANY_KIND, KIND, SILVER, SOURCE
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.repair_checks import check_repair, clock_doubt, doubts, end_doubt, fit_doubt, refuse, repaired_columns
from dms_iceberg.verify.repair_file import changes, encode
from dms_iceberg.verify.source import Reader
from dms_iceberg.verify.verdict import shown_counts
from dms_iceberg.verify.whole_repair import FilePlan, Found, Key, Wanted, half_doubt, in_order, plan_file, warnings

_LOG = structlog.get_logger("dms_iceberg")
_KEYS_IN_FILE = 1_000
_LEAST_SETTLE = 1.0
_KIND = "_cdc_kind"
_SECOND_DIGITS = 14
_MOST_WAITS = 60
_FORMS_SHOWN = 20
_NO_PLACE = (
    "bronze.change.sequence_column is null, so a repair would have no exact place in the order of changes, and could win over a newer one. "
    "Load the tables again instead; where the task writes $AR_H_CHANGE_SEQ, and the document names it, before a new load, differences "
    "after it can be repaired"
)


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
    check_repair(comparison, columns, counts, noted, half_doubt(counts.get("surplus", 0), _lacking(difference, by_kind, left_out)))
    kinds = ", ".join(string_literal(kind) for kind in counts)
    wanted = _wanted(comparison, chosen.where(f"{_KIND} IN ({kinds})"))
    refuse(comparison, [*end_doubt(comparison, [*wanted]), *fit_doubt(comparison, [*wanted])])
    verdict.to_repair = counts
    _LOG.info("repair_planned", table=cleaning.table.source, keys=len(wanted), **counts)
    options.say(f"{cleaning.table.source}: the repair will {shown_counts(counts)}")
    if not options.dry_run:
        _write(comparison, columns, wanted, noted)


def _lacking(difference: Difference, by_kind: Mapping[str, int], left_out: Mapping[str, bool]) -> int:
    """Return how many keys silver lacks that the repair would not insert, as far as the comparison knows."""
    collided = difference.rows.where(f"{KIND} = 'collided' AND {SILVER} IS NULL").count() if by_kind.get("collided") else 0
    return difference.unsettled_missing + collided + (by_kind.get("missing", 0) if left_out["missing"] else 0)


def _wanted(comparison: Comparison, chosen: DataFrame) -> dict[Key, Wanted]:
    lookup = comparison.lookup
    rows = chosen.selectExpr(*lookup.texts, _KIND, f"{SOURCE}.n", f"{SOURCE}.sum").collect()
    return {tuple(row[:-3]): Wanted(row[-3], None if row[-2] is None else (row[-2], row[-1])) for row in rows}


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


def _write(comparison: Comparison, columns: Sequence[SourceColumn], wanted: Mapping[Key, Wanted], noted: NotedSource | None) -> None:
    keys, plans = in_order(wanted), list[FilePlan]()
    for start in range(0, len(keys), _KEYS_IN_FILE):
        part = keys[start : start + _KEYS_IN_FILE]
        try:
            plans.append(_write_file(comparison, columns, part, _Earlier(wanted, noted, plans)))
        except KeyDoesNotFitError:
            types = ", ".join(f"{column.name} ({column.lookup_type})" for column in comparison.lookup.columns or ())
            refuse(comparison, [f"a differing key of silver is no value of the source's type, {types}. Load the table again"])
    comparison.verdict.warnings += warnings(plans, _FORMS_SHOWN)


@attrs.frozen
class _Earlier:
    """What is known before a file is written: all keys of the repair, what was noted of the source, and the plans of earlier files."""

    wanted: Mapping[Key, Wanted]
    noted: NotedSource | None
    plans: Sequence[FilePlan]


def _write_file(comparison: Comparison, columns: Sequence[SourceColumn], part: Sequence[Key], earlier: _Earlier) -> FilePlan:
    """Write the change file of some keys, if any of them is still as it was compared; return what has become of each."""
    cleaning, context, table = comparison.cleaning, comparison.cleaning.context, comparison.cleaning.table
    bronze = context.config.bronze
    shown = shown_rows(columns, bronze)
    # One read for both: the row to write, and what it is compared with.
    expressions = list(dict.fromkeys([*cleaning.expressions, *(column.sql for column in columns)]))
    compared, written = _picker(expressions, cleaning.expressions), _picker(expressions, [column.sql for column in columns])
    with _reader(comparison, expressions, earlier.noted) as reader:
        rows = list(comparison.lookup.rows_of(reader, part))
        now = comparison.source_states([compared(row) for row in rows])
        deletes = [key for key in part if earlier.wanted[key].is_delete]
        equal = _equal_keys(comparison, deletes, lambda keys: [compared(row) for row in comparison.lookup.rows_of(reader, keys)])
        clock = reader.clock
    others = {other for keys in equal.values() for other in keys}
    plan = plan_file(part, earlier.wanted, Found(now, equal, comparison.in_silver(others)), earlier.plans)
    made = changes(columns, cleaning.lookup or (), plan.written, [shown(written(row)) for row in rows])
    if made:
        key = repair_key(table_prefix(table.schema_name, table.table_name), clock)
        context.store.put(key, encode(columns, bronze.change, made, comparison.clock))
        comparison.verdict.repaired += len(made)
        _LOG.info("repair_written", table=table.source, file=key, rows=len(made))
    return plan


def _equal_keys(comparison: Comparison, deletes: Sequence[Key], rows_of: Callable[[Sequence[Key]], Sequence[str]]) -> dict[Key, set[Key]]:
    """Return the keys by which the source finds rows although it does not have them, with the keys that these rows have."""
    if not deletes or not rows_of(deletes):
        return {}
    # Which row belongs to which key, only the source's collation tells: each key is asked for alone.
    rows = {key: alone for key in deletes if (alone := rows_of([key]))}
    found = {key: set(comparison.source_states(alone)) - {key} for key, alone in rows.items()}
    return {key: others for key, others in found.items() if others}


@contextmanager
def _reader(comparison: Comparison, expressions: Sequence[str], noted: NotedSource | None) -> Iterator[Reader]:
    """Open a snapshot of the source in a later second than the first look.

    Raises:
        TargetError: something speaks against the repair by now.
        SourceError: the source cannot be read, or its clock stands still.
    """
    for _ in range(_MOST_WAITS):
        with comparison.snapshot(expressions) as earlier:
            # Asked before the snapshot: within it, a commit that it does not show may be done by now.
            hidden = hidden_commit(earlier.facts(), comparison.clock)
        refuse(comparison, [hidden] if hidden else [])
        with comparison.snapshot(expressions) as reader:
            # Each file is from a connection or transaction of its own, which may have come to another server.
            refuse(comparison, [*doubts(comparison, reader.facts(), noted), *clock_doubt(comparison, reader.clock)])
            if min(earlier.clock, reader.clock)[:_SECOND_DIGITS] > comparison.clock[:_SECOND_DIGITS]:
                yield reader
                return
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
