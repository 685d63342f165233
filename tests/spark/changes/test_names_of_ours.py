"""Columns named as what the job and Spark name in their own SQL."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.config.model import Config
from dms_iceberg.context import NO_REQUEST, RunRequest
from dms_iceberg.merge import bulk_load
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.facts import Facts
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.run import verify
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, write_text

T1, T2 = "20260301100100", "20260301100200"
MODES = ("mirror", "soft_delete", "history", "append")
# Aliases, fields and variables of the job's SQL, columns of its own tables, what Spark calls what it makes, and what must be quoted.
NAMES = ("count", "file", "etag", "position", "s", "t", "source", "silver", "dotted.name", "back`quote")
OP, AMOUNT = "dms_op", "amount of it"
CHANGE = {"change": {"op_column": OP}}
RULE = {"rules": [{"name": "positive", "expr": f"`{AMOUNT}` >= 0"}]}


def keys_of(mode: str) -> tuple[str, ...]:
    """Half of the names, each half in two modes; the other names are values."""
    return NAMES[MODES.index(mode) % 2 :: 2]


@attrs.frozen
class Named:
    """Tables of all modes with the names as columns. A row has one text as every part of its key, and one as every other value."""

    lake: Lake
    loaded_at: str = COMMIT

    def write(
        self, mode: str, name: str, rows: Sequence[tuple[str, str, str, str, int, str | None]], *, lacking: Sequence[str] = ()
    ) -> Path:
        """A file of rows without some columns: operation, clock ("" for a load), key, other texts, amount, old key."""
        key, there = keys_of(mode), [column for column in NAMES if column not in lacking]
        texts = [(column, pa.string()) for column in there]
        before = [(f"BI_{column}", pa.string()) for column in key]
        columns = [
            (OP, pa.string()),
            ("dms_commit_ts", pa.string()),
            *texts,
            (AMOUNT, pa.int32()),
            ("dms_change_seq", pa.string()),
            *before,
        ]
        made = []
        for number, (op, clock, of, text, amount, old) in enumerate(rows):
            told = (timestamp(clock), sequence(clock, 61 + number)) if clock else (self.loaded_at, "")
            made.append((op, told[0], *(of if one in key else text for one in there), amount, told[1], *[old] * len(key)))
        return self.lake.parquet(f"public.{mode}", name, columns, made)

    def config(self, **more: Any) -> Config:
        return self.lake.config({f"public.{mode}": {"key": keys_of(mode), "mode": mode, **more} for mode in MODES}, bronze=CHANGE)

    def rows(self, mode: str, text: str = "") -> list[tuple[Any, ...]]:
        """Key, text and amount of the rows, each once."""
        key, text = keys_of(mode)[0], text or next(name for name in NAMES if name not in keys_of(mode))
        shown = {"mirror": "true", "soft_delete": "NOT _cdc_deleted", "history": "_is_current", "append": "_cdc_op <> 'T'"}[mode]
        found = self.lake.spark.table(f"lake.{self.lake.namespace}.{mode}").where(shown)
        quoted = ["`" + name.replace("`", "``") + "`" for name in (key, text, AMOUNT)]
        return sorted({tuple(row) for row in found.selectExpr(*quoted).collect()}, key=str)


def well(report: RunReport) -> RunReport:
    assert report.failed == [], report.errors
    for one in report.tables.values():
        assert one.rows_read == one.applied + one.superseded + one.stale + one.filtered + one.quarantined
    return report


@pytest.mark.long
def test_loads_changes_late_files_replays_and_comparisons_in_every_mode(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "BULK_BYTES", 0)
    named = Named(lake)
    lake.enter(1)
    for mode in MODES:
        path = named.write(
            mode, "LOAD00000001.parquet", [("I", "", "a", "x", 1, None), ("I", "", "b", "x", 2, None), ("I", "", "n", "x", -1, None)]
        )
        os.utime(path, (time_of("20260301000000000").timestamp(),) * 2)
    well(run(lake.spark, named.config(**RULE)))
    for mode in MODES:
        named.write(mode, cdc_name(2), [("U", T2, "a", "y", 10, None), ("U", T2, "c", "y", 20, "b"), ("I", T2, "m", "y", -2, None)])
    well(run(lake.spark, named.config(**RULE)))
    for mode in MODES:
        named.write(mode, cdc_name(1), [("U", T1, "a", "late", 5, None), ("I", T1, "d", "late", 6, None)])
    well(run(lake.spark, named.config(**RULE)))
    current = [("a", "y", 10), ("c", "y", 20), ("d", "late", 6), ("m", "y", -2), ("n", "x", -1)]
    replayed = well(replay(lake.spark, named.config()))
    assert {one.applied for one in replayed.tables.values()} == {2}
    assert named.rows("mirror") == current
    _check_verified(named, current)


@pytest.mark.long
def test_backfills_rebuilds_truncates_and_reloads_in_every_mode(lake: Lake) -> None:
    """Two columns come with the second change file, in the rows of which their values are ``z``."""
    new = {mode: [name for name in NAMES if name not in keys_of(mode)][1::3] for mode in MODES}
    tables = {
        f"public.{mode}": {
            "key": keys_of(mode),
            "mode": mode,
            "columns": [{"name": name, "type": "string", "backfill": "none"} for name in new[mode]],
        }
        for mode in MODES
    }

    def merge(word: RunRequest, **more: Any) -> dict[str, list[tuple[Any, ...]]]:
        config = lake.config({name: {**entry, **more} for name, entry in tables.items()}, bronze=CHANGE)
        planned = {plan.table: plan.error for plan in preview(lake.spark, config, request=word)}
        well(run(lake.spark, config, request=word))
        assert set(planned.values()) == {None}
        found = {}
        for mode in MODES:
            rows = [named.rows(mode, name) for name in new[mode]]
            assert len(rows) == 2 and rows[0] == rows[1]
            found[mode] = rows[0]
        return found

    named, every = Named(lake), frozenset(tables)
    lake.enter(1)
    for mode in MODES:
        rows = [("I", "", "a", "x", 1, None), ("I", "", "b", "x", 2, None)]
        path = named.write(mode, "LOAD00000001.parquet", rows, lacking=new[mode])
        os.utime(path, (time_of("20260301000000000").timestamp(),) * 2)
    merge(NO_REQUEST)
    for mode in MODES:
        named.write(mode, cdc_name(1), [("U", T1, "a", "y", 10, None)], lacking=new[mode])
        named.write(mode, cdc_name(2), [("I", T2, "c", "z", 3, None)])
    current = [("a", "none", 10), ("b", "none", 2), ("c", "z", 3)]
    log = sorted([("a", "none", 1), *current])
    after = {**dict.fromkeys(MODES, current), "append": log}
    assert merge(NO_REQUEST) == after
    assert merge(RunRequest(rebuild=every), **RULE) == after
    left = {**dict.fromkeys(MODES, current[2:]), "append": log}
    leaving = {f"public.{mode}": 2 for mode in MODES if mode != "append"}
    assert merge(RunRequest(truncate=every, truncated_at="20260301100130000", confirm_rows=leaving), **RULE) == left
    lake.enter(2)
    named = Named(lake, "2026-03-02 10:00:00.000000")
    for mode in MODES:
        named.write(mode, "LOAD00000001.parquet", [("I", "", "c", "z", 3, None), ("I", "", "d", "w", 4, None)])
        named.write(mode, "2026/03/02/10/20260302-100500000.parquet", [("U", "20260302100400", "e", "v", 5, "d")])
    again = [("c", "z", 3), ("e", "v", 5)]
    assert merge(NO_REQUEST, **RULE) == {**dict.fromkeys(MODES, again), "append": sorted([*log, ("d", "w", 4), ("e", "v", 5)])}


@attrs.frozen
class FakeSource:
    """A database whose tables have these rows: texts by column."""

    rows: Sequence[dict[str, str]]
    name: str = "a fake"

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        return (*(SourceColumn(name, name, "string", "text") for name in NAMES), SourceColumn(AMOUNT, AMOUNT, "int", "int"))

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> "FakeReader":
        return FakeReader(self, expressions)

    def close(self) -> None: ...


@attrs.frozen
class FakeReader:
    """Its expressions are names of columns."""

    source: FakeSource
    expressions: Sequence[str]
    clock: str = "20260301110000000000"

    def rows(self) -> Iterator[str]:
        yield from (json.dumps([row[name] for name in self.expressions]) for row in self.source.rows)

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        for row in self.source.rows:
            if [row[column.name] for column in columns] in map(list, keys):
                yield json.dumps([row[name] for name in self.expressions])

    def facts(self) -> Facts:
        return Facts(engine="postgresql", identity={"database oid": "5"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def _check_verified(named: Named, current: Sequence[tuple[str, str, int]]) -> None:
    key = keys_of("mirror")
    rows = [{AMOUNT: str(amount), **{name: of if name in key else text for name in NAMES}} for of, text, amount in current]
    rows[0][AMOUNT] = "11"
    options = Options(tries=1, wait=lambda _: None)
    (verdict,) = verify(named.lake.spark, named.config(), FakeSource(rows), ["public.mirror"], options).tables.values()
    assert (verdict.error, verdict.not_compared, verdict.one_sided) == (None, [], [])
    assert verdict.differing == {"missing": 0, "surplus": 0, "collided": 0, "different": 1}
    (example,) = verdict.examples
    assert json.loads(example.key) == dict.fromkeys(key, "a")


@pytest.fixture
def text_lake(spark: SparkSession, warehouse: Path, tmp_path: Path) -> Lake:
    return Lake(spark, warehouse, tmp_path)


@pytest.mark.long
def test_columns_of_csv_that_updates_leave_out(text_lake: Lake) -> None:
    key, others = ["count", "dotted.name"], ["file", "position", "back`quote"]
    names = [f'"{name}"' for name in [*key, *others]]
    header = ",".join([OP, "dms_commit_ts", *names, "dms_change_seq", *(f'"BI_{name}"' for name in key)])

    def text(op: str, clock: str, of: str, values: str, old: str = "") -> str:
        told = (timestamp(clock), sequence(clock, 61)) if clock else (COMMIT, "")
        cells = [of if name in key else values for name in [*key, *others]]
        return ",".join([op, told[0], *cells, told[1], *[old] * len(key)])

    config = text_lake.config({"public.t": {"key": key}}, bronze={"format": "csv", "csv": {"no_supplement": "(kept)"}, **CHANGE})
    write_text(text_lake, "public.t", "LOAD00000001.csv", [text("I", "", "a", "x"), text("I", "", "b", "x")], header)
    write_text(text_lake, "public.t", cdc_name(3, "csv"), [text("U", T2, "a", "(kept)"), text("U", T2, "c", "(kept)", "b")], header)
    text_lake.run_one(config)
    write_text(text_lake, "public.t", cdc_name(2, "csv"), [text("U", T1, "a", "late")], header)
    text_lake.run_one(config)
    rows = {row[key[0]]: {row[name] for name in others} for row in text_lake.spark.table(f"lake.{text_lake.namespace}.t").collect()}
    assert rows == {"a": {"late"}, "c": {"x"}}
