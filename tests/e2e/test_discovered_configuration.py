"""From a database's catalog to silver with nothing written by hand: the discovered document merges what DMS writes, and `verify` agrees."""

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from typer.testing import CliRunner

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.from_config import file_shape
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.cli.app import app
from dms_iceberg.config.parse import parse_config
from dms_iceberg.storage.store import LocalStore
from support.lake import Lake
from support.verify_world import SCHEMA, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MORE = """
create schema odd;
create table odd."it's: ${x} #1" ("the key" int primary key, "_file" text, bi_tool int, tool int, "when" timestamp, "_metadata" int,
    opens time, "shut-at" time);
insert into odd."it's: ${x} #1" values (1, 'a', 2, 3, '2026-03-29 02:30', 4, '08:30', '17:00');
insert into odd."it's: ${x} #1" ("the key") values (2);
create table odd.no_key (v int);
create view odd.seen as select 1 as one;
"""
CHANGES = (
    'update odd."it\'s: ${x} #1" set bi_tool = 9, "_file" = \'b\', "when" = \'2026-10-25 02:30:00.5\' where "the key" = 2',
    'delete from odd."it\'s: ${x} #1" where "the key" = 1',
    "update everything set wall = '2026-07-01 00:00' where id = 1",
    "delete from people where amount = 7",
)


def test_nothing_is_written_by_hand(spark: "SparkSession", warehouse: Path, tmp_path: Path) -> None:
    with LocalPostgres() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(SCHEMA)
            connection.execute(MORE)
        lake = Lake(spark, warehouse, tmp_path)
        url = f"postgresql://postgres@127.0.0.1:{server.port}/postgres"
        done = CliRunner().invoke(app, ["discover", "--source", url, "--json", "--namespace", lake.namespace])
        assert done.exit_code == 0, done.output
        # Two keys may become one where DMS rounds numbers, or has no infinity: the comments say so. A name with % has no entry.
        unfit = {line.split(": as a key")[0] for line in done.stderr.splitlines() if "two keys one" in line}
        assert unfit == {"public.moments: at", "public.rounded: k"}
        kept = json.loads(done.stdout)["tables"].items()
        tables = {name: table for name, table in kept if name not in ("public.moments", "public.rounded")}
        assert set(tables) == {"public.everything", "public.pairs", "public.people", "odd.it's: ${x} #1"}
        assert "left out: 'Shop: Floor.Order: 50%': its name has %" in done.stderr
        config = parse_config(document := lake.document(tables), base=str(tmp_path))
        settings = EmulatorSettings(
            state_dir=tmp_path / "task",
            interval=0.1,
            slot="discovered",
            files=file_shape(config.bronze),
            partition=None,
            time_as_string=True,
        )
        emulator = Emulator(server.dsn(), list(tables), LocalStore(lake.bronze), settings)
        try:
            emulator.full_load()
            world = World(spark, server, config, document, lake.namespace, emulator)
            world.merge()
            world.execute(*CHANGES)
            world.capture()
            world.merge()
            for name, verdict in world.verify().items():
                assert verdict.equal, (name, verdict)
        finally:
            emulator.close()
        # What would have been lost without its declaration: a column that looks like a before-image, and one with a name of Iceberg.
        odd = config.tables["odd.it's: ${x} #1"].target.split(".")[1]
        assert lake.rows(odd, "`the key`, file, bi_tool, tool, `when`") == [(2, "b", 9, None, dt.datetime(2026, 10, 25, 2, 30, 0, 500_000))]
