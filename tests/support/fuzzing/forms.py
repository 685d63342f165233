"""The valid files that are mutated: what each reader reads, and how a table of it is configured."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from support.lake import COMMIT, sequence, timestamp

DECLARED = {
    "id": "bigint",
    "name": "string",
    "amount": "decimal(12,2)",
    "at": "timestamp",
    "born": "date",
    "ok": "boolean",
    "ratio": "double",
}
SOURCE = (*DECLARED, "free")
SERVICE_BEFORE, SERVICE_BEHIND = ("Op", "dms_commit_ts"), ("dms_change_seq", "BI_id")
COLUMNS = (*SERVICE_BEFORE, *SOURCE, *SERVICE_BEHIND)
ARROW = {
    "id": pa.int64(),
    "amount": pa.decimal128(12, 2),
    "at": pa.timestamp("us", tz="UTC"),
    "born": pa.date32(),
    "ok": pa.bool_(),
    "ratio": pa.float64(),
    "BI_id": pa.int64(),
}
_TEXTS = ("Ann", "Zoë", 'say "hi"', "a,b;c", "two\nlines", "naïve 😀", "NULL", " blank ", "x" * 300, "\\n", "O'Neil", 'a\x00"b', None)
_CLOCK = "20260301100000"
Record = dict[str, Any]
"""Values of one row by column; a missing one is NULL."""


@attrs.frozen
class Form:
    """How the files of a table are written.

    Attributes:
        null: what stands for NULL in CSV.
    """

    name: str
    extension: str
    header: bool = True
    delimiter: str = ","
    null: str = ""

    @property
    def format(self) -> str:
        """The configuration's word."""
        return self.extension.partition(".")[0]

    @property
    def bronze(self) -> dict[str, Any]:
        """The section of the document."""
        found: dict[str, Any] = {"format": self.format, "change": {"stream_position_column": None}}
        if self.format == "csv":
            found["csv"] = {"header": self.header, "delimiter": self.delimiter, "null": self.null}
        return found

    @property
    def entry(self) -> dict[str, Any]:
        """A table of the document."""
        columns = [{"name": name, "type": type_} for name, type_ in DECLARED.items()]
        return {"columns": columns, **({} if self.header else {"source_columns": list(SOURCE)})}

    def encode(self, records: Sequence[Record], random: Random) -> bytes:
        """A valid file of these rows."""
        if self.format == "parquet":
            return parquet_bytes(parquet_table(records), random)
        data = self.csv_bytes([list(COLUMNS)] * self.header + [self.fields(one) for one in records])
        if self.format == "json":
            data = b"".join(json.dumps(json_members(one), ensure_ascii=random.random() < 0.5).encode() + b"\n" for one in records)
        return self.packed(data)

    def packed(self, data: bytes) -> bytes:
        """As the extension says."""
        return gzip.compress(data, mtime=0) if self.extension.endswith(".gz") else data

    def fields(self, record: Record) -> list[str]:
        """A row's fields of CSV; service columns without a value are empty."""
        return [self._field(name, record.get(name)) for name in COLUMNS]

    def _field(self, name: str, value: Any) -> str:
        if value is None:
            return "" if name in (*SERVICE_BEFORE, *SERVICE_BEHIND) else self.null
        return text_of(value)

    def csv_bytes(self, rows: Sequence[Sequence[str]]) -> bytes:
        """RFC 4180 as DMS writes it."""
        stream = io.StringIO()
        csv.writer(stream, delimiter=self.delimiter, lineterminator="\n").writerows(rows)
        return stream.getvalue().encode()


FORMS = (
    Form("parquet", "parquet"),
    Form("csv", "csv"),
    Form("csv_null", "csv", delimiter=";", null="~"),
    Form("csv_gz", "csv.gz"),
    Form("headerless", "csv", header=False),
    Form("headerless_null", "csv", header=False, null="\\N"),
    Form("json", "json"),
    Form("json_gz", "json.gz"),
)


def text_of(value: Any) -> str:
    """A value as DMS writes it to CSV."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:+.17e}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return str(value)


def json_members(record: Record) -> dict[str, Any]:
    """An object of JSON lines."""
    shown = {
        name: value if isinstance(value, (str, int, bool, float)) else text_of(value) for name, value in record.items() if value is not None
    }
    return {name: float(value) if name == "amount" and value is not None else value for name, value in shown.items()}


def parquet_table(records: Sequence[Record]) -> pa.Table:
    """Rows with the types that DMS writes."""
    return pa.table({name: pa.array([one.get(name) for one in records], ARROW.get(name, pa.string())) for name in COLUMNS})


def parquet_bytes(table: pa.Table, random: Random, **settings: Any) -> bytes:
    """A Parquet file of some writer."""
    chosen = {
        "compression": random.choice(["none", "snappy", "gzip", "zstd"]),
        "use_dictionary": random.random() < 0.5,
        "row_group_size": random.choice([2, 100]),
        "data_page_version": random.choice(["1.0", "2.0"]),
        "version": random.choice(["1.0", "2.6"]),
    }
    sink = io.BytesIO()
    pq.write_table(table, sink, **{**chosen, **settings})
    return sink.getvalue()


def values(random: Random) -> Record:
    """Random values of a row, its key aside."""
    made = {
        "name": random.choice(_TEXTS),
        "amount": Decimal(random.randrange(-(10**6), 10**10)) / 100,
        "at": datetime(2020, 1, 1, 10, 30, tzinfo=UTC).replace(microsecond=random.randrange(10**6), day=random.randint(1, 28)),
        "born": date(1970 + random.randrange(60), random.randint(1, 12), random.randint(1, 28)),
        "ok": random.random() < 0.5,
        "ratio": random.choice([0.0, 1.25, -3.5e-7, 1e22, random.random()]),
        "free": random.choice(_TEXTS[:8]),
    }
    return {name: None if random.random() < 0.1 else value for name, value in made.items()}


def loaded(ids: Sequence[int], random: Random) -> list[Record]:
    """Rows of a LOAD file."""
    return [{"Op": "I", "dms_commit_ts": COMMIT, "id": id_, "dms_change_seq": "", **values(random)} for id_ in ids]


def changed(first: int, random: Random) -> list[Record]:
    """Rows of a change file: ``first`` and the next two keys are loaded already."""
    told = [("U", first, None), ("D", first + 1, None), ("U", first + 5, first + 2), ("I", first + 3, None), ("I", first + 4, None)]
    records = []
    for place, (op, id_, before) in enumerate(told):
        service = {"Op": op, "dms_commit_ts": timestamp(_CLOCK), "dms_change_seq": sequence(_CLOCK, 61 + 4 * place), "BI_id": before}
        records.append({**service, "id": id_, **(values(random) if op != "D" else {})})
    return records
