"""``make bench BENCH=full``: every contestant in a process of its own, on the same files; writes JSON, charts and a table."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pyarrow.parquet as pq
import typer
from rich.console import Console

from benchmarks.dms_files import write_load
from benchmarks.full.cases import CASES, Case, plan_case
from benchmarks.full.charts import draw
from benchmarks.full.report import TITLES, Outcome, case_document, cell, markdown, outcome_of, shown
from benchmarks.full.sessions import has_jars
from benchmarks.full.worker import PLAN_FILE
from benchmarks.shapes import ORDERS, Shape

_CONSOLE = Console()


def main(
    cases: Annotated[str, typer.Option(help="Comma-separated names; all when empty.")] = "",
    contestants: Annotated[str, typer.Option(help="Comma-separated names; all when empty.")] = "",
    rows: Annotated[int, typer.Option(help="Rows of the table.")] = 5_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Measured batches per case; the median counts.")] = 5,
    warm_ups: Annotated[int, typer.Option(min=0, help="Discarded batches before them.")] = 3,
    heap: Annotated[str, typer.Option(help="Heap of each contestant.")] = "4g",
    cores: Annotated[int, typer.Option(min=1, help="Cores of each contestant.")] = 2,
    patience: Annotated[int, typer.Option(help="Seconds that a contestant may take for a case.")] = 3600,
    resume: Annotated[bool, typer.Option(help="Continue an interrupted run of the same settings.")] = False,
    work: Annotated[Path, typer.Option(help="Scratch folder, emptied first unless resumed.")] = Path("build/bench-full"),
    output: Annotated[Path, typer.Option(help="JSON file for the figures.")] = Path("build/bench-full.json"),
    charts: Annotated[Path, typer.Option(help="Folder for the charts.")] = Path("build/bench-full-charts"),
) -> None:
    """Time the job, the hand-written script, Iceberg's MERGE, Delta, Hudi and the floor on the same change files."""
    there = [name for name in TITLES if has_jars(name)]
    chosen, names = [CASES[name] for name in _among(cases, CASES)], _among(contestants, there)
    if left_out := [title for name, title in TITLES.items() if name not in there]:
        _CONSOLE.print(f"left out, as their jars are for another Spark: {', '.join(left_out)}")
    bench = Bench(work.resolve(), rows, warm_ups, repetitions, heap, cores, patience)
    document = about(bench)
    # Tables contain their own absolute paths, so a folder that was moved is useless.
    settings = {key: document[key] for key in ("rows", "warm_ups", "repetitions", "contestant")} | {"work": str(bench.work)}
    bench.begin(settings, resume=resume)
    output.parent.mkdir(parents=True, exist_ok=True)
    for turn, case in enumerate(chosen):
        # Another contestant begins each time.
        order = [*names[turn % len(names) :], *names[: turn % len(names)]]
        document["cases"].append({})
        for measured in bench.measure(case, order):
            document["cases"][-1] = measured
            document["loaded"] = bench.layouts(names)
            # After each contestant: so an interrupted run keeps what it has measured.
            output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    drawn = draw(document, charts)
    _CONSOLE.print(shown(document["cases"], rows))
    print(*(markdown(document["cases"], figure) for figure in ("median_s", "cpu_s", "read_s")), sep="\n")
    _CONSOLE.print(f"figures in {output}, charts in {', '.join(map(str, drawn))}")


def _among(text: str, known: Any) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: not among {', '.join(known)}")
    return names or list(known)


