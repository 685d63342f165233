"""`discover` against a real PostgreSQL: what it proposes for every kind of table, for 300 tables, and what it may see."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from dms_emulator.postgres import LocalPostgres
from dms_iceberg.cli.app import app, main
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml

SECRET = "hunter2-pässword"
SHOP = f"""
create schema sales;
create schema "Odd ""S";
create type mood as enum ('fine', 'tired');
create type pair as (a int, b text);
create domain price as numeric(12,2);
create domain moment as timestamp;
create table sales.orders (
    order_id bigint primary key, placed_at timestamp, shipped_at timestamptz, said moment, opens time, closes timetz, "half-time" time,
    amount numeric(12,2), cost price, rate numeric, huge numeric(50,2), paid money, flag boolean, mask bit(8), file oid, note text,
    doc jsonb, tags text[], feels mood, couple pair, span interval, bin bytea, twice int generated always as (1) stored);
create table sales.lines (order_id bigint, line_no int, primary key (line_no, order_id));
create table sales.by_index (id int not null, other int, v text);
create unique index by_index_id on sales.by_index (id);
alter table sales.by_index replica identity using index by_index_id;
create table sales.whole (id int not null unique);
alter table sales.whole replica identity full;
create table sales.whole_arrays (id int not null unique, a int[]);
alter table sales.whole_arrays replica identity full;
create table sales.only_unique (id int not null unique, v text);
create table sales.no_key (id int unique, half int not null, low text not null);
create unique index on sales.no_key (lower(low));
create unique index on sales.no_key (half) where half > 1;
create table sales.nothing (id int primary key);
alter table sales.nothing replica identity nothing;
create table sales.other_identity (id int primary key, v int not null unique);
alter table sales.other_identity replica identity using index other_identity_v_key;
create table sales.deferred (id int primary key deferrable initially deferred);
create table sales.computed_key (id int, k int generated always as (id * 2) stored primary key);
create table sales.rounded (k numeric primary key);
create table sales.time_key (t time primary key);
create unlogged table sales.quick (id int primary key);
create table sales.parent (id int primary key);
create table sales.child (extra int, primary key (id)) inherits (sales.parent);
create table sales.events (id int, day date, primary key (id, day)) partition by range (day);
create table sales.events_2025 partition of sales.events for values from ('2025-01-01') to ('2026-01-01');
create table sales.events_2026 partition of sales.events for values from ('2026-01-01') to ('2027-01-01') partition by list (id);
create table sales.events_2026_1 partition of sales.events_2026 for values in (1);
create view sales.seen as select * from sales.orders;
create materialized view sales.kept as select * from sales.lines;
create table sales.awsdms_ddl_audit (id int primary key);
create table "Odd ""S"."T ${{x}} 'y'" ("K: #1" int primary key, "when?" timestamp, "BI_K: #1x" int, _file text);
create table "Odd ""S"."image" (id int primary key, bi_id int);
create table "Odd ""S"."case" (id int primary key, "A" int, a int);
create table "Odd ""S".op (id int primary key, "OP" text);
create role reader login password '{SECRET}';
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    with LocalPostgres(settings={"log_statement": "all", "log_line_prefix": "%a|"}) as started:
        with psycopg.connect(started.dsn(), autocommit=True) as connection:
            connection.execute("create database shop")
        with psycopg.connect(started.dsn("shop"), autocommit=True) as connection:
            connection.execute(SHOP)
            # Whoever comes as this user needs its password; it has no right on any schema or table.
            rules = started.data / "pg_hba.conf"
            rules.write_text(f"host all reader 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
            connection.execute("select pg_reload_conf()")
        yield started


def discover(server: LocalPostgres, *options: str, user: str = "postgres", database: str = "shop") -> Result:
    url = f"postgresql://{user}@127.0.0.1:{server.port}/{database}"
    return CliRunner().invoke(app, ["discover", "--source", url, *options])


@pytest.fixture(scope="module")
def found(server: LocalPostgres) -> Result:
    return discover(server, "--json")


@pytest.fixture(scope="module")
def tables(found: Result) -> dict[str, Any]:
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert parse_config(document)
    return dict(document["tables"])


def said(found: Result, table: str) -> str:
    return "\n".join(line for line in found.stderr.splitlines() if f"{table}:" in line)


def test_keys_are_those_of_the_catalog(tables: dict[str, Any], found: Result) -> None:
    assert {name: table["key"] for name, table in tables.items() if name.startswith("sales.")} == {
        "sales.by_index": ["id"],
        "sales.child": ["id"],
        "sales.lines": ["line_no", "order_id"],
        "sales.orders": ["order_id"],
        "sales.parent": ["id"],
        "sales.rounded": ["k"],
        "sales.whole": ["id"],
    }
    assert "key: primary key" in said(found, "sales.lines")
    assert "key: unique index by_index_id on columns that are NOT NULL; there is no primary key" in said(found, "sales.by_index")
    assert "test_decoding" in said(found, "sales.whole")
    assert "may make two keys one" in said(found, "sales.rounded")
    assert "inherit" in said(found, "sales.parent")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("sales.no_key", 'no key, neither.*ALTER TABLE "sales"."no_key" ADD PRIMARY KEY'),
        ("sales.only_unique", 'no primary key.*only_unique_id_key \\(id\\).*ADD PRIMARY KEY USING INDEX "only_unique_id_key"'),
        ("sales.whole_arrays", "AWS suspends such tables where they have arrays: a"),
        ("sales.nothing", "REPLICA IDENTITY NOTHING.*REPLICA IDENTITY DEFAULT"),
        ("sales.other_identity", "deletes have v, and DMS looks for the primary key, id"),
        ("sales.deferred", "DEFERRABLE"),
        ("sales.computed_key", "the database computes.*: k"),
        ("sales.time_key", "the key column t is a time of day"),
        ("sales.quick", 'unlogged.*ALTER TABLE "sales"."quick" SET LOGGED'),
        ("sales.events", "partitioned table.*: sales.events_2025, sales.events_2026_1. Take these with --table"),
        ("sales.seen", "a view"),
        ("sales.kept", "a materialized view"),
        ("'Odd \"S.image'", "named like before-images of the key: bi_id"),
        ("'Odd \"S.case'", "one name but for case.*A, a"),
        ("'Odd \"S.op'", "those that DMS adds: OP"),
    ],
)
def test_what_cannot_be_captured_is_left_out_with_the_reason(tables: dict[str, Any], found: Result, table: str, reason: str) -> None:
    assert table.strip("'") not in tables
    (line,) = [line for line in found.stderr.splitlines() if line.startswith(f"left out: {table}: ")]
    assert re.search(reason, line), line


