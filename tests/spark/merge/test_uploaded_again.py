"""A change file that is uploaded again under another ETag, while rows of its first version wait in the quarantine."""

from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import RunReport
from support.lake import Lake, timestamp

ID_N = [("id", pa.int64()), ("n", pa.int32())]
T1, T2 = "20260301100100", "20260301100200"
FILE = "2026/03/01/10/20260301-100330000.parquet"
MODES = ("mirror", "soft_delete", "history", "append")
SHOWN = {
    "mirror": "id, n",
    "soft_delete": "id, n, _cdc_deleted",
    "history": "id, n, _is_current",
    "append": "_cdc_op, id, n",
}
STRICT = {"rules": [{"name": "positive", "expr": "n >= 0"}]}


def configs(lake: Lake, **bronze: Any) -> tuple[Config, Config]:
    """The configuration that rejects rows, and the mended one."""
    made = [lake.config({f"public.{mode}": {"mode": mode, **rules} for mode in MODES}, bronze=bronze) for rules in (STRICT, {})]
    return made[0], made[1]


def checked(report: RunReport) -> RunReport:
    assert not report.errors, report.errors
    for one in report.tables.values():
        for batch in one.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined, batch
    return report


def shown(lake: Lake) -> dict[str, list[tuple[Any, ...]]]:
    return {mode: lake.rows(mode, SHOWN[mode], "_cdc_position, id") for mode in MODES}


def open_keys(lake: Lake, config: Config, modes: Sequence[str] = MODES) -> set[tuple[Any, ...]]:
    """Number and key of the open rows, which each mode's table has the same."""
    found = {frozenset(lake.open_quarantine(config, mode, "row_number, key")) for mode in modes}
    assert len(found) == 1, found
    return set(found.pop())


def write(lake: Lake, rows: list[Any], name: str = FILE) -> None:
    for mode in MODES:
        lake.changes(f"public.{mode}", name, ID_N, rows)


@pytest.mark.long
def test_rejected_rows_that_come_again_are_replayed_once(lake: Lake) -> None:
    strict, mended = configs(lake)
    rows = [("I", T1, 61, 1, 1), ("I", T1, 65, 2, -2), ("I", T2, 69, 3, -3), ("D", T2, 73, 3, None), ("I", T2, 77, 4, -4)]
    write(lake, rows)
    checked(lake.run(strict))
    write(lake, rows)
    again = checked(lake.run(strict))
    assert {one.quarantined for one in again.tables.values()} == {3}
    assert open_keys(lake, strict) == {(1, '{"id":2}'), (2, '{"id":3}'), (4, '{"id":4}')}
    checked(replay(lake.spark, mended))
    assert shown(lake) == {
        "mirror": [(1, 1), (2, -2), (4, -4)],
        "soft_delete": [(1, 1, False), (2, -2, False), (3, -3, True), (4, -4, False)],
        "history": [(1, 1, True), (2, -2, True), (3, -3, False), (4, -4, True)],
        "append": [("I", 1, 1), ("I", 2, -2), ("I", 3, -3), ("D", 3, None), ("I", 4, -4)],
    }
    assert open_keys(lake, mended) == set()


@pytest.mark.long
def test_first_file_that_comes_again_is_not_lost_unless_others_are(lake: Lake) -> None:
    """What bronze began with is the batch then; a late change may hide a delete only if bronze has lost a file between."""
    config, _ = configs(lake)
    second, third = (FILE.replace("1003", minute) for minute in ("1004", "1005"))
    first = [("I", T1, 61, 1, 1), ("U", T1, 65, 1, 2)]
    write(lake, first)
    write(lake, [("I", T2, 61, 2, 2)], second)
    write(lake, [("I", T2, 65, 3, 3)], third)
    checked(lake.run(config))
    before = shown(lake)
    write(lake, first)
    checked(lake.run(config))
    assert shown(lake) == before
    assert open_keys(lake, config) == set()
    for mode in MODES:
        lake.path(f"public.{mode}", second).unlink()
    write(lake, first)
    checked(lake.run(config))
    assert shown(lake) == before
    # A log takes every change, whatever was deleted since.
    assert open_keys(lake, config, ["append"]) == set()
    assert open_keys(lake, config, MODES[:3]) == {(0, '{"id":1}'), (1, '{"id":1}')}


