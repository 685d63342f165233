"""One definition of a value's text: `verify` and the emulator's files against one table of cases, for every type of PostgreSQL."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from psycopg.conninfo import conninfo_to_dict

from dms_emulator.files import CsvShape, FileShape
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv
from dms_iceberg.source.address import parse_source
from dms_iceberg.verify.columns import shown_rows
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.repair_file import _value
from dms_iceberg.verify.source import Throttle
from emulator.bronze import make_task, run
from support.value_cases import POSTGRES, POSTGRES_TYPES, SAME

NULL = "<null>"
NAMES = [f"c{number}" for number in range(len(POSTGRES))]


def made(dsn: str) -> None:
    columns = ", ".join(f"{name} {case[0]}" for name, case in zip(NAMES, POSTGRES, strict=True))
    run(dsn, *filter(str.strip, POSTGRES_TYPES.split(";")), f"create table t (id int primary key, {columns})")
    run(dsn, f"insert into t values (1, {', '.join(case[1] for case in POSTGRES)})", "insert into t values (2)")


def verified(dsn: str, bronze: Bronze) -> tuple[list[str], list[list[str | None]]]:
    """Spark types, and the texts of both rows, without the key."""
    place = conninfo_to_dict(dsn)
    source = open_source(parse_source(f"postgresql://{place['user']}@{place['host']}:{place['port']}/{place['dbname']}"), Throttle(None))
    columns = source.columns("public", "t")
    with source.snapshot("public", "t", [column.sql for column in columns]) as reader:
        rows = sorted(map(json.loads, map(shown_rows(columns, bronze), reader.rows())), key=lambda row: int(row[0]))
    source.close()
    assert [column.name for column in columns] == ["id", *NAMES]
    return [column.type for column in columns[1:]], [row[1:] for row in rows]


def test_texts_of_csv(dsn: str, tmp_path: Path) -> None:
    made(dsn)
    task = make_task(dsn, tmp_path, "public.t", files=FileShape(format="csv", csv=CsvShape(header=True, null=NULL)))
    task.load()
    bronze = Bronze(uri="b", format=BronzeFormat.CSV, csv=Csv(header=True, null=NULL))
    in_file = [{name: None if row[name] == NULL else row[name] for name in NAMES} for row in task.rows("public.t")]
    _, (own, empty) = verified(dsn, bronze)
    wanted = {name: case[3] for name, case in zip(NAMES, POSTGRES, strict=True)}
    assert in_file[0] == wanted
    assert dict(zip(NAMES, own, strict=True)) == wanted
    assert set(in_file[1].values()) == set(empty) == {None}


def test_texts_of_json(dsn: str, tmp_path: Path) -> None:
    made(dsn)
    task = make_task(dsn, tmp_path, "public.t", files=FileShape(format="json"))
    task.load()
    in_file = task.rows("public.t")[0]
    _, (own, _) = verified(dsn, Bronze(uri="b", format=BronzeFormat.JSON))
    # Numbers and booleans are JSON's own there, of which the job reads the same text.
    texts = [one if one is None or isinstance(one, str) else json.dumps(one) for one in (in_file[name] for name in NAMES)]
    assert texts == own == [case[3] for case in POSTGRES]


def test_values_of_parquet(dsn: str, tmp_path: Path) -> None:
    made(dsn)
    task = make_task(dsn, tmp_path, "public.t", time_as_string=True)
    task.load()
    (file,) = task.files("public.t")
    in_file = {name: _plain(value) for name, value in pq.ParquetFile(file).read().to_pylist()[0].items()}
    types, (own, _) = verified(dsn, Bronze(uri="b"))
    wanted = {name: _plain(case[3] if case[2] is SAME else case[2]) for name, case in zip(NAMES, POSTGRES, strict=True)}
    assert {name: in_file[name] for name in NAMES} == wanted
    assert {name: _plain(_parquet(type_, text)) for name, type_, text in zip(NAMES, types, own, strict=True)} == wanted


def _parquet(type_: str, text: str | None) -> Any:
    value = _value(type_, text)
    return pa.array([value], pa.float32())[0].as_py() if type_ == "float" else value


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") and hasattr(value, "year") else value
