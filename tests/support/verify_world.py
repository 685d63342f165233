"""A PostgreSQL with every type there is, its tables in silver, and the task between them: what `verify` is tried on."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import psycopg

from dms_emulator import Emulator
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.config.model import Config
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.source.address import parse_source
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from dms_iceberg.verify.verdict import TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
create schema "Shop: Floor";
create type mood as enum ('fine', 'tired');
create domain price as numeric(12,2);
create table everything (
    id bigint primary key, small smallint, i int, num numeric(14,3), wide numeric(38,10), free numeric, cost price, r real,
    d double precision, flag boolean, t text, vc varchar(60), c char(8), bin bytea, u uuid, j json, jb jsonb, day date, wall timestamp,
    instant timestamptz, arr int[], words text[], m mood, ip inet, many numeric(50,2), twice int generated always as (i * 0 + 2) stored);
insert into everything (id) values (0);
insert into everything values
    (1, -32768, 2147483647, -1.500, 1234567890123456789012345678.0123456789, 1.23456789, 9.90, 0.1, 0.1, true, 'plain', '', 'ab', '\\x00ff',
     '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '{"k":  [1, 2.50]}', '{"k":  [1, 2.50]}', '2026-02-28', '2026-03-29 02:30:00.123456',
     '2026-03-29 02:30:00.123456+02', '{1,NULL,3}', '{"a b","","c,d"}', 'fine', '10.0.0.1', 123456789012345678901234567890.25),
    (2, 0, 0, 0, 0, 'NaN', 'NaN', 'NaN', 'NaN', false, E'line\\nbreak\\t"quoted" \\\\', 'Grüße 中文 🙂', '', '', null, 'null', '"x"',
     '0001-01-01', '0001-01-01 00:00:00', '9999-12-31 23:59:59.999999+00', '{}', '{}', 'tired', '::1', 'NaN'),
    (3, 1, 1, 0.001, 1e-10, 1e21, -0.01, '-0', '-0', null, 'NULL', 'null', ' x', '\\x', null, '{}', '{}', 'infinity', 'infinity',
     '-infinity', null, null, null, null, -0.5),
    (4, 1, 1, 5, 5, 5, 5, 'Infinity', '-Infinity', true, '${spark.master}', '''', '''', '\\x27', null, '[]', '[]', '1582-10-10',
     '1582-10-10 12:00:00', '1969-12-31 23:59:59.999999+00', null, null, null, null, null),
    (5, 1, 1, 5, 5, 5, 5, 3.4e38, 1e-300, true, repeat('long ', 20000), '', '', '\\x', null, '[]', '[]', '2026-07-01',
     '2026-07-01 12:00:00.5', '2026-07-01 12:00:00-07', null, null, null, null, null);
create table "Shop: Floor"."Order: 50%" (a text, b int, "Select" text, primary key (a, b));
insert into "Shop: Floor"."Order: 50%" select chr(64 + n % 5), n, 'text ' || n from generate_series(1, 200) n;
create table people (mail text primary key, name text, born text, amount int, note text, secret text);
insert into people select 'p' || n || '@example.org', ' Name ' || n, to_char(date '1990-01-01' + n, 'DD.MM.YYYY'), n, 'n' || n % 3, 's' || n
    from generate_series(1, 300) n;
create table rounded (k numeric primary key, v text);
insert into rounded values (1.0000001, 'a'), (1.0000002, 'b'), (2.0000003, 'c');
create table moments (at timestamp primary key, v text);
insert into moments values ('infinity', 'a'), ('10000-01-01', 'b'), ('2026-03-01 12:00', 'c');
create type pair as (a int, b text);
create table pairs (id int primary key, p pair);
insert into pairs values (1, row(1, null)), (2, row(null, null)), (3, null);
"""
TABLES: dict[str, dict[str, Any]] = {
    "public.everything": {"columns": [{"name": "wall", "type": "timestamp_ntz"}]},
    "Shop: Floor.Order: 50%": {"key": ["a", "b"]},
    "public.people": {
        "key": ["mail"],
        "columns": [
            {"name": "mail", "mask": "sha256", "mask_salt": "env:VERIFY_SALT"},
            {"name": "full_name", "from": "name", "trim": True},
            {"name": "birthday", "from": "born", "type": "date", "format": "dd.MM.yyyy"},
            {"name": "doubled", "expr": "amount * 2"},
            {"name": "secret", "mask": "partial"},
        ],
        "drop": ["note"],
        "filter": "amount > 10",
        "rules": [{"name": "few", "expr": "amount < 290"}, {"name": "not_n1", "expr": "note <> 'n1'", "on_fail": "drop"}],
    },
}
EVERYTHING, ORDERS, PEOPLE = TABLES
AT_REST = Options(tries=0)
REPAIR = Options(tries=1, wait=lambda _: None, repair=True, insert_missing=True, max_repair=1.0)
UGLY = 'Grüße 🙂 "q" \\ \n\t\x01'
NOON = dt.datetime(2026, 3, 29, 2, 30, 0, 123456)


@attrs.define
class World:
    """A database, its tables in silver, and the task between them."""

    spark: "SparkSession"
    postgres: LocalPostgres
    config: Config
    document: dict[str, Any]
    namespace: str
    emulator: Emulator
    database: str = "postgres"

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.postgres.dsn(self.database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def silver(self, statement: str) -> None:
        self.spark.sql(statement.replace("silver.", f"lake.{self.namespace}."))

    def ghosts(self, *keys: int) -> None:
        """Put rows into silver that the source does not have."""
        name = f"lake.{self.namespace}.t0"
        row = self.spark.table(name).where("id = 0").drop("id")
        row.crossJoin(self.spark.createDataFrame([(key,) for key in keys], "id bigint")).writeTo(name).append()

    def replicate(self, table: str) -> None:
        """Bring everything that was committed into a silver table."""
        self.capture()
        self.merge(table)

    def capture(self) -> None:
        with psycopg.connect(self.postgres.dsn(self.database)) as connection:
            (lsn,) = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone() or ("",)
        self.emulator.capture(until_lsn=lsn)

    def merge(self, *tables: str) -> list[TableReport]:
        report = run(self.spark, self.config, tables)
        assert not report.failed, [table.error for table in report.tables.values()]
        return list(report.tables.values())

    @property
    def bronze(self) -> Path:
        return Path(self.config.bronze.uri)

    def quarantined(self, table: str) -> int:
        name = f"lake.{self.config.quarantine.namespace}.`{self.namespace}__{table}`"
        return self.spark.table(name).count() if self.spark.catalog.tableExists(name) else 0

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.postgres.port}/{self.database}"

    def verify(self, *tables: str, options: Options = AT_REST, failing: bool = False) -> dict[str, TableVerdict]:
        source = open_source(parse_source(self.url), Throttle(None))
        if options.repair:
            (name, *_) = tables or self.config.tables
            table = self.config.tables[name]
            with source.snapshot(table.schema_name, table.table_name, ["''"]) as reader:
                options = attrs.evolve(options, accept_source=reader.facts().token)
        try:
            found = verify(self.spark, self.config, source, tables, options).tables
        finally:
            source.close()
        errors = [one.error for one in found.values() if one.error is not None]
        assert failing or errors == [], errors
        return found

    def verify_one(self, table: str, options: Options = AT_REST) -> TableVerdict:
        return self.verify(table, options=options)[table]


WorldFactory = Callable[[str, dict[str, dict[str, Any]], dict[str, Any]], World]
