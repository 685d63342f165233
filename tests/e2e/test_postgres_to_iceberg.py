"""A real PostgreSQL with concurrent writers, the emulated DMS and the job at work together: at the end source and silver are equal."""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dms_emulator.postgres import LocalPostgres
from dms_iceberg.runs.run import run
from support.end_to_end import WORDS, Columns, Source, Writer, differences, follow, silver_rows
from support.lake import Lake

SCHEMA = """
create schema "Shop Floor";
create table public.everything (
    id bigint primary key, small smallint, i int, big bigint, num numeric(14,3), wide numeric(38,10), r real, d double precision,
    flag boolean, t text, vc varchar(60), c char(8), bin bytea, u uuid, j json, jb jsonb, day date, wall timestamp,
    instant timestamptz, arr int[]);
create table public.pairs (a text, b int, v text, primary key (a, b));
create table "Shop Floor"."Order" (id uuid primary key, "Select" text, "a b" int);
insert into pairs values ('x', 1, 'first');
insert into "Shop Floor"."Order" values (gen_random_uuid(), 'first', 1);
"""

# Each column as text in both worlds; the left is PostgreSQL's, the right is Spark's.
EVERYTHING = {
    **{name: (f"{name}::text", f"cast({name} as string)") for name in ("id", "small", "i", "big", "num", "wide", "flag", "extra", "given")},
    **{name: (name, name) for name in ("t", "vc", "d")},
    "r": ("r::float8", "cast(r as double)"),
    "c": ("rtrim(c)", "c"),
    "bin": ("encode(bin, 'hex')", "lower(hex(bin))"),
    "u": ("u::text", "u"),
    "j": ("j::text", "j"),
    "jb": ("jb::text", "jb"),
    "day": ("day::text", "cast(day as string)"),
    "wall": ("to_char(wall, 'YYYY-MM-DD HH24:MI:SS.US')", "date_format(wall, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"),
    "instant": ("to_char(instant at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", "date_format(instant, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"),
    "arr": ("arr::text", "arr"),
}
PAIRS = {"a": ("a", "a"), "b": ("b::text", "cast(b as string)"), "v": ("v", "v")}
ORDER = {"id": ("id::text", "id"), "sel": ('"Select"', "`Select`"), "ab": ('"a b"::text', "cast(`a b` as string)")}


@pytest.fixture(scope="module")
def postgres() -> Iterator[LocalPostgres]:
    with LocalPostgres() as server:
        yield server


