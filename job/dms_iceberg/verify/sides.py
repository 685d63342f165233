"""What the source and silver show of a table: rows as fingerprints, and keys with what a side has of each."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, expr

from dms_iceberg.merge.statement import key_list_sql
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.source.errors import SourceError
from dms_iceberg.sql.quoting import quote
from dms_iceberg.verify.cleaning import FILTERED_SQL, REJECTED_SQL, Cleaning
from dms_iceberg.verify.fingerprint import RANGE, SOURCE, SourceState, fingerprint_select, key_aggregates, range_bits
from dms_iceberg.verify.lookup import KeyLookup
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.reading_progress import Reading
from dms_iceberg.verify.source import Reader, Source, chunks

_LISTED_KEYS = 200
# A plan over more parts than this gets slow, so they are combined into one.
_MOST_PARTS = 32
AT_SOURCE = "_cdc_at_source"


class Sides:
    """Both sides of a comparison.

    Attributes:
        lookup: how the source finds rows by silver keys.
    """

    def __init__(self, source: Source, cleaning: Cleaning, options: Options, reading: Reading) -> None:
        self.source, self.cleaning, self.target, self.options, self._reading = source, cleaning, cleaning.target, options, reading
        self._key, types = cleaning.shape.key, cleaning.types()
        self.lookup = KeyLookup(cleaning.lookup, self._key, [types[name] for name in self._key])
        reading.expected = _live_rows(self.target)
        self._bits = range_bits(reading.expected)
        # Whether one task is enough; determined while the source is read.
        self._is_small = reading.expected <= options.small_rows

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
                parts = [united(parts).coalesce(self._parallelism).localCheckpoint()]
        return united(parts) if parts else self._source([])

    def _source(self, chunk: Sequence[str], *more: str) -> DataFrame:
        return self._fingerprint(self.cleaning.clean(chunk), REJECTED_SQL, FILTERED_SQL, *more)

    @property
    def _parallelism(self) -> int:
        return self.cleaning.context.spark.sparkContext.defaultParallelism

    def _fingerprint(self, rows: DataFrame, rejected: str = "false", filtered: str = "false", *more: str) -> DataFrame:
        """Return key, range, fingerprint and whether a row is rejected; then the columns of the SQL ``more``."""
        return rows.selectExpr(
            *fingerprint_select(self._key, self.cleaning.compared, self.cleaning.types(), self._bits, rejected, filtered),
            f"{'false' if filtered == 'false' else 'true'} AS {AT_SOURCE}",
            *more,
        )

    def _silver(self, condition: str | None = None, *more: str) -> DataFrame:
        rows = self.cleaning.context.spark.table(self.target.sql_name)
        return self._fingerprint(rows.where(condition) if condition else rows, "false", "false", *more)

    def _by_key(self, fingerprints: DataFrame, side: str) -> DataFrame:
        return fingerprints.groupBy(*(quote(name) for name in self._key)).agg(*exprs(key_aggregates(side)))

    def _key_list(self, keys: DataFrame, count: int) -> str | None:
        """Return a condition that lets Iceberg skip files, for few keys of one column; None for others."""
        if count > _LISTED_KEYS or len(self._key) > 1:
            return None
        (name,) = self._key
        values = [row[0] for row in keys.selectExpr(f"CAST({quote(name)} AS string)").collect()]
        listed = key_list_sql("t", name, self.cleaning.types()[name], values)
        return listed.removeprefix("t.") if listed else None

    def source_states(self, rows: Sequence[str]) -> dict[tuple[str, ...], SourceState]:
        """Return the keys of ``rows``, which the source has given for `Cleaning.expressions`, as texts with what they show of each."""
        belonging = self._fingerprints(iter(rows)).where(f"{RANGE} IS NOT NULL")
        found = self._by_key(belonging, SOURCE).selectExpr(*self.lookup.texts, f"{SOURCE}_n", f"{SOURCE}_sum").collect()
        return {tuple(row[:-2]): (row[-2], row[-1]) for row in found}

    def in_silver(self, keys: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Return those of the keys, as texts, that silver has."""
        if not keys:
            return set()
        wanted = broadcast(self._of_file(keys).distinct())
        return set(self.lookup.keys(self._silver().join(wanted, on=self._key, how="left_semi")))

    def written_keys(self, keys: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Return the silver keys, as texts, that a file with these texts of keys makes."""
        return set(self.lookup.keys(self._of_file(keys))) if keys else set()

    def _of_file(self, keys: Collection[tuple[str, ...]]) -> DataFrame:
        places = {column.name: number for number, column in enumerate(self.lookup.columns or ())}
        cells = [[key[places[one.name]] if one.name in places else None for one in self.cleaning.columns] for key in keys]
        rows = self.cleaning.clean([json.dumps(row, ensure_ascii=False) for row in cells], in_file=True)
        return rows.select(*(quote(name) for name in self._key))

    def prove_lookup(self, parts: Sequence[DataFrame]) -> None:
        """Show that keys which the source had, and by which it found no row later, are not there.

        Args:
            parts: these keys.

        Raises:
            SourceError: it has rows that it does not find by their key.
        """
        gone = united(parts).distinct() if parts else None
        texts = self.lookup.keys(gone) if gone is not None else []
        if gone is None or not texts:
            return
        with self.snapshot() as reader:
            found = self.source_states(list(self.lookup.rows_of(reader, texts)))
            there = self._fingerprints(reader.rows()).where(f"{RANGE} IS NOT NULL").join(broadcast(gone), on=self._key, how="left_semi")
            lost = set(self.lookup.keys(there)) - {*found}
        if lost:
            columns = ", ".join(f"{column.name} ({column.lookup_type or column.type})" for column in self.lookup.columns or ())
            raise SourceError(
                f"{self.cleaning.table.source}: the source has {len(lost):,} rows that it does not find by their key, {columns}, so "
                "whether keys still differ is not known. The table cannot be compared while it changes: compare it at rest, with --tries 0"
            )


def exprs(texts: Iterable[str]) -> list[Column]:
    """Return columns of SQL texts."""
    return [expr(text) for text in texts]


def united(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames, which are one or more."""
    return reduce(lambda left, right: left.union(right), parts)


def _live_rows(target: TargetTable) -> int:
    head = target.head()
    return int(head.summary.get("total-records", 0)) if head is not None else 0
