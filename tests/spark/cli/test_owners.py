"""Names that change hands: whatever has a table's name already, only the document that made it writes it, and a takeover is declared."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import RunRequest
from dms_iceberg.gold import refresh
from dms_iceberg.iceberg.replacement import Replacement
from dms_iceberg.runs.run import run
from dms_iceberg.silver.owner import owner_of_model
from dms_iceberg.silver.table import TargetTable
from support.commands import Ended
from support.documents import BY_ID, ID_V, Documents
from support.lake import Lake
from support.pause import Pause

# A name that is a target, a model and the quarantine of a target at once: `<namespace>.<other>__y`.


def name_of(lake: Lake) -> str:
    return f"{lake.namespace}.{lake.namespace}x__y"


def written(documents: Documents, kind: str, pipeline: str) -> Path:
    """Write the document of a pipeline for which the name is what ``kind`` says, and its files."""
    lake, name = documents.lake, name_of(documents.lake)
    documents.load(pipeline, "public.t", [(1, pipeline), (2, "x")])
    aside = {"target": f"{lake.namespace}a.{pipeline}"}
    rest = {"quarantine": {"namespace": f"{lake.namespace}q"}}
    match kind:
        case "table":
            return documents.write(pipeline, {"public.t": {"target": name}}, **rest)
        case "model":
            gold = {name: {"sql": f"SELECT id, v FROM {aside['target']}"}}
            return documents.write(pipeline, {"public.t": aside}, gold=gold, **rest)
        case _:
            # Its text is no number.
            table = {"target": f"{lake.namespace}x.y", **BY_ID}
            return documents.write(pipeline, {"public.t": table}, quarantine={"namespace": lake.namespace})


def occupy(documents: Documents, occupant: str) -> None:
    """Let somebody have the name first."""
    lake, name = documents.lake, f"lake.{name_of(documents.lake)}"
    if occupant.startswith("anybody"):
        lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{lake.namespace}")
        lake.spark.sql(f"CREATE TABLE {name} (id bigint, v string) USING iceberg")
        if occupant.endswith("rows"):
            lake.spark.sql(f"INSERT INTO {name} VALUES (7, 'by hand')")
        return
    documents.run(written(documents, occupant, "first"))
    if occupant == "quarantine":
        lake.spark.sql(f"DROP TABLE lake.{lake.namespace}x.y")


def state_of(lake: Lake) -> str:
    table = TargetTable(lake.spark, "lake", name_of(lake))
    table.refresh()
    return table.metadata_location()


def properties_of(lake: Lake, name: str) -> dict[str, str]:
    """All properties of a table, its format version as well."""
    return {row[0]: row[1] for row in lake.spark.sql(f"SHOW TBLPROPERTIES lake.{name}").collect() if row[0] != "current-snapshot-id"}


OCCUPANTS = ("table", "model", "quarantine", "anybody, empty", "anybody, rows")
CLAIMANTS = ("table", "model", "quarantine")


@pytest.mark.parametrize("occupant", OCCUPANTS)
@pytest.mark.parametrize("claimant", CLAIMANTS)
def test_whoever_has_a_name_keeps_it(documents: Documents, occupant: str, claimant: str) -> None:
    lake = documents.lake
    occupy(documents, occupant)
    before = state_of(lake)
    second = written(documents, claimant, "second")
    words = f"{name_of(lake)} is somebody else's" if occupant.startswith("anybody") else f"{name_of(lake)} was made"
    for name, code in {"plan": 1, "run": 1, "run --rebuild=public.t": 1, "status": 0, "maintain": 1, "doctor": 1}.items():
        command, *options = name.split()
        ended = documents.command(command, second, *options)
        said = " ".join((ended.out + ended.err).split())
        # A quarantine is there only once a row was rejected; a refused run has not made the silver table.
        assert words in said or (claimant == "quarantine" and command == "status"), (name, said)
        assert ended.code == code, (name, said)
        assert state_of(lake) == before, name
    # Another database's rows are not merged into the first one's, whoever declares what. A model has no rows of its own.
    taken = documents.command("run", second, f"--take-over={name_of(lake) if claimant == 'model' else 'public.t'}")
    may_be_taken = occupant == claimant == "model"
    assert taken.code == (0 if may_be_taken else 1), taken.out + taken.err
    assert (state_of(lake) == before) == (not may_be_taken)
    if may_be_taken:
        assert documents.command("run", documents.folder / "first.json").code == 1
    elif occupant == claimant == "table":
        assert "another database's" in " ".join((taken.out + taken.err).split())


def test_a_silver_table_of_another_database_is_seen_by_no_command(documents: Documents) -> None:
    lake = documents.lake
    documents.load("first", "public.t", [(1, "first")])
    documents.load("second", "public.t", [(1, "second"), (2, "second")])
    first, second = (documents.write(name, {"public.t": {}}) for name in ("first", "second"))
    documents.run(first)
    # The same pipeline's name makes no difference: the files are others'.
    namesake = documents.folder / "namesake.json"
    namesake.write_text(json.dumps(json.loads(second.read_text()) | {"pipeline": "first"}))
    words = f"{lake.namespace}.t was made from the source table public.t by the pipeline 'first'"
    for path in (second, namesake):
        for name in ("quarantine list", "quarantine replay"):
            ended = documents.command(name, path)
            assert (ended.code, words in " ".join((ended.out + ended.err).split())) == (1, True), ended
        shown = documents.command("status", path, "--json").tables["public.t"]
        assert words in shown["problem"]
        assert (shown["rows"], shown["frontier"], shown["last_run"]) == (None, "", None)
    assert lake.rows("t", "id, v") == [(1, "first")]
    assert documents.command("status", first, "--json").tables["public.t"]["problem"] is None
    documents.change("first", "public.t", 1, [("U", 1, "later")])
    documents.run(first)
    assert lake.rows("t", "id, v") == [(1, "later")]


def test_a_model_reads_the_tables_of_its_document_only(documents: Documents) -> None:
    lake, model = documents.lake, f"{documents.lake.namespace}g.m"
    silver, own, of_table, of_model = (f"{lake.namespace}{end}" for end in (".t", "s.own", "s.of_table", "s.of_model"))
    documents.load("first", "public.t", [(1, "first")])
    first = documents.write("first", {"public.t": {}}, gold={model: {"sql": f"SELECT * FROM {silver}"}})
    documents.run(first)
    # A model that reads every column would give the newest snapshot the new one.
    for name in (silver, model):
        lake.spark.sql(f"ALTER TABLE lake.{name} ADD COLUMN by_hand int")
    documents.load("second", "public.t", [(1, "second"), (2, "second")])
    documents.load("second", "public.other", [(7, "second")])
    gold = {
        of_table: {"sql": f"SELECT * FROM {silver}"},
        of_model: {"sql": f"SELECT * FROM {model}"},
        model: {"sql": f"SELECT id FROM {lake.namespace}.other"},
        own: {"sql": f"SELECT id FROM {lake.namespace}.other"},
    }
    second = documents.write("second", {"public.t": {}, "public.other": {}}, gold=gold)

    def state() -> list[tuple[str, int]]:
        tables = [TargetTable(lake.spark, "lake", name) for name in (silver, model)]
        for one in tables:
            one.refresh()
        return [(one.metadata_location(), one.snapshot_count()) for one in tables]

    before = state()
    words = {
        of_table: f"{silver} was made from the source table public.t by the pipeline 'first'",
        of_model: f"{model} was made by the gold model {model} by the pipeline 'first'",
        model: f"{model} was made by the gold model {model} by the pipeline 'first'",
    }
    commands = ("plan", "run", "run --table=public.other", "status", f"plan --take-over={of_table}", f"run --take-over={of_table}",
                "plan --take-over=public.t", "run --take-over=public.t")  # fmt: skip
    for given in commands:
        command, *options = given.split()
        ended = documents.command(command, second, *options, "--json")
        models = json.loads(ended.out.splitlines()[-1])["models"]
        for name, said in words.items():
            assert said in (models[name]["error"] or ""), (given, name, models[name])
        assert models[own]["error"] is None, (given, models[own])
        assert ended.code == (command != "status"), given
        assert state() == before, given
    for name in (of_table, of_model):
        assert not TargetTable(lake.spark, "lake", name).exists()
    assert [tuple(row) for row in lake.spark.sql(f"SELECT * FROM lake.{own}").collect()] == [(7,)]


def test_a_renamed_pipeline_takes_its_tables_over_once(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "x")])
    model = f"{lake.namespace}g.m"
    top = {"gold": {model: {"sql": f"SELECT max(id) AS m FROM {lake.namespace}.t"}}}
    tables = {"public.t": {"rules": [{"name": "no_x", "expr": "v <> 'x'"}]}}
    former = documents.write("shop", tables, **top)
    documents.run(former)
    renamed = documents.folder / "renamed.json"
    renamed.write_text(json.dumps(json.loads(former.read_text()) | {"pipeline": "store"}))
    documents.change("shop", "public.t", 1, [("U", 1, "b"), ("I", 3, "c"), ("I", 4, "x")])
    before = lake.rows("t")
    refused = documents.run(renamed, code=1)
    assert refused.out.count("--take-over") == 2
    assert lake.rows("t") == before
    for one in ("public.t", model):
        assert documents.command("plan", renamed, f"--take-over={one}").code == 1, one
    documents.run(renamed, f"--take-over={model}", code=1)
    assert properties_of(lake, model)["dms-iceberg.pipeline"] == "shop", "its table is the former pipeline's"
    options = ["--take-over=public.t", f"--take-over={model}"]
    planned = documents.command("plan", renamed, *options)
    assert (
        planned.code,
        f"{lake.namespace}.t, which was made from the source table public.t by the pipeline 'shop'" in " ".join(planned.out.split()),
    ) == (0, True), planned.out
    assert lake.rows("t") == before, "a plan takes nothing over"
    documents.run(renamed, *options)
    assert lake.rows("t", "id, v") == [(1, "b"), (3, "c")]
    assert [tuple(row) for row in lake.spark.sql(f"SELECT m FROM lake.{model}").collect()] == [(3,)]
    assert len(lake.quarantine("t")) == 2
    documents.change("shop", "public.t", 2, [("U", 1, "d")])
    documents.run(renamed)
    assert documents.run(former, code=1).out.count("--take-over") == 2
    assert lake.rows("t", "id, v") == [(1, "d"), (3, "c")]
    assert documents.command("status", renamed, "--json").tables["public.t"]["quarantined"] == 2


def test_moved_files_need_a_word_and_a_new_epoch_none(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a")])
    path = documents.write("shop", {"public.t": {}})
    documents.run(path)
    shutil.move(documents.bronze("shop"), documents.bronze("moved"))
    moved = documents.write("moved", {"public.t": {}}, pipeline="shop")
    documents.change("moved", "public.t", 1, [("U", 1, "b")])
    assert "If bronze.uri is wrong, correct it" in documents.run(moved, code=1).out.replace("\n", " ")
    assert lake.rows("t", "id, v") == [(1, "a")]
    documents.run(moved, "--take-over=public.t")
    assert lake.rows("t", "id, v") == [(1, "b")]
    lake.bronze = documents.bronze("moved") / "epoch-1"
    lake.load("public.t", ID_V, [(1, "new"), (2, "load")])
    content = json.loads(moved.read_text())
    moved.write_text(json.dumps(content | {"bronze": {"uri": f"file://{lake.bronze}/"}}))
    documents.run(moved, "--load-complete=public.t")
    assert lake.rows("t", "id, v") == [(1, "new"), (2, "load")]


@pytest.mark.parametrize("moved_with", ["the load", "the changes", "nothing"])
def test_moved_files_are_compared_with_what_was_merged(documents: Documents, moved_with: str) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a")])
    documents.change("shop", "public.t", 1, [("U", 1, "b")])
    path = documents.write("shop", {"public.t": {}})
    documents.run(path)
    shutil.move(documents.bronze("shop"), documents.bronze("moved"))
    (load,), (changes,) = documents.bronze("moved").rglob("LOAD*"), documents.bronze("moved").rglob("2026*.parquet")
    for file, name in ((load, "the load"), (changes, "the changes")):
        if name != moved_with:
            file.unlink()
    documents.change("moved", "public.t", 2, [("U", 1, "c")])
    moved = documents.write("moved", {"public.t": {}}, pipeline="shop")
    for command in ("plan", "run"):
        ended = documents.command(command, moved, "--take-over=public.t")
        assert ended.code == (moved_with == "nothing"), ended.out
        assert ("another database's" in ended.out.replace("\n", " ")) == (moved_with == "nothing")
    assert lake.rows("t", "id, v") == [(1, "b" if moved_with == "nothing" else "c")]


@pytest.mark.parametrize("there", ["a load", "earlier changes", "later changes"])
def test_a_renamed_source_table_has_later_changes_alone(documents: Documents, there: str) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "b")])
    documents.change("shop", "public.t", 5, [("U", 1, "c")])
    documents.run(documents.write("shop", {"public.t": {}}))
    if there == "a load":
        documents.load("shop", "public.renamed", [(1, "other"), (3, "other")])
    documents.change("shop", "public.renamed", 4 if there == "earlier changes" else 6, [("U", 2, "d")])
    renamed = documents.write("shop", {"public.renamed": {"target": f"{lake.namespace}.t"}})
    refused = there != "later changes"
    for command in ("plan", "run"):
        ended = documents.command(command, renamed, "--take-over=public.renamed")
        said = " ".join(ended.out.split())
        assert (ended.code, "For another source table choose another target" in said) == (refused, refused), said
    assert lake.rows("t", "id, v") == [(1, "c"), (2, "b" if refused else "d")]


def test_a_load_under_the_new_name_is_no_more_of_the_load_under_the_former_one(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "b"), (3, "c")])
    documents.change("shop", "public.t", 5, [("U", 1, "d")])
    documents.run(documents.write("shop", {"public.t": {}}))
    documents.change("shop", "public.renamed", 6, [("U", 2, "e")])
    renamed = documents.write("shop", {"public.renamed": {"target": f"{lake.namespace}.t"}})
    documents.run(renamed, "--take-over=public.renamed")
    documents.load("shop", "public.renamed", [(1, "new"), (2, "new")])
    for command in ("plan", "run"):
        ended = documents.command(command, renamed)
        assert (ended.code, "LOAD00000001.parquet is a full load, and" in " ".join(ended.out.split())) == (1, True), ended.out
    assert lake.rows("t", "id, v") == [(1, "d"), (2, "e"), (3, "c")]
    written = (lake.path("public.renamed", "LOAD00000001.parquet")).stat().st_mtime - 1
    began = datetime.fromtimestamp(written, UTC).isoformat()
    told = ("--table=public.renamed", "--load-complete=public.renamed", f"--reload-started-at={began}", "--confirm-rows=1")
    documents.run(renamed, *told)
    assert lake.rows("t", "id, v") == [(1, "new"), (2, "new")]


@pytest.mark.parametrize("former_files", ["were moved", "are not there", "are others"])
def test_a_source_table_that_was_renamed_and_moved_shows_the_files_that_were_merged(documents: Documents, former_files: str) -> None:
    """Changes alone, all of them later, are what another database's table has that is replicated without a load."""
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "b")])
    documents.change("shop", "public.t", 5, [("U", 1, "c")])
    documents.run(documents.write("shop", {"public.t": {}}))
    if former_files == "were moved":
        shutil.move(documents.bronze("shop"), documents.bronze("moved"))
    elif former_files == "are others":
        documents.load("moved", "public.t", [(1, "other"), (4, "other")])
        documents.change("moved", "public.t", 4, [("U", 1, "other")])
    documents.change("moved", "public.renamed", 6, [("U", 2, "d")])
    moved = documents.write("moved", {"public.renamed": {"target": f"{lake.namespace}.t"}}, pipeline="shop")
    refused = former_files != "were moved"
    for command in ("plan", "run"):
        ended = documents.command(command, moved, "--take-over=public.renamed")
        said = " ".join(ended.out.split())
        assert (ended.code, "is none of the files of public.t that" in said) == (refused, refused), said
    assert lake.rows("t", "id, v") == [(1, "c"), (2, "b" if refused else "d")]


