"""Many tables of one narrow shape: their configuration, first loads and change files."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

Ids = npt.NDArray[np.int64]

SCHEMA: Final = pa.schema(
    [
        ("Op", pa.string()),
        ("dms_commit_ts", pa.string()),
        ("id", pa.int64()),
        ("v", pa.string()),
        ("n", pa.int32()),
        ("dms_change_seq", pa.string()),
    ]
)


def document(work: Path, names: Iterable[str], parallelism: int, **entry: Any) -> dict[str, Any]:
    """Return the configuration of the tables ``shop.<name>``, whose silver tables have the same names; ``entry`` is in each table's."""
    return {
        "version": 1,
        "pipeline": "tables",
        "bronze": {"uri": str(work / "bronze")},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(work / "lake")},
        "parallelism": parallelism,
        "tables": {f"shop.{name}": {"target": f"silver.{name}", "key": ["id"], **entry} for name in names},
    }


def folder_of(work: Path, name: str) -> Path:
    """Return the bronze folder of a table."""
    return work / "bronze" / "shop" / name


def file_name(closed: datetime) -> str:
    """Return the name, below the table's folder, that DMS gives to a file which it closes at that time (UTC)."""
    return f"{closed:%Y/%m/%d/%H}/{closed:%Y%m%d-%H%M%S}{closed.microsecond // 1000:03d}.parquet"


def sequence(commit: datetime, counter: int) -> str:
    """Return the ``$AR_H_CHANGE_SEQ`` of a change."""
    return f"{commit:%Y%m%d%H%M%S}{commit.microsecond // 10_000:02d}{counter:019d}"


def columns(op: Sequence[str], stamps: Sequence[str], ids: Ids, sequences: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a file; the other values depend only on the ids."""
    values = [f"value {n} of a row as wide as rows are" for n in ids]
    return {"Op": op, "dms_commit_ts": stamps, "id": ids, "v": values, "n": (ids % 1000).astype("int32"), "dms_change_seq": sequences}


class Rows:
    """Which ids a table has at the source: only a free key can be inserted, and only a row that is there can change."""

    def __init__(self, rows: int, most: int) -> None:
        """Start with the ids below ``rows``; ids are below ``most``."""
        self._are_there = np.arange(most) < rows

    def operations(self, ids: Ids, random: np.random.Generator) -> list[str]:
        """Return an operation for each id, in their order: an insert where there is no row, else a delete (a fifth) or an update."""
        found = []
        for id_, is_delete in zip(ids, random.random(len(ids)) < 0.2, strict=True):
            found.append(("D" if is_delete else "U") if self._are_there[id_] else "I")
            self._are_there[id_] = found[-1] != "D"
        return found


def write(folder: Path, name: str, data: dict[str, Any]) -> None:
    """Write a file as DMS does: readers see it only when it is complete."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    pq.write_table(pa.table(data, schema=SCHEMA), hidden)
    hidden.rename(path)


def write_load(folder: Path, rows: int) -> None:
    """Write the first load: ids from 0."""
    ids = np.arange(rows, dtype="int64")
    write(folder, "LOAD00000001.parquet", columns(["I"] * rows, ["2026-01-01 00:00:00.000000"] * rows, ids, [""] * rows))


def write_updates(folder: Path, closed: datetime, ids: Ids, number: int) -> None:
    """Write a file of updates that set ``n`` of every id to ``number``, all committed when the file is closed."""
    stamps, sequences = [f"{closed:%Y-%m-%d %H:%M:%S.%f}"] * len(ids), [sequence(closed, one) for one in range(len(ids))]
    data = columns(["U"] * len(ids), stamps, ids, sequences)
    write(folder, file_name(closed), {**data, "n": np.full(len(ids), number, dtype="int32")})


def are_equal(spark: SparkSession, one: str, other: str) -> bool:
    """Return whether the silver tables of two tables have the same rows."""
    left, right = (spark.table(f"lake.silver.{name}") for name in (one, other))
    return left.exceptAll(right).isEmpty() and right.exceptAll(left).isEmpty()


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)
