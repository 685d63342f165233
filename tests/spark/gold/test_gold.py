"""Gold models equal their query over silver after any history, and a refresh touches no more than it must."""

import datetime as dt
import random
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.gold.preview import preview_models
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.gold.status import ModelStatus, model_statuses
from dms_iceberg.runs.preview import preview
from dms_iceberg.silver.table import TargetTable
from support.lake import Lake
from support.maintained import EAGER, kept_in_order, taken
from support.models import check_models, choose_by_chance

COLUMNS = [("id", pa.int64()), ("city", pa.string()), ("kind", pa.int32()), ("amount", pa.decimal128(12, 2))]
ALL_GROUPS = "SELECT city, kind AS sort, count(*) AS n, sum(amount) AS total FROM {silver}.t WHERE amount <> 13 GROUP BY city, kind"


def clock(minute: int) -> str:
    return f"20260301{10 + minute // 60:02d}{minute % 60:02d}00"


def cdc(lake: Lake, minute: int, rows: list[tuple[Any, ...]], table: str = "public.t") -> None:
    name = f"2026/03/01/{clock(minute)[8:10]}/20260301-{clock(minute)[8:12]}30000.parquet"
    lake.changes(table, name, COLUMNS, [(op, clock(minute), 1000 * minute + n, *row) for n, (op, *row) in enumerate(rows)])


def config(lake: Lake, models: dict[str, dict[str, Any]], tables: dict[str, Any] | None = None, **document: Any) -> Any:
    named = {
        f"gold_{lake.namespace}.{name}": {**one, "sql": one["sql"].format(silver=lake.namespace, gold=f"gold_{lake.namespace}")}
        for name, one in models.items()
    }
    return lake.config(tables or {"public.t": {}}, gold=named, **document)


def refresh(lake: Lake, configured: Any) -> dict[str, ModelReport]:
    """Run, check that every model is what its query tells, and return the reports by short name."""
    report = lake.run(configured)
    assert report.errors == {}
    check_models(lake.spark, configured, lake.namespace)
    return {name.partition(".")[2]: one for name, one in report.models.items()}


@pytest.mark.parametrize(
    ("table", "runs"),
    [
        pytest.param({}, 3, id="v2", marks=pytest.mark.long),
        pytest.param({"format_version": 3}, 8, id="v3", marks=pytest.mark.release),
        pytest.param({"write_mode": "copy-on-write"}, 8, id="copy-on-write", marks=pytest.mark.release),
        pytest.param({"mode": "history"}, 8, id="history", marks=pytest.mark.release),
    ],
)
def test_a_model_equals_its_query_after_every_run_of_a_random_history(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], runs: int
) -> None:
    chance = random.Random(str(table))
    choose_by_chance(monkeypatch, random.Random(1))
    cities = [None, "Ulm", "Bonn", "Köln", "Trier", "O'Higgins"]

    def row(id_: int) -> tuple[Any, ...]:
        return id_, chance.choice(cities), chance.choice([None, 1, 2]), chance.choice([None, 13, 5, 7])

    configured = config(
        lake,
        {
            **{way: {"sql": f"{ALL_GROUPS} HAVING count(*) > 1", "refresh": way} for way in ("incremental", "auto")},
            "all": {"sql": "SELECT max(id) AS m FROM {silver}.t"},
        },
        {"public.t": table},
    )
    lake.load("public.t", COLUMNS, [row(id_) for id_ in range(40)])
    assert refresh(lake, configured)["incremental"].refresh == "full"
    kinds: dict[str, set[str | None]] = {"incremental": set(), "auto": set()}
    for minute in range(1, runs + 1):
        rows = [
            (op := chance.choice("UUD"), *(row(id_) if op == "U" else (id_, None, None, None)))
            for id_ in chance.sample(range(50), chance.choice([1, 3, 12]))
        ]
        # A late file now and then.
        cdc(lake, minute * 3 - (5 if minute % 4 == 0 else 0), rows)
        if minute == 5:
            lake.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{lake.namespace}.t', options => map('rewrite-all', 'true'))")
        reports = refresh(lake, configured)
        for way, found in kinds.items():
            found.add(reports[way].refresh)
    # A batch may have no effect.
    assert kinds["incremental"] - {None} == {"incremental"}
    assert {"incremental", "full"} <= kinds["auto"]