def everything(chance: random.Random, key: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    return {
        "id": key,
        "small": maybe(chance.choice([-32768, 0, 32767])),
        "i": maybe(chance.randint(-(2**31), 2**31 - 1)),
        "big": maybe(chance.randint(-(2**63), 2**63 - 1)),
        "num": maybe(round(chance.uniform(-1e9, 1e9), 3)),
        "wide": maybe(f"{chance.randint(-(10**27), 10**27)}.{chance.randint(0, 10**10 - 1):010d}"),
        "r": maybe(chance.choice([0.1, -2.5e-20, 3.4e38, 1.0])),
        "d": maybe(chance.choice([0.1, 1e-300, -1.7e308, 3.0])),
        "flag": maybe(chance.random() < 0.5),
        "t": maybe(chance.choice(WORDS)),
        "vc": maybe(chance.choice(WORDS)),
        "c": maybe(chance.choice(["ab", "12345678", "x  y"])),
        "bin": maybe(chance.randbytes(chance.randint(0, 20))),
        "u": maybe(f"{chance.getrandbits(128):032x}"),
        "j": maybe(json.dumps({"k": chance.choice(WORDS), "n": [1, 2.5, None]})),
        "jb": maybe(json.dumps({"k": chance.choice(WORDS)})),
        "day": maybe(chance.choice(["0001-01-01", "1582-10-10", "1970-01-01", "2026-02-28", "9999-12-31"])),
        "wall": maybe(chance.choice(["1900-01-01 00:00:00", "2026-03-29 02:30:00.123456", "2026-07-01 12:00:00.5"])),
        "instant": maybe(chance.choice(["2026-03-29 02:30:00.123456+02", "1969-12-31 23:59:59.999999+00", "2026-07-01 12:00:00-07"])),
        "arr": maybe([1, 2, chance.randint(0, 9)]),
    }


class PostgresWriter(Writer):
    """Keys change now and then."""

    def __init__(self, dsn: str, seed: int, altered: threading.Event) -> None:
        super().__init__(seed, altered, lambda error: isinstance(error, psycopg.errors.UniqueViolation | psycopg.errors.DeadlockDetected))
        self.dsn = dsn

    @contextmanager
    def session(self) -> Iterator[tuple[Any, Any]]:
        with psycopg.connect(self.dsn) as connection:
            yield connection, connection

    def statement(self, connection: psycopg.Connection[Any]) -> None:
        chance, key = self.chance, self.chance.randint(1, 400)
        a, b, word = chance.choice("xyz'é"), chance.randint(1, 20), chance.choice(WORDS)
        match chance.randint(0, 9):
            case 0 | 1:
                row = everything(chance, key)
                marks = ", ".join(f"%({name})s" for name in row)
                connection.execute(f"insert into everything ({', '.join(row)}) values ({marks}) on conflict (id) do nothing", row)
            case 2 | 3:
                row = everything(chance, key)
                sets = ", ".join(f"{name} = %({name})s" for name in row if name != "id")
                connection.execute(f"update everything set {sets} where id = %(id)s", row)
                if chance.random() < 0.3 and self.altered.is_set():
                    connection.execute("update everything set extra = %s, given = %s where id = %s", (key, chance.choice([None, 1]), key))
            case 4:
                connection.execute("delete from everything where id = %s", (key,))
            case 5:
                connection.execute("update everything set id = %s where id = %s", (chance.randint(1, 400), key))
            case 6:
                connection.execute("insert into pairs values (%s, %s, %s) on conflict (a, b) do update set v = excluded.v", (a, b, word))
            case 7:
                connection.execute("update pairs set b = %s where a = %s and b = %s", (chance.randint(1, 20), a, b))
            case 8:
                connection.execute("delete from pairs where a = %s and b = %s", (a, b))
            case 9:
                sql = 'insert into "Shop Floor"."Order" values (gen_random_uuid(), %s, %s)'
                connection.execute(sql, (word, key))
                connection.execute('update "Shop Floor"."Order" set "a b" = "a b" + 1 where "a b" %% 7 = %s', (b % 7,))


def source_rows(connection: psycopg.Connection[Any], table: str, columns: Columns) -> list[tuple[Any, ...]]:
    return sorted(connection.execute(f"select {', '.join(sql for sql, _ in columns.values())} from {table}").fetchall(), key=repr)


@pytest.mark.parametrize(
    ("bronze", "as_on_glue"),
    [
        # `make demo` is planned as on Glue.
        pytest.param({"format": "parquet"}, False, id="parquet-planned-quickly"),
        pytest.param({"format": "parquet"}, True, id="parquet", marks=pytest.mark.long),
        pytest.param({"format": "csv", "csv": {"header": True, "null": "<null>"}}, True, id="csv", marks=pytest.mark.release),
    ],
)
def test_silver_equals_postgres(
    request: pytest.FixtureRequest, lake: Lake, postgres: LocalPostgres, tmp_path: Path, bronze: dict[str, Any], *, as_on_glue: bool
) -> None:
    if as_on_glue:
        request.getfixturevalue("planned_as_on_glue")
    name = f"e2e_{bronze['format']}_{as_on_glue}".lower()
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(f"create database {name}")
    dsn = postgres.dsn(name)
    text_types = {} if bronze["format"] == "parquet" else CSV_TYPES
    added = {"name": "given", "type": "int", "backfill": 5}
    columns = [{"name": n, "type": t} for n, t in {"wall": "timestamp_ntz", **text_types}.items()]
    document = lake.document(
        {
            "public.everything": {"columns": [*columns, added]},
            "public.pairs": {"key": ["a", "b"]},
            "Shop Floor.Order": {"target": f"{lake.namespace}.orders"},
        },
        bronze=bronze,
        pipeline=name,
    )
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    chance = random.Random(7)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(SCHEMA)
        for key in range(1, 200):
            row = everything(chance, key)
            connection.execute(f"insert into everything ({', '.join(row)}) values ({', '.join(f'%({n})s' for n in row)})", row)
        altered = threading.Event()

        def log_end() -> str:
            (lsn,) = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone() or ("",)
            return str(lsn)

        config = follow(lake, path, Source(dsn, connection.execute, log_end), [PostgresWriter(dsn, seed, altered) for seed in range(3)])
        for table, target, mapping in [
            ("everything", "everything", EVERYTHING),
            ("pairs", "pairs", PAIRS),
            ('"Shop Floor"."Order"', "orders", ORDER),
        ]:
            source, silver = source_rows(connection, table, mapping), silver_rows(lake, target, mapping)
            assert len(source) > 10
            assert differences(source, silver, list(mapping)) == []
            assert len(source) == len(silver)
    again = run(lake.spark, config)
    assert all(not table.batches for table in again.tables.values())


CSV_TYPES = {
    "id": "bigint",
    "small": "smallint",
    "i": "int",
    "big": "bigint",
    "num": "decimal(14,3)",
    "wide": "decimal(38,10)",
    "r": "float",
    "d": "double",
    "flag": "boolean",
    "bin": "binary",
    "day": "date",
    "instant": "timestamp",
}
