"""Rejected rows of a load that is being built: whose they are where a build was thrown away, or another load has the same file."""

import json
import os
from collections.abc import Mapping
from typing import Any

import attrs
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from dms_iceberg.cli.app import app
from dms_iceberg.context import RunRequest
from dms_iceberg.errors import BronzeError
from dms_iceberg.quarantine.listing import OpenRows, list_quarantine
from dms_iceberg.runs import batch
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.int64())]
ID_V_B = [*ID_V, ("b", pa.string())]
SMALL = {"name": "small", "expr": "v < 5"}
QUARANTINE, DROP = {"rules": [SMALL]}, {"rules": [{**SMALL, "on_fail": "drop"}]}
PRESENT = {"soft_delete": "NOT _cdc_deleted", "history": "_is_current"}


def cdc(minute: int) -> str:
    return f"2026/03/02/10/20260302-10{minute:02d}00000.parquet"


@attrs.frozen
class Build:
    """A load with row 1 as before, row 2 with a value that `SMALL` rejects, and without row 3. It becomes the content with ``last``.

    Attributes:
        first: what the document says when the load is first built.
        last: what it says when it is built to its end.
        stays: whether row 2 of the content before stays.
        open: how many rows are open in the end.
        mode: the table's mode.
        is_killed: the first build dies after it has rejected, and before it has committed.
    """

    first: dict[str, Any]
    last: dict[str, Any]
    stays: bool
    open: int
    mode: str = "mirror"
    is_killed: bool = False


BUILDS = {
    "same": Build(QUARANTINE, QUARANTINE, stays=True, open=1),
    "dropped": Build(QUARANTINE, DROP, stays=False, open=0),
    "dropped_soft": Build(QUARANTINE, DROP, stays=False, open=0, mode="soft_delete"),
    "dropped_history": Build(QUARANTINE, DROP, stays=False, open=0, mode="history"),
    "filtered": Build({**QUARANTINE, "filter": "v < 99"}, {"filter": "v < 5"}, stays=False, open=0, mode="soft_delete"),
    "again": Build({**QUARANTINE, "filter": "id > 0"}, {**QUARANTINE, "filter": "id > -1"}, stays=True, open=1, mode="soft_delete"),
    "killed": Build(QUARANTINE, DROP, stays=False, open=0, mode="soft_delete", is_killed=True),
    "killed_same": Build(QUARANTINE, QUARANTINE, stays=True, open=1, mode="soft_delete", is_killed=True),
}


def tables(entries: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"public.{name}": {"mode": BUILDS[name].mode, **entry} for name, entry in entries.items()}


def merged(lake: Lake, entries: dict[str, dict[str, Any]]) -> dict[str, TableReport]:
    return {name.removeprefix("public."): one for name, one in run(lake.spark, lake.config(entries)).tables.items()}


