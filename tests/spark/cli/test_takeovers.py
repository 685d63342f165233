"""Takeovers: what they would leave behind is refused, and whatever interrupts one, or runs beside it, a repetition goes on."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.bronze.keys import truncate_key
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from support.commands import Ended
from support.crash_process import JobProcess
from support.documents import BY_ID, ID_V, Documents
from support.pause import Pause


def changed(path: Path, **top: Any) -> Path:
    """Write a document again with other top-level values."""
    path.write_text(json.dumps(json.loads(path.read_text()) | top))
    return path


def said(ended: Ended) -> str:
    return " ".join((ended.out + ended.err).split())


def listed(documents: Documents, path: Path) -> dict[str, Any]:
    (found,) = documents.command("quarantine list", path, "--json").tables.values()
    return {"rows": found["rows"], "error": found["error"]}


def renamed(documents: Documents) -> Path:
    """The document of the pipeline `shop` whose source table has another name by now."""
    return documents.write("shop", {"public.renamed": {"target": f"{documents.lake.namespace}.t"}})


def without(*values: str) -> dict[str, Any]:
    """A table that rejects these values."""
    return {"rules": [{"name": "known", "expr": f"v NOT IN ({', '.join(map(repr, values))})"}]}


def test_rejected_rows_under_a_former_name_are_merged_before_or_replaced(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "x"), (3, "y"), (4, "z")])
    former = documents.write("shop", {"public.t": without("x", "y", "z")})
    documents.run(former)
    documents.write("shop", {"public.t": without("x", "y")})
    assert documents.command("quarantine replay", former).code == 0
    assert listed(documents, former) == {"rows": 2, "error": None}, "one row is resolved"
    documents.change("shop", "public.renamed", 6, [("I", 5, "b")])
    document = renamed(documents)
    # Whoever renames the pipeline as well leaves no less behind.
    for options in ({}, {"pipeline": "store"}):
        changed(document, **options)
        for command in ("plan", "run"):
            ended = documents.command(command, document, "--take-over=public.renamed")
            assert (ended.code, "2 rejected rows of" in said(ended)) == (1, True), said(ended)
    assert lake.rows("t", "id, v") == [(1, "a"), (4, "z")]
    # A load in a folder of its own replaces what they lack.
    own = documents.folder / "own.json"
    lake.bronze = documents.bronze("shop") / "epoch-1"
    lake.load("public.renamed", ID_V, [(1, "a")])
    own.write_text(json.dumps(json.loads(document.read_text()) | {"bronze": {"uri": str(lake.bronze)}}))
    planned = documents.command("plan", own, "--take-over=public.renamed")
    assert planned.code == 0, said(planned)
    # So does whoever corrects the configuration, and replays.
    documents.write("shop", {"public.t": {}})
    assert documents.command("quarantine replay", former).code == 0
    assert listed(documents, former) == {"rows": 0, "error": None}
    documents.run(renamed(documents), "--take-over=public.renamed")
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "x"), (3, "y"), (4, "z"), (5, "b")]


def _a_file(documents: Documents, _: Path) -> None:
    documents.change("shop", "public.t", 6, [("U", 1, "9")])


def _a_late_file(documents: Documents, _: Path) -> None:
    documents.change("shop", "public.t", 4, [("U", 1, "9")])


def _a_truncate(documents: Documents, _: Path) -> None:
    path = documents.bronze("shop") / truncate_key("public/t/", "20260301100530000")
    path.parent.mkdir(parents=True)
    path.write_text("{}")


def _a_reload(documents: Documents, path: Path) -> None:
    began = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    documents.load("shop", "public.t", [(1, "3")])
    documents.run(path, "--table=public.t", f"--reload-started-at={began}")


@pytest.mark.parametrize("left", [_a_file, _a_late_file, _a_truncate, _a_reload])
def test_nothing_under_a_former_name_is_left_behind(documents: Documents, left: Callable[[Documents, Path], None]) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "7")])
    (load,) = documents.bronze("shop").rglob("LOAD*")
    loaded = datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp()
    os.utime(load, (loaded, loaded))
    documents.change("shop", "public.t", 5, [("I", 2, "8")])
    path = documents.write("shop", {"public.t": {}})
    documents.run(path)
    left(documents, path)
    documents.change("shop", "public.renamed", 7, [("I", 3, "9")])
    document = renamed(documents)
    for command in ("plan", "run"):
        ended = documents.command(command, document, "--take-over=public.renamed")
        assert (ended.code, "under the source table's former name public.t " in said(ended)) == (1, True), said(ended)
    assert lake.rows("t", "id, v") == [(1, "7"), (2, "8")]
    if left is _a_reload:
        # The files of this test are from before it.
        return
    documents.run(documents.write("shop", {"public.t": {}}))
    documents.run(renamed(documents), "--take-over=public.renamed")
    # The new row is from before the truncate as well.
    assert lake.rows("t", "id, v")[-1:] == ([] if left is _a_truncate else [(3, "9")])


@pytest.mark.parametrize("owner", ["another database", "a renamed table", "a renamed pipeline"])
def test_a_load_that_is_half_built_is_not_completed_by_others(documents: Documents, owner: str) -> None:
    lake = documents.lake
    documents.load("a", "public.t", [(1, "old")])
    first = documents.write("a", {"public.t": {}})
    documents.run(first)
    lake.bronze = documents.folder / "bronze-a" / "epoch-2"
    lake.load("public.t", ID_V, [(1, "A"), (2, "A")])
    changed(first, bronze={"uri": str(lake.bronze)})
    documents.run(first)
    assert lake.rows("t", "id, v") == [(1, "old")]
    (branch,) = lake.target("t").branches()
    if owner == "another database":
        lake.bronze = documents.folder / "bronze-b" / "epoch-2"
    source = "public.renamed" if owner == "a renamed table" else "public.t"
    if owner != "a renamed pipeline":
        lake.load(source, ID_V, [(7, "B")])
    lake.changes(source, "2026/03/01/10/20260301-100201000.parquet", ID_V, [("I", "20260301100100", 1, 8, "B")])
    content = json.loads(first.read_text())
    tables = {source: content["tables"]["public.t"]}
    second = documents.folder / "b.json"
    second.write_text(json.dumps(content | {"pipeline": "b", "bronze": {"uri": str(lake.bronze)}, "tables": tables}))
    planned = documents.command("plan", second, f"--take-over={source}")
    is_kept = owner == "a renamed pipeline"
    assert (planned.code, f"built of another load there, {branch}" in said(planned)) == (0, not is_kept), said(planned)
    documents.run(second, f"--take-over={source}")
    assert lake.rows("t", "id, v") == ([(1, "A"), (2, "A"), (8, "B")] if is_kept else [(7, "B"), (8, "B")])


def test_a_load_under_way_remembers_where_its_rejected_rows_are(documents: Documents) -> None:
    lake = documents.lake
    documents.load("a", "public.t", [(1, "7")])
    path = documents.write("a", {"public.t": BY_ID})
    documents.run(path)
    lake.bronze = documents.folder / "bronze-a" / "epoch-2"
    lake.load("public.t", ID_V, [(1, "7"), (2, "x")])
    before = json.loads(changed(path, bronze={"uri": str(lake.bronze)}).read_text())["quarantine"]
    documents.run(changed(path, quarantine={"namespace": f"{lake.namespace}q"}))
    changed(path, quarantine=before)
    for command in ("plan", "run --load-complete=public.t", "quarantine list"):
        name, _, option = command.partition(" --")
        ended = documents.command(name, path, *([f"--{option}"] if option else []))
        assert (ended.code, f"are in lake.{lake.namespace}q." in said(ended)) == (1, True), said(ended)
    changed(path, quarantine={"namespace": f"{lake.namespace}q"})
    documents.run(path, "--load-complete=public.t")
    assert listed(documents, path) == {"rows": 1, "error": None}


@pytest.mark.long
def test_a_killed_takeover_goes_on_with_a_repetition(documents: Documents) -> None:
    """Each table meets the one death at a point of its own: between its parts, before silver, and after it."""
    lake = documents.lake
    for name in "abc":
        documents.load("shop", f"public.{name}", [(1, "a"), (2, "x"), (3, "y")])
    former = documents.write("shop", {f"public.{name}": without("x", "y", "z") for name in "abc"})
    documents.run(former)
    documents.write("shop", {f"public.{name}": without("y", "z") for name in "abc"})
    assert documents.command("quarantine replay", former).code == 0
    for name in "abc":
        documents.change("shop", f"public.{name}", 2, [("I", 4, "b"), ("I", 5, "z")])
    content = json.loads(former.read_text()) | {"pipeline": "store", "parallelism": 3}
    told = [f"--take-over=public.{name}" for name in "abc"]
    quarantine = f"quarantine_{lake.namespace}.{lake.namespace}__"
    points = [f"within-take-over@{quarantine}a", f"within-take-over@{quarantine}b__replays", "before-publish@public.c"]
    with JobProcess(content, documents.folder, points, told) as killed:
        assert killed.wait() == -9, killed.text()
    path = documents.folder / "config.json"
    owners = {}
    for name in "abc":
        parts = [
            TargetTable(lake.spark, "lake", one)
            for one in (f"{quarantine}{name}__replays", f"{quarantine}{name}", f"{lake.namespace}.{name}")
        ]
        for one in parts:
            one.refresh()
        owners[name] = [one.raw_properties()["dms-iceberg.pipeline"] for one in parts]
    assert owners == {"a": ["shop", "store", "shop"], "b": ["store", "store", "shop"], "c": ["store", "store", "store"]}
    # Nobody writes a table that is not wholly his own.
    for document, refused in ((former, "abc"), (path, "ab")):
        ended = documents.command("run", document, "--json")
        assert [name for name in "abc" if ended.tables[f"public.{name}"]["error"]] == list(refused), ended.out
    # Either of the two goes on: the former owner takes back what is not wholly the other's.
    documents.run(former, "--take-over=public.a", "--table=public.a")
    assert lake.rows("a", "id, v") == [(1, "a"), (2, "x"), (4, "b")]
    documents.run(path, *told)
    for name in "abc":
        assert lake.rows(name, "id, v") == [(1, "a"), (2, "x"), (4, "b")]
        assert documents.command("status", path, "--json").tables[f"public.{name}"]["quarantined"] == 2
    # And back again.
    changed(path, pipeline="shop")
    documents.run(path, *told)
    assert documents.command("status", former, "--json").tables["public.a"]["problem"] is None


def test_of_two_takeovers_at_once_one_document_gets_all_parts(documents: Documents, other: SparkSession, pause: Pause) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "7"), (2, "x")])
    former = documents.write("shop", {"public.t": BY_ID})
    documents.run(former)
    content = json.loads(former.read_text())
    documents.change("shop", "public.t", 1, [("I", 3, "9"), ("I", 4, "y")])
    errors: list[str | None] = []

    def meanwhile() -> None:
        config = parse_config(content | {"pipeline": "second"}, base=str(documents.folder))
        (report,) = run(other, config, request=RunRequest(take_over=frozenset(["public.t"]))).tables.values()
        errors.append(report.error)

    pause("within-take-over", meanwhile)
    first = documents.folder / "first.json"
    first.write_text(json.dumps(content | {"pipeline": "first"}))
    ended = documents.command("run", first, "--take-over=public.t")
    assert (ended.code, errors) == (0, [None]), said(ended)
    names = (f"{lake.namespace}.t", f"quarantine_{lake.namespace}.{lake.namespace}__t")
    parts = [TargetTable(lake.spark, "lake", name) for name in names]
    for one in parts:
        one.refresh()
    assert [one.raw_properties()["dms-iceberg.pipeline"] for one in parts] == ["first", "first"]
    assert lake.rows("t", "id, v") == [(1, 7), (3, 9)]
    assert listed(documents, first) == {"rows": 2, "error": None}


@pytest.mark.parametrize("point", ["before-quarantine", "after-quarantine", "before-publish"])
def test_of_two_documents_at_once_one_gets_the_place_of_rejected_rows(
    documents: Documents, other: SparkSession, pause: Pause, point: str
) -> None:
    """`<namespace>.x__y` is the place of `x.y` and of no other, and both documents have a table whose rejected rows would be there."""
    lake = documents.lake
    space = {"quarantine": {"namespace": lake.namespace}}
    targets = {"first": f"{lake.namespace}x.y__z", "second": f"{lake.namespace}x__y.z"}
    for name in targets:
        documents.load(name, "public.t", [(1, "7"), (2, name)])
    first, second = (documents.write(name, {"public.t": {"target": target, **BY_ID}}, **space) for name, target in targets.items())
    errors: list[str | None] = []

    def meanwhile() -> None:
        (report,) = run(other, parse_config(json.loads(second.read_text()), base=str(documents.folder))).tables.values()
        errors.append(report.error)

    pause(point, meanwhile)
    ended = documents.command("run", first)
    winner = "second" if errors == [None] else "first"
    assert ended.code == (winner == "second"), said(ended)
    assert f"by the pipeline '{winner}'" in (said(ended) if winner == "second" else errors[0] or "")
    name = f"lake.{lake.namespace}.{lake.namespace}x__y__z"
    lake.spark.sql(f"REFRESH TABLE {name}")
    assert [row[0] for row in lake.spark.sql(f"SELECT get_json_object(record, '$.v') FROM {name}").collect()] == [winner]


def test_a_model_stays_its_owners_when_what_it_reads_changes_hands(documents: Documents) -> None:
    lake, model = documents.lake, f"{documents.lake.namespace}g.m"
    gold = {model: {"sql": f"SELECT id, v FROM {lake.namespace}.t"}}
    documents.load("a", "public.t", [(1, "a")])
    first = documents.write("a", {"public.t": {}}, gold=gold)
    documents.run(first)
    shutil.move(documents.bronze("a"), documents.bronze("b"))
    second = documents.write("b", {"public.t": {}}, gold=gold)
    # The table alone is taken over: the model is neither written nor up to date for anybody.
    assert "table_taken_over" in documents.run(second, "--take-over=public.t", code=1).err
    documents.change("b", "public.t", 6, [("I", 4, "b")])
    documents.run(second, code=1)
    for command, code in {"plan": 1, "run": 1, "status": 0}.items():
        ended = documents.command(command, first, "--json")
        error = json.loads(ended.out.splitlines()[-1])["models"][model]["error"]
        assert (ended.code, "by the pipeline 'b'" in (error or "")) == (code, True), (command, ended.out)

    def rows() -> list[tuple[Any, ...]]:
        lake.spark.sql(f"REFRESH TABLE lake.{model}")
        return [tuple(row) for row in lake.spark.sql(f"SELECT id, v FROM lake.{model} ORDER BY id").collect()]

    assert rows() == [(1, "a")]
    documents.run(second, f"--take-over={model}")
    assert rows() == [(1, "a"), (4, "b")]


def test_a_copied_document_is_the_same_owner_only_with_the_same_files(documents: Documents) -> None:
    lake = documents.lake
    documents.load("a", "public.t", [(1, "a")])
    path = documents.write("a", {"public.t": {}})
    documents.run(path)
    copied = documents.folder / "copied" / "a.json"
    copied.parent.mkdir()
    shutil.copy(path, copied)
    documents.change("a", "public.t", 6, [("I", 4, "b")])
    documents.run(copied)
    assert documents.command("status", path, "--json").tables["public.t"]["problem"] is None
    assert lake.rows("t", "id, v") == [(1, "a"), (4, "b")]
    # A relative path leads elsewhere from there: to nothing, or to other files.
    for document in (path, copied):
        changed(document, bronze={"uri": "bronze-a"})
    documents.run(path)
    for there in (False, True):
        if there:
            lake.bronze = copied.parent / "bronze-a"
            lake.load("public.t", ID_V, [(1, "other")])
        for options in ([], ["--take-over=public.t"]):
            documents.run(copied, *options, code=1)
    assert lake.rows("t", "id, v") == [(1, "a"), (4, "b")]
