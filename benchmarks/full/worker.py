"""One contestant in a process of its own: ``python -m benchmarks.full.worker``, which `Bench` starts."""

import gc
import json
import logging
import os
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import attrs
import pyarrow.parquet as pq
import structlog
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.dms_files import table_folder
from benchmarks.full.cases import Plan, load_plan
from benchmarks.full.contestants import CONTESTANTS, Contestant, Place
from benchmarks.lake import Digest, digest, row_hash
from benchmarks.preparation import timed
from benchmarks.shapes import SHAPES

PLAN_FILE = "plan.npz"
LOADED_FILE = "loaded.json"
READS = 2
"""How often the whole table is read after the batches; the fastest read counts."""


def main(
    contestant: Annotated[str, typer.Argument()],
    shape: Annotated[str, typer.Argument(help="Name of the table.")],
    work: Annotated[Path, typer.Argument(help="Folder of the contestant.")],
    load: Annotated[Path, typer.Argument(help="Bronze folder with the full load.")],
    output: Annotated[Path, typer.Argument(help="JSON file for the results.")],
    case: Annotated[Path | None, typer.Option(help="Folder of the case to run; without it the table is loaded.")] = None,
    heap: Annotated[str, typer.Option()] = "4g",
    cores: Annotated[int, typer.Option()] = 2,
) -> None:
    """Load the table, or apply the batches of a case to the loaded table; write the results."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    place = Place(work / "live", work / "live" / "bronze", load, SHAPES[shape], cores, heap)
    place.live.mkdir(parents=True, exist_ok=True)
    program = CONTESTANTS[contestant](place)
    try:
        found = _load(program, place) if case is None else _run(program, place, load_plan(case / PLAN_FILE), work)
    finally:
        program.spark.stop()
    output.write_text(json.dumps(found), "utf-8")


def _load(program: Contestant, place: Place) -> dict[str, Any]:
    files = sorted(table_folder(place.load, place.shape).glob("*.parquet"))
    started = time.perf_counter()
    program.load(files)
    seconds = time.perf_counter() - started
    known = place.load / LOADED_FILE
    if not known.exists():
        frame = program.spark.read.parquet(*map(str, files))
        known.write_text(json.dumps(attrs.asdict(digest(frame, place.shape.types))), "utf-8")
    return {"load_s": seconds}


def _run(program: Contestant, place: Place, plan: Plan, work: Path) -> dict[str, Any]:
    """Apply every batch; the folder of change files grows only between them."""
    seconds, cpu_seconds = [], []
    size = _bytes_below(place.live)
    for batch in plan.batches:
        files = [_deliver(file, plan.bronze, place.bronze) for file in batch]
        # Garbage and unwritten pages of an earlier batch must not count for this one.
        gc.collect()
        jvm: Any = program.spark._jvm
        jvm.System.gc()
        os.sync()
        _, (wall, processor) = timed(partial(program.apply, files))
        seconds.append(wall)
        cpu_seconds.append(processor)
    delivered = sum(file.stat().st_size for batch in plan.batches for file in batch)
    found: dict[str, Any] = {
        "measured_at": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "grown_bytes": _bytes_below(place.live) - size - delivered,
    }
    frame = program.frame()
    return found if frame is None else found | _compared(program.spark, frame, plan, place, work)


def _deliver(file: Path, bronze: Path, target: Path) -> Path:
    path = target / file.relative_to(bronze)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A link is enough, because change files do not change; its time is that of its arrival, as an object store would show.
    path.hardlink_to(file)
    os.utime(path)
    return path


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _compared(spark: SparkSession, frame: DataFrame, plan: Plan, place: Place, work: Path) -> dict[str, Any]:
    """Read the whole table, and compare it with the source's rows."""
    loaded = Digest(**json.loads((place.load / LOADED_FILE).read_text("utf-8")))
    expected = plan.expectation.digest(spark, work, loaded)
    reads = []
    for _ in range(READS):
        started = time.perf_counter()
        actual = digest(frame, place.shape.types)
        reads.append(time.perf_counter() - started)
    found: dict[str, Any] = {"read_s": min(reads), "rows": actual.rows, "expected_rows": expected.rows, "correct": actual == expected}
    return found if actual == expected else found | {"wrong": _differences(spark, frame, plan, place, work)}


def _differences(spark: SparkSession, frame: DataFrame, plan: Plan, place: Place, work: Path) -> dict[str, int]:
    """Count wrong keys: with a missing row, with an extra row, with another row than the source's, with several rows."""
    shape, touched = place.shape, plan.expectation.touched
    key, hashed = list(shape.key), row_hash(shape.types)
    pq.write_table(shape.rows(touched, touched).select(key), work / "touched.parquet")
    loaded = spark.read.parquet(*map(str, sorted(table_folder(place.load, shape).glob("*.parquet"))))
    untouched = loaded.join(spark.read.parquet(str(work / "touched.parquet")), key, "left_anti")
    wanted = f"{hashed} AS wanted"
    expected = untouched.selectExpr(*key, wanted).unionByName(plan.expectation.current(spark, work).selectExpr(*key, wanted))
    found = frame.groupBy(*key).agg(F.expr(f"max({hashed}) AS found"), F.expr("count(*) AS copies"))
    counted = expected.join(found, key, "full").selectExpr(
        "count_if(found IS NULL) AS missing",
        "count_if(wanted IS NULL) AS extra",
        "count_if(wanted <> found AND copies = 1) AS different",
        "count_if(copies > 1) AS repeated",
    )
    return {name: int(count) for name, count in counted.collect()[0].asDict().items()}


if __name__ == "__main__":
    # A plain traceback, whose last line has the error.
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    app()
