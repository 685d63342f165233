"""What a marker of a complete full load says, and which loads it completes."""

import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.keys import parse_key
from dms_iceberg.config.parse import parse_config
from dms_iceberg.loads.load_marker import LoadMarker, marker_key, read_marker
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.open_store import open_store

TOLD: dict[str, Any] = {"schema": "public", "table": "orders", "epoch": 2, "rows": 3, "began": "2026-03-01T10:30:00+01:00"}
CONFIG = parse_config(
    {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": "bronze/epoch-2"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": "silver"},
        "tables": {"public.orders": {"target": "silver.orders", "key": ["id"]}},
    }
)
TABLE = CONFIG.tables["public.orders"]
WRITTEN = "20260301100000500"
MARKER = LoadMarker("s3://bronze/epoch-2/_load_complete/public/orders.json", WRITTEN, 2, 3, "20260301093000000")


def found(folder: Path, body: bytes | None) -> LoadMarker | None:
    path = folder / marker_key(TABLE)
    path.parent.mkdir(parents=True)
    (path.parent / "orders.json.bak").write_bytes(b"a neighbour")
    if body is not None:
        path.write_bytes(body)
        os.utime(path, (1772359200.5, 1772359200.5))
    return read_marker(open_store(str(folder)), TABLE)


def load(modified: str, number: int = 1) -> Any:
    file = parse_key("public/orders/", f"public/orders/LOAD{number:08X}.parquet", 1, "etag", modified)
    assert file is not None
    return file


def test_what_the_trigger_writes_is_read(tmp_path: Path) -> None:
    marker = found(tmp_path, json.dumps(TOLD | {"said_by": "arn:aws:dms:...", "ended": "2026-03-01T09:59:00+00:00"}).encode())
    assert marker == attrs.evolve(MARKER, uri=f"file://{tmp_path}/_load_complete/public/orders.json")


def test_no_marker_is_no_error(tmp_path: Path) -> None:
    assert found(tmp_path, None) is None
    assert read_marker(open_store(str(tmp_path / "nothing")), TABLE) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"{",
        b"[]",
        b'"x"',
        *(json.dumps(TOLD | change).encode() for change in ({"epoch": "2"}, {"epoch": True}, {"rows": None}, {"table": 1})),
        *(json.dumps(TOLD | change).encode() for change in ({"schema": "other"}, {"table": "order"})),
        *(json.dumps(TOLD | {"began": text}).encode() for text in ("", "yesterday", "2026-03-01T09:30:00", "2026-02-30T09:30:00Z")),
        *(json.dumps({name: value for name, value in TOLD.items() if name != left_out}).encode() for left_out in TOLD),
    ],
)
def test_anything_else_completes_nothing(tmp_path: Path, body: bytes) -> None:
    marker = found(tmp_path, body)
    assert marker is not None
    assert marker.epoch is None
    assert "damaged or another table's" in marker.doubt(Progress(epoch=2), [load(WRITTEN)])


def test_a_load_that_was_there_before_it_is_complete() -> None:
    assert MARKER.doubt(Progress(epoch=2), [load("20260301092900000"), load("20260301095900000"), load(WRITTEN)]) == ""


@pytest.mark.parametrize(
    ("marker", "progress", "modified", "why"),
    [
        (MARKER, Progress(epoch=3), [WRITTEN], "names load epoch 2"),
        (MARKER, Progress(epoch=2, reload=1), [WRITTEN], "before the reload in place"),
        (MARKER, Progress(epoch=2), [WRITTEN, "20260301100000501"], "was written after"),
        (MARKER, Progress(epoch=2), [WRITTEN, "20260301092859999"], "was written before the load"),
        (MARKER, Progress(epoch=2), [], "says that 3 rows were loaded"),
        (attrs.evolve(MARKER, rows=0), Progress(epoch=2), [], "says that the table was empty"),
    ],
)
def test_no_other_load_is(marker: LoadMarker, progress: Progress, modified: list[str], why: str) -> None:
    assert why in marker.doubt(progress, [load(one) for one in modified])


def test_a_load_with_a_gap_is_not_complete() -> None:
    loads = [load(WRITTEN, number) for number in (1, 2, 4)]
    assert "LOAD00000003.parquet is not there" in MARKER.doubt(Progress(epoch=2), loads)
    assert MARKER.doubt(Progress(epoch=2), [*loads, load(WRITTEN, 3)]) == ""
