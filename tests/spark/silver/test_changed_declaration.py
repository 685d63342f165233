"""A declaration that no longer goes with its table: a plan, a run and a watch without new files, and the status, say the same."""

import json

import pyarrow as pa
import pytest

from dms_iceberg.context import RunContext
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver import check_configuration
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.watch.table import WatchedTable
from support.lake import Lake

PRICED = [("id", pa.int64()), ("price", pa.string())]
CAST = {"columns": [{"name": "price", "type": "decimal(12,2)"}]}
WORDS = "'price' is declared as decimal(12,2), but column 'price' of"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (CAST, WORDS),
        ({"filter": "sort_of(price)"}, 'tables."public.t".filter: Spark refuses it: '),
        ({"filter": "prise <> ''"}, "tables.\"public.t\".filter: no file has the column 'prise'"),
        ({"columns": [{"name": "cost", "from": "prise"}]}, "tables.\"public.t\".columns[0].from: no file has the column 'prise'"),
        ({"mode": "append"}, "which cannot become append in place"),
    ],
    ids=["cast", "function", "filter", "copy", "mode"],
)
def test_plan_run_and_status_agree_where_nothing_is_to_be_merged(lake: Lake, entry: dict[str, object], words: str) -> None:
    lake.load("public.t", PRICED, [(1, "a")])
    lake.run_one(lake.config({"public.t": {}}))
    state, config = lake.target("t").metadata_location(), lake.config({"public.t": entry})
    (plan,), (status,) = preview(lake.spark, config), table_statuses(lake.spark, config)
    report = lake.run(config)
    error = report.tables["public.t"].error
    assert report.exit_code == 1 and words in (error or "")
    assert plan.error == status.problem == error
    (status,) = table_statuses(lake.spark, config)
    assert status.last_error == error
    watched = WatchedTable(
        RunContext(lake.spark, config, open_store(config.bronze.uri), "w"),
        config.tables["public.t"],
        open_store(config.state_uri),
        1.0,
        None,
    )
    assert watched.turn() > 0.0
    assert watched.error == error
    assert json.loads((lake.folder / "runs" / config.pipeline / "public.t.json").read_text())["error"] == error
    assert lake.target("t").metadata_location() == state


def test_a_declared_type_is_compared_with_the_table_also_where_bronze_has_expired(lake: Lake) -> None:
    path = lake.load("public.t", PRICED, [(1, "a")])
    lake.run_one(lake.config({"public.t": {}}))
    path.unlink()
    config = lake.config({"public.t": CAST})
    assert WORDS in (lake.run_one(config, fails=True).error or "")
    (plan,) = preview(lake.spark, config)
    assert WORDS in (plan.error or "")


def test_a_changed_declaration_that_is_right_is_looked_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.load("public.t", PRICED, [(1, "a")])
    lake.run_one(lake.config({"public.t": {}}))
    head, opened = lake.target("t").head(), []
    open_files = check_configuration.open_files
    monkeypatch.setattr(check_configuration, "open_files", lambda *all_: opened.append(1) or open_files(*all_))
    config = lake.config({"public.t": {"filter": "price <> 'b'"}})
    states = [lake.target("t").metadata_location() for _ in range(3) if lake.run_one(config).batches == []]
    assert (len(opened), len(states), len(set(states))) == (1, 3, 1)
    assert lake.target("t").head() == head
    (status,) = table_statuses(lake.spark, config)
    assert (status.problem, len(opened)) == (None, 1)
