"""Random histories with gold models over them: every model is what its query tells, whatever happened since it was made.

Late, copied, re-emitted and regrouped files, key changes and second loads as in `test_convergence`. Between batches models are refreshed or
tables maintained, with snapshots that expire at once; between runs tables are compacted or rolled back, and models written to by others.
``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import random
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Refresh
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import RunContext
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.maintenance.run import maintain
from dms_iceberg.runs.report import BatchReport, RunReport
from dms_iceberg.runs.run import run
from dms_iceberg.sql.quoting import quote
from dms_iceberg.storage.open_store import open_store
from properties.merging import Merging
from support.bronze_writer import FORMATS
from support.histories import SEED, WORLDS, seeded_world
from support.maintained import EAGER, let_hours_pass
from support.models import check_models, choose_by_chance
from support.table_kind import TableKind
from support.table_kinds import CODED, DROPPED, FILTERED, JUDGED, MOVED, PLAIN

pytestmark = pytest.mark.release

_CASES: dict[str, tuple[dict[str, Any], tuple[TableKind, ...]]] = {
    "v2": ({}, (PLAIN, MOVED)),
    "v3": ({"format_version": 3}, (FILTERED, DROPPED)),
    "history": ({"mode": "history"}, (FILTERED, CODED)),
    "copy-on-write": ({"write_mode": "copy-on-write"}, (JUDGED, PLAIN)),
}


def _models(kinds: tuple[TableKind, ...], silver: str) -> dict[str, dict[str, Any]]:
    """Models of groups over each table, the first of them refreshed in every way, and models of which no group stands alone."""
    models: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        keys, table = kind.cleaning.silver_key, f"{silver}.{kind.name}"
        values = [quote(column) for column in kind.cleaning.columns if column not in keys][:2]
        told = f"count(*) AS n, max({quote(keys[0])}) AS newest, min({quote(keys[-1])}) AS oldest"
        by_value = f"SELECT {values[0]}, {told} FROM {table} GROUP BY {values[0]}"
        models[f"{kind.name}_by_value"] = {"sql": by_value, "refresh": "incremental"}
        models |= {f"{kind.name}_{way}": {"sql": by_value, "refresh": way} for way in ("auto", "full")}
        several = ", ".join([quote(keys[0]), *values])
        models[f"{kind.name}_by_several"] = {
            "sql": f"SELECT {told}, {several} FROM {table} t WHERE {values[0]} IS NOT NULL GROUP BY {several} HAVING count(*) < 3",
            "refresh": "incremental",
        }
        models |= {f"{kind.name}_{name}": {"sql": sql} for name, sql in _whole_models(keys, values, f"{table} t").items()}
        models[f"{kind.name}_some"] = {
            "sql": f"SELECT {values[0]}, count(*) FILTER (WHERE {values[-1]} IS NOT NULL) AS n FROM {table} GROUP BY {values[0]}",
            "refresh": "incremental",
        }
    models |= {name: {"sql": sql} for name, sql in _joined_models(kinds, silver).items()}
    counted = " UNION ALL ".join(f"SELECT '{kind.name}' AS name, count(*) AS n FROM {silver}.{kind.name}" for kind in kinds)
    return {**models, "sizes": {"sql": counted}}


def _whole_models(keys: Sequence[str], values: Sequence[str], table: str) -> dict[str, str]:
    """Models over one table, ``t``, of which no group stands alone."""
    names = [quote(name) for name in keys]
    in_order, key = ", ".join(names), names[0]
    later = f"SELECT 1 FROM {table.removesuffix(' t')} o WHERE o.{values[0]} <=> t.{values[0]} AND o.{key} > t.{key}"
    return {
        "ranked": f"SELECT {key}, rank() OVER (PARTITION BY {values[0]} ORDER BY {in_order}) AS place FROM {table}",
        "distinct": f"SELECT DISTINCT {values[0]} FROM {table}",
        "first": f"SELECT {in_order} FROM {table} ORDER BY {in_order} LIMIT 7",
        "sets": f"SELECT {values[0]}, count(*) AS n FROM {table} GROUP BY GROUPING SETS (({values[0]}, {key}), ({key}), ())",
        "newest": f"SELECT {in_order} FROM {table} WHERE NOT EXISTS ({later})",
    }


def _joined_models(kinds: tuple[TableKind, ...], silver: str) -> dict[str, str]:
    """Models over two tables."""
    one, two = kinds
    (a, key), (b, other) = ((f"{silver}.{kind.name}", quote(kind.cleaning.silver_key[0])) for kind in (one, two))
    same = f"CAST(a.{key} AS string) = CAST(b.{other} AS string)"
    return {
        "outer": f"SELECT a.{key} AS one, b.{other} AS two FROM {a} a FULL OUTER JOIN {b} b ON {same}",
        "each": f"SELECT a.{key}, (SELECT count(*) FROM {b} b WHERE {same}) AS n FROM {a} a",
        "either": f"SELECT CAST({key} AS string) AS k FROM {a} a UNION SELECT CAST({other} AS string) FROM {b} b",
        "more": f"SELECT n, count(*) AS keys FROM (SELECT {key}, count(*) AS n FROM {a} a GROUP BY {key} HAVING count(*) > 1) GROUP BY n",
        "alike": f"SELECT CAST({key} AS string) AS k FROM {a} a INTERSECT SELECT CAST({other} AS string) FROM {b} b",
    }


class Modelled(Merging):
    """The job with gold models, and what else happens to tables between its batches."""

    def __init__(self, *arguments: Any, chance: random.Random) -> None:
        super().__init__(*arguments)
        self._chance = chance
        self._gold = f"gold_{self._namespace}"
        models = {f"{self._gold}.{name}": model for name, model in _models(self.world.kinds, self._namespace).items()}
        # One table at a time: what happens between batches would meet itself.
        self.config = parse_config({**self._document, "maintenance": EAGER, "gold": models, "parallelism": 1})
        self.refreshes: Counter[Refresh] = Counter()

    def run(self) -> RunReport:
        """One run; every model is what its query tells after it."""
        report = run(self._spark, self.config, listener=self._between)
        assert report.errors == {}
        self.refreshes.update(one.refresh for one in report.models.values() if one.refresh)
        waiting = {name for name, one in report.models.items() if one.waits_for}
        there = {kind.name for kind in self.world.kinds if self._spark.catalog.tableExists(self._name(kind))}
        # A table that no file came of yet is not made, and a model over it waits, and no other does.
        assert waiting == {name for name, one in self.config.gold.items() if not all(table in there for table in self._read_by(one.sql))}
        check_models(self._spark, self.config, self._namespace, waiting)
        return report

    def _read_by(self, sql: str) -> list[str]:
        return [kind.name for kind in self.world.kinds if f" {self._namespace}.{kind.name} " in f"{sql} "]

    def check_books(self, reports: Any) -> None:
        """Snapshots that have them expire, or are rolled back."""

    def _between(self, table: str, batch: BatchReport) -> None:
        match self._chance.choice(["nothing", "refresh", "refresh", "maintain"]):
            case "refresh":
                made = refresh_models(RunContext(self._spark, self.config, open_store(self.config.bronze.uri), uuid.uuid4().hex)).values()
                assert not [one.error for one in made if one.error]
                self.refreshes.update(one.refresh for one in made if one.refresh)
            case "maintain":
                assert not [one.error for one in maintain(self._spark, self.config, [self.config.tables[table]]).all if one.error]

    def disturb(self) -> None:
        """Do to tables or models what others may do."""
        kinds = [kind for kind in self.world.kinds if self._spark.catalog.tableExists(self._name(kind))]
        if not kinds:
            return
        kind = self._chance.choice(kinds)
        match self._chance.choice(["compact", "roll back", "roll back", "write"]):
            case "compact":
                self._call("rewrite_data_files", kind, "options => map('rewrite-all', 'true')")
            case "roll back":
                self._call("rollback_to_snapshot", kind, f"snapshot_id => {self._chance.choice(self._lineage(kind))}")
            case "write":
                self._spark.sql(f"DELETE FROM lake.{self._gold}.{kind.name}_by_value WHERE n = 1")

    def _call(self, procedure: str, kind: TableKind, arguments: str) -> None:
        self._spark.sql(f"CALL lake.system.{procedure}(table => '{self._namespace}.{kind.name}', {arguments})")

    def _lineage(self, kind: TableKind) -> list[int]:
        rows = self._spark.sql(f"SELECT snapshot_id FROM {self._name(kind)}.history WHERE is_current_ancestor").collect()
        known = {row.snapshot_id for row in self._snapshots(kind)}
        return [row.snapshot_id for row in rows if row.snapshot_id in known]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("number", range(WORLDS))
@pytest.mark.parametrize("case", _CASES)
def test_models_equal_their_queries_whatever_happens(
    spark: SparkSession, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, number: int
) -> None:
    let_hours_pass(monkeypatch)
    choose_by_chance(monkeypatch, random.Random(number))
    entry, kinds = _CASES[case]
    seed = SEED + 100 * number + list(_CASES).index(case)
    world = seeded_world(seed, tuple(kind.with_entry(entry) for kind in kinds), histories=6, per_table=40, runs=4, restarts=1, max_files=6)
    merging = Modelled(spark, warehouse, tmp_path, world, FORMATS[0], chance=random.Random(seed))
    for run_number in range(world.runs):
        merging.deliver(run_number)
        merging.run()
        merging.disturb()
    merging.run()
    assert min(merging.refreshes[Refresh.INCREMENTAL], merging.refreshes[Refresh.FULL]) > 0, merging.refreshes
    if "mode" not in entry:
        wrong = merging.differences()
        assert not wrong, "\n".join(map(str, wrong[:10]))