def test_only_known_tables_are_there(tables: dict[str, Any], found: Result) -> None:
    everything = found.stdout + found.stderr
    assert "awsdms_ddl_audit" not in everything
    assert "pg_catalog" not in everything
    assert "sales.events_2026:" not in found.stderr
    assert set(tables) - {name for name in tables if name.startswith("sales.")} == {"Odd \"S.T ${x} 'y'"}


def test_columns_are_declared_where_files_show_another_type(tables: dict[str, Any], found: Result) -> None:
    orders = tables["sales.orders"]
    clock = {"type": "timestamp_ntz"}
    assert orders["columns"] == [{"name": "placed_at", **clock}, {"name": "said", **clock}]
    assert orders["drop"] == ["twice", "half-time"]
    text = said(found, "sales.orders")
    for wanted in (
        "placed_at, said: a wall clock",
        "rate: numeric without precision: DMS rounds to 6 decimals",
        "huge: a number of more than 38 digits: text in silver",
        "paid: money: decimal(38,4)",
        "mask: bits: a text of 0 and 1",
        "file: oid",
        "doc: JSON: text in silver",
        "tags: text[]: text in silver",
        "feels: mood: text in silver",
        "couple: pair: text in silver",
        "span: interval: text in silver",
        "note, doc, tags, couple, bin: LOBs",
        "opens, closes: a time of day, which Spark cannot read from Parquet unless DMS writes it as text. Give the task a mapping rule",
        "closes: timetz: its zone may be lost",
        "twice: computed by the database",
        "half-time: a time of day",
    ):
        assert wanted in text, wanted
    assert "shipped_at" not in text
    assert "cost" not in text


def test_odd_names_come_out_right(tables: dict[str, Any], server: LocalPostgres, found: Result) -> None:
    odd = tables["Odd \"S.T ${x} 'y'"]
    assert odd["target"] == "silver.t___x___y_"
    assert odd["key"] == ["K: #1"]
    assert odd["columns"] == [{"name": "when?", "type": "timestamp_ntz"}, {"name": "BI_K: #1x"}, {"name": "file", "from": "_file"}]
    yaml = discover(server, "--yaml")
    assert load_yaml(yaml.stdout, "x") == json.loads(found.stdout)