class Bench:
    """Prepares files and tables once, and starts the contestants one after the other."""

    def __init__(self, work: Path, rows: int, warm_ups: int, repetitions: int, heap: str, cores: int, patience: int) -> None:
        self.work, self.rows, self.warm_ups, self.repetitions = work, rows, warm_ups, repetitions
        self.heap, self.cores, self.patience = heap, cores, patience

    def begin(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Empty the scratch folder, or check that its content comes from the same settings.

        Raises:
            typer.BadParameter: it comes from other settings.
        """
        known, text = self.work / "settings.json", json.dumps(settings, sort_keys=True)
        if not resume:
            shutil.rmtree(self.work, ignore_errors=True)
        elif known.exists() and known.read_text("utf-8") != text:
            raise typer.BadParameter(f"{self.work} holds a run with other settings: {known.read_text('utf-8')}")
        (self.work / "found").mkdir(parents=True, exist_ok=True)
        known.write_text(text, "utf-8")

    def measure(self, case: Case, contestants: list[str]) -> Iterator[dict[str, Any]]:
        """Run the case with every contestant; yield the case's part of the document after each of them."""
        folder = self.work / "cases" / case.name
        shutil.rmtree(folder, ignore_errors=True)
        _CONSOLE.print(f"{case.name}: {case.changes(self.rows):,} changes a batch, {case.says}", soft_wrap=True)
        outcomes: list[Outcome] = []
        for name in contestants:
            saved = self.work / "found" / f"{case.name}-{name}.json"
            if not saved.exists() and not folder.exists():
                self._prepare(case, folder)
            outcomes.append(self._outcome(name, case, saved))
            yield case_document(case.name, case.says, case.changes(self.rows), outcomes)
        shutil.rmtree(folder, ignore_errors=True)

    def layouts(self, contestants: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the layout of each contestant's first load of the table with ten columns: data files, MiB, compression."""
        found = {}
        for name in contestants:
            files = data_files(self.work / name / f"loaded-{ORDERS.table}")
            if files:
                size = sum(file.stat().st_size for file in files)
                codec = pq.read_metadata(files[0]).row_group(0).column(0).compression.lower()
                found[name] = {"data_files": len(files), "mib": round(size / 2**20, 1), "compression": codec}
        return found

    def _prepare(self, case: Case, folder: Path) -> None:
        load = self.work / "load" / case.shape.table
        if not load.exists():
            unfinished = load.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            write_load(unfinished, self.rows, case.shape)
            unfinished.rename(load)
        plan_case(case, self.rows, self.warm_ups + self.repetitions, folder / "bronze").save(folder / PLAN_FILE)

    def _outcome(self, name: str, case: Case, saved: Path) -> Outcome:
        try:
            if not saved.exists():
                saved.write_text(json.dumps(self._run(name, case)), "utf-8")
            outcome = outcome_of(name, json.loads(saved.read_text("utf-8")), self.warm_ups)
        except (subprocess.SubprocessError, RuntimeError) as error:
            outcome = Outcome(name, error=str(error))
        result = outcome.to_document(None)
        read = "" if outcome.read_s is None else f", read {outcome.read_s:.2f}"
        _CONSOLE.print(
            f"  {name}: {cell(result)} {result['seconds']}{read} {outcome.error or dict(outcome.wrong) or ''}",
            highlight=False,
            soft_wrap=True,
        )
        return outcome

    def _run(self, name: str, case: Case) -> dict[str, Any]:
        folder = self.work / name
        loaded, live = folder / f"loaded-{case.shape.table}", folder / "live"
        if not loaded.exists():
            shutil.rmtree(live, ignore_errors=True)
            self._start(name, case.shape, folder, None)
            live.rename(loaded)
        shutil.rmtree(live, ignore_errors=True)
        # The table as it was loaded, at the path that its metadata has.
        shutil.copytree(loaded, live)
        try:
            return self._start(name, case.shape, folder, self.work / "cases" / case.name)
        finally:
            shutil.rmtree(live)

    def _start(self, name: str, shape: Shape, folder: Path, case: Path | None) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        found = folder / "found.json"
        command = [sys.executable, "-m", "benchmarks.full.worker", name, shape.table, str(folder), str(self.work / "load" / shape.table)]
        command += [str(found), "--heap", self.heap, "--cores", str(self.cores), *(["--case", str(case)] if case else [])]
        with (folder / "log").open("w") as log:
            done = subprocess.run(command, check=False, stdout=log, stderr=log, timeout=self.patience)
        if done.returncode != 0:
            said = [line for line in (folder / "log").read_text(errors="replace").splitlines() if line.strip()]
            raise RuntimeError(said[-1] if said else f"ended with {done.returncode}")
        document: dict[str, Any] = json.loads(found.read_text("utf-8"))
        return document


def data_files(folder: Path) -> list[Path]:
    """Return a table's Parquet files, without those of its metadata and the change files beside it."""
    apart = {".hoodie", "_delta_log", "bronze"}
    return sorted(path for path in folder.rglob("*.parquet") if not apart & set(path.relative_to(folder).parts))


def about(bench: Bench) -> dict[str, Any]:
    """Return the document without cases: the environment of the measurement."""
    return {
        "measured_at": datetime.now(UTC).date().isoformat(),
        "rows": bench.rows,
        "warm_ups": bench.warm_ups,
        "repetitions": bench.repetitions,
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        },
        "contestant": {"cores": bench.cores, "heap": bench.heap},
        "cases": [],
    }
