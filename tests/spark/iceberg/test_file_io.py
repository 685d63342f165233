"""A table's files, read through its own FileIO."""

import random
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.rows import file_io
from dms_iceberg.iceberg.rows.file_io import FileReader, write_file


@pytest.fixture
def io(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.iceberg.hadoop.HadoopFileIO(spark.sparkContext._jsc.hadoopConfiguration())


def test_every_range_is_read_in_whatever_pieces(io: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_io, "_BRIEF", 40)
    monkeypatch.setattr(file_io, "_PIECE", 1_000)
    rng = random.Random(5)
    data = bytes(range(256)) * 8 + rng.randbytes(3_000)
    path = str(tmp_path / "data")
    write_file(io, path, data)
    with FileReader(io, path) as reader:
        for length in (0, 1, 40, 41, 999, 1_000, 1_001, 2_500, len(data), len(data) + 1):
            start = rng.randrange(len(data))
            reader.seek(start)
            assert reader.read(length) == data[start : start + length]
        reader.seek(0)
        assert reader.read() == data


def test_a_file_that_was_cut_meanwhile_is_an_error(io: Any, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(50_000))
    with FileReader(io, str(path)) as reader:
        path.write_bytes(bytes(9_000))
        with pytest.raises(Py4JJavaError, match="EOFException"):
            reader.read(40_000)
