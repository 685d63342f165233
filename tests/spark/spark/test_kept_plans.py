"""Plans that are kept from batch to batch, and what Spark finds about the steps of a frame."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.spark import kept_plans
from dms_iceberg.spark.kept_plans import brief_rows, reading
from dms_iceberg.spark.physical_plan import PhysicalPlan, physical_plan
from support.lake import Lake


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """For each run of a kept plan, whether it succeeded."""
    results: list[bool] = []
    run = PhysicalPlan.rows

    def noted(plan: PhysicalPlan, relation: Any) -> pa.Table:
        results.append(False)
        found = run(plan, relation)
        results[-1] = True
        return found

    monkeypatch.setattr(PhysicalPlan, "rows", noted)
    kept_plans._TREES.clear()
    yield results
    kept_plans._TREES.clear()


class Files:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.number = spark, folder, 0

    def read(self, *rows: tuple[int, str | None]) -> DataFrame:
        self.number += 1
        path = self.folder / f"{self.number}.parquet"
        pq.write_table(pa.table({"id": pa.array([one[0] for one in rows], pa.int64()), "v": [one[1] for one in rows]}), path)
        return self.of(path)

    def of(self, path: Path) -> DataFrame:
        return reading(self.spark, "id bigint, v string", lambda: self.spark.read.schema("id bigint, v string").parquet(str(path)))


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, tmp_path)


def grouped(frame: DataFrame, key: str) -> DataFrame:
    return frame.groupBy(key).count()


def steps(frame: DataFrame, text: str = "id + 1") -> DataFrame:
    named = frame.selectExpr(f"{text} AS n", "v", "_metadata.file_name AS file").coalesce(1)
    one = named.selectExpr("*", "octet_length(v) AS size").drop("size").transform(grouped, "v").toDF("v", "times")
    return one.selectExpr("array_sort(collect_list(struct(v, times))) AS found")


def found(frame: DataFrame) -> list[tuple[str | None, int]]:
    (row,) = brief_rows(frame).to_pylist()
    return [(one["v"], one["times"]) for one in row["found"]]


def test_the_next_files_are_read_by_the_plan_of_the_first(files: Files, ran: list[bool]) -> None:
    assert found(steps(files.read((1, "a"), (2, "a")))) == [("a", 2)]
    assert ran == []
    assert found(steps(files.read((3, "b"), (4, None)))) == [(None, 1), ("b", 1)]
    assert found(steps(files.read())) == []
    assert ran == [True, True]


def test_a_frame_may_be_read_twice_and_used_as_any_other(files: Files, ran: list[bool]) -> None:
    found(steps(files.read((1, "a"))))
    frame = files.read((3, "b"), (4, "b"))
    assert found(steps(frame)) == found(steps(frame)) == [("b", 2)]
    assert ran == [True, True]
    number = frame.selectExpr("id", "v").where("v = 'b'")
    assert number.count() == 2
    assert number.unionByName(frame.selectExpr("v", "id")).select("id").distinct().count() == 2
    assert (frame.columns, frame.dtypes) == (["id", "v"], [("id", "bigint"), ("v", "string")])
    assert frame.selectExpr("id + 1.5 AS x").dtypes == frame.frame.selectExpr("id + 1.5 AS x").dtypes


def test_another_text_is_another_plan(files: Files, ran: list[bool]) -> None:
    def of(frame: DataFrame, text: str) -> list[Any]:
        return list(brief_rows(frame.selectExpr(f"{text} AS n").coalesce(1).selectExpr("sum(n) AS n"))["n"].to_pylist())

    assert of(files.read((1, "a")), "id + 1") == [2]
    assert of(files.read((1, "a")), "id + 2") == [3]
    assert ran == []
    assert [of(files.read((5, "a")), text) for text in ("id + 1", "id + 2")] == [[6], [7]]
    assert ran == [True, True]


def test_the_names_of_files_and_places_are_those_of_the_batch(files: Files, ran: list[bool]) -> None:
    for number in (1, 2):
        frame = files.read((number, "a")).selectExpr("_metadata.file_name AS file", "_metadata.row_index AS row", "id")
        assert brief_rows(frame).to_pylist() == [{"file": f"{number}.parquet", "row": 0, "id": number}]
    assert ran == [True]


def test_files_of_the_same_names_are_read_as_they_are_now(files: Files, ran: list[bool]) -> None:
    """Spark takes a plan over the same paths for the same plan, which knows the sizes that the files had."""
    path = files.folder / "same.parquet"
    texts = ["a", "b" * 50_000, "c"]
    for text in texts:
        rows = pa.table({"id": pa.array(range(200), pa.int64()), "v": [f"{text}{number}" for number in range(200)]})
        pq.write_table(rows, path, compression="none", use_dictionary=False)
        assert brief_rows(files.of(path).selectExpr("count(v) AS n", "max(length(v)) AS most")).to_pylist() == [
            {"n": 200, "most": len(text) + 3}
        ]
    assert ran == []


def test_a_file_that_cannot_be_read_fails_as_it_would_without_a_kept_plan(files: Files, ran: list[bool]) -> None:
    found(steps(files.read((1, "a"))))
    damaged = files.folder / "damaged.parquet"
    damaged.write_bytes(b"PAR1 and nothing else PAR1")
    errors = []
    for frame in (files.of(damaged), files.spark.read.schema("id bigint, v string").parquet(str(damaged))):
        with pytest.raises(Exception, match="SparkException") as error:
            found(steps(frame))
        errors.append(type(error.value))
    assert errors[0] is errors[1]
    assert found(steps(files.read((2, "c")))) == [("c", 1)]
    assert found(steps(files.read((2, "d")))) == [("d", 1)]
    assert ran == [False, True]


def test_settings_of_the_session_stay(files: Files, ran: list[bool], spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setLocalProperty("spark.scheduler.pool", "mine")
    before = context._jsc.sc().getLocalProperties()
    # Tests before may have left a session of theirs.
    active: Any = SparkSession.getActiveSession()
    try:
        for text in "ab":
            found(steps(files.read((1, text))))
    finally:
        context.setLocalProperty("spark.scheduler.pool", None)
    assert ran == [True]
    assert context._jsc.sc().getLocalProperties().equals(before)
    assert SparkSession.getActiveSession()._jsparkSession.equals(active._jsparkSession)  # type: ignore[union-attr]


def test_tasks_have_the_settings_of_the_plan(files: Files, ran: list[bool], spark: SparkSession) -> None:
    """Else they would compile."""
    jvm: Any = spark._jvm
    compiled = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    found(steps(files.read((1, "a"))))
    before = compiled.getCount()
    kept_plans._TREES.clear()
    found(steps(files.read((1, "a")), "id + 987654321"))
    found(steps(files.read((2, "a")), "id + 987654321"))
    assert ran == [True]
    assert compiled.getCount() == before


@pytest.mark.parametrize("query", ["SELECT 1 AS n", "SELECT id FROM range(3) UNION ALL SELECT 7"])
def test_plans_of_anything_else_are_not_kept(spark: SparkSession, query: str) -> None:
    assert physical_plan(spark.sql(query), pa.schema([])) is None


def test_a_plan_with_a_subquery_is_not_kept(files: Files, ran: list[bool]) -> None:
    for _ in range(2):
        brief_rows(files.read((1, "a")).selectExpr("id + (SELECT max(id) FROM range(3)) AS n"))
    assert ran == []


def test_the_schema_that_was_read_longest_ago_is_forgotten_first(
    spark: SparkSession, files: Files, monkeypatch: pytest.MonkeyPatch, ran: list[bool]
) -> None:
    monkeypatch.setattr(kept_plans, "MOST_STEPS", 12)
    path = files.folder / "1.parquet"
    found(steps(files.read((1, "a"))))
    others = [f"id bigint, v string, c{number} int" for number in range(3)]
    for ddl in others:
        found(steps(reading(spark, ddl, lambda ddl=ddl: spark.read.schema(ddl).parquet(str(path)))))  # type: ignore[misc]
    assert list(kept_plans._TREES[spark]) == others[-2:]
    assert ran == []


COLUMNS = [(name, pa.int64() if name == "id" else pa.string()) for name in ("Op", "dms_commit_ts", "id", "v", "dms_change_seq")]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_batches_after_the_first_run_the_kept_plan(lake: Lake, ran: list[bool], form: str) -> None:
    config = lake.config({"public.t": {"key": ["id"]}}, bronze={"format": form})
    for number in range(1, 5):
        rows = [("I", 10 + number, f"n{number}"), ("U" if number > 1 else "I", 1, f"v{number}")]
        stamp = f"2026-03-01 10:0{number}:00.000000"
        place = f"2026/03/01/10/20260301-100{number}30000"
        changes = [(op, stamp, id_, v, f"2026030110{number:02d}0000{n:019d}") for n, (op, id_, v) in enumerate(rows)]
        if form == "csv":
            text = "\n".join([",".join(name for name, _ in COLUMNS), *(",".join(map(str, one)) for one in changes)]) + "\n"
            path = lake.bronze / f"public/t/{place}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        else:
            lake.parquet("public.t", f"{place}.parquet", COLUMNS, changes)
        (batch,) = lake.run_one(config).batches
        assert batch.path == ("direct" if number > 1 else "merge (first batch)")
    assert ran == [True, True]
    assert lake.rows("t", "CAST(id AS int), v", "1") == [(1, "v4"), (11, "n1"), (12, "n2"), (13, "n3"), (14, "n4")]


def test_a_file_that_is_uploaded_again_is_read_whole(lake: Lake, ran: list[bool]) -> None:
    config = lake.config({"public.t": {"key": ["id"]}})
    name = "2026/03/01/10/20260301-1001{}0000.parquet"

    def write(number: int, text: str) -> None:
        changes = [
            ("U", "2026-03-01 10:01:00.000000", id_, f"{text}{id_}", f"20260301100100{number:02d}{id_:019d}") for id_ in range(1, 300)
        ]
        lake.parquet("public.t", name.format(number), COLUMNS, changes)

    lake.parquet("public.t", "LOAD00000001.parquet", COLUMNS, [("I", None, id_, "loaded", None) for id_ in range(1, 300)])
    lake.run_one(config)
    write(1, "x")
    (first,) = lake.run_one(config).batches
    assert (first.path, first.applied) == ("direct", 299)
    for text in ("y" * 900, "z"):
        write(1, text)
        report = lake.run_one(config)
        assert [batch.rows_read for batch in report.batches] == [299]
    assert ran == []