def test_rejected_rows_are_not_left_behind_by_a_takeover(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "7"), (2, "x")])
    path = documents.write("shop", {"public.t": BY_ID})
    documents.run(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"pipeline": "store", "quarantine": {"namespace": f"{lake.namespace}r"}}))
    ended = documents.run(path, "--take-over=public.t", code=1)
    assert f"the rejected rows of {lake.namespace}.t are in lake.quarantine_{lake.namespace}" in " ".join(ended.out.split())
    path.write_text(json.dumps(content | {"pipeline": "store"}))
    documents.run(path, "--take-over=public.t")
    assert documents.command("quarantine list", path, "--json").tables["public.t"]["rows"] == 1


def test_rejected_rows_of_a_table_that_is_gone_are_not_taken_along(documents: Documents) -> None:
    """Their files have the names that the other database's files have, so a replay would merge them."""
    lake = documents.lake
    tables = {"public.t": BY_ID}
    for name in ("first", "second"):
        documents.load(name, "public.t", [(1, "7")])
        documents.change(name, "public.t", 1, [("I", 2, f"of {name}")])
    first, second = (documents.write(name, tables) for name in ("first", "second"))
    documents.run(first)
    lake.spark.sql(f"DROP TABLE lake.{lake.namespace}.t")
    ended = documents.run(second, "--take-over=public.t", code=1)
    assert "drop it if its rows are not needed any more" in " ".join(ended.out.split())
    lake.spark.sql(f"DROP TABLE lake.quarantine_{lake.namespace}.{lake.namespace}__t")
    documents.run(second)
    assert documents.command("quarantine list", second, "--json").tables["public.t"]["rows"] == 1
    assert lake.rows("t", "id, v") == [(1, 7)]


