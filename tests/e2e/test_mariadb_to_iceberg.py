"""A real MariaDB with concurrent writers, the emulated DMS and the job at work together: at the end source and silver are equal."""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from dms_emulator.settings import Ugly
from dms_iceberg.runs.run import run
from emulator.bronze import current_lsn, make_task
from support.end_to_end import WORDS, Columns, Source, Writer, differences, follow, silver_rows
from support.lake import Lake
from support.mariadb import LocalMariaDb, skip_without_mariadb

pytestmark = pytest.mark.long

SCHEMA = [
    """create table everything (
        id bigint primary key, tiny tinyint, flag tinyint(1), small smallint unsigned, medium mediumint, i int unsigned, big bigint,
        huge bigint unsigned, num decimal(14,3), wide decimal(38,10), widest decimal(65,30), r float, d double, one bit(1), many bit(12),
        day date, clock time(3), wall datetime(6), instant timestamp(6) null, yr year, c char(8), vc varchar(60),
        l varchar(60) character set latin1, u varchar(60) character set utf16, t text, doc json, bin binary(4), vbin varbinary(20), bl blob,
        mood enum('fine', 'tired', 'ö'), tags set('a', 'b', 'c'), twice int as (tiny * 2) virtual, made int as (tiny + 1) stored)""",
    "create table pairs (a varchar(10) collate utf8mb4_bin, b int, v text, primary key (a, b))",
    # 'a', 'A' and 'a ' are one key.
    "create table loose (k varchar(20) character set utf8mb4 collate utf8mb4_unicode_ci primary key, n int)",
    "create table `Order` (`Id` int auto_increment primary key, `Select` text, `a b` int)",
    "insert into pairs values ('x', 1, 'first')",
    "insert into loose values ('Key', 0)",
    "insert into `Order` values (1, 'first', 1)",
]
SESSION = "set session sql_mode = '', time_zone = '+00:00'"
ZERO = "0000-00-00"
MICROS = "'%Y-%m-%d %H:%i:%s.%f'"
SPARK_MICROS = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"

EVERYTHING: Columns = {
    **{
        name: (f"cast({name} as char)", f"cast({name} as string)")
        for name in ("id", "tiny", "flag", "small", "medium", "i", "big", "huge", "num", "wide", "widest", "extra", "given")
    },
    **{name: (name, name) for name in ("d", "c", "vc", "l", "u", "t", "doc", "mood", "tags")},
    "r": ("r + 0e0", "cast(r as double)"),
    "one": ("if(one is null, null, if(one = b'1', 'true', 'false'))", "cast(one as string)"),
    "many": ("lpad(lower(hex(many)), 4, '0')", "lower(hex(many))"),
    **{name: (f"lower(hex({name}))", f"lower(hex({name}))") for name in ("bin", "vbin", "bl")},
    # A zero date is NULL for DMS.
    "day": (f"nullif(cast(day as char), '{ZERO}')", "cast(day as string)"),
    "clock": ("cast(clock as char)", "clock"),
    "wall": (f"nullif(date_format(wall, {MICROS}), '{ZERO} 00:00:00.000000')", f"date_format(wall, {SPARK_MICROS})"),
    "instant": (f"nullif(date_format(instant, {MICROS}), '{ZERO} 00:00:00.000000')", f"date_format(instant, {SPARK_MICROS})"),
    "yr": ("yr + 0", "cast(yr as int)"),
}
PAIRS: Columns = {"a": ("a", "a"), "b": ("cast(b as char)", "cast(b as string)"), "v": ("v", "v")}
LOOSE: Columns = {"k": ("k", "k"), "n": ("cast(n as char)", "cast(n as string)")}
ORDER: Columns = {
    "id": ("cast(`Id` as char)", "cast(id as string)"),
    "sel": ("`Select`", "`Select`"),
    "ab": ("cast(`a b` as char)", "cast(`a b` as string)"),
}
CSV_TYPES = {
    **dict.fromkeys(("id", "big"), "bigint"),
    "tiny": "tinyint",
    "flag": "tinyint",
    "small": "int",
    "medium": "int",
    "i": "bigint",
    "huge": "decimal(20,0)",
    "num": "decimal(14,3)",
    "wide": "decimal(38,10)",
    "r": "float",
    "d": "double",
    "one": "boolean",
    "many": "binary",
    "day": "date",
    "instant": "timestamp",
    "yr": "smallint",
    "bin": "binary",
    "vbin": "binary",
    "bl": "binary",
}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        yield server


