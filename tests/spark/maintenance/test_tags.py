"""Tags and branches of users: maintenance keeps what they show, and does not fail on them."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.maintenance import execute
from support.lake import Lake
from support.maintained import EAGER, kept_in_order, taken

ID_V = [("id", pa.int64()), ("v", pa.string())]


def _batches(lake: Lake, config: Any, numbers: Sequence[int]) -> None:
    for number in numbers:
        name = f"2026/03/01/10/20260301-10{number:02d}30000.parquet"
        lake.changes("public.t", name, ID_V, [("U", f"2026030110{number:02d}00", 61, number, f"u{number}")])
        lake.run_one(config)


@pytest.mark.usefixtures("hours_later")
def test_what_a_tag_or_branch_shows_stays(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": {}}, maintenance=EAGER)
    lake.load("public.t", ID_V, [(number, "a") for number in range(12)])
    lake.run_one(config)
    name = f"lake.{lake.namespace}.t"

    def shown(version: str) -> list[tuple[Any, ...]]:
        rows = lake.spark.sql(f"SELECT id, v FROM {name} VERSION AS OF '{version}' ORDER BY id")
        return [tuple(row) for row in rows.collect()]

    _batches(lake, config, (1, 2))
    lake.spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    lake.spark.sql(f"DELETE FROM {name}.branch_audit WHERE id > 3")
    _batches(lake, config, (3, 4))
    lake.spark.sql(f"ALTER TABLE {name} CREATE TAG month")
    _batches(lake, config, range(5, 9))
    lake.target("t")
    before = {version: shown(version) for version in ("audit", "month", "main")}
    assert before["month"][4] == (4, "u4") and before["month"][5] == (5, "a") and len(before["audit"]) == 4
    progress = lake.target("t").progress()
    assert set(taken(kept_in_order(lake.spark, config)).values()) == {"done"}
    assert taken(kept_in_order(lake.spark, config)) == {}
    lake.spark.sql(f"REFRESH TABLE {name}")
    assert {version: shown(version) for version in before} == before
    assert lake.target("t").progress() == progress
    # Somebody tags a snapshot that is about to expire.
    lake.spark.sql(f"ALTER TABLE {name} DROP TAG month")
    lake.spark.sql(f"ALTER TABLE {name} DROP BRANCH audit")
    chosen: Callable[..., list[int]] = execute.to_expire

    def tagged_meanwhile(*arguments: Any) -> list[int]:
        ids = chosen(*arguments)
        lake.spark.sql(f"ALTER TABLE {name} CREATE TAG late AS OF VERSION {ids[0]}")
        return ids

    with monkeypatch.context() as patched:
        patched.setattr(execute, "to_expire", tagged_meanwhile)
        assert taken(kept_in_order(lake.spark, config))["t", "expire"] == "gave_way"
    late = shown("late")
    kept_in_order(lake.spark, config)
    lake.spark.sql(f"REFRESH TABLE {name}")
    assert shown("late") == late
    _batches(lake, config, (9,))
    assert lake.rows("t", "id, v")[9] == (9, "u9")