@pytest.mark.long
def test_rows_of_the_first_version_end_with_the_one_that_mends_them(lake: Lake) -> None:
    """A row that was mended in the file is no longer open; one that the new version lacks is, as nothing else knows of it."""
    strict, mended = configs(lake)
    write(lake, [("I", T1, 61, 1, 1), ("I", T1, 65, 2, -2), ("I", T2, 69, 3, -3)])
    checked(lake.run(strict))
    before = {mode: lake.target(mode).head() for mode in MODES}
    write(lake, [("I", T1, 61, 1, 1), ("I", T1, 65, 2, 22)])
    again = checked(lake.run(strict))
    assert {(one.applied, one.stale) for one in again.tables.values()} == {(1, 1)}
    assert open_keys(lake, strict) == {(2, '{"id":3}')}
    checked(replay(lake.spark, mended))
    assert shown(lake)["append"] == [("I", 1, 1), ("I", 2, 22), ("I", 3, -3)]
    assert shown(lake)["history"] == [(1, 1, True), (2, 22, True), (3, -3, True)]
    assert shown(lake)["mirror"] == [(1, 1), (2, 22), (3, -3)]
    # A rollback opens again what the new version had ended.
    for mode, head in before.items():
        lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{lake.namespace}.{mode}', {head.id if head else 0})")
    assert open_keys(lake, mended) == {(1, '{"id":2}'), (2, '{"id":3}')}


@pytest.mark.release
@pytest.mark.parametrize("version", ["the version before", "this version"])
def test_without_a_sequence_a_row_is_known_by_what_it_holds(lake: Lake, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is its number in the file, and the new version has one row less. Earlier versions left both open."""
    if version == "the version before":
        monkeypatch.setattr("dms_iceberg.runs.batch.rewritten_rows", lambda *_: None)
    strict, mended = configs(lake, change={"sequence_column": None})

    def upload(rows: list[Any]) -> None:
        columns = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_N]
        for mode in MODES:
            lake.parquet(f"public.{mode}", FILE, columns, [(op, timestamp(T1), *values) for op, *values in rows])

    upload([("I", 1, -1), ("I", 2, -2), ("I", 3, -3)])
    checked(lake.run(strict))
    upload([("I", 2, -2), ("I", 3, -3)])
    checked(lake.run(strict))
    assert {key for _, key in open_keys(lake, strict)} == {'{"id":1}', '{"id":2}', '{"id":3}'}
    checked(replay(lake.spark, mended))
    assert sorted(shown(lake)["append"]) == [("I", 1, -1), ("I", 2, -2), ("I", 3, -3)]
    assert sorted(shown(lake)["history"]) == [(1, -1, True), (2, -2, True), (3, -3, True)]
    assert sorted(shown(lake)["mirror"]) == [(1, -1), (2, -2), (3, -3)]
    assert open_keys(lake, mended) == set()


@pytest.mark.long
def test_loaded_rows_that_come_late_find_the_only_change_file_though_it_was_uploaded_again(lake: Lake) -> None:
    """They were quarantined: bronze seemed to have lost the file that is merged."""
    config, _ = configs(lake)
    write(lake, [("D", T1, 61, 1, None), ("I", T1, 65, 2, 2)])
    checked(lake.run(config))
    write(lake, [("D", T1, 61, 1, None), ("I", T1, 65, 2, 2), ("I", T2, 69, 3, 3)])
    for mode in MODES:
        lake.load(f"public.{mode}", ID_N, [(1, 1), (4, 4)])
    limited = attrs.evolve(config, batch=attrs.evolve(config.batch, max_files=1))
    checked(lake.run(limited))
    assert open_keys(lake, config) == set()
    assert [row[:2] for row in shown(lake)["mirror"]] == [(4, 4), (2, 2), (3, 3)]


def test_keys_of_both_versions_are_written_alike(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rejected row of the first version ends with the same change in the second, whatever its key is."""
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    kinds: dict[str, tuple[pa.DataType, Any, Any, dict[str, Any]]] = {
        "float": (pa.float32(), 0.1, 0.1, {}),
        "zero": (pa.float64(), -0.0, 0.0, {}),
        "unfit": (pa.string(), "12x", "12x", {"type": "int"}),
        "masked": (pa.string(), "12x", "12x", {"type": "int", "mask": "sha256"}),
        "other": (pa.string(), "12x", "13x", {"type": "int", "mask": "sha256"}),
    }
    tables = {f"public.{name}": {**STRICT, "columns": [{"name": "id", **column}] if column else []} for name, (*_, column) in kinds.items()}
    config = lake.config(tables)
    for version in (1, 2):
        for name, (type_, *keys, _) in kinds.items():
            lake.changes(f"public.{name}", FILE, [("id", type_), ("n", pa.int32())], [("I", T1, 61, keys[version - 1], -version)])
        assert {one.quarantined for one in checked(lake.run(config)).tables.values()} == {1}
    # Of the first version: the record differs from that of the second.
    assert {name: len(lake.open_quarantine(config, name, "key")) for name in kinds} == {**dict.fromkeys(kinds, 1), "other": 2}