def test_only_what_the_published_build_has_rejected_keeps_rows_and_is_open(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.enter(1)
    for name in BUILDS:
        lake.load(f"public.{name}", ID_V, [(1, 1), (2, 2), (3, 3)])
    last = tables({name: one.last for name, one in BUILDS.items()})
    assert all(one.error is None for one in merged(lake, last).values())
    lake.enter(2)
    for name in BUILDS:
        lake.load(f"public.{name}", ID_V, [(1, 1), (2, 9)])
    killed = {f"public.{name}" for name, one in BUILDS.items() if one.is_killed}

    def kill(point: str, table: str = "") -> None:
        if point == "after-quarantine" and table in killed:
            raise BronzeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(batch, "failpoint", kill)
        first = merged(lake, tables({name: one.first for name, one in BUILDS.items()}))
    assert {name for name, one in first.items() if one.error} == {name for name, one in BUILDS.items() if one.is_killed}
    for name in BUILDS:
        lake.changes(f"public.{name}", cdc(1), ID_V, [("U", "20260302100000", 61, 1, 4)])
    reports = merged(lake, last)
    assert {name: one.error for name, one in reports.items() if one.error} == {}
    config = lake.config(last)
    counted = {one.table.removeprefix("public."): one.quarantined for one in table_statuses(lake.spark, config)}
    for name, one in BUILDS.items():
        present = sorted(row[:2] for row in lake.rows(name, f"id, v, {PRESENT.get(one.mode, 'true')}") if row[2])
        assert present == [(1, 4), *([(2, 2)] if one.stays else [])], name
        assert (len(lake.open_quarantine(config, name)), counted[name]) == (one.open, one.open), name
        assert len(lake.quarantine(name)) == 1, name
    # A rebuild of the load knows of the thrown-away build no more than the load does.
    rebuilt = run(
        lake.spark, config, ["public.same", "public.dropped"], request=RunRequest(rebuild=frozenset({"public.same", "public.dropped"}))
    )
    assert {name: (one.error, one.warnings) for name, one in rebuilt.tables.items()} == {
        "public.same": (None, []),
        "public.dropped": (None, []),
    }
    assert (lake.rows("same", "id, v"), lake.rows("dropped", "id, v")) == ([(1, 4), (2, 2)], [(1, 4)])
    assert [len(lake.open_quarantine(config, name)) for name in ("same", "dropped")] == [1, 0]


def listed(lake: Lake, entry: dict[str, Any]) -> OpenRows:
    (found,) = list_quarantine(lake.spark, lake.config({"public.t": entry}))
    return found


def test_a_file_that_two_loads_have_has_rejected_rows_of_each(lake: Lake) -> None:
    lake.enter(1)
    file = lake.load("public.t", ID_V, [(1, 1), (2, 9)])
    lake.changes("public.t", cdc(1), ID_V, [("U", "20260302100000", 61, 1, 2)])
    assert merged(lake, {"public.t": QUARANTINE})["t"].quarantined == 1
    lake.enter(2)
    os.link(file, lake.path("public.t", file.name))
    assert merged(lake, {"public.t": QUARANTINE})["t"].quarantined == 1

    # The content's row is open as before, and what the load has rejected is shown beside it.
    found = listed(lake, QUARANTINE)
    assert (found.rows, {load: [one.rows for one in reasons] for load, reasons in found.building.items()}) == (1, {"2": [1]})
    config = lake.config({"public.t": QUARANTINE})
    ((status,),) = [table_statuses(lake.spark, config)]
    assert (status.quarantined, status.building) == (1, ["2"])
    (lake.folder / "doc.json").write_text(json.dumps(lake.document({"public.t": QUARANTINE})))
    shown = CliRunner().invoke(app, ["quarantine", "list", str(lake.folder / "doc.json")])
    assert shown.exit_code == 0, shown.output
    assert "public.t: 1 open row\n" in shown.output and "public.t: 1 row that load 2, which is being built, has rejected\n" in shown.output

    # Back in the folder of the content's load, its row is replayed; that of the other load is not.
    lake.enter(1)
    mended = lake.config({"public.t": {}})
    assert replay(lake.spark, mended, ["public.t"]).errors == {}
    assert lake.rows("t", "id, v") == [(1, 2), (2, 9)]
    lake.enter(2)
    lake.changes("public.t", cdc(2), ID_V, [("U", "20260302100100", 61, 1, 3)])
    assert merged(lake, {"public.t": QUARANTINE})["t"].error is None
    found = listed(lake, QUARANTINE)
    assert (found.rows, found.building, lake.rows("t", "id, v")) == (1, {}, [(1, 3), (2, 9)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"drop": ["b"]}, {"publish": ["b"]}),
        ({"other_columns": "drop", "columns": [{"name": "v"}]}, {"publish": ["b"]}),
        ({}, {"drop": ["b"]}),
    ],
)
def test_a_load_whose_rows_lack_a_column_or_show_one_is_built_again(lake: Lake, before: dict[str, Any], after: dict[str, Any]) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, 1)])
    assert merged(lake, {"public.t": before})["t"].error is None
    lake.enter(2)
    lake.load("public.t", ID_V_B, [(1, 1, "x"), (2, 2, "y")])
    assert merged(lake, {"public.t": before})["t"].error is None
    lake.changes("public.t", cdc(1), ID_V_B, [("U", "20260302100000", 61, 1, 3, "z")])
    report = merged(lake, {"public.t": after})["t"]
    assert report.error is None and "built again" in report.warnings[0]
    if "drop" in after:
        assert {row[-1] for row in lake.rows("t", "b")} == {None}
    else:
        assert lake.rows("t", "id, v, b") == [(1, 3, "z"), (2, 2, "y")]