def test_a_rebuild_follows_a_takeover_in_the_same_run(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "b")])
    former = documents.write("shop", {"public.t": {}})
    documents.run(former)
    documents.change("shop", "public.t", 40, [("I", 3, "c")])
    renamed = documents.folder / "renamed.json"
    renamed.write_text(json.dumps(json.loads(former.read_text()) | {"pipeline": "store"}))
    told = ("--take-over=public.t", "--rebuild=public.t")
    for command in ("plan", "run"):
        ended = documents.command(command, renamed, *told)
        assert ended.code == 0, ended.out
        assert ("take over" in ended.out, "publish the rebuild" in ended.out) == (command == "plan",) * 2, ended.out
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b"), (3, "c")]


def test_a_table_that_records_no_owner_gets_one_with_its_next_write(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "a"), (2, "x")])
    model = f"{lake.namespace}g.m"
    tables = {"public.t": {"rules": [{"name": "no_x", "expr": "v <> 'x'"}]}}
    path = documents.write("shop", tables, gold={model: {"sql": f"SELECT max(id) AS m FROM {lake.namespace}.t"}})
    documents.run(path)
    names = [f"{lake.namespace}.t", model, f"quarantine_{lake.namespace}.{lake.namespace}__t"]

    def owned(name: str) -> dict[str, str]:
        table = TargetTable(lake.spark, "lake", name)
        table.refresh()
        ours = ("pipeline", "bronze", "source", "model", "quarantine-of", "quarantine")
        return {one: text for one in ours if (text := table.raw_properties().get(f"dms-iceberg.{one}")) is not None}

    recorded = {name: owned(name) for name in names}
    assert [len(one) for one in recorded.values()] == [4, 3, 3]
    for name in names:
        unset = ", ".join(f"'dms-iceberg.{one}'" for one in recorded[name])
        lake.spark.sql(f"ALTER TABLE lake.{name} UNSET TBLPROPERTIES ({unset})")
        assert owned(name) == {}
    documents.change("shop", "public.t", 1, [("U", 1, "b"), ("I", 4, "x"), ("I", 5, "y")])
    documents.run(path)
    assert {name: owned(name) for name in names} == recorded


