"""What a refresh of groups reads, by which conditions, and when it is refused."""

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext
from dms_iceberg.gold import choice, replace_groups
from dms_iceberg.gold.changed_groups import Gone, gone_each_way, touched_groups
from dms_iceberg.gold.group_values import GroupValues
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.silver.owner import owner_of
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.open_store import open_store
from support.lake import Lake
from support.models import check_models

_VALUES = {
    "i": ("CAST(id - 300 AS int)", "CAST(id AS int) + 7"),
    "s": ("concat(CASE WHEN id % 5 = 0 THEN '\U0001f600' WHEN id % 5 = 1 THEN 'O\\'H\\\\' ELSE '\uffee' END, id)", "concat('n\u0000', id)"),
    "m": ("CAST(id / 7 AS decimal(20, 3))", "CAST(-id / 3 AS decimal(20, 3))"),
    "t": ("timestamp_micros(id * 86400000001 - 9000000000000)", "timestamp_micros(-id)"),
    "f": (
        "CASE WHEN id % 3 = 0 THEN double('NaN') WHEN id % 3 = 1 THEN -0.0D ELSE id / 3 END",
        "CASE WHEN id % 2 = 0 THEN 0.0D ELSE 1e300 END",
    ),
    "d": ("date_from_unix_date(CAST(id * 40 - 30000 AS int))", "date_from_unix_date(CAST(id AS int))"),
    "b": ("id % 2 = 0", "id % 3 = 0"),
    "x": ("CAST(concat('x', id) AS binary)", "X'FF00'"),
}
"""By column the value of a row at first, and after a change."""
_PAIRS = (("i", "s"), ("m", "t"), ("f", "d"), ("b", "x"))


def configured(lake: Lake, models: dict[str, dict[str, str]]) -> Config:
    gold = {f"gold_{lake.namespace}.{name}": {**one, "sql": one["sql"].format(t=f"{lake.namespace}.t")} for name, one in models.items()}
    return lake.config({"public.t": {}}, gold=gold)


