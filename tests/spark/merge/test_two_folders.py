"""Two files of one name in two date folders, as after a copy of bronze: each is a file of its own, their changes are the same."""

from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.runs.replay import replay
from support.lake import Lake
from support.text_files import ONLY_SEQUENCE, cdc_name, change_line, write_text

pytestmark = pytest.mark.long

ID_N = [("id", pa.int64()), ("n", pa.int32())]
WIDE = [*ID_N, ("w", pa.int32())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
CSV_HEADER = "Op,dms_commit_ts,id,n,dms_change_seq"
MODES = ("mirror", "soft_delete", "history", "append")
SHOWN = {"mirror": "id, n", "soft_delete": "id, n, _cdc_deleted", "history": "id, n, _is_current", "append": "_cdc_op, id, n"}


def cdc(minute: int, folder: str = "2026/03/01/10") -> str:
    return f"{folder}/20260301-10{minute:02d}30000.parquet"


def run(lake: Lake, config: Config) -> None:
    report = lake.run(config)
    assert not report.errors, report.errors


def silver(lake: Lake) -> dict[str, list[tuple[Any, ...]]]:
    return {mode: lake.rows(mode, SHOWN[mode], "_cdc_position, id") for mode in MODES}


@pytest.mark.parametrize("folder", ["2026-03-01", pytest.param("2026 03 é%01", marks=pytest.mark.release)])
def test_row_that_waits_in_one_of_them_is_merged_from_the_other(lake: Lake, folder: str) -> None:
    """A delete that the schema policy held back in the first folder came by the second: a late change does not bring the row back."""
    strict, mended = (
        lake.config({f"public.{mode}": {"mode": mode, "schema_changes": policy} for mode in MODES}) for policy in ("quarantine", "evolve")
    )
    for mode in MODES:
        name = f"public.{mode}"
        lake.load(name, ID_N, [(1, 1), (2, 2)])
        lake.changes(name, cdc(1), ID_N, [("U", T1, 61, 2, 22)])
    run(lake, strict)
    for mode in MODES:
        lake.changes(f"public.{mode}", cdc(3), WIDE, [("D", T3, 69, 1, None, None), ("I", T3, 73, 3, 3, 3)])
    run(lake, strict)
    for mode in MODES:
        lake.changes(f"public.{mode}", cdc(3, folder), WIDE, [("D", T3, 69, 1, None, None), ("I", T3, 73, 3, 3, 3)])
    run(lake, mended)
    for mode in MODES:
        lake.changes(f"public.{mode}", cdc(2), ID_N, [("U", T2, 65, 1, 11)])
    run(lake, mended)
    expected = {
        "mirror": [(2, 22), (3, 3)],
        "soft_delete": [(2, 22, False), (1, 11, True), (3, 3, False)],
        "history": [(1, 1, False), (2, 2, False), (2, 22, True), (1, 11, False), (3, 3, True)],
        "append": [("I", 1, 1), ("I", 2, 2), ("U", 2, 22), ("U", 1, 11), ("D", 1, None), ("I", 3, 3)],
    }
    assert silver(lake) == expected
    report = replay(lake.spark, mended)
    assert not report.errors, report.errors
    assert silver(lake) == expected


def test_rows_that_wait_in_both_are_replayed_once(lake: Lake) -> None:
    rules = {"rules": [{"name": "positive", "expr": "n >= 0"}]}
    strict, mended = (lake.config({f"public.{mode}": {"mode": mode, **entry} for mode in MODES}) for entry in (rules, {}))
    changes = [("I", T1, 61, 1, -1), ("U", T1, 65, 1, 1), ("I", T1, 69, 2, -2)]
    for mode in MODES:
        lake.changes(f"public.{mode}", cdc(1), ID_N, changes)
        lake.changes(f"public.{mode}", cdc(1, "20260301"), ID_N, changes)
    run(lake, strict)
    report = replay(lake.spark, mended)
    assert not report.errors, report.errors
    assert silver(lake) == {
        "mirror": [(1, 1), (2, -2)],
        "soft_delete": [(1, 1, False), (2, -2, False)],
        "history": [(1, -1, False), (1, 1, True), (2, -2, True)],
        "append": [("I", 1, -1), ("U", 1, 1), ("I", 2, -2)],
    }


def test_rows_of_text_files_that_wait_in_both_are_replayed_once(lake: Lake) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "n", "type": "int"}]
    rules = {"rules": [{"name": "positive", "expr": "n >= 0"}]}
    strict, mended = (
        lake.config(
            {f"public.{mode}": {"mode": mode, "columns": columns, **entry} for mode in MODES},
            bronze={"format": "csv", "change": ONLY_SEQUENCE},
        )
        for entry in (rules, {})
    )
    changes = [("I", T1, 61, 1, -1), ("U", T1, 65, 1, 1), ("I", T1, 69, 2, -2)]
    lines, name = [change_line(*one) for one in changes], cdc_name(1, "csv")
    for mode in MODES:
        write_text(lake, f"public.{mode}", name, lines, CSV_HEADER)
    run(lake, strict)
    for mode in MODES:
        # The copy comes while two rows of the first wait.
        write_text(lake, f"public.{mode}", f"20260301/{name.split('/')[-1]}", lines, CSV_HEADER)
        write_text(lake, f"public.{mode}", cdc_name(3, "csv"), [change_line("D", T3, 70, 2, 0)], CSV_HEADER)
    run(lake, strict)
    report = replay(lake.spark, mended)
    assert not report.errors, report.errors
    assert silver(lake) == {
        "mirror": [(1, 1)],
        "soft_delete": [(1, 1, False), (2, -2, True)],
        "history": [(1, -1, False), (1, 1, True), (2, -2, False)],
        "append": [("I", 1, -1), ("U", 1, 1), ("I", 2, -2), ("D", 2, None)],
    }
