"""Compare one table: read every row once, in bounded memory; then check differing keys again until they agree or no tries are left."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

import attrs
import structlog
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, expr

from dms_iceberg.merge.statement import key_list_sql
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.source.errors import KeyDoesNotFitError
from dms_iceberg.sql.quoting import quote
from dms_iceberg.verify import explain
from dms_iceberg.verify.cleaning import FILTERED_SQL, REJECTED_SQL, Cleaning, lookup_text
from dms_iceberg.verify.facts import Facts
from dms_iceberg.verify.fingerprint import (
    DIFFERS,
    FINGERPRINT,
    KIND,
    RANGE,
    REJECTED,
    SILVER,
    SOURCE,
    SourceState,
    fingerprint_select,
    key_aggregates,
    range_aggregates,
    range_bits,
    rejected,
    state,
)
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.reading_progress import Reading
from dms_iceberg.verify.small_tables import interpreted
from dms_iceberg.verify.source import Reader, Source, chunks
from dms_iceberg.verify.verdict import TableVerdict

_LOG = structlog.get_logger("dms_iceberg")
_KEYS_IN_QUERY = 1_000
# With more keys, reading the whole table once is cheaper than looking up each key.
_MOST_LOOKED_UP = 100_000
# Up to this many ranges, a filter on the ranges is worthwhile.
_MOST_RANGES_LISTED = 1_000
_LISTED_KEYS = 200
_STABLE = "_cdc_stable"
_STATE = (SOURCE, SILVER, _STABLE)
# A plan over more parts than this gets slow, so they are combined into one.
_MOST_PARTS = 32
_AT_SOURCE = "_cdc_at_source"


@attrs.frozen(eq=False)
class Difference:
    """Keys that differ: silver key columns, the state of both sides, and whether neither side has changed since they were found."""

    rows: DataFrame
    count: int


class Comparison:
    """The comparison of one source table with its silver table.

    Attributes:
        clock: source time just before the first snapshot, 20 digits: a difference that remains has not changed since then.
        facts: what the first snapshot has shown beside its rows.
    """

    facts: Facts

    def __init__(self, source: Source, cleaning: Cleaning, options: Options, verdict: TableVerdict, reading: Reading) -> None:
        self.source, self.cleaning, self.target, self.options, self.verdict = source, cleaning, cleaning.target, options, verdict
        self._reading = reading
        self._key = cleaning.shape.key
        reading.expected = _live_rows(self.target)
        self._bits = range_bits(reading.expected)
        self._head = self._seen()
        # Whether one task is enough; determined while the source is read.
        self._is_small = reading.expected <= options.small_rows
        types = cleaning.types()
        self._lookup_texts = [lookup_text(name, types[name]) for name in self._key]
        self.clock = ""

    def run(self) -> Difference:
        """Fill the verdict; return the keys that remain different."""
        with self.snapshot() as reader:
            self.clock, self.facts = reader.clock, reader.facts()
            found = self._fingerprints(reader.rows())
        current = self._pairs(found, self._differing_ranges(found))
        self.verdict.rechecked = current.count
        for number in range(self.options.tries):
            if current.count == 0:
                break
            _LOG.info("verify_settling", table=self.verdict.table, keys=current.count, attempt=number + 1, tries=self.options.tries)
            self.options.wait(self.options.settle)
            self._refresh()
            current = self._again(current)
        return self._conclude(current)

    def _refresh(self) -> int | None:
        self.target.refresh()
        return self._seen()

    def _seen(self) -> int | None:
        head = self.target.head()
        self.verdict.snapshot_id = head.id if head is not None else None
        return self.verdict.snapshot_id

    def snapshot(self, expressions: Sequence[str] | None = None) -> Reader:
        """Return a reader of the source table as it is now."""
        table = self.cleaning.table
        return self.source.snapshot(table.schema_name, table.table_name, expressions or self.cleaning.expressions)

    def _fingerprints(self, texts: Iterator[str]) -> DataFrame:
        """Return fingerprints of the source's rows. If memory is short, they are kept on the disks of the executors."""
        parts: list[DataFrame] = []
        limits = self.options
        for chunk in chunks(self._reading.counted(texts), limits.chunk_rows, limits.chunk_characters):
            small = len(chunk) <= limits.small_rows and sum(map(len, chunk)) <= limits.small_characters
            self._is_small = self._is_small and small and not parts
            made = self._source(chunk)
            # A small table is in memory as a whole: computing it again costs less than keeping the result.
            parts.append(made if self._is_small else made.localCheckpoint())
            if len(parts) == _MOST_PARTS:
                parts = [_united(parts).coalesce(self._parallelism).localCheckpoint()]
        return _united(parts) if parts else self._source([])

    def _source(self, chunk: Sequence[str], *more: str) -> DataFrame:
        return self._fingerprint(self.cleaning.clean(chunk), REJECTED_SQL, FILTERED_SQL, *more)

    @property
    def _parallelism(self) -> int:
        return self.cleaning.context.spark.sparkContext.defaultParallelism

    def _fingerprint(self, rows: DataFrame, rejected: str = "false", filtered: str = "false", *more: str) -> DataFrame:
        """Return key, range, fingerprint and whether a row is rejected; then the columns of the SQL ``more``."""
        return rows.selectExpr(
            *fingerprint_select(self._key, self.cleaning.compared, self.cleaning.types(), self._bits, rejected, filtered),
            f"{'false' if filtered == 'false' else 'true'} AS {_AT_SOURCE}",
            *more,
        )

    def _silver(self, condition: str | None = None, *more: str) -> DataFrame:
        rows = self.cleaning.context.spark.table(self.target.sql_name)
        return self._fingerprint(rows.where(condition) if condition else rows, "false", "false", *more)

    def _differing_ranges(self, found: DataFrame) -> list[int]:
        verdict = self.verdict
        both = found.union(self._silver())
        # With one partition, grouping needs no shuffle.
        grouped = (both.coalesce(1) if self._is_small else both).groupBy(_AT_SOURCE, RANGE)
        sums = grouped.agg(*_exprs([*range_aggregates(), f"count_if({REJECTED}) AS rejected"]))
        with interpreted(self.cleaning.context.spark, enabled=self._is_small):
            rows = sums.collect()
        source = [row for row in rows if row[_AT_SOURCE]]
        silver = {row[RANGE]: (row.n, row.checksum) for row in rows if not row[_AT_SOURCE]}
        verdict.rows_source = sum(row.n for row in source)
        verdict.filtered = sum(row.n for row in source if row[RANGE] is None)
        verdict.rejected = sum(row.rejected for row in source)
        verdict.rows_silver = sum(n for n, _ in silver.values())
        expected = {row[RANGE]: (row.n, row.checksum) for row in source if row[RANGE] is not None}
        verdict.ranges = 1 << self._bits
        differing = sorted(one for one in {*expected, *silver} if expected.get(one) != silver.get(one))
        verdict.ranges_differing = len(differing)
        return differing

    def _pairs(self, found: DataFrame, ranges: Sequence[int]) -> Difference:
        """Return the keys that differ in these ranges."""
        if not ranges:
            return Difference(found.limit(0), 0)
        chosen = f"{RANGE} IS NOT NULL"
        if len(ranges) <= _MOST_RANGES_LISTED:
            chosen = f"{RANGE} IN ({', '.join(map(str, ranges))})"
        source, silver = self._by_key(found.where(chosen), SOURCE), self._by_key(self._silver().where(chosen), SILVER)
        joined = source.join(silver, on=self._key, how="full_outer")
        return self._kept(joined, f"true AS {_STABLE}")

    def _again(self, before: Difference) -> Difference:
        """Return those of the keys that still differ, with the present state of both sides."""
        source, silver = self._sides(before.rows.select(*(quote(name) for name in self._key)), before.count)
        earlier = before.rows.selectExpr(*(quote(name) for name in self._key), *(f"{name} AS {name}_before" for name in _STATE))
        joined = earlier.join(source, on=self._key, how="left").join(silver, on=self._key, how="left")
        same = f"{SOURCE} <=> {SOURCE}_before AND {SILVER} <=> {SILVER}_before"
        return self._kept(joined, f"({_STABLE}_before AND {same}) AS {_STABLE}")

    def _sides(self, keys: DataFrame, count: int) -> tuple[DataFrame, DataFrame]:
        """Return what the source and silver have of these keys now."""
        found = self._looked_up(keys, count)
        shared_keys = broadcast(keys) if count <= _MOST_LOOKED_UP else keys
        source = found.where(f"{RANGE} IS NOT NULL").join(shared_keys, on=self._key, how="left_semi")
        silver = self._silver(self._key_list(keys, count)).join(shared_keys, on=self._key, how="left_semi")
        return self._by_key(source, SOURCE), self._by_key(silver, SILVER)

    def states_now(self, keys: DataFrame) -> DataFrame:
        """Return the keys with the present state of both sides, whether they differ or not."""
        source, silver = self._sides(keys, keys.count())
        joined = keys.join(source, on=self._key, how="left").join(silver, on=self._key, how="left")
        return joined.selectExpr(*(quote(name) for name in self._key), state(SOURCE), state(SILVER))

    def _kept(self, joined: DataFrame, stable: str) -> Difference:
        keys = [quote(name) for name in self._key]
        states = joined.selectExpr("*", state(SOURCE), state(SILVER))
        differing = states.where(f"{DIFFERS} AND NOT coalesce({rejected(SOURCE)}, false)").selectExpr(*keys, SOURCE, SILVER, stable)
        differing = differing.localCheckpoint()
        return Difference(differing, differing.count())

    def _by_key(self, fingerprints: DataFrame, side: str) -> DataFrame:
        return fingerprints.groupBy(*(quote(name) for name in self._key)).agg(*_exprs(key_aggregates(side)))

    def _key_list(self, keys: DataFrame, count: int) -> str | None:
        """Return a condition that lets Iceberg skip files, for few keys of one column; None for others."""
        if count > _LISTED_KEYS or len(self._key) > 1:
            return None
        (name,) = self._key
        values = [row[0] for row in keys.selectExpr(f"CAST({quote(name)} AS string)").collect()]
        listed = key_list_sql("t", name, self.cleaning.types()[name], values)
        return listed.removeprefix("t.") if listed else None

    def _looked_up(self, keys: DataFrame, count: int) -> DataFrame:
        """Return the source's fingerprints of these keys; of the whole table if they are too many, or cannot be looked up there."""
        return self._read_again(keys, count, self._fingerprints)

    def _read_again(self, keys: DataFrame, count: int, made: Callable[[Iterator[str]], DataFrame]) -> DataFrame:
        lookup = self.cleaning.lookup
        if lookup is not None and count <= _MOST_LOOKED_UP:
            texts = self.key_texts(keys)
            ends = any(text in column.ends for key in texts for text, column in zip(key, lookup, strict=True))
            try:
                # If DMS cannot show the source's value, a lookup by the end of DMS's range does not find it.
                if not ends:
                    with self.snapshot() as reader:
                        return made(self.rows_of(reader, texts))
            except KeyDoesNotFitError:
                # Silver has a key that the source's type does not allow.
                pass
        with self.snapshot() as reader:
            return made(reader.rows())

    def rows_again(self, keys: DataFrame, count: int, sql: str) -> tuple[DataFrame, DataFrame]:
        """Return the present rows of a few keys in the source and in silver: key, fingerprint, and ``sql`` over silver columns."""
        shared_keys = broadcast(keys)
        columns = [*(quote(name) for name in self._key), FINGERPRINT, sql.rpartition(" AS ")[2]]

        def made(texts: Iterator[str]) -> DataFrame:
            limits = self.options
            rows = [
                self._source(chunk, sql).where(f"{RANGE} IS NOT NULL").join(shared_keys, on=self._key, how="left_semi").localCheckpoint()
                for chunk in chunks(self._reading.counted(texts), limits.chunk_rows, limits.chunk_characters)
            ]
            return _united(rows) if rows else self._source([], sql)

        silver = self._silver(self._key_list(keys, count), sql).join(shared_keys, on=self._key, how="left_semi")
        return self._read_again(keys, count, made).select(*columns), silver.select(*columns)

    def key_texts(self, keys: DataFrame) -> list[tuple[str, ...]]:
        """Return the keys as texts for looking them up at the source."""
        return [tuple(row) for row in keys.selectExpr(*self._lookup_texts).collect()]

    def seen_at_source(self, keys: DataFrame) -> dict[tuple[str, ...], SourceState]:
        """Return the keys as texts, with what was seen of each at the source: ``keys`` have the column of that."""
        found = keys.selectExpr(*self._lookup_texts, f"{SOURCE}.n", f"{SOURCE}.sum").collect()
        return {tuple(row[:-2]): None if row[-2] is None else (row[-2], row[-1]) for row in found}

    def source_states(self, rows: Sequence[str]) -> dict[tuple[str, ...], SourceState]:
        """Return the keys of ``rows``, which the source has given for `Cleaning.expressions`, as texts with what they show of each."""
        belonging = self._fingerprints(iter(rows)).where(f"{RANGE} IS NOT NULL")
        return self.seen_at_source(self._by_key(belonging, SOURCE).selectExpr(*(quote(name) for name in self._key), state(SOURCE)))

    def rows_of(self, reader: Reader, keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the source's rows of these keys, with a bounded number of keys per query."""
        for start in range(0, len(keys), _KEYS_IN_QUERY):
            yield from reader.rows_of(self.cleaning.lookup or (), keys[start : start + _KEYS_IN_QUERY])

    def _conclude(self, current: Difference) -> Difference:
        if current.count == 0:
            return current
        verdict, stays = self.verdict, current.rows.where(_STABLE)
        verdict.differing |= {row.kind: row.n for row in stays.groupBy(expr(KIND).alias("kind")).agg(expr("count(1)").alias("n")).collect()}
        verdict.unsettled = current.count - verdict.differences
        if verdict.differences:
            explain.show(self, stays)
            if self.target.head() is not None and self._refresh() == self._head:
                verdict.warnings.append(
                    "nothing was committed to silver while it was compared: the differences may be changes that the job has not merged yet"
                )
        return Difference(stays, verdict.differences)


def _exprs(texts: Iterable[str]) -> list[Column]:
    return [expr(text) for text in texts]


def _united(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.union(right), parts)


def _live_rows(target: TargetTable) -> int:
    head = target.head()
    return int(head.summary.get("total-records", 0)) if head is not None else 0
