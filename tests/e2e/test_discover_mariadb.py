"""`discover` against a real MariaDB: keys, types, what cannot be captured, and 300 tables."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dms_iceberg.cli.app import app
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml
from support.mariadb import LocalMariaDb, skip_without_mariadb

pytestmark = pytest.mark.long

SHOP = (
    "create database shop character set utf8mb4",
    'create database `odd "db`',
    "use shop",
    "set sql_mode = ''",
    """create table orders (
        id bigint unsigned auto_increment primary key, hits int unsigned, flag boolean, tiny tinyint, small smallint unsigned,
        placed datetime(6), stamped timestamp not null default '0000-00-00', day date, at time, yr year, amount decimal(12,2),
        huge decimal(50,2), bit1 bit(1),
        bits bit(12), place point, doc json, body mediumtext, raw longblob, txt text, mood enum('fine', 'tired'), tags set('a', 'b'),
        virt int generated always as (hits * 2) virtual, stored int generated always as (hits * 2) stored, made timestamp default now())""",
    "create table by_unique (id int, a int not null, b int not null, unique key wide (a, b), unique key narrow (b))",
    "create table nullable (id int unique)",
    "create table prefixed (name varchar(200) not null, unique key part (name(10)))",
    "create table nothing (v int)",
    "create table divided (id int primary key) partition by hash (id) partitions 4",
    "create table versioned (id int primary key) with system versioning",
    "create view seen as select * from orders",
    "create sequence counter",
    "create table `odd \"db`.`t: ${x} #'` (`k: #1` int primary key, `when?` datetime, `_file` int)",
    "create table awsdms_status (id int primary key)",
)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        server.execute(*SHOP)
        yield server


def discover(server: LocalMariaDb, *options: str, database: str = "") -> Result:
    return CliRunner().invoke(app, ["discover", "--source", f"mysql://root@127.0.0.1:{server.port}/{database}", *options])


@pytest.fixture(scope="module")
def found(mariadb: LocalMariaDb) -> Result:
    return discover(mariadb, "--json")


@pytest.fixture(scope="module")
def tables(found: Result) -> dict[str, Any]:
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert parse_config(document)
    return dict(document["tables"])


def test_keys_are_those_of_the_catalog(tables: dict[str, Any], found: Result) -> None:
    assert {name: table["key"] for name, table in tables.items()} == {
        "odd \"db.t: ${x} #'": ["k: #1"],
        "shop.by_unique": ["b"],
        "shop.divided": ["id"],
        "shop.orders": ["id"],
    }
    assert "shop.by_unique: key: unique index narrow on columns that are NOT NULL; there is no primary key" in found.stderr
    assert 'shop.by_unique: without a primary key let DMS write all before-images (replication.before_images = "all")' in found.stderr
    assert "shop.divided: has partitions: DDL of partitions suspends the table" in found.stderr


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("nullable", "no key, neither a primary key nor a unique index on columns that are NOT NULL: the job cannot tell"),
        ("prefixed", "no key"),
        ("nothing", "no key"),
        ("versioned", "a system-versioned table, which AWS does not support"),
        ("seen", "a view"),
    ],
)
def test_what_cannot_be_captured_is_left_out_with_the_reason(tables: dict[str, Any], found: Result, table: str, reason: str) -> None:
    assert f"shop.{table}" not in tables
    assert f"left out: shop.{table}: {reason}" in found.stderr
    assert "counter" not in found.stdout + found.stderr
    assert "awsdms" not in found.stdout + found.stderr


def test_columns_are_declared_where_files_show_another_type(tables: dict[str, Any], found: Result) -> None:
    assert tables["shop.orders"]["columns"] == [
        {"name": "id", "type": "decimal(20,0)"},
        {"name": "placed", "type": "timestamp_ntz"},
    ]
    assert tables["shop.orders"]["drop"] == ["virt", "stored"]
    for wanted in (
        "id: bigint unsigned goes up to 18446744073709551615",
        "hits: int unsigned: bigint in silver",
        "small: smallint unsigned: int in silver",
        "flag: tinyint(1): a number in silver",
        "placed, stamped, day, made: the server allows zero dates",
        "at: time: text in silver",
        "huge: a number of more than 38 digits: text in silver",
        "bit1: bit(1): boolean in silver",
        "bits: bits: binary in silver",
        "place: a geometry",
        "mood: enum: text in silver",
        "tags: set: text in silver",
        "place, doc, body, raw: LOBs: a value over DMS's limit (lob_max_size_kb) is cut",
        "virt: computed by the database when it is read",
        "stored: computed by the database, so changes",
    ):
        assert f"shop.orders: {wanted}" in found.stderr, wanted
    assert "tiny:" not in found.stderr
    assert "txt" not in found.stderr


def test_zero_dates_are_a_matter_of_the_server_or_of_a_default(mariadb: LocalMariaDb) -> None:
    mariadb.execute("set @before = @@global.sql_mode", "set global sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE'")
    try:
        done = discover(mariadb, "--json", "--table", "shop.orders")
    finally:
        mariadb.execute("set global sql_mode = default")
    assert "shop.orders: stamped: the server allows zero dates" in done.stderr


def test_odd_names_come_out_right(mariadb: LocalMariaDb, tables: dict[str, Any], found: Result) -> None:
    assert tables["odd \"db.t: ${x} #'"]["columns"] == [{"name": "when?", "type": "timestamp_ntz"}, {"name": "file", "from": "_file"}]
    assert load_yaml(discover(mariadb, "--yaml").stdout, "x") == json.loads(found.stdout)


def test_a_url_with_a_database_is_about_that_one(mariadb: LocalMariaDb) -> None:
    document = json.loads(discover(mariadb, "--json", database="odd%20%22db").stdout)
    assert list(document["tables"]) == ["odd \"db.t: ${x} #'"]
    assert document["pipeline"] == "odd-db"


def questions(server: LocalMariaDb, database: str) -> int:
    """Run the command, and return how many statements it has sent."""

    def sent() -> int:
        return int(server.script("show global status like 'Questions'")[0][1])

    start = sent()
    idle = sent() - start
    before = sent()
    assert discover(server, "--json", database=database).exit_code == 0
    return sent() - before - idle


def test_hundreds_of_tables_take_as_many_queries_as_one(mariadb: LocalMariaDb) -> None:
    for database, count in (("one", 1), ("many", 300)):
        body = "(id int primary key, a datetime, b longtext, c int unsigned)"
        mariadb.execute(f"create database {database}", f"use {database}", *(f"create table t{number} {body}" for number in range(count)))
    few, many = questions(mariadb, "one"), questions(mariadb, "many")
    assert few == many <= 12
    document = json.loads(discover(mariadb, "--json", database="many").stdout)
    assert len(parse_config(document).tables) == 300
