"""The full benchmark without Spark: its cases and their files, what they leave in the table, its document and its charts."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer import BadParameter

from benchmarks.changes import UPDATE_HEAVY, Pattern, Source
from benchmarks.full.cases import CASES, Arrival, Case, Plan, hold_back, load_plan, plan_case
from benchmarks.full.charts import COLOURS, draw, lines, panels
from benchmarks.full.comparison import Bench
from benchmarks.full.contestants import CONTESTANTS
from benchmarks.full.publish import page
from benchmarks.full.report import TITLES, Outcome, case_document, cell, markdown, outcome_of
from benchmarks.shapes import COMPOSITE, ORDERS, SHAPES, WIDE, Shape
from benchmarks.shop import ABSENT, LOADED

ROWS, BATCHES = 4_000, 3


def planned(tmp_path: Path, arrival: Arrival, shape: Shape = ORDERS) -> Plan:
    return plan_case(Case("one", "", 600, arrival=arrival, shape=shape), ROWS, BATCHES, tmp_path)


def changes_of(files: tuple[Path, ...]) -> list[dict[str, Any]]:
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def sequences(files: tuple[Path, ...]) -> list[str]:
    return [row["dms_change_seq"] for row in changes_of(files)]


def test_cases_are_those_the_readme_lists() -> None:
    readme = Path("benchmarks/README.md").read_text("utf-8")
    assert all(f"`{name}`" in readme for name in [*CASES, *TITLES])


def test_contestants_have_a_title_and_a_colour() -> None:
    assert list(CONTESTANTS) == list(TITLES) == list(COLOURS)


@pytest.mark.parametrize(("rows", "expected"), [(5_000_000, 1_000_000), (50_000, 10_000)])
def test_a_small_table_gets_smaller_batches(rows: int, expected: int) -> None:
    assert CASES["everyday-1m"].changes(rows) == expected


def test_a_skewed_batch_changes_few_rows_often() -> None:
    changes = Source(100_000).change(10_000, Pattern.SKEWED, UPDATE_HEAVY)
    assert len(changes) == 10_000
    assert np.bincount(changes.keys).max() > 1_000
    assert len(changes.touched) < 9_000


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_shape_has_unique_keys_and_its_columns(shape: Shape) -> None:
    keys = np.arange(500)
    table = shape.rows(keys, np.full(500, LOADED))
    assert table.schema == shape.schema
    assert table.column_names == list(shape.types)
    assert len(set(zip(*(table[name].to_pylist() for name in shape.key), strict=True))) == 500
    assert table.slice(100, 10) == shape.rows(keys[100:110], np.full(10, LOADED))


def test_the_wide_table_has_fifty_columns_and_the_composite_key_two_strings() -> None:
    assert len(WIDE.types) == 50
    assert [COMPOSITE.types[name] for name in COMPOSITE.key] == ["string", "string"]
    table = COMPOSITE.rows(np.arange(500), np.full(500, LOADED))
    assert all(len(set(table[name].to_pylist())) < 500 for name in COMPOSITE.key)


@pytest.mark.parametrize("arrival", Arrival)
@pytest.mark.parametrize("shape", [ORDERS, COMPOSITE], ids=lambda shape: shape.table)
def test_the_newest_change_of_each_key_is_what_the_table_must_hold(tmp_path: Path, arrival: Arrival, shape: Shape) -> None:
    plan = planned(tmp_path, arrival, shape)
    table = {}
    loaded = shape.rows(np.arange(ROWS), np.full(ROWS, LOADED)).to_pylist()
    for row in loaded:
        table[tuple(row[name] for name in shape.key)] = row
    files = tuple(file for batch in plan.batches for file in batch)
    for change in sorted(changes_of(files), key=lambda row: row["dms_change_seq"]):
        key = tuple(change[name] for name in shape.key)
        if change["Op"] == "D":
            del table[key]
        else:
            table[key] = {name: change[name] for name in shape.types}
    expected = plan.expectation
    there = expected.now != ABSENT
    untouched = np.setdiff1d(np.arange(ROWS), expected.touched)
    wanted = shape.rows(expected.touched[there], expected.now[there]).to_pylist()
    wanted += shape.rows(untouched, np.full(len(untouched), LOADED)).to_pylist()
    assert {tuple(row[name] for name in shape.key): row for row in wanted} == table


def test_changes_in_order_stay_so(tmp_path: Path) -> None:
    plan = planned(tmp_path, Arrival.IN_ORDER)
    found = [sequence for batch in plan.batches for sequence in sequences(batch)]
    assert found == sorted(found)


def test_shuffled_rows_stay_in_their_file(tmp_path: Path) -> None:
    plan = planned(tmp_path, Arrival.SHUFFLED)
    files = [sequences((path,)) for batch in plan.batches for path in batch]
    assert len(files) == 12
    assert all(file != sorted(file) for file in files)
    assert [max(file) < min(later) for file, later in pairwise(files)] == [True] * 11


def test_a_late_file_is_seen_a_batch_later_and_none_is_lost(tmp_path: Path) -> None:
    plan = planned(tmp_path, Arrival.LATE_FILE)
    assert [len(batch) for batch in plan.batches] == [3, 4, 5]
    assert [len(sequences(batch)) for batch in plan.batches] == list(plan.changes) == [450, 600, 750]
    assert min(sequences(plan.batches[1])) < min(sequences(plan.batches[0]))


def test_one_batch_alone_holds_nothing_back() -> None:
    files = (Path("a"), Path("b"))
    assert hold_back([files]) == [files]


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    case = CASES["late-file-100k"]
    plan = plan_case(case, 1_000, 2, tmp_path / "bronze")
    plan.save(tmp_path / "plan.npz")
    read = load_plan(tmp_path / "plan.npz")
    assert (read.case, read.bronze, read.batches, read.changes) == (case, plan.bronze, plan.batches, plan.changes)
    assert read.expectation.shape is case.shape
    assert read.expectation.touched.tolist() == plan.expectation.touched.tolist()
    assert read.expectation.now.tolist() == plan.expectation.now.tolist()


OUTCOMES = [
    Outcome("floor", (1.0,)),
    Outcome(
        "hudi-dms",
        (9.0, 7.0, 8.0),
        (20.0,),
        (9.0,),
        3.0,
        10,
        correct=False,
        wrong={"missing": 1, "extra": 0, "different": 1_199, "repeated": 0},
    ),
    Outcome("delta", error="no"),
    Outcome("job", (2.0, 4.0), (5.0,), (6.0, 4.0), 1.0, 20, correct=True),
]


def document() -> dict[str, Any]:
    names = (("everyday-1k", 1_000), ("everyday-100k", 100_000), ("wide-100k", 100_000))
    return {"rows": 5_000_000, "cases": [case_document(name, "says", changes, OUTCOMES) for name, changes in names]}


def test_an_outcome_parts_warm_ups_from_what_counts() -> None:
    found = {
        "seconds": [9.0, 3.0, 2.0, 4.0],
        "cpu_seconds": [9.0, 5.0, 6.0, 7.0],
        "read_s": 1.5,
        "grown_bytes": 7,
        "correct": True,
        "rows": 1,
        "expected_rows": 1,
    }
    outcome = outcome_of("delta", found, warm_ups=1)
    assert outcome.cpu_seconds == (5.0, 6.0, 7.0)
    assert (outcome.warm_up_seconds, outcome.seconds, outcome.median_s, outcome.wrong_keys) == ((9.0,), (3.0, 2.0, 4.0), 3.0, 0)


def test_a_case_is_what_the_document_promises() -> None:
    case = json.loads(json.dumps(document()["cases"][0]))
    assert [result["contestant"] for result in case["results"]] == ["job", "delta", "hudi-dms", "floor"]
    job, delta, hudi, floor = case["results"]
    assert (job["median_s"], job["times_the_job"], job["correct"], job["warm_up_seconds"]) == (3.0, 1.0, True, [5.0])
    assert (job["cpu_s"], floor["cpu_s"]) == (5.0, None)
    assert (delta["median_s"], delta["error"]) == (None, "no")
    assert (hudi["times_the_job"], hudi["correct"], hudi["wrong"]["different"]) == (2.667, False, 1_199)
    assert (floor["correct"], floor["read_s"]) == (None, None)


def test_a_wrong_result_and_a_failure_are_shown() -> None:
    results = document()["cases"][0]["results"]
    assert [cell(result) for result in results] == ["3.00", "failed", "8.00 (1,200 wrong)", "1.00"]
    text = markdown(document()["cases"])
    assert text.splitlines()[0] == "| case | job | delta | hudi-dms | floor |"
    assert text.splitlines()[2] == "| everyday-1k | 3.00 | failed | 8.00 (1,200 wrong) | 1.00 |"
    assert (
        markdown(document()["cases"], "spread").splitlines()[2] == "| everyday-1k | 2.00 to 4.00 | failed | 7.00 to 9.00 | 1.00 to 1.00 |"
    )
    assert markdown(document()["cases"], "read_s").splitlines()[2] == "| everyday-1k | 1.00 | failed | 3.00 |"


def test_panels_hold_every_figure_and_say_what_is_wrong() -> None:
    (first, *_) = panels(document()["cases"], "median_s")
    assert first.title == "everyday-1k: 1,000 changes, says"
    assert [(bar.contestant, bar.value, bar.note) for bar in first.bars] == [
        ("job", 3.0, ""),
        ("delta", 0.0, "failed"),
        ("hudi-dms", 8.0, "wrong result: 1,200 rows"),
        ("floor", 1.0, ""),
    ]
    assert [bar.contestant for bar in panels(document()["cases"], "read_s")[0].bars] == ["job", "delta", "hudi-dms"]


def test_lines_join_the_cases_that_differ_in_size_only() -> None:
    assert lines(document()["cases"]) == {
        name: [(1_000, value), (100_000, value)] for name, value in (("job", 3.0), ("hudi-dms", 8.0), ("floor", 1.0))
    }


def test_charts_are_the_same_for_the_same_document(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = [[path.read_bytes() for path in draw(document(), tmp_path / folder)] for folder in ("a", "b")]
    assert drawn[0] == drawn[1]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["batch.svg", "cpu.svg", "read.svg", "sizes.svg"]
    assert "wrong result: 1,200 rows" in (tmp_path / "a" / "batch.svg").read_text("utf-8")


class Stub(Bench):
    """Starts no process: remembers what it was asked, and breaks for one contestant."""

    def __init__(self, work: Path) -> None:
        super().__init__(work, rows=1_000, warm_ups=1, repetitions=2, heap="1g", cores=1, patience=1)
        self.started: list[tuple[str, str]] = []

    def _start(self, name: str, shape: Shape, folder: Path, case: Path | None) -> dict[str, Any]:
        self.started.append((name, case.name if case else "load"))
        (folder / "live").mkdir(parents=True, exist_ok=True)
        if case and name == "delta":
            raise RuntimeError("no space left")
        if case:
            assert load_plan(case / "plan.npz").expectation.size == 1_000
        return {"seconds": [9.0, 1.0, 2.0], "cpu_seconds": [9.0, 1.0, 2.0]}


def test_a_table_is_loaded_once_and_a_failure_ends_nothing(tmp_path: Path) -> None:
    bench = Stub(tmp_path)
    bench.begin({"rows": 1_000}, resume=False)
    for case in ("everyday-100k", "everyday-1k"):
        *_, measured = bench.measure(CASES[case], ["delta", "job"])
    assert bench.started == [
        ("delta", "load"),
        ("delta", "everyday-100k"),
        ("job", "load"),
        ("job", "everyday-100k"),
        ("delta", "everyday-1k"),
        ("job", "everyday-1k"),
    ]
    assert [(result["median_s"], result["error"]) for result in measured["results"]] == [(1.5, None), (None, "no space left")]


def test_an_interrupted_run_goes_on_but_not_with_other_settings(tmp_path: Path) -> None:
    first = Stub(tmp_path)
    first.begin({"rows": 1_000}, resume=False)
    next(first.measure(CASES["everyday-1k"], ["job", "floor"]))
    second = Stub(tmp_path)
    second.begin({"rows": 1_000}, resume=True)
    *_, measured = second.measure(CASES["everyday-1k"], ["job", "floor"])
    assert second.started == [("floor", "load"), ("floor", "everyday-1k")]
    assert [result["contestant"] for result in measured["results"]] == ["job", "floor"]
    with pytest.raises(BadParameter, match="other settings"):
        Stub(tmp_path).begin({"rows": 2_000}, resume=True)


def test_the_page_tells_of_everything_that_was_and_was_not_measured() -> None:
    about = {"measured_at": "2026-01-01", "warm_ups": 1, "repetitions": 2, "contestant": {"cores": 2, "heap": "4g"}}
    machine = {"system": "Linux", "architecture": "x86_64", "cores": 2, "memory_gib": 24}
    text = "\n".join(page(document() | about | {"machine": machine}, {"batch.svg"}, "A busy machine."))
    assert "A busy machine." in text
    assert "Not measured in this run: `everyday-1m`, `update-heavy-100k`" in text
    assert "- `wide-100k`, `hudi-dms`: 1 missing, 1,199 different" in text
    assert "- `wide-100k`, `delta`: failed: `no`" in text
    assert "](batch.svg)" in text
    assert "](read.svg)" not in text
