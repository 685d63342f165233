"""The lake of a released version, kept as a file: each later version must read it and go on with it.

It is what users have: files of DMS and tables on S3, tables in Glue. ``python -m support.baseline ARCHIVE`` (in ``tests``) makes the file.
A release does it once; no later change of the code does it again.
"""

import datetime as dt
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from support.cloud import BRONZE, SILVER, Cloud, open_cloud
from support.lake import COMMIT, sequence, timestamp
from support.warm_job import WarmJob

SALT = {"BASELINE_SALT": "pepper"}
T = "public."
COLUMNS: dict[str, pa.DataType] = {
    "id": pa.int64(),
    "name": pa.string(),
    "email": pa.string(),
    "pin": pa.int32(),
    "amount": pa.decimal128(12, 2),
    "day": pa.date32(),
    "note": pa.string(),
}
POSITIVE = {"rules": [{"name": "positive", "expr": "amount >= 0"}]}
WITHHELD = {
    "columns": [{"name": "email", "mask": "sha256", "mask_salt": "env:BASELINE_SALT"}],
    "drop": ["pin"],
    "filter": "name <> 'nobody'",
}
TABLES: dict[str, dict[str, Any]] = {
    "mirror": POSITIVE,
    "soft": {"mode": "soft_delete", **POSITIVE},
    "hist": {"mode": "history", **POSITIVE},
    "log": {"mode": "append"},
    "parts": {"partition_by": ["bucket(4, id)", "months(day)"], **WITHHELD},
    "third": {"mode": "soft_delete", "format_version": 3, **WITHHELD},
    "kept": {"columns": [{"name": "note", "null_in_update": "keep"}]},
}
TEXTS: dict[str, dict[str, Any]] = {"texts": {}, "lines": {"mode": "history"}}
REJECTING = ("mirror", "soft", "hist")
LATER = {
    "columns": [{"name": "remark", "renamed_from": "note"}, {"name": "level", "type": "int", "backfill": 3}],
    "rules": [{"name": "positive", "expr": "amount > -5"}],
}
"""What the table `mirror` declares later: another name, a new column, and a rule that lets more pass."""
_MODELS = {
    "sums": {"sql": "SELECT name, count(*) AS n, sum(amount) AS amount FROM {}.mirror GROUP BY name", "refresh": "incremental"},
    "most": {"sql": "SELECT max(amount) AS most FROM {}.parts"},
}
_TYPED = [
    {"name": "id", "type": "bigint"},
    {"name": "pin", "type": "int"},
    {"name": "amount", "type": "decimal(12,2)"},
    {"name": "day", "type": "date"},
]
_SERVICE = {"Op": pa.string(), "dms_commit_ts": pa.string(), **COLUMNS, "dms_change_seq": pa.string()}
_LOADED = 12


