"""A model is what its query tells after names of columns have changed hands, though no row has changed."""

import random
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from dms_iceberg.context import RunContext
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.gold.status import ModelStatus, model_statuses
from dms_iceberg.storage.open_store import open_store
from support.lake import Lake
from support.models import choose_by_chance

COLUMNS = {"t": ("a", "b", "c"), "u": ("a", "d")}
MODELS = {
    "groups": "SELECT a, count(*) AS n, max(b) AS most FROM {s}.t GROUP BY a",
    # A column of the table that gets the name of the alias may be what HAVING means.
    "having": "SELECT a, max(b) AS d FROM {s}.t GROUP BY a HAVING d > 'b0'",
    "all": "SELECT * FROM {s}.t",
    "hashed": "SELECT id, hash(struct(*)) AS h FROM {s}.u",
    "using": "SELECT count(*) AS n, max(t.b) AS b FROM {s}.t JOIN {s}.u USING (id)",
    # A column that both have by now is compared as well.
    "natural": "SELECT count(*) AS n FROM {s}.t NATURAL JOIN {s}.u",
    # A new column of the inner table comes before one of the outer table, and one of the table before an alias.
    "correlated": "SELECT id FROM {s}.t WHERE EXISTS (SELECT 1 FROM {s}.u WHERE u.id = t.id AND c = 'c1')",
    "alias": "SELECT upper(b) AS d, count(*) AS n FROM {s}.t GROUP BY d",
    "pivoted": "SELECT * FROM {s}.u PIVOT (count(id) FOR a IN ('a0' AS p0, 'a1' AS p1))",
    "outer": "SELECT t.id, u.d FROM {s}.t FULL OUTER JOIN {s}.u ON t.a = u.a",
    "ranked": "SELECT id, row_number() OVER (PARTITION BY a ORDER BY b, id) AS place FROM {s}.t",
}


class Renamed:
    """Two silver tables, models over them, and what others do to their columns."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        gold = {f"gold_{lake.namespace}.{name}": {"sql": sql.format(s=lake.namespace)} for name, sql in MODELS.items()}
        self.config = lake.config({"public.t": {}, "public.u": {}}, gold=gold)
        for table, columns in COLUMNS.items():
            rows = [
                (id_, *(f"{name}{(id_ * (place + 2)) % 3}" if id_ % 5 else None for place, name in enumerate(columns))) for id_ in range(12)
            ]
            lake.load(f"public.{table}", [("id", pa.int64()), *((name, pa.string()) for name in columns)], rows)
        assert lake.run(self.config).errors == {}

    def columns(self, table: str) -> list[str]:
        """The table's own columns but the key."""
        return [name for name in self.lake.target(table).column_types() if name != "id"]

    def alter(self, table: str, *changes: str) -> None:
        """Let somebody else change a table's columns."""
        for change in changes:
            self.lake.spark.sql(f"ALTER TABLE lake.{self.lake.namespace}.{table} {change}")

    def statuses(self) -> dict[str, ModelStatus]:
        """By short name."""
        return {one.model.partition(".")[2]: one for one in model_statuses(self.lake.spark, self.config, with_maintenance=False)}

    def refresh(self) -> dict[str, ModelReport]:
        """Refresh the models; each is what its query tells, or fails as the query does."""
        context = RunContext(self.lake.spark, self.config, open_store(self.config.bronze.uri), uuid.uuid4().hex)
        reports = {name.partition(".")[2]: one for name, one in refresh_models(context).items()}
        for name, sql in MODELS.items():
            try:
                told = self.lake.spark.sql(sql.format(s=f"lake.{self.lake.namespace}"))
            except AnalysisException:
                assert reports[name].error, name
                continue
            assert reports[name].error is None, (name, reports[name].error)
            made = self.lake.spark.table(f"lake.gold_{self.lake.namespace}.{name}")
            assert made.columns == told.columns, name
            assert Counter(map(repr, made.collect())) == Counter(map(repr, told.collect())), name
        return reports


def test_a_model_follows_names_that_change_hands(lake: Lake) -> None:
    renamed = Renamed(lake)
    s = lake.namespace
    cases: list[tuple[str, list[str], set[str]]] = [
        ("u", ["ADD COLUMN e STRING"], {"all", "groups", "having", "using", "alias", "ranked"}),
        ("t", ["RENAME COLUMN a TO x", "RENAME COLUMN b TO a", "RENAME COLUMN x TO b"], {"hashed", "pivoted"}),
        ("t", ["DROP COLUMN b", "ADD COLUMN b STRING"], {"hashed", "pivoted", "correlated"}),
        ("u", ["ADD COLUMN c STRING"], {"all", "groups", "having", "using", "alias", "ranked"}),
    ]
    for table, changes, untouched in cases:
        renamed.alter(table, *changes)
        behind = {name for name, one in renamed.statuses().items() if one.behind}
        assert not behind & untouched, (changes, behind)
        assert all(set(one.behind) <= {f"{s}.t", f"{s}.u"} for one in renamed.statuses().values())
        made = renamed.refresh()
        assert {name for name, one in made.items() if one.refresh or one.error} >= behind - {"alias"}
        assert not {name for name in untouched if made[name].refresh}, changes
        assert [one.refresh for one in renamed.refresh().values()] == [None] * len(MODELS)
        assert {name: one.behind for name, one in renamed.statuses().items() if one.behind and not made[name].error} == {}


@pytest.mark.release
@pytest.mark.parametrize("seed", range(2))
def test_models_equal_their_queries_after_any_change_of_names(lake: Lake, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    renamed, chance = Renamed(lake), random.Random(seed)
    choose_by_chance(monkeypatch, random.Random(seed))
    for _ in range(8):
        table = chance.choice(["t", "u"])
        renamed.alter(table, *_changes(chance, renamed.columns(table)))
        if chance.random() < 0.5:
            lake.spark.sql(f"DELETE FROM lake.{lake.namespace}.{chance.choice(['t', 'u'])} WHERE id = {chance.randrange(12)}")
        said = {name for name, one in renamed.statuses().items() if one.behind}
        done = {name for name, one in renamed.refresh().items() if one.refresh}
        assert done <= said, (seed, done - said)


def _changes(chance: random.Random, columns: list[str]) -> Iterator[str]:
    """A few changes of the columns of a table."""
    free = [name for name in "abcdexy" if name not in columns]
    new, (one, *others) = chance.choice(free), chance.sample(columns, len(columns))
    act: Any = chance.choice(["rename", "again", "add", "move", *(["swap"] * 2 + ["drop"]) * bool(others)])
    if act == "rename":
        yield f"RENAME COLUMN {one} TO {new}"
    elif act == "add":
        yield f"ADD COLUMN {new} STRING"
    elif act == "move":
        yield f"ALTER COLUMN {one} FIRST"
    elif act == "swap":
        yield from (f"RENAME COLUMN {one} TO {new}", f"RENAME COLUMN {others[0]} TO {one}", f"RENAME COLUMN {new} TO {others[0]}")
    else:
        yield f"DROP COLUMN {one}"
        yield from [f"ADD COLUMN {one} STRING"] if act == "again" else []