@pytest.mark.parametrize("point", ["after-listing", "after-create", "before-publish"])
def test_of_two_documents_at_once_one_makes_the_table(documents: Documents, other: SparkSession, pause: Pause, point: str) -> None:
    lake = documents.lake
    for name in ("first", "second"):
        documents.load(name, "public.t", [(1, name)])
    first, second = (documents.write(name, {"public.t": {}}) for name in ("first", "second"))
    errors: list[str | None] = []

    def meanwhile() -> None:
        (report,) = run(other, parse_config(json.loads(second.read_text()), base=str(documents.folder))).tables.values()
        errors.append(report.error)

    pause(point, meanwhile)
    ended = documents.command("run", first)
    winner = "second" if errors == [None] else "first"
    assert lake.rows("t", "id, v") == [(1, winner)]
    assert ended.code == (1 if winner == "second" else 0)
    loser = (ended.out if winner == "second" else errors[0] or "").replace("\n", " ")
    assert f"by the pipeline '{winner}'" in " ".join(loser.split())
    # Whose table it is was known from the moment at which it was created.
    assert (winner == "first") == (point != "after-listing")


def test_a_model_does_not_replace_a_table_that_comes_meanwhile(
    documents: Documents, other: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = documents.lake
    for name in ("first", "second"):
        documents.load(name, "public.t", [(1, name)])
    first, name = documents.write("first", {"public.t": {}}), f"{lake.namespace}s.m"
    first = documents.write("first", {"public.t": {}}, gold={name: {"sql": f"SELECT id FROM {lake.namespace}.t"}})
    second = documents.write("second", {"public.t": {"target": name}})
    waiting: list[Callable[[], Any]] = [lambda: run(other, parse_config(json.loads(second.read_text()), base=str(documents.folder)))]
    commit = refresh.commit_with

    def later(*given: Any) -> None:
        if waiting:
            assert waiting.pop()().errors == {}
        commit(*given)

    monkeypatch.setattr(refresh, "commit_with", later)
    ended = documents.run(first, code=1)
    assert f"{name} was made from the source table public.t by the pipeline 'second'" in " ".join(ended.out.split())
    assert [tuple(row) for row in lake.spark.sql(f"SELECT id, v FROM lake.{name}").collect()] == [(1, "second")]


@pytest.mark.parametrize("is_refreshed", [False, True], ids=["taken over", "and refreshed"])
def test_a_former_owner_does_not_replace_a_model_that_is_taken_over_while_its_query_runs(
    documents: Documents, other: SparkSession, monkeypatch: pytest.MonkeyPatch, is_refreshed: bool
) -> None:
    lake, name = documents.lake, f"{documents.lake.namespace}g.m"
    sql = {pipeline: {name: {"sql": f"SELECT id, v AS {pipeline} FROM {lake.namespace}.{pipeline}"}} for pipeline in ("first", "second")}
    paths = {}
    for pipeline, gold in sql.items():
        documents.load(pipeline, "public.t", [(1, pipeline)])
        paths[pipeline] = documents.write(pipeline, {"public.t": {"target": f"{lake.namespace}.{pipeline}"}}, gold=gold)
    documents.run(paths["first"])
    documents.change("first", "public.t", 1, [("I", 2, "x")])
    second = parse_config(json.loads(paths["second"].read_text()), base=str(documents.folder))
    fill = Replacement.fill

    def taken_over(self: Replacement, *given: Any) -> None:
        fill(self, *given)
        monkeypatch.undo()
        if is_refreshed:
            assert run(other, second, request=RunRequest(take_over=frozenset({name}))).errors == {}
        else:
            table = TargetTable(other, "lake", name, owner_of_model(second, name))
            table.refresh()
            table.take_over()

    monkeypatch.setattr(Replacement, "fill", taken_over)
    ended = documents.run(paths["first"], code=1)
    assert f"{name} was made by the gold model {name} by the pipeline 'second'" in " ".join(ended.out.split())
    shown = [tuple(row) for row in lake.spark.sql(f"SELECT * FROM lake.{name}").collect()]
    assert shown == ([(1, "second")] if is_refreshed else [(1, "first")])
    documents.run(paths["second"])
    assert [tuple(row) for row in lake.spark.sql(f"SELECT id, second FROM lake.{name}").collect()] == [(1, "second")]


def test_two_documents_in_one_folder_have_states_of_their_own(documents: Documents) -> None:
    documents.load("first", "public.t", [(1, "a")])
    documents.bronze("second")
    documents.lake.path("public.t", "LOAD00000001.parquet").write_bytes(b"PAR1 cut off")
    first = documents.write("first", {"public.t": {"target": f"{documents.lake.namespace}.a"}})
    second = documents.write("second", {"public.t": {"target": f"{documents.lake.namespace}.b"}})
    documents.run(first)
    documents.run(second, code=1)
    status = {path: documents.command("status", path, "--json").tables["public.t"] for path in (first, second)}
    assert status[first]["last_error"] is None
    assert "LOAD00000001.parquet" in status[second]["last_error"]
    # Of two pipelines with one name, neither takes the other's outcome for its own.
    content = json.loads(first.read_text())
    first.write_text(json.dumps(content | {"pipeline": "second"}))
    shown = documents.command("status", first, "--json").tables["public.t"]
    assert "the state file is of another document" in shown["last_error"]
    assert (shown["last_run"], shown["lag_seconds"]) == (None, None)


def test_rejected_rows_are_not_lost_from_view_where_their_namespace_changes(documents: Documents) -> None:
    lake = documents.lake
    documents.load("shop", "public.t", [(1, "7"), (2, "x"), (3, "y")])
    table = {"public.t": BY_ID}
    former, moved = f"quarantine_{lake.namespace}", f"{lake.namespace}r"
    path = documents.write("shop", table)
    documents.run(path)
    documents.change("shop", "public.t", 1, [("U", 2, "8")])
    documents.run(path)
    documents.command("quarantine replay", path)
    shown = documents.command("quarantine list", path, "--json").tables["public.t"]["rows"]
    # A model would give the newest snapshot the new column; it records no place of the rejected rows.
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t ADD COLUMN by_hand int")
    gold = {f"{lake.namespace}g.m": {"sql": f"SELECT * FROM {lake.namespace}.t"}}
    documents.write("shop", table, quarantine={"namespace": moved}, gold=gold)
    words = f"the rejected rows of {lake.namespace}.t are in lake.{former}.{lake.namespace}__t"
    ended: Ended | None = None
    for name, code in {"plan": 1, "run": 1, "quarantine list": 1, "quarantine replay": 1, "maintain": 1, "status": 0}.items():
        ended = documents.command(name, path)
        assert (ended.code, words in " ".join(ended.out.split())) == (code, True), (name, ended.out)
    # The way out is what the message says.
    assert ended is not None
    problem = documents.command("status", path, "--json").tables["public.t"]["problem"]
    statements = problem.partition("run again: ")[2].removesuffix(". Nothing was written.").split("; ")
    # Three for each table; that of the replays is there once one has resolved a row.
    names = [f"{lake.namespace}__t", f"{lake.namespace}__t__replays"][: len(statements) // 3]
    assert len(statements) == 3 * len(names) > 0
    before = {name: properties_of(lake, f"{former}.{name}") for name in names}
    assert before[names[0]].items() >= {"write.merge.mode": "merge-on-read", "write.merge.isolation-level": "serializable"}.items()
    assert all(one["dms-iceberg.pipeline"] == "shop" for one in before.values())
    for statement in statements:
        lake.spark.sql(statement)
    assert {name: properties_of(lake, f"{moved}.{name}") for name in names} == before
    documents.change("shop", "public.t", 2, [("I", 5, "z")])
    documents.run(path)
    assert documents.command("quarantine list", path, "--json").tables["public.t"]["rows"] == shown + 1
    assert documents.command("status", path, "--json").tables["public.t"]["problem"] is None
    # Nothing is there to lose: the namespace changes without a word.
    for name in (f"{moved}.{lake.namespace}__t", f"{moved}.{lake.namespace}__t__replays"):
        lake.spark.sql(f"DROP TABLE IF EXISTS lake.{name}")
    documents.write("shop", table, quarantine={"namespace": f"{lake.namespace}u"})
    documents.change("shop", "public.t", 3, [("I", 6, "w")])
    documents.run(path)
    assert documents.command("quarantine list", path, "--json").tables["public.t"]["rows"] == 1
