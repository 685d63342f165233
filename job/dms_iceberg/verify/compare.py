"""Compare one table: read every row once, in bounded memory; then check differing keys again until they agree or no tries are left."""

from collections.abc import Callable, Iterator, Sequence

import attrs
import structlog
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, expr

from dms_iceberg.source.errors import KeyDoesNotFitError
from dms_iceberg.sql.quoting import quote
from dms_iceberg.verify import explain
from dms_iceberg.verify.cleaning import Cleaning
from dms_iceberg.verify.facts import Facts
from dms_iceberg.verify.fingerprint import (
    DIFFERS,
    FINGERPRINT,
    KIND,
    RANGE,
    REJECTED,
    SILVER,
    SOURCE,
    range_aggregates,
    rejected,
    state,
)
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.reading_progress import Reading
from dms_iceberg.verify.sides import AT_SOURCE, Sides, exprs, united
from dms_iceberg.verify.small_tables import interpreted
from dms_iceberg.verify.source import Source, chunks
from dms_iceberg.verify.verdict import TableVerdict

_LOG = structlog.get_logger("dms_iceberg")
# With more keys, reading the whole table once is cheaper than looking up each key.
_MOST_LOOKED_UP = 100_000
# Up to this many ranges, a filter on the ranges is worthwhile.
_MOST_RANGES_LISTED = 1_000
_STABLE = "_cdc_stable"
_STATE = (SOURCE, SILVER, _STABLE)


@attrs.frozen(eq=False)
class Difference:
    """Keys that differ: silver key columns, the state of both sides, and whether neither side has changed since they were found.

    Attributes:
        unsettled_missing: number of further keys that silver lacks, and that have changed meanwhile.
    """

    rows: DataFrame
    count: int
    unsettled_missing: int = 0


class Comparison(Sides):
    """The comparison of one source table with its silver table.

    Attributes:
        clock: source time just before the first snapshot, 20 digits: a difference that remains has not changed since then.
        facts: what the first snapshot has shown beside its rows.
    """

    facts: Facts

    def __init__(self, source: Source, cleaning: Cleaning, options: Options, verdict: TableVerdict, reading: Reading) -> None:
        super().__init__(source, cleaning, options, reading)
        self.verdict = verdict
        self._head = self._seen()
        # Keys that the source had, and by which a lookup found nothing later.
        self._gone: list[DataFrame] = []
        self._by_lookup = False
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
        self.prove_lookup(self._gone)
        return self._conclude(current)

    def _refresh(self) -> int | None:
        self.target.refresh()
        return self._seen()

    def _seen(self) -> int | None:
        head = self.target.head()
        self.verdict.snapshot_id = head.id if head is not None else None
        return self.verdict.snapshot_id

    def _differing_ranges(self, found: DataFrame) -> list[int]:
        verdict = self.verdict
        both = found.union(self._silver())
        # With one partition, grouping needs no shuffle.
        grouped = (both.coalesce(1) if self._is_small else both).groupBy(AT_SOURCE, RANGE)
        sums = grouped.agg(*exprs([*range_aggregates(), f"count_if({REJECTED}) AS rejected"]))
        with interpreted(self.cleaning.context.spark, enabled=self._is_small):
            rows = sums.collect()
        source = [row for row in rows if row[AT_SOURCE]]
        silver = {row[RANGE]: (row.n, row.checksum) for row in rows if not row[AT_SOURCE]}
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
        if self._by_lookup and not self.lookup.is_certain:
            gone = joined.where(f"{SOURCE}_before IS NOT NULL AND {SOURCE}_n IS NULL")
            self._gone.append(gone.select(*(quote(name) for name in self._key)).localCheckpoint())
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

    def _looked_up(self, keys: DataFrame, count: int) -> DataFrame:
        """Return the source's fingerprints of these keys; of the whole table if they are too many, or cannot be looked up there."""
        return self._read_again(keys, count, self._fingerprints)

    def _read_again(self, keys: DataFrame, count: int, made: Callable[[Iterator[str]], DataFrame]) -> DataFrame:
        self._by_lookup = False
        if self.lookup.columns is not None and count <= _MOST_LOOKED_UP:
            texts = self.lookup.keys(keys)
            try:
                if not self.lookup.holds_end(texts):
                    with self.snapshot() as reader:
                        found = made(self.lookup.rows_of(reader, texts))
                    self._by_lookup = True
                    return found
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
            return united(rows) if rows else self._source([], sql)

        silver = self._silver(self._key_list(keys, count), sql).join(shared_keys, on=self._key, how="left_semi")
        return self._read_again(keys, count, made).select(*columns), silver.select(*columns)

    def _conclude(self, current: Difference) -> Difference:
        if current.count == 0:
            return current
        verdict, stays = self.verdict, current.rows.where(_STABLE)
        missing = current.rows.where(f"NOT {_STABLE} AND {SILVER} IS NULL").count()
        verdict.differing |= {row.kind: row.n for row in stays.groupBy(expr(KIND).alias("kind")).agg(expr("count(1)").alias("n")).collect()}
        verdict.unsettled = current.count - verdict.differences
        if verdict.differences:
            explain.show(self, stays)
            if self.target.head() is not None and self._refresh() == self._head:
                verdict.warnings.append(
                    "nothing was committed to silver while it was compared: the differences may be changes that the job has not merged yet"
                )
        return Difference(stays, verdict.differences, missing)