def test_a_refresh_touches_the_groups_of_the_batch_and_no_other(lake: Lake) -> None:
    configured = config(lake, {"groups": {"sql": ALL_GROUPS, "refresh": "incremental"}})
    lake.load("public.t", COLUMNS, [(id_, f"c{id_ % 10}", 1, id_) for id_ in range(100)])
    refresh(lake, configured)
    cdc(lake, 1, [("U", 5, "c6", 1, 5), ("D", 17, None, None, None), ("I", 200, "new", 1, 1)])
    assert refresh(lake, configured)["groups"].groups == 4
    last = lake.spark.sql(f"SELECT summary FROM lake.gold_{lake.namespace}.groups.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[
        0
    ][0]
    assert "dms-iceberg.gold" in last


def test_a_column_with_the_name_of_one_of_iceberg_is_refused_before_the_table_is_written(lake: Lake) -> None:
    hidden = {"hidden": {"sql": "SELECT * FROM (SELECT id, city AS _file FROM {silver}.t)"}}
    lake.load("public.t", COLUMNS, [(1, "Ulm", 1, 1)])
    report = lake.run(config(lake, hidden))
    ((name, error),) = report.errors.items()
    assert error.startswith(f"{name}: the query has the column _file, and Iceberg has a column of its own")
    assert not TargetTable(lake.spark, "lake", name).exists()


def test_status_says_what_a_model_is_behind(lake: Lake) -> None:
    models = {"a": {"sql": "SELECT city FROM {silver}.t"}, "b": {"sql": "SELECT count(*) AS n FROM {gold}.a"}}
    configured = config(lake, models)
    a, b = configured.gold

    def standing(now: Config) -> dict[str, ModelStatus]:
        return {one.model: one for one in model_statuses(lake.spark, now)}

    assert standing(configured)[a].waits_for == [f"{lake.namespace}.t"]
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    refresh(lake, configured)
    found = standing(configured)
    assert [(one.exists, one.rows, one.snapshots, one.behind, one.waits_for, one.error) for one in found.values()] == [
        (True, 1, 1, [], [], None)
    ] * 2
    assert dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(found[a].refreshed_at or "") < dt.timedelta(minutes=10)
    cdc(lake, 2, [("U", 1, "b", 1, 1)])
    lake.run(attrs.evolve(configured, gold={}))
    assert [one.behind for one in standing(configured).values()] == [[f"{lake.namespace}.t"], []]
    changed = config(lake, {**models, "b": {"sql": "SELECT max(city) AS n FROM {gold}.a"}})
    assert standing(changed)[b].behind == ["definition"]
    lake.spark.sql(f"DELETE FROM lake.{a}")
    found = standing(configured)
    assert (found[a].behind, found[a].refreshed_at, found[b].behind) == (["content"], None, [a])


def test_a_model_that_reads_the_clock_is_refreshed_by_every_run(lake: Lake) -> None:
    models = {
        "moment": {"sql": "SELECT id FROM {silver}.t WHERE now() > TIMESTAMP '2020-01-01'"},
        "day": {"sql": "SELECT id, current_date AS day FROM {silver}.t"},
        # Spark computes these texts, and reads the clock.
        "raw": {"sql": "SELECT id, CAST(r'now' AS timestamp) AS at FROM {silver}.t"},
        "joined": {"sql": "SELECT id, CAST('no' 'w' AS timestamp) AS at FROM {silver}.t"},
        "reversed": {"sql": "SELECT id, CAST(reverse('won') AS timestamp) AS at FROM {silver}.t"},
        "above": {"sql": "SELECT count(*) AS n FROM {gold}.moment"},
        "none": {"sql": "SELECT id FROM {silver}.t"},
    }
    configured = config(lake, models)
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    lake.run(configured)
    behind = {one.model.partition(".")[2]: one.behind for one in model_statuses(lake.spark, configured)}
    assert (behind["moment"], behind["above"], behind["none"]) == (["clock"], [], [])
    planned = {one.model.partition(".")[2]: one for one in preview_models(configured, model_statuses(lake.spark, configured), [])}
    assert (planned["moment"].because, planned["above"].because) == (["clock"], [f"gold_{lake.namespace}.moment"])
    made = {name.partition(".")[2]: one for name, one in lake.run(configured).models.items()}
    assert (made["moment"].refresh, made["above"].refresh, made["none"].refresh) == ("full", "full", None)
    for model in ("raw", "joined", "reversed"):
        assert made[model].refresh == "full"
        (row,) = lake.spark.table(f"lake.gold_{lake.namespace}.{model}").collect()
        assert abs(dt.datetime.now(dt.UTC) - row.at.astimezone(dt.UTC)) < dt.timedelta(minutes=10)
    # Of the day, once another one has begun: unit tests have the rest.
    assert made["day"].refresh == planned["day"].refresh


