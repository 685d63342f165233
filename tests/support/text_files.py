"""Change files in text formats, written by hand so that they can be wrong."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from support.lake import COMMIT, Lake, sequence, timestamp

HEADER = "Op,dms_commit_ts,id,v,dms_change_seq"
ONLY_SEQUENCE = {"stream_position_column": None, "before_image_prefix": None}
"""``bronze.change`` of a task that writes what `HEADER` names."""
CDC_FOLDER = "2026/03/01/10"


def cdc_name(minute: int, extension: str = "parquet") -> str:
    """Key of a CDC file below its table, closed in a minute of 2026-03-01 10h."""
    return f"{CDC_FOLDER}/20260301-10{minute:02d}30000.{extension}"


def load_line(*values: object, op: str = "I") -> str:
    """A full-load record of CSV; values are put in as they are."""
    return ",".join([op, COMMIT, *map(str, values), ""])


def change_line(op: str, clock: str, counter: int, *values: object) -> str:
    """A CDC record of CSV without before image; ``clock`` as in `sequence`."""
    return ",".join([op, timestamp(clock), *map(str, values), sequence(clock, counter)])


def write_text(lake: Lake, table: str, name: str, lines: Iterable[str | bytes], header: str | bytes | None = HEADER) -> Path:
    """Write lines, each ended by a line feed, gzipped when the name says so."""
    every = [line if isinstance(line, bytes) else line.encode() for line in ([header] if header is not None else []) + list(lines)]
    return write_bytes(lake, table, name, b"".join(line + b"\n" for line in every))


def write_bytes(lake: Lake, table: str, name: str, data: bytes) -> Path:
    """Write a file as it is, gzipped when the name says so."""
    path = lake.path(table, name)
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return path
