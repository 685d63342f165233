"""``make bench BENCH=verify``: time and memory of `verify` over tables of growing size, and over many tiny tables.

A real PostgreSQL has one table of each size. The emulated DMS loads it, the job merges it, and three rows are changed behind DMS's back.
Then `verify` runs in a process of its own and must find exactly these three. One run verifies all tiny tables; the last has such rows.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from rich.table import Table

from benchmarks.preparation import CONSOLE, WORK, Heap, Output, Work, emptied, keep
from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.storage.store import LocalStore

_SCHEMA = """
create table {table} (
    id bigint primary key, customer int not null, amount numeric(12, 2), note text, created timestamp not null, updated timestamptz,
    paid boolean
);
insert into {table}
select n, n % 50000, (n % 9973)::numeric / 7, case when n % 10 > 0 then 'order ' || md5(n::text) end,
    timestamp '2020-01-01' + n * interval '7 seconds', timestamptz '2024-01-01 00:00:00+00' + n * interval '1.5 seconds', n % 3 > 0
from generate_series(1, {rows}::bigint) n
"""
_TINY = 100
_TAMPER = (
    "update {table} set amount = amount + 1 where id = 77",
    "delete from {table} where id = 78",
    "insert into {table} values (0, 1, 1, 'new', now(), now(), true)",
)
_MEASURED = """
import atexit, resource, sys
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=open(sys.argv[1], "w")))
from dms_iceberg.cli.app import main
main(sys.argv[2:])
"""


def main(
    rows: Annotated[list[int] | None, typer.Option(help="Rows of a table; repeatable; 0 for none. [default: 1000000, 10000000]")] = None,
    tiny: Annotated[int, typer.Option(min=0, help="Number of tables with a hundred rows.")] = 30,
    heap: Heap = "2g",
    work: Work = WORK,
    output: Output = Path("build/bench-verified.json"),
) -> None:
    """Verify tables of growing size against PostgreSQL, and measure time and memory."""
    work = emptied(work)
    large, small = Table(title=f"verify, Spark's heap {heap}"), Table(title=f"verify, {tiny} tables of {_TINY} rows in one run")
    for heading in ("rows", "seconds", "rows/s", "memory of Python, MiB"):
        large.add_column(heading, justify="right")
    for heading in ("first table, s", "median of the others, s", "slowest of the others, s", "whole command, s"):
        small.add_column(heading, justify="right")
    figures: dict[str, Any] = {"heap": heap, "tables": []}
    with LocalPostgres() as server:
        for size in filter(None, rows or [1_000_000, 10_000_000]):
            one = _measure(server, work / str(size), size, 1, heap)
            seconds, mib = one["seconds"], one["python_mib"]
            figures["tables"].append({"rows": size, "seconds": seconds, "python_mib": mib})
            large.add_row(f"{size:,}", f"{seconds:.0f}", f"{size / seconds:,.0f}", f"{mib:,.0f}")
        if tiny:
            one = _measure(server, work / "tiny", _TINY, tiny, heap)
            first, *others = one["each"]
            figures["tiny"] = one
            small.add_row(f"{first:.2f}", *(f"{f(others):.2f}" for f in (statistics.median, max) if others), f"{one['seconds']:.0f}")
    CONSOLE.print(*(table for table in (large, small) if table.row_count))
    keep(figures, output)


def _measure(server: LocalPostgres, work: Path, size: int, count: int, heap: str) -> dict[str, Any]:
    database = f"rows_{size}"
    tables = [f"public.orders_{number}" for number in range(count)]
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"create database {database}")
    with psycopg.connect(server.dsn(database), autocommit=True) as connection:
        for table in tables:
            connection.execute(_SCHEMA.format(table=table, rows=size))
        _load(server.dsn(database), tables, work)
        document = _document(work, tables)
        environment = {**os.environ, "DMS_ICEBERG_DRIVER_MEMORY": heap}
        merge = [sys.executable, "-m", "dms_iceberg.cli.app", "run", str(document), "--json"]
        subprocess.run(merge, check=True, env=environment, stdout=subprocess.DEVNULL)
        for statement in _TAMPER:
            connection.execute(statement.format(table=tables[-1]))
    memory = work / "memory"
    url = f"postgresql://postgres@127.0.0.1:{server.port}/{database}?sslmode=disable"
    command = [sys.executable, "-c", _MEASURED, str(memory), "verify", str(document), "--source", url, "--tries", "0", "--json"]
    started = time.perf_counter()
    done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE)
    seconds = time.perf_counter() - started
    found: dict[str, Any] = json.loads(done.stdout)["tables"]
    differing = {table: {kind: n for kind, n in found[table]["differing"].items() if n} for table in tables if not found[table]["equal"]}
    if differing != {tables[-1]: {"missing": 1, "surplus": 1, "different": 1}}:
        raise RuntimeError(f"verify found {differing}, and should have found one of each in {tables[-1]}")
    return {"seconds": seconds, "python_mib": int(memory.read_text()) / 1024, "each": [found[table]["seconds"] for table in tables]}


def _load(dsn: str, tables: list[str], work: Path) -> None:
    settings = EmulatorSettings(state_dir=work / "task", slot="verified")
    emulator = Emulator(dsn, tables, LocalStore(work / "bronze"), settings)
    try:
        emulator.full_load()
    finally:
        emulator.drop()
        emulator.close()


def _document(work: Path, tables: list[str]) -> Path:
    document = {
        "version": 1,
        "pipeline": "verified",
        "bronze": {"uri": str(work / "bronze"), "format": "parquet"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(work / "warehouse")},
        "tables": {table: {"target": table.replace("public", "silver"), "key": ["id"]} for table in tables},
    }
    path = work / "verified.json"
    path.write_text(json.dumps(document))
    return path
