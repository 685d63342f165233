"""``python -m benchmarks.verified``: `verify` over tables of growing size: its time, and how much memory it takes.

A real PostgreSQL holds one table of each size. The emulated DMS loads it, the job merges it, and three rows are changed behind DMS's back.
Then `verify` runs in a process of its own and must find just these three.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from rich.table import Table

from benchmarks.preparation import CONSOLE, WORK, Heap, Output, Work, emptied, keep
from dms_iceberg.local.emulator import Emulator, EmulatorSettings
from dms_iceberg.local.postgres import LocalPostgres
from dms_iceberg.staging.store import LocalStore

_TABLE = "public.orders"
_SCHEMA = """
create table public.orders (
    id bigint primary key, customer int not null, amount numeric(12, 2), note text, created timestamp not null, updated timestamptz,
    paid boolean
);
insert into public.orders
select n, n % 50000, (n % 9973)::numeric / 7, case when n % 10 > 0 then 'order ' || md5(n::text) end,
    timestamp '2020-01-01' + n * interval '7 seconds', timestamptz '2024-01-01 00:00:00+00' + n * interval '1.5 seconds', n % 3 > 0
from generate_series(1, {}::bigint) n
"""
_TAMPER = (
    f"update {_TABLE} set amount = amount + 1 where id = 77",
    f"delete from {_TABLE} where id = 78",
    f"insert into {_TABLE} values (0, 1, 1, 'new', now(), now(), true)",
)
_MEASURED = """
import atexit, resource, sys
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=open(sys.argv[1], "w")))
from dms_iceberg.cli import main
main(sys.argv[2:])
"""


def main(
    rows: Annotated[list[int] | None, typer.Option(help="Rows of a table; one or more. [default: 1000000, 10000000]")] = None,
    heap: Heap = "2g",
    work: Work = WORK,
    output: Output = Path("build/bench-verified.json"),
) -> None:
    """Verify tables of growing size against PostgreSQL, and measure time and memory."""
    work = emptied(work)
    shown = Table(title=f"verify, Spark's heap {heap}")
    for heading in ("rows", "seconds", "rows/s", "memory of Python, MiB"):
        shown.add_column(heading, justify="right")
    figures = []
    with LocalPostgres() as server:
        for size in rows or [1_000_000, 10_000_000]:
            one = _measure(server, work / str(size), size, heap)
            figures.append(one)
            shown.add_row(f"{size:,}", f"{one['seconds']:.0f}", f"{size / one['seconds']:,.0f}", f"{one['python_mib']:,.0f}")
    CONSOLE.print(shown)
    keep({"heap": heap, "tables": figures}, output)


def _measure(server: LocalPostgres, work: Path, size: int, heap: str) -> dict[str, float]:
    database = f"rows_{size}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"create database {database}")
    with psycopg.connect(server.dsn(database), autocommit=True) as connection:
        connection.execute(_SCHEMA.format(size))
        _load(server.dsn(database), work)
        document = _document(work)
        environment = {**os.environ, "DMS_ICEBERG_DRIVER_MEMORY": heap}
        merge = [sys.executable, "-m", "dms_iceberg.cli", "run", document, "--json"]
        subprocess.run(merge, check=True, env=environment, stdout=subprocess.DEVNULL)
        for statement in _TAMPER:
            connection.execute(statement)
    memory = work / "memory"
    url = f"postgresql://postgres@127.0.0.1:{server.port}/{database}?sslmode=disable"
    command = [sys.executable, "-c", _MEASURED, memory, "verify", document, "--source", url, "--tries", "0", "--json"]
    started = time.perf_counter()
    told = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE)
    seconds = time.perf_counter() - started
    found: dict[str, Any] = json.loads(told.stdout)["tables"][_TABLE]
    if found["differing"] != {"missing": 1, "surplus": 1, "different": 1}:
        raise RuntimeError(f"verify found {found['differing']}, and should have found one of each")
    return {"rows": size, "seconds": seconds, "python_mib": int(memory.read_text()) / 1024}


def _load(dsn: str, work: Path) -> None:
    settings = EmulatorSettings(state_dir=work / "task", slot="verified")
    emulator = Emulator(dsn, [_TABLE], LocalStore(work / "bronze"), settings)
    try:
        emulator.full_load()
    finally:
        emulator.drop()
        emulator.close()


def _document(work: Path) -> Path:
    document = {
        "version": 1,
        "pipeline": "verified",
        "bronze": {"uri": str(work / "bronze"), "format": "parquet"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(work / "warehouse")},
        "tables": {_TABLE: {"target": "silver.orders", "key": ["id"]}},
    }
    path = work / "verified.json"
    path.write_text(json.dumps(document))
    return path


if __name__ == "__main__":
    typer.run(main)
