"""Late changes of keys that have a newer change in quarantine: it was seen, and it is not merged."""

import pyarrow as pa
import pytest

from support.lake import Lake
from support.text_files import cdc_name

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string())]
ID_V_W = [*ID_V, ("w", pa.string())]
RULE = {"rules": [{"name": "good", "expr": "v <> 'bad'"}]}
MODES = ("mirror", "soft_delete", "history")


def clock(minute: int) -> str:
    return f"2026030110{minute:02d}00"


def test_a_late_change_is_not_judged_by_a_rejected_one_that_nobody_replayed(lake: Lake) -> None:
    """The rule was loosened meanwhile, so that the rejected change would win if it were read as a merged one."""
    tables = {f"public.{mode}": {"mode": mode} for mode in MODES}
    strict = lake.config({name: {**table, **RULE} for name, table in tables.items()})
    for name in tables:
        lake.load(name, ID_V, [(1, "load"), (2, "load")])
        lake.changes(name, cdc_name(7), ID_V, [("U", clock(7), 700, 1, "bad", None), ("U", clock(7), 704, 2, "seven", None)])
    assert lake.run(strict).failed == []
    for name in tables:
        lake.changes(name, cdc_name(5), ID_V, [("U", clock(5), 500, 1, "five", None)])
    report = lake.run(lake.config(tables))
    assert {name: (one.error, one.applied, one.stale) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1, 0))
    assert lake.rows("mirror", "id, v") == [(1, "five"), (2, "seven")]
    assert lake.rows("soft_delete", "id, v, _cdc_deleted") == [(1, "five", False), (2, "seven", False)]
    assert lake.rows("history", "id, v, _is_current", "1, _valid_from")[:2] == [(1, "load", False), (1, "five", True)]


def test_rows_of_a_file_that_the_schema_policy_holds_back_do_not_win_against_late_ones(lake: Lake) -> None:
    """They are in quarantine under the very configuration that reads them again."""
    tables = {f"public.{mode}": {"mode": mode, "schema_changes": "quarantine"} for mode in MODES}
    config = lake.config(tables)
    for name in tables:
        lake.load(name, ID_V, [(1, "load"), (2, "load")])
        lake.changes(name, cdc_name(6), ID_V, [("U", clock(6), 600, 2, "six", None)])
        lake.changes(name, cdc_name(7), ID_V_W, [("U", clock(7), 700, 1, "held", "w", None)])
    report = lake.run(config)
    assert {name: (one.error, one.quarantined) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1))
    for name in tables:
        lake.changes(name, cdc_name(5), ID_V, [("U", clock(5), 500, 1, "five", None)])
    report = lake.run(config)
    assert {name: (one.error, one.applied, one.stale) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1, 0))
    assert lake.rows("mirror", "id, v") == [(1, "five"), (2, "six")]
    assert lake.rows("soft_delete", "id, v") == [(1, "five"), (2, "six")]
    assert lake.rows("history", "v, _is_current", "id, _valid_from")[:2] == [("load", False), ("five", True)]


def test_a_rejected_change_that_is_written_again_was_seen_before(lake: Lake) -> None:
    """Its first writing waits in quarantine, and a newer change of its key is merged: the clock did not go back."""
    lake.load("public.t", ID_V, [(1, "load")])
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(5), 500, 1, "bad", None)])
    lake.changes("public.t", cdc_name(7), ID_V, [("U", clock(7), 700, 1, "seven", None)])
    lake.run_one(lake.config({"public.t": RULE}))
    lake.changes("public.t", cdc_name(9), ID_V, [("U", clock(5), 61, 1, "bad", None)])
    report = lake.run_one(lake.config({"public.t": {}}))
    assert (report.applied, report.stale, report.quarantined) == (0, 1, 0)
    assert lake.rows("t", "id, v") == [(1, "seven")]