def create(lake: Lake, query: str, version: int = 2, properties: dict[str, str] | None = None) -> str:
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{lake.namespace}")
    config = lake.config({"public.t": {}})
    # A model reads tables of its own document alone.
    owned = owner_of(config, config.tables["public.t"]).properties()
    settings = {"format-version": str(version), **owned, **{f"write.{one}.mode": "merge-on-read" for one in ("merge", "update", "delete")}}
    told = ", ".join(f"'{key}' = '{value}'" for key, value in {**settings, **(properties or {})}.items())
    lake.spark.sql(f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ({told}) AS {query}")
    return name


def refresh(lake: Lake, config: Config, *names: str) -> list[ModelReport]:
    """Refresh all models, or some by their short names."""
    chosen = [f"gold_{lake.namespace}.{name}" for name in names] or None
    reports = list(refresh_models(RunContext(lake.spark, config, open_store(config.bronze.uri), "test"), chosen).values())
    assert [one.error for one in reports if one.error] == []
    return reports


@pytest.mark.long
def test_groups_of_every_type_are_found_again(lake: Lake) -> None:
    columns = ", ".join(f"IF(id % 11 = 3, NULL, {first}) AS {name}" for name, (first, _) in _VALUES.items())
    table = create(lake, f"SELECT id, {columns} FROM range(0, 600, 1, 4)")
    sql = "SELECT {0}, count(*) AS n, max(id) AS newest, {1} FROM {{t}} GROUP BY {0}, {1}"
    config = configured(lake, {f"{a}_{b}": {"sql": sql.format(a, b), "refresh": "incremental"} for a, b in _PAIRS})
    refresh(lake, config)
    # A few groups, which are listed, then many, of which the ends are known; NULL comes and goes.
    for where in ("id IN (3, 4, 5, 299, 301)", "id > 150 AND id % 2 = 0"):
        changes = ", ".join(f"{name} = IF(id % 13 = 5, NULL, {after})" for name, (_, after) in _VALUES.items())
        lake.spark.sql(f"UPDATE {table} SET {changes} WHERE {where}")
        reports = refresh(lake, config)
        assert [one.refresh for one in reports] == ["incremental"] * len(_PAIRS)
        assert max(one.groups or 0 for one in reports) > (200 if "AND" in where else 0)
        check_models(lake.spark, config, lake.namespace)


def snapshots(table: TargetTable) -> tuple[int, int]:
    """Return the ids of the newest snapshot and of its parent, the older one first."""
    table.refresh()
    head = table.head()
    assert head is not None
    assert head.parent_id is not None
    return head.parent_id, head.id


@pytest.mark.parametrize("version", [2, 3])
def test_every_delete_is_counted_once(lake: Lake, version: int) -> None:
    # Partition granularity lets one delete file of version 2 concern all data files; one file of version 3 has all vectors.
    name = create(lake, "SELECT id FROM range(0, 400, 1, 4)", version, {"write.delete.granularity": "partition"})
    lake.spark.sql(f"DELETE FROM {name} WHERE id % 100 < 10 OR id = 99")
    table = TargetTable(lake.spark, "lake", f"{lake.namespace}.t")
    first, second = gone_each_way(lake.spark, table, *snapshots(table))
    assert len(first.partly) == 4
    assert len({one.location for one in first.deletes}) < 4
    assert sum(first.deletes.values()) == 41
    assert (second.rows, dict(second.deletes)) == (0, {})


def test_data_files_that_a_shared_delete_file_does_not_hit_are_left_out(lake: Lake) -> None:
    name = create(lake, "SELECT id FROM range(0, 400, 1, 4)", 2, {"write.delete.granularity": "partition"})
    lake.spark.sql(f"DELETE FROM {name} WHERE id IN (5, 305)")
    table = TargetTable(lake.spark, "lake", f"{lake.namespace}.t")
    first, second = gone_each_way(lake.spark, table, *snapshots(table))
    hit = {row[0] for row in lake.spark.sql(f"SELECT DISTINCT _file FROM {name} WHERE id IN (6, 306)").collect()}
    assert (set(first.partly), first.rows, second.rows) == (hit, 200, 0)
    with touched_groups(lake.spark, table, ["id"], [first, second]) as touched:
        assert {row[0] for row in touched.collect()} == {5, 305}


def _files(lake: Lake, table: str, where: str) -> list[Path]:
    rows = lake.spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {where}").collect()
    return [Path(urlparse(row[0]).path) for row in rows]


def test_files_without_a_changed_group_are_not_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(lake, "SELECT id, CAST(id div 10 AS int) AS part, id % 2 AS kind FROM range(0, 80, 1, 8)")
    by = "SELECT {0}, count(*) AS n, sum(id) AS total FROM {{t}} GROUP BY {0}"
    models = {"parts": {"sql": by.format("part")}, "kinds": {"sql": by.format("kind")}, "known": {"sql": by.format("part")}}
    models["known"]["refresh"] = "incremental"
    config = configured(lake, models)
    assert {one.reason for one in refresh(lake, config)} == {"new"}
    lake.spark.sql(f"UPDATE {table} SET id = id + 1000 WHERE id IN (5, 76)")
    away = _files(lake, table, "part BETWEEN 1 AND 6")
    assert len(away) == 6
    for file in away:
        file.rename(file.with_suffix(".away"))
    try:
        # Without its fixed costs a refresh of groups costs less, even of a table that is so small.
        for name in ("_FIND", "_REPLACE", "_FILE"):
            monkeypatch.setattr(choice, name, 0)
        monkeypatch.setattr(choice, "_FULL", 0)
        monkeypatch.setattr(choice, "_SHARE", 1)
        reports = {one.table.partition(".")[2]: one for one in refresh(lake, config, "parts", "known")}
    finally:
        for file in away:
            file.with_suffix(".away").rename(file)
    assert {(one.refresh, one.groups) for one in reports.values()} == {("incremental", 2)}
    assert "(22 rows to read, " in str(reports["parts"].reason)
    assert reports["known"].reason == "configured"
    (kinds,) = refresh(lake, config, "kinds")
    assert (kinds.refresh, kinds.groups) == ("full", None)
    assert "rows to read" in str(kinds.reason)
    check_models(lake.spark, config, lake.namespace)


def test_a_model_that_cannot_be_refreshed_by_groups_is_made_anew_with_the_reason(lake: Lake) -> None:
    table = create(lake, "SELECT id, id % 3 AS kind FROM range(10)")
    models = {
        "small": {"sql": "SELECT kind, count(*) AS n FROM {t} GROUP BY kind"},
        "all": {"sql": "SELECT count(*) AS n FROM {t}"},
        "told": {"sql": "SELECT kind, count(*) AS n FROM {t} GROUP BY kind", "refresh": "full"},
    }
    config = configured(lake, models)
    refresh(lake, config)
    lake.spark.sql(f"INSERT INTO {table} VALUES (11, 1)")
    reports = {one.table.partition(".")[2]: one for one in refresh(lake, config)}
    assert {one.refresh for one in reports.values()} == {"full"}
    assert "costs too much beside reading all 11 rows" in str(reports["small"].reason)
    assert "needs GROUP BY" in str(reports["all"].reason)
    assert reports["told"].reason == "configured"


@pytest.mark.parametrize("renames", [[("kind", "was"), ("part", "kind"), ("was", "part")], [("kind", "was")]], ids=["swapped", "gone"])
def test_groups_are_not_looked_for_by_columns_that_changed_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, renames: list[tuple[str, str]]
) -> None:
    table = create(lake, "SELECT id, id % 3 AS kind, id % 5 AS part FROM range(10)")
    config = configured(lake, {"kinds": {"sql": "SELECT kind, count(*) AS n FROM {t} GROUP BY kind", "refresh": "incremental"}})
    refresh(lake, config)
    lake.spark.sql(f"INSERT INTO {table} VALUES (11, 7, 8)")

    def gone(*args: Any) -> tuple[Gone, Gone]:
        for old, new in renames:
            lake.spark.sql(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
        if len(renames) == 1:
            lake.spark.sql(f"ALTER TABLE {table} ADD COLUMN kind bigint")
        return gone_each_way(*args)

    monkeypatch.setattr(replace_groups, "gone_each_way", gone)
    (report,) = refresh(lake, config)
    assert (report.refresh, report.reason) == ("full", "columns of the table were renamed, dropped or got another type")
    made = lake.spark.table(f"lake.gold_{lake.namespace}.kinds").collect()
    assert {tuple(row) for row in made} == {(0, 4), (1, 3), (2, 3), (7, 1)}


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("array('secret') > 1", "DATATYPE_MISMATCH"),
        # Not found by the analysis, but in a task.
        ("raise_error('secret') IS NULL", "message is left out"),
    ],
)
def test_values_of_groups_are_not_told(lake: Lake, monkeypatch: pytest.MonkeyPatch, condition: str, told: str) -> None:
    table = create(lake, "SELECT id, id % 3 AS kind FROM range(10)")
    config = configured(lake, {"kinds": {"sql": "SELECT kind, count(*) AS n FROM {t} GROUP BY kind", "refresh": "incremental"}})
    refresh(lake, config)
    lake.spark.sql(f"INSERT INTO {table} VALUES (11, 7)")
    monkeypatch.setattr(GroupValues, "sql", lambda *_: condition)
    context = RunContext(lake.spark, config, open_store(config.bronze.uri), "test")
    (report,) = refresh_models(context).values()
    text = str(report.to_document())
    assert told in text
    assert "secret" not in text