def test_terraform_gets_what_dms_must_write_as_text(server: LocalPostgres) -> None:
    text = discover(server, "--table", "sales.orders").stdout
    assert 'load = { columns_as_text = ["opens", "closes"] }' in text
    assert "target" not in text
    named = discover(server, "--table", "sales.orders", "--namespace", "lake").stdout
    assert '  target = "lake.orders"' in named


def test_partitions_are_chosen_by_name(server: LocalPostgres) -> None:
    done = discover(server, "--json", "--table", "sales.events_*")
    assert list(json.loads(done.stdout)["tables"]) == ["sales.events_2025", "sales.events_2026_1"]
    assert "a partition of sales.events" in done.stderr


def test_tables_are_chosen_by_patterns(server: LocalPostgres) -> None:
    document = json.loads(discover(server, "--json", "--schema", "sa*", "--table", "*.lines", "--table", "*.rounded").stdout)
    assert list(document["tables"]) == ["sales.lines", "sales.rounded"]
    assert list(json.loads(discover(server, "--json", "--schema", 'Odd "S').stdout)["tables"]) == ["Odd \"S.T ${x} 'y'"]


def test_nothing_that_can_be_replicated_is_a_failure(server: LocalPostgres) -> None:
    done = discover(server, "--yaml", "--table", "sales.no_key")
    assert done.exit_code == 1
    assert "tables: {}" in done.stdout
    assert "# - sales.no_key: no key" in done.stdout


def test_a_database_without_tables_is_an_error(server: LocalPostgres, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["discover", "--source", f"postgresql://postgres@127.0.0.1:{server.port}/template1"])
    assert caught.value.code == 1
    assert "there is no table, or the user may see none" in capfd.readouterr().err


class TestUser:
    """One that may log in, and nothing else: no row of any table can be read."""

    def test_sees_the_same(self, server: LocalPostgres, found: Result, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DMS_ICEBERG_SOURCE_PASSWORD", SECRET)
        done = discover(server, "--json", user="reader")
        assert (done.stdout, done.stderr) == (found.stdout, found.stderr)
        assert SECRET not in done.stdout + done.stderr

    @pytest.mark.parametrize("url", ["postgresql://reader@127.0.0.1:{port}/shop", "postgresql://reader:{secret}@127.0.0.1:{port}/shop"])
    def test_its_password_is_in_no_error(
        self, server: LocalPostgres, url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        wrong = f"{SECRET}-wrong"
        monkeypatch.setenv("DMS_ICEBERG_SOURCE_PASSWORD", wrong)
        with pytest.raises(SystemExit) as caught:
            main(["discover", "--source", url.format(port=server.port, secret=wrong)])
        assert caught.value.code in (1, 2)
        printed = "".join(capfd.readouterr())
        assert "password" in printed
        assert SECRET not in printed


DOCUMENTED = """
create table orders (order_id bigint primary key, placed_at timestamp, opens time, note text);
create table order_lines (order_id bigint, line_no int, primary key (order_id, line_no));
create table log (line varchar(80));
create table events (id int, day date, primary key (id, day)) partition by range (day);
create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01');
create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01');
"""


def test_the_documented_text_is_what_is_printed(server: LocalPostgres) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("create database docs")
    with psycopg.connect(server.dsn("docs"), autocommit=True) as connection:
        connection.execute(DOCUMENTED)
    page = (Path(__file__).parents[2] / "docs/discover.md").read_text("utf-8")
    (shown,) = re.findall(r"```hcl\n(.*?)```", page, re.DOTALL)
    assert discover(server, database="docs").stdout.replace("database docs", "database shop") == shown


def statements(server: LocalPostgres, database: str) -> list[str]:
    """Run the command, and return the statements that the server noted of it."""
    log = server.base / "log"
    before = log.stat().st_size
    assert discover(server, "--json", database=database).exit_code == 0
    with log.open("rb") as file:
        file.seek(before)
        lines = file.read().decode().splitlines()
    return [line for line in lines if line.startswith("dms-iceberg discover|LOG:") and ("statement: " in line or "execute " in line)]


def test_hundreds_of_tables_take_as_many_queries_as_one(server: LocalPostgres) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("create database one")
        connection.execute("create database many")
    for database, count in (("one", 1), ("many", 300)):
        with psycopg.connect(server.dsn(database), autocommit=True) as connection:
            for number in range(count):
                connection.execute(f"create table t{number} (id int primary key, a timestamp, b text, c numeric, d time)")
    few, many = statements(server, "one"), statements(server, "many")
    assert len(few) == len(many) <= 8, many
    assert any("READ ONLY" in statement for statement in many)
    document = json.loads(discover(server, "--json", database="many").stdout)
    assert len(parse_config(document).tables) == 300