@attrs.frozen
class Pipelines:
    """The two pipelines of a lake, over Parquet and over CSV. All that they have in S3 and Glue begins with `name`."""

    cloud: Cloud
    name: str

    @property
    def silver(self) -> str:
        """The namespace of the tables."""
        return f"{self.name}_silver"

    @property
    def tables(self) -> list[str]:
        """All tables and models, with their namespaces."""
        return [*(f"{self.silver}.{name}" for name in (*TABLES, *TEXTS)), *(f"{self.name}_gold.{name}" for name in _MODELS)]

    def documents(self, *, later: bool = False) -> list[Path]:
        """Write both documents; ``later``, the first one declares what `LATER` has."""
        tables = TABLES | {"mirror": LATER} if later else TABLES
        typed = {name: {"columns": _TYPED, **entry} for name, entry in TEXTS.items()}
        csv = {"format": "csv", "change": {"stream_position_column": None, "before_image_prefix": None}}
        models = {f"{self.name}_gold.{name}": {**model, "sql": model["sql"].format(self.silver)} for name, model in _MODELS.items()}
        return [self._document("shop", {}, tables, gold=models), self._document("csv", csv, typed)]

    def _document(self, name: str, bronze: Mapping[str, Any], tables: Mapping[str, Any], **top: Any) -> Path:
        document = {
            "version": 1,
            "pipeline": f"{self.name}_{name}",
            "bronze": {"uri": f"s3://{BRONZE}/{self.name}/{name}/", **bronze},
            "catalog": {"name": "lake", "type": "glue", "warehouse": f"s3://{SILVER}/warehouse"},
            "quarantine": {"namespace": f"{self.name}_quarantine"},
            "state_uri": f"s3://{SILVER}/state/{self.name}/",
            "tables": {f"{T}{table}": {"target": f"{self.silver}.{table}", "key": ["id"], **entry} for table, entry in tables.items()},
            **top,
        }
        path = self.cloud.folder / f"{self.name}-{name}.json"
        path.write_text(json.dumps(document))
        return path

    def load(self) -> None:
        """Write the full loads."""
        rows = [("I", COMMIT, *_row(number, 0), "") for number in range(1, _LOADED + 1)]
        self._write("LOAD00000001", rows, _SERVICE)

    def change(self, minute: int) -> None:
        """Write the change files of a minute: updates, a delete, an insert, and rows that the rule rejects."""
        rows = []
        for n, (op, row) in enumerate(_changes(minute)):
            clock = f"2026030110{minute:02d}{n:02d}"
            rows.append((op, timestamp(clock), *row, sequence(clock, n), row[0]))
        self._write(f"2026/03/01/10/20260301-10{minute:02d}30000", rows, _SERVICE | {"BI_id": pa.int64()})

    def _write(self, key: str, rows: list[tuple[Any, ...]], columns: Mapping[str, pa.DataType]) -> None:
        data = {name: [row[n] for row in rows] for n, name in enumerate(columns)}
        sink = io.BytesIO()
        pq.write_table(pa.table(data, schema=pa.schema(list(columns.items()))), sink)
        for name in TABLES:
            self._put(f"shop/public/{name}/{key}.parquet", sink.getvalue())
        lines = [list(_SERVICE), *(row[: len(_SERVICE)] for row in rows)]
        text = "".join(",".join("" if value is None else str(value) for value in line) + "\n" for line in lines)
        for name in TEXTS:
            self._put(f"csv/public/{name}/{key}.csv", text.encode())

    def _put(self, key: str, body: bytes) -> None:
        self.cloud.client("s3").put_object(Bucket=BRONZE, Key=f"{self.name}/{key}", Body=body)

    def copied(self, name: str) -> "Pipelines":
        """Other pipelines over the same files of DMS, with nothing merged."""
        s3 = self.cloud.client("s3")
        for bucket, key in _objects(self.cloud):
            if bucket == BRONZE and key.startswith(f"{self.name}/"):
                s3.copy_object(Bucket=BRONZE, Key=f"{name}/{key.removeprefix(f'{self.name}/')}", CopySource={"Bucket": bucket, "Key": key})
        return Pipelines(self.cloud, name)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table or model, in an order of their own, whatever the order of the columns is."""
        namespace, _, name = table.partition(".")
        rows = [dict(sorted(row.items())) for row in self.cloud.load_table(namespace, name).scan().to_arrow().to_pylist()]
        return sorted(rows, key=repr)


def _row(number: int, minute: int) -> tuple[Any, ...]:
    name = "nobody" if number == 5 else f"name {number % 3}"
    amount = Decimal(-1 if (number + minute) % 7 == 0 else number + minute).quantize(Decimal("0.01"))
    return number, name, f"{number}@example.com", 1000 + number, amount, dt.date(2026, 1 + number % 3, 1), f"note {number} {minute}"


def _changes(minute: int) -> list[tuple[str, tuple[Any, ...]]]:
    number = 20 + minute
    return [
        ("U", _row(1 + minute % 4, minute)),
        ("U", (*_row(6, minute)[:-1], None)),
        ("I", _row(number, minute)),
        ("D", _row(7 + minute % 4, minute)),
        ("U", _row(number, minute + 1)),
    ]


def _objects(cloud: Cloud) -> Iterator[tuple[str, str]]:
    for bucket in (BRONZE, SILVER):
        for page in cloud.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket):
            yield from ((bucket, one["Key"]) for one in page.get("Contents", ()))


def restore(cloud: Cloud, archive: Path) -> Pipelines:
    """Put the lake of the file into an empty S3 and Glue."""
    s3, glue = cloud.client("s3"), cloud.client("glue")
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            top, _, key = member.name.partition("/")
            if top in (BRONZE, SILVER):
                s3.put_object(Bucket=top, Key=key, Body=content.read())
                continue
            for database, tables in json.load(content).items():
                glue.create_database(DatabaseInput={"Name": database})
                for table in tables:
                    glue.create_table(DatabaseName=database, TableInput=table)
    return Pipelines(cloud, "kept")


def _save(cloud: Cloud, archive: Path) -> None:
    s3, glue = cloud.client("s3"), cloud.client("glue")
    kept = ("Name", "TableType", "Parameters", "StorageDescriptor")
    listed = {
        database["Name"]: [
            {name: table[name] for name in kept if name in table} for table in glue.get_tables(DatabaseName=database["Name"])["TableList"]
        ]
        for database in glue.get_databases()["DatabaseList"]
    }
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz") as tar:
        for bucket, key in _objects(cloud):
            _add(tar, f"{bucket}/{key}", s3.get_object(Bucket=bucket, Key=key)["Body"].read())
        _add(tar, "glue.json", json.dumps(listed).encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def make(archive: Path) -> None:
    """Make the lake with the code that is here."""
    with tempfile.TemporaryDirectory() as folder, open_cloud(Path(folder)) as cloud:
        made = Pipelines(cloud, "kept")
        made.load()
        with WarmJob(cloud.environment | SALT, cloud.folder) as job:
            for minute in (0, 1, 3):
                if minute:
                    made.change(minute)
                for path in made.documents():
                    report = job.run(path)
                    assert report["exit_code"] == 0, (report, job.text())
        _save(cloud, archive)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