def everything(chance: random.Random, key: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    return {
        "id": key,
        "tiny": maybe(chance.choice([-128, 0, 127])),
        "flag": maybe(chance.choice([0, 1])),
        "small": maybe(chance.choice([0, 65535])),
        "medium": maybe(chance.choice([-8388608, 8388607])),
        "i": maybe(chance.randint(0, 2**32 - 1)),
        "big": maybe(chance.randint(-(2**63), 2**63 - 1)),
        "huge": maybe(chance.randint(0, 2**64 - 1)),
        "num": maybe(round(chance.uniform(-1e9, 1e9), 3)),
        "wide": maybe(f"{chance.randint(-(10**27), 10**27)}.{chance.randint(0, 10**10 - 1):010d}"),
        "widest": maybe(f"{chance.randint(-(10**34), 10**34)}.{chance.randint(0, 10**30 - 1):030d}"),
        "r": maybe(chance.choice([0.1, -2.5e-20, 3.4e38, 1.0])),
        "d": maybe(chance.choice([0.1, 1e-300, -1.7e308, 3.0])),
        "one": maybe(chance.choice([0, 1])),
        "many": maybe(chance.randint(0, 4095)),
        "day": maybe(chance.choice([ZERO, "1000-01-01", "1582-10-10", "1970-01-01", "2026-02-28", "9999-12-31"])),
        "clock": maybe(chance.choice(["-838:59:59", "-00:00:00.5", "24:00:00.125", "12:00:00"])),
        "wall": maybe(chance.choice([f"{ZERO} 00:00:00", "1900-01-01 00:00:00", "2026-03-29 02:30:00.123456", "2026-07-01 12:00:00.5"])),
        "instant": maybe(chance.choice([f"{ZERO} 00:00:00", "2026-03-29 02:30:00.123456", "1970-01-01 00:00:01", "2038-01-19 03:14:07"])),
        "yr": maybe(chance.choice([0, 1901, 2026, 2155])),
        "c": maybe(chance.choice(["ab", "12345678", "x  y", "ab  "])),
        "vc": maybe(chance.choice(WORDS)),
        "l": maybe(chance.choice(["plain", "Grüße €", ""])),
        "u": maybe(chance.choice(WORDS)),
        "t": maybe(chance.choice(WORDS)),
        "doc": maybe(json.dumps({"k": chance.choice(WORDS), "n": [1, 2.5, None]})),
        "bin": maybe(chance.choice([b"\x00\xff", b"abcd", b""])),
        "vbin": maybe(chance.randbytes(chance.randint(0, 20))),
        "bl": maybe(chance.randbytes(chance.randint(0, 20))),
        "mood": maybe(chance.choice(["fine", "ö", "not a mood"])),
        "tags": maybe(chance.choice(["", "a", "c,a", "a,b,c"])),
    }


class MariaDbWriter(Writer):
    """Keys change now and then."""

    def __init__(self, server: LocalMariaDb, database: str, seed: int, altered: threading.Event) -> None:
        # A duplicate key, a deadlock.
        super().__init__(
            seed,
            altered,
            lambda error: isinstance(error, pymysql.IntegrityError | pymysql.OperationalError) and error.args[0] in (1062, 1213),
        )
        self.server, self.database = server, database

    @contextmanager
    def session(self) -> Iterator[tuple[Any, Any]]:
        with self.server.connect(self.database, autocommit=False) as connection, connection.cursor() as cursor:
            cursor.execute(SESSION)
            yield connection, cursor

    def statement(self, cursor: Any) -> None:
        chance, key = self.chance, self.chance.randint(1, 400)
        a, b, word = chance.choice("xyz'é"), chance.randint(1, 20), chance.choice(WORDS)
        match chance.randint(0, 12):
            case 0 | 1:
                row = everything(chance, key)
                marks = ", ".join(f"%({name})s" for name in row)
                cursor.execute(f"insert ignore into everything ({', '.join(row)}) values ({marks})", row)
            case 2 | 3:
                row = everything(chance, key)
                sets = ", ".join(f"{name} = %({name})s" for name in row if name != "id")
                cursor.execute(f"update everything set {sets} where id = %(id)s", row)
                if chance.random() < 0.3 and self.altered.is_set():
                    cursor.execute("update everything set extra = %s, given = %s where id = %s", (key, chance.choice([None, 1]), key))
            case 4:
                cursor.execute("delete from everything where id = %s", (key,))
            case 5:
                cursor.execute("update everything set id = %s where id = %s", (chance.randint(1, 400), key))
            case 6:
                cursor.execute("insert into pairs values (%s, %s, %s) on duplicate key update v = values(v)", (a, b, word))
            case 7:
                cursor.execute("update pairs set b = %s where a = %s and b = %s", (chance.randint(1, 20), a, b))
            case 8:
                cursor.execute("replace into pairs values (%s, %s, %s)", (a, b, word))
            case 9:
                cursor.execute("insert into `Order` (`Select`, `a b`) values (%s, %s)", (word, key))
                cursor.execute("update `Order` set `a b` = `a b` + 1 where `a b` %% 7 = %s", (b % 7,))
            case _:
                self.loose(cursor, key)

    def loose(self, cursor: Any, n: int) -> None:
        """A key in one of the spellings that are one row for the server."""
        chance = self.chance
        one, other = ("".join(chance.choice((letter, letter.upper())) for letter in "key") + chance.choice("123456789") for _ in range(2))
        one, other = one + " " * chance.randint(0, 2), other + " " * chance.randint(0, 2)
        match chance.randint(0, 4):
            case 0:
                cursor.execute("insert ignore into loose values (%s, %s)", (one, n))
            case 1:
                cursor.execute("replace into loose values (%s, %s)", (one, n))
            case 2:
                cursor.execute("insert into loose values (%s, %s) on duplicate key update n = values(n)", (one, n))
            case 3:
                cursor.execute("update loose set k = %s, n = %s where k = %s", (other, n, one))
            case 4:
                cursor.execute("delete from loose where k = %s", (one,))
                cursor.execute("insert ignore into loose values (%s, %s)", (other, n))


def source_rows(cursor: Any, table: str, columns: Columns) -> list[tuple[Any, ...]]:
    cursor.execute(f"select {', '.join(sql for sql, _ in columns.values())} from {table}")
    return sorted(cursor.fetchall(), key=repr)


@pytest.mark.usefixtures("planned_as_on_glue")
@pytest.mark.parametrize(
    "bronze",
    [
        pytest.param({"format": "parquet"}, id="parquet"),
        pytest.param({"format": "csv", "csv": {"header": True, "null": "<null>"}}, id="csv", marks=pytest.mark.release),
    ],
)
def test_silver_equals_mariadb(lake: Lake, mariadb: LocalMariaDb, tmp_path: Path, bronze: dict[str, Any]) -> None:
    database = f"e2e_{bronze['format']}"
    mariadb.execute(f"create database {database} character set utf8mb4")
    text_types = {"huge": "decimal(20,0)"} if bronze["format"] == "parquet" else CSV_TYPES
    added = {"name": "given", "type": "int", "backfill": 5}
    columns = [{"name": n, "type": t} for n, t in {"wall": "timestamp_ntz", **text_types}.items()]
    document = lake.document(
        {
            f"{database}.everything": {"columns": [*columns, added]},
            f"{database}.pairs": {"key": ["a", "b"]},
            f"{database}.loose": {"key": ["k"]},
            f"{database}.Order": {"target": f"{lake.namespace}.orders", "key": ["Id"]},
        },
        bronze=bronze,
        pipeline=database,
    )
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    chance = random.Random(7)
    address = mariadb.url()
    with mariadb.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(SESSION)
        for statement in SCHEMA:
            cursor.execute(statement)
        for key in range(1, 200):
            row = everything(chance, key)
            cursor.execute(f"insert into everything ({', '.join(row)}) values ({', '.join(f'%({n})s' for n in row)})", row)
        altered = threading.Event()
        writers = [MariaDbWriter(mariadb, database, seed, altered) for seed in range(3)]
        config = follow(lake, path, Source(address, cursor.execute, lambda: current_lsn(address)), writers)
        for table, target, mapping, least in [
            ("everything", "everything", EVERYTHING, 10),
            ("pairs", "pairs", PAIRS, 10),
            ("loose", "loose", LOOSE, 1),
            ("`Order`", "orders", ORDER, 10),
        ]:
            source, silver = source_rows(cursor, table, mapping), silver_rows(lake, target, mapping)
            assert len(source) >= least
            assert differences(source, silver, list(mapping)) == []
            assert len(source) == len(silver)
    again = run(lake.spark, config)
    assert all(not table.batches for table in again.tables.values())


def test_a_task_that_starts_again_within_a_second_converges(lake: Lake, mariadb: LocalMariaDb, tmp_path: Path) -> None:
    """All commits have one commit time. Each start of the task writes some changes of that second again, its counter begins again."""
    mariadb.execute("create database second", "create table second.t (id int primary key, n int)", "insert into second.t values (1, 0)")
    task = make_task(mariadb.url("second"), tmp_path, "second.t", ugly=Ugly(reemit_changes=5, reset_counter=True))
    assert task.bronze == lake.bronze
    task.load()
    config, chance = lake.config({"second.t": {}}), random.Random(7)
    for start in range(6):
        statements = ["set timestamp = 1700000000"]
        for n in range(8 * start, 8 * start + 8):
            key, other = chance.randint(1, 5), chance.randint(1, 5)
            statements += [
                f"insert into t values ({key}, {n}) on duplicate key update n = {n}",
                f"update ignore t set id = {other} where id = {key}",
                f"delete from t where id = {chance.randint(1, 20)}",
            ]
        mariadb.execute(*statements, database="second")
        task.catch_up()
        lake.run_one(config)
        # What is written again goes on to the end of what is new, and the last batch has all of it.
        with mariadb.connect("second") as connection, connection.cursor() as cursor:
            cursor.execute("select id, n from t order by id")
            assert lake.rows("t", "id, n") == list(cursor.fetchall())
    repeated = len(task.changes("second.t")) - len({row["dms_stream_position"] for row in task.changes("second.t")})
    assert repeated >= 20
    assert {row["dms_commit_ts"] for row in task.changes("second.t")} == {"2023-11-14 22:13:20.000000"}
    assert not lake.run_one(config).batches