def test_plan_foretells_what_a_run_does_to_models(lake: Lake) -> None:
    models = {
        "groups": {"sql": "SELECT city, count(*) AS n FROM {silver}.t WHERE amount < 9 GROUP BY city", "refresh": "incremental"},
        "top": {"sql": "SELECT max(n) AS n FROM {gold}.groups"},
        "none": {"sql": "SELECT v FROM {silver}.never_loaded"},
    }
    tables = {"public.t": {}, "public.never_loaded": {}}
    configured = config(lake, models, tables)
    groups, top, none = configured.gold

    def previewed(now: Config) -> list[tuple[str, str | None, list[str]]]:
        """What is foretold, after a look that the run then does so."""
        planned = preview(lake.spark, now)
        changing = [now.tables[one.table].target for one in planned if one.changes_rows]
        renamed = {now.tables[one.table].target: one.renamed for one in planned}
        found = preview_models(now, model_statuses(lake.spark, now, with_maintenance=False), changing, renamed)
        done = lake.run(now)
        assert done.errors == {}
        assert {one.model: (one.refresh, one.waits_for) for one in found} == {
            name: (one.refresh, one.waits_for) for name, one in done.models.items()
        }
        return [(one.model, one.refresh, one.because) for one in sorted(found, key=lambda one: list(now.gold).index(one.model))]

    silver = configured.tables["public.t"].target
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 2)])
    assert previewed(configured) == [(groups, "full", ["new", silver]), (top, "full", ["new", groups]), (none, None, [])]
    assert previewed(configured) == [(groups, None, []), (top, None, []), (none, None, [])]
    cdc(lake, 1, [("U", 1, "b", 1, 1)])
    assert previewed(configured) == [(groups, "incremental", [silver]), (top, "full", [groups]), (none, None, [])]
    changed_groups = models["groups"] | {"sql": models["groups"]["sql"].replace("9", "10")}
    changed = config(lake, {**models, "groups": changed_groups}, tables)
    assert previewed(changed) == [(groups, "full", ["definition"]), (top, "full", [groups]), (none, None, [])]
    # A column that the models do not name is renamed, and then one whose name they have.
    columns = [{"name": "sort", "renamed_from": "kind"}]
    other = config(lake, {**models, "groups": changed_groups}, {**tables, "public.t": {"columns": columns}})
    assert previewed(other) == [(groups, None, []), (top, None, []), (none, None, [])]
    columns += [{"name": "town", "renamed_from": "city"}]
    models["groups"] = {**changed_groups, "sql": changed_groups["sql"].replace("city", "town")}
    named = config(lake, models, {**tables, "public.t": {"columns": columns}})
    assert previewed(named) == [(groups, "full", ["definition", silver]), (top, "full", [groups]), (none, None, [])]


def test_a_group_without_rows_goes_and_comes_back(lake: Lake) -> None:
    configured = config(lake, {"groups": {"sql": ALL_GROUPS, "refresh": "incremental"}})
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 1)])
    refresh(lake, configured)
    cdc(lake, 1, [("D", 1, None, None, None)])
    assert refresh(lake, configured)["groups"].rows == 1
    cdc(lake, 2, [("I", 1, "a", 1, 1)])
    assert refresh(lake, configured)["groups"].rows == 2


def test_nothing_is_done_while_tables_are_as_they_were(lake: Lake) -> None:
    models = {"a": {"sql": "SELECT city FROM {silver}.t"}, "b": {"sql": "SELECT count(*) AS n FROM {gold}.a"}}
    configured = config(lake, dict(reversed(models.items())))
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    assert [one.refresh for one in refresh(lake, configured).values()] == ["full", "full"]
    assert [one.refresh for one in refresh(lake, configured).values()] == [None, None]
    lake.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{lake.namespace}.t', options => map('rewrite-all', 'true'))")
    assert [one.refresh for one in refresh(lake, configured).values()] == [None, None]
    # A file without effect moves the progress and no row.
    cdc(lake, 1, [("D", 99, None, None, None)])
    assert [one.refresh for one in refresh(lake, configured).values()] == [None, None]
    cdc(lake, 2, [("U", 1, "b", 1, 1)])
    assert [one.refresh for one in refresh(lake, configured).values()] == ["full", "full"]


