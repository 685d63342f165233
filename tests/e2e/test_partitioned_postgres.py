"""A partitioned table of PostgreSQL, whose log has changes under the names of its partitions: in the end one table equals it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dms_emulator.postgres import LocalPostgres
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.run import run
from emulator.bronze import Task, make_task
from support.lake import Lake

SCHEMA = (
    "create table events (id int, day date, note text, primary key (id, day)) partition by range (day)",
    "create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01')",
    "create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01') partition by list (id)",
    "create table events_2026_low partition of events_2026 for values in (1, 2, 3, 4, 5)",
    "create table events_2026_rest partition of events_2026 default",
    "insert into events select n, '2025-03-01'::date + 60 * n, 'loaded ' || n from generate_series(1, 9) n",
)
LEAVES = ("events_2025", "events_2026_low", "events_2026_rest")
# DMS's plugins know no publications, and the emulated DMS has its own.
ROOT = "create publication of_others for table events with (publish_via_partition_root = true)"
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "insert into events values (1, '2026-02-01', 'new'), (20, '2026-02-01', 'new'), (21, '2025-02-01', 'new')",
        "update events set note = 'changed' where id in (1, 9)",
        "update events set day = day + 365 where id = 2",
        "delete from events where id = 3",
    ),
    (
        # There and back in one transaction, and to a partition of a partition.
        "begin; update events set day = day + 365 where id = 21; update events set day = day - 365 where id = 21; commit",
        "update events set id = 30 where id = 1 and day > '2026-01-01'",
        "update events set day = day - 365, note = 'back' where id = 2",
        "insert into events values (3, '2026-12-31', 'again')",
    ),
)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[psycopg.Connection[Any]]:
    with LocalPostgres() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        for statement in (*SCHEMA, ROOT):
            connection.execute(statement)
        yield connection


def rows_of(source: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return source.execute("select id, day, note from events order by id, day").fetchall()


def capture(source: psycopg.Connection[Any], folder: Path) -> Iterator[Task]:
    """Load all partitions, and make each step; after each the files are there."""
    task = make_task(source.info.dsn, folder, *(f"public.{leaf}" for leaf in LEAVES))
    task.load()
    yield task
    for statements in STEPS:
        for statement in statements:
            source.execute(statement)
        task.catch_up()
        yield task


@pytest.mark.long
def test_a_model_over_the_partitions_equals_the_partitioned_table(source: psycopg.Connection[Any], lake: Lake, tmp_path: Path) -> None:
    query = " UNION ALL ".join(f"SELECT id, day, note FROM {lake.namespace}.{leaf}" for leaf in LEAVES)
    columns = [{"name": name, "type": type_} for name, type_ in (("id", "int"), ("day", "date"), ("note", "string"))]
    tables = {f"public.{leaf}": {"key": ["id", "day"], "columns": columns} for leaf in LEAVES}
    config = lake.config(tables, gold={f"gold_{lake.namespace}.events": {"sql": query}})
    # A partition without a row has no LOAD file, and a model needs all its tables: word and types make one.
    loaded = RunRequest(load_complete=frozenset(tables))
    for task in capture(source, tmp_path):
        assert task.bronze == lake.bronze
        report = run(lake.spark, config, request=loaded)
        assert not report.failed, report.errors
        rows = lake.spark.sql(f"SELECT id, day, note FROM lake.gold_{lake.namespace}.events ORDER BY id, day").collect()
        assert [tuple(row) for row in rows] == rows_of(source)
    moved = {leaf: [row["Op"] for row in task.changes(f"public.{leaf}") if row["id"] == 2] for leaf in LEAVES}
    assert moved == {"events_2025": ["D", "I"], "events_2026_low": ["I", "D"], "events_2026_rest": []}


@pytest.mark.long
def test_partitions_that_share_a_folder_are_one_table(source: psycopg.Connection[Any], lake: Lake, tmp_path: Path) -> None:
    """As a mapping rule that renames all partitions to one table would leave them, where their files do not overwrite each other."""
    config = lake.config({"public.events": {"key": ["id", "day"]}})
    gathered = set[Path]()
    for task in capture(source, tmp_path / "task"):
        for leaf in LEAVES:
            for path in task.files(f"public.{leaf}"):
                if path not in gathered:
                    gathered.add(path)
                    shutil.copy(path, _free_place(lake, path.relative_to(task.bronze / "public" / leaf)))
        assert lake.run_one(config).quarantined == 0
        assert lake.rows("events", "id, day, note", "id, day") == rows_of(source)


def _free_place(lake: Lake, relative: Path) -> Path:
    """Where a file goes: LOAD files have the same numbers in all folders, and two files may close in one millisecond."""
    names = (f"{relative.stem[:-1]}{number}{relative.suffix}" for number in range(int(relative.stem[-1]), 10))
    return next(place for name in names if not (place := lake.path("public.events", str(relative.with_name(name)))).exists())