def test_expiry_is_no_change(lake: Lake) -> None:
    configured = config(lake, {"a": {"sql": "SELECT city FROM {silver}.t"}})
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    lake.run(attrs.evolve(configured, gold={}))
    table = f"table => '{lake.namespace}.t'"
    lake.spark.sql(f"CALL lake.system.rewrite_data_files({table}, options => map('rewrite-all', 'true'))")
    assert refresh(lake, configured)["a"].refresh == "full"
    # The load is gone, and with it the snapshot that changed a row.
    lake.spark.sql(f"CALL lake.system.expire_snapshots({table}, older_than => TIMESTAMP '2100-01-01', retain_last => 1)")
    assert refresh(lake, configured)["a"].refresh is None
    assert [one.behind for one in model_statuses(lake.spark, configured)] == [[]]


@pytest.mark.long
def test_what_others_did_to_tables_and_models_is_seen(lake: Lake) -> None:
    configured = config(lake, {"groups": {"sql": ALL_GROUPS, "refresh": "incremental"}})
    gold = f"gold_{lake.namespace}.groups"
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 1)])
    refresh(lake, configured)
    first = lake.target("t").head()
    assert first is not None
    cdc(lake, 1, [("U", 1, "c", 1, 1)])
    refresh(lake, configured)
    # Rolled back, and merged again by the same run.
    lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{lake.namespace}.t', {first.id})")
    refresh(lake, configured)
    lake.spark.sql(f"DELETE FROM lake.{gold} WHERE city = 'b'")
    assert refresh(lake, configured)["groups"].refresh == "full"
    cdc(lake, 2, [("U", 1, "d", 1, 1)])
    lake.run(lake.config({"public.t": {}}))
    lake.spark.sql(
        f"CALL lake.system.expire_snapshots(table => '{lake.namespace}.t', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    assert refresh(lake, configured)["groups"].refresh == "full"
    lake.spark.sql(f"DROP TABLE lake.{gold}")
    assert refresh(lake, configured)["groups"].refresh == "full"


def test_a_changed_model_is_made_anew(lake: Lake) -> None:
    sql = ALL_GROUPS
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 2)])
    refresh(lake, config(lake, {"groups": {"sql": sql, "refresh": "incremental"}}))
    changed = {"sql": sql.replace("sum(amount)", "max(amount)"), "refresh": "incremental", "partition_by": ["city"]}
    assert refresh(lake, config(lake, {"groups": changed}))["groups"].refresh == "full"
    assert (
        "city" in lake.spark.sql(f"SHOW CREATE TABLE lake.gold_{lake.namespace}.groups").collect()[0][0].partition("PARTITIONED BY")[2][:20]
    )


def test_a_model_is_replaced_whatever_capitals_its_partitions_have(lake: Lake) -> None:
    configured = config(lake, {"cities": {"sql": "SELECT id, city FROM {silver}.t", "partition_by": ["CITY"]}})
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 2)])
    refresh(lake, configured)
    cdc(lake, 1, [("U", 1, "c", 1, 7)])
    assert refresh(lake, configured)["cities"].refresh == "full"


def test_a_column_with_the_name_of_a_former_partition_is_refused_with_a_way_out(lake: Lake) -> None:
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 2)])
    cities = "SELECT id, city FROM {silver}.t"
    refresh(lake, config(lake, {"cities": {"sql": cities, "partition_by": ["city"]}}))
    refresh(lake, config(lake, {"cities": {"sql": cities.replace("city", "city AS town")}}))
    again = config(lake, {"cities": {"sql": cities}})
    (model,) = lake.run(again).models.values()
    assert "was partitioned by another column 'city' before" in str(model.error) and "drop the table" in str(model.error)
    lake.spark.sql(f"DROP TABLE lake.gold_{lake.namespace}.cities")
    refresh(lake, again)


def test_a_column_that_took_the_name_of_another_makes_the_model_anew(lake: Lake) -> None:
    configured = config(lake, {"groups": {"sql": ALL_GROUPS, "refresh": "incremental"}})
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1), (2, "b", 1, 2)])
    refresh(lake, configured)
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"ALTER TABLE {name} RENAME COLUMN amount TO amount_before")
    lake.spark.sql(f"ALTER TABLE {name} ADD COLUMN amount DECIMAL(12, 2)")
    cdc(lake, 1, [("U", 1, "a", 1, 7)])
    assert refresh(lake, configured)["groups"].refresh == "full"


def test_a_model_may_use_the_new_name_of_a_column_at_once(lake: Lake) -> None:
    models = {"cities": {"sql": "SELECT city FROM {silver}.t"}}
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    refresh(lake, config(lake, models))
    renamed = {"public.t": {"columns": [{"name": "town", "from": "city", "renamed_from": "city"}]}}
    [plan] = preview(lake.spark, config(lake, models, renamed))
    assert ([sql.rpartition("RENAME ")[2] for sql in plan.sql], plan.changes_rows) == (["COLUMN `city` TO `town`"], False)
    # No file has come since: the newest snapshot would be the one with the old name.
    changed = config(lake, {"cities": {"sql": "SELECT town FROM {silver}.t"}}, renamed)
    assert refresh(lake, changed)["cities"].refresh == "full"
    head = lake.target("t").head()
    assert refresh(lake, changed)["cities"].refresh is None
    assert lake.target("t").head() == head


def test_models_wait_for_tables_and_fail_alone(lake: Lake) -> None:
    models = {
        "waits": {"sql": "SELECT id FROM {silver}.u"},
        "wrong": {"sql": "SELECT no_such_column FROM {silver}.t"},
        "good": {"sql": "SELECT id FROM {silver}.t"},
    }
    configured = config(lake, models, {"public.t": {}, "public.u": {}})
    lake.load("public.t", COLUMNS, [(1, "a", 1, 1)])
    report = lake.run(configured)
    gold = f"gold_{lake.namespace}"
    assert report.models[f"{gold}.waits"].waits_for == [f"{lake.namespace}.u"]
    assert "no_such_column" in str(report.models[f"{gold}.wrong"].error)
    assert report.models[f"{gold}.good"].rows == 1
    assert (report.exit_code, report.failed) == (1, [f"{gold}.wrong"])


@pytest.mark.usefixtures("hours_later")
@pytest.mark.long
def test_models_are_put_in_order_and_not_made_anew_for_it(lake: Lake) -> None:
    models = {"groups": {"sql": ALL_GROUPS, "refresh": "incremental"}, "all": {"sql": "SELECT max(id) AS m FROM {silver}.t"}}
    configured = config(lake, models)
    # The table's own past is no concern here: a model that finds it expired is made again.
    in_order = config(lake, models, {"public.t": {"maintenance": {"snapshots_kept": 500}}}, maintenance=EAGER)
    lake.load("public.t", COLUMNS, [(id_, f"c{id_ % 10}", 1, id_) for id_ in range(40)])
    refresh(lake, configured)
    for minute in range(1, 5):
        cdc(lake, minute, [("I", 100 + minute, "new", 1, minute)])
        refresh(lake, configured)
    gold = TargetTable(lake.spark, "lake", f"gold_{lake.namespace}.groups"), TargetTable(lake.spark, "lake", f"gold_{lake.namespace}.all")
    assert [len(one.snapshots()) for one in gold] == [5, 5]
    steps = taken(kept_in_order(lake.spark, in_order))
    assert steps["groups", "expire"] == steps["all", "expire"] == "done"
    assert taken(kept_in_order(lake.spark, in_order)) == {}
    for one in gold:
        one.refresh()
    # Two, and the one that tells what the content was made of.
    assert [len(one.snapshots()) for one in gold] == [3, 1]
    assert [one.refresh for one in refresh(lake, configured).values()] == [None, None]
    cdc(lake, 9, [("I", 200, "new", 1, 1)])
    assert [refresh(lake, configured)[name].refresh for name in ("groups",)] == ["incremental"]


def test_a_renamed_column_reaches_a_model_that_takes_all_columns(lake: Lake) -> None:
    lake.load("public.t", COLUMNS, [(1, "Ulm", 1, 1)])
    models = {"all": {"sql": "SELECT * FROM {silver}.t"}, "named": {"sql": "SELECT id FROM {silver}.t"}}
    refresh(lake, config(lake, models))
    renamed = config(lake, models, {"public.t": {"columns": [{"name": "town", "renamed_from": "city"}]}})
    lake.run(attrs.evolve(renamed, gold={}))
    assert [one.behind for one in model_statuses(lake.spark, renamed)] == [[f"{lake.namespace}.t"], []]
    assert {name: one.refresh for name, one in refresh(lake, renamed).items()} == {"all": "full", "named": None}
    assert "town" in lake.spark.table(f"lake.gold_{lake.namespace}.all").columns
