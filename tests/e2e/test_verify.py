"""`verify` against a real PostgreSQL: equal is equal for every type, tampered rows are found and repaired."""

import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from typer.testing import CliRunner

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.from_config import file_shape
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.cli.app import app
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import RunRequest
from dms_iceberg.errors import ConfigError
from dms_iceberg.runs.run import run
from dms_iceberg.source.address import parse_source
from dms_iceberg.source.errors import SourceError
from dms_iceberg.storage.store import LocalStore
from dms_iceberg.verify.columns import shown_rows
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.source import Throttle
from dms_iceberg.verify.verdict import TableVerdict
from support.confirming import confirming
from support.lake import Lake
from support.local_aws import local_aws
from support.verify_world import AT_REST, EVERYTHING, ORDERS, PEOPLE, REPAIR, SCHEMA, TABLES, World, WorldFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def worlds(spark: "SparkSession", warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldFactory]:
    with LocalPostgres() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIFY_SALT", "pepper")
        emulators: list[Emulator] = []

        def make(database: str, tables: dict[str, dict[str, Any]], bronze: dict[str, Any]) -> World:
            folder = tmp_path_factory.mktemp(database)
            lake = Lake(spark, warehouse, folder)
            names = {name: {"target": f"{lake.namespace}.t{number}", **table} for number, (name, table) in enumerate(tables.items())}
            document = lake.document(names, bronze=bronze)
            config = parse_config(document, base=str(folder))
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute(f"create database {database}")
            with psycopg.connect(server.dsn(database), autocommit=True) as connection:
                connection.execute(SCHEMA)
            settings = EmulatorSettings(
                state_dir=folder / "task", interval=0.1, slot=f"slot_{database}", files=file_shape(config.bronze), partition=None
            )
            emulator = Emulator(server.dsn(database), list(tables), LocalStore(lake.bronze), settings)
            emulators.append(emulator)
            emulator.full_load()
            world = World(spark, server, config, document, lake.namespace, emulator, database)
            world.merge()
            return world

        yield make
        for emulator in emulators:
            emulator.close()


@pytest.fixture(scope="module")
def world(worlds: WorldFactory) -> World:
    return worlds("parquet", TABLES, {})


def differing(verdict: TableVerdict) -> tuple[int, ...]:
    return tuple(verdict.differing[kind] for kind in ("missing", "surplus", "different"))


@pytest.fixture
def tampered(world: World) -> Iterator[World]:
    """A world whose silver tables are put back afterwards."""
    tables = [table.target for table in world.config.tables.values()]
    heads = {name: world.spark.sql(f"SELECT snapshot_id FROM lake.{name}.refs WHERE name = 'main'").collect()[0][0] for name in tables}
    yield world
    for name, head in heads.items():
        world.spark.sql(f"CALL lake.system.set_current_snapshot('{name}', {head})")


def test_equal_tables_are_equal_whatever_their_types_and_configuration(world: World) -> None:
    found = world.verify(options=Options(tries=0, chunk_rows=150))
    assert {name: (one.equal, differing(one), one.examples, one.warnings) for name, one in found.items()} == {
        name: (True, (0, 0, 0), [], []) for name in TABLES
    }
    assert (found[EVERYTHING].rows_source, found[EVERYTHING].rows_silver) == (6, 6)
    people = found[PEOPLE]
    assert (people.rows_source, people.filtered, people.rejected, people.rows_silver) == (300, 106, 8, 186)


def test_each_tampered_row_is_found_and_nothing_else(tampered: World) -> None:
    tampered.silver("UPDATE silver.t0 SET t = 'plain ', vc = '-' WHERE id = 1")
    tampered.silver("UPDATE silver.t0 SET vc = '' WHERE id = 0")
    tampered.silver("UPDATE silver.t0 SET d = 0.0D WHERE id = 3")
    tampered.silver("UPDATE silver.t0 SET instant = instant + INTERVAL 1 MICROSECOND WHERE id = 4")
    tampered.silver("DELETE FROM silver.t0 WHERE id = 2")
    verdict = tampered.verify_one(EVERYTHING)
    assert [(example.key, example.kind, example.columns) for example in verdict.examples] == [
        ('{"id":0}', "different", ("vc",)),
        ('{"id":1}', "different", ("t", "vc")),
        ('{"id":2}', "missing", ()),
        ('{"id":3}', "different", ("d",)),
        ('{"id":4}', "different", ("instant",)),
    ]
    assert verdict.differing_columns == {"d": 1, "t": 1, "vc": 2, "instant": 1}
    assert "nothing was committed" in verdict.warnings[0]


@pytest.mark.long
def test_the_way_of_small_tables_and_that_of_large_ones_say_the_same(tampered: World) -> None:
    def verdicts(options: Options) -> dict[str, Any]:
        found = tampered.verify(options=options)
        return {name: one.to_document() | {"seconds": 0} for name, one in found.items()}

    large = Options(tries=0, small_rows=0, chunk_rows=70)
    assert verdicts(AT_REST) == verdicts(large)
    tampered.silver("UPDATE silver.t0 SET num = 8 WHERE id = 4")
    tampered.silver("DELETE FROM silver.t1 WHERE b = 9")
    tampered.silver("UPDATE silver.t2 SET full_name = 'x' WHERE doubled = 40")
    found = verdicts(AT_REST)
    assert found == verdicts(large)
    assert [one["equal"] for one in found.values()] == [False] * 3


def test_surplus_doubled_and_swapped_rows_are_found(tampered: World) -> None:
    tampered.silver("INSERT INTO silver.t1 SELECT 'new', b, `Select`, _cdc_position, _cdc_op, _cdc_committed_at FROM silver.t1 WHERE b = 7")
    tampered.silver("INSERT INTO silver.t1 SELECT * FROM silver.t1 WHERE b = 8")
    tampered.silver("UPDATE silver.t1 SET b = CASE b WHEN 21 THEN 26 ELSE 21 END WHERE b IN (21, 26)")
    verdict = tampered.verify_one(ORDERS)
    assert [(json.loads(example.key), example.kind) for example in verdict.examples] == [
        ({"a": "A", "b": 21}, "different"),
        ({"a": "A", "b": 26}, "different"),
        ({"a": "C", "b": 8}, "surplus"),
        ({"a": "new", "b": 7}, "surplus"),
    ]
    assert (verdict.rows_source, verdict.rows_silver) == (200, 202)


def test_rows_behind_a_mask_are_found_and_not_shown_and_not_repaired(tampered: World) -> None:
    tampered.silver("UPDATE silver.t2 SET secret = '***', full_name = 'x' WHERE doubled = 40")
    tampered.silver("UPDATE silver.t2 SET mail = sha2('pepperp5@example.org', 256) WHERE doubled = 42")
    verdict = tampered.verify(PEOPLE, options=Options(tries=1, wait=lambda _: None, repair=True), failing=True)[PEOPLE]
    assert differing(verdict) == (1, 1, 1)
    assert all("@" not in example.key for example in verdict.examples)
    assert [example.columns for example in verdict.examples if example.kind == "different"] == [("full_name",)]
    assert "cannot be repaired, because its key in silver is masked" in str(verdict.error)


@pytest.mark.long
def test_a_change_that_is_only_late_is_no_difference(world: World) -> None:
    world.execute(
        "update people set name = 'late' where amount = 50",
        "delete from people where amount = 51",
        "insert into people values ('new@example.org', 'New', '01.02.2000', 60, null, null)",
        """update "Shop: Floor"."Order: 50%" set b = b + 1000 where b = 60""",
    )
    # A masked key is found by reading the table again, a plain one by a look-up.
    for table, keys in {PEOPLE: 3, ORDERS: 2}.items():
        one = world.verify_one(table, Options(tries=1, settle=0, wait=lambda _, table=table: world.replicate(table)))
        assert (one.equal, one.rechecked) == (True, keys)


@pytest.mark.long
def test_a_row_that_never_rests_is_not_called_different(world: World) -> None:
    def change(_: float) -> None:
        world.execute("update everything set i = i + 1 where id = 5")

    change(0)
    verdict = world.verify_one(EVERYTHING, Options(tries=2, settle=0, wait=change))
    assert (differing(verdict), verdict.unsettled, verdict.equal) == ((0, 0, 0), 1, None)
    stays = world.verify_one(EVERYTHING, Options(tries=2, settle=0))
    assert (differing(stays), stays.unsettled, stays.equal) == ((0, 0, 1), 0, False)
    world.replicate(EVERYTHING)
    assert world.verify_one(EVERYTHING).equal


@pytest.mark.long
def test_a_repair_makes_silver_equal_and_loses_to_every_later_change(world: World) -> None:
    world.silver("UPDATE silver.t0 SET t = 'wrong' WHERE id IN (1, 3)")
    world.silver("UPDATE silver.t0 SET bin = NULL, instant = NULL, wall = NULL, num = 7 WHERE id = 4")
    world.silver("DELETE FROM silver.t0 WHERE id IN (2, 5)")
    world.ghosts(77, 78, 79)
    verdict = world.verify_one(EVERYTHING, REPAIR)
    assert (differing(verdict), verdict.repaired) == ((2, 3, 3), 8)
    (repair,) = (world.bronze / "public/everything/_repair").iterdir()
    world.execute(
        # Merged in the same batch as the repair,
        "update everything set t = 'later' where id = 1",
        "delete from everything where id = 2",
        "insert into everything (id, t) values (77, 'later')",
    )
    world.replicate(EVERYTHING)
    assert world.verify_one(EVERYTHING).equal
    assert world.quarantined("t0") == 0
    # or before it: a repair of a moment ago must not undo what came since.
    world.silver("UPDATE silver.t0 SET t = 'wrong' WHERE id IN (3, 4)")
    world.silver("DELETE FROM silver.t0 WHERE id IN (1, 5)")
    world.ghosts(80)
    assert world.verify_one(EVERYTHING, REPAIR).repaired == 5
    (held,) = {*repair.parent.iterdir()} - {repair}
    aside = held.rename(world.bronze / held.name)
    world.execute(
        "update everything set t = 'latest' where id = 3",
        "delete from everything where id in (1, 4)",
        "insert into everything (id, t) values (80, 'latest')",
    )
    world.replicate(EVERYTHING)
    aside.rename(held)
    (report,) = world.merge(EVERYTHING)
    assert [(one.applied, one.stale, one.quarantined) for one in report.batches] == [(1, 4, 0)]
    assert world.verify_one(EVERYTHING).equal


def test_a_truncate_that_is_told_makes_silver_equal(world: World) -> None:
    """Also where a repair is refused: silver does not tell the source's keys."""
    row = "insert into people values ('p{}@example.org', 'Name', '01.02.1990', 100, 'n0', 's')"
    world.execute(row.format(901))
    with psycopg.connect(world.postgres.dsn(world.database)) as connection:
        clock = "to_char(clock_timestamp() at time zone 'utc' + interval '20 ms', 'YYYYMMDDHH24MISSMS')"
        (at,) = connection.execute(f"select {clock}").fetchone() or ("",)
    time.sleep(0.05)
    world.execute(f"begin; truncate people; {row.format(902)}; commit", row.format(903))
    world.capture()
    word = RunRequest(truncate=frozenset({PEOPLE}), truncated_at=at)
    report = confirming(lambda told: run(world.spark, world.config, [PEOPLE], request=told), word).tables[PEOPLE]
    assert (report.error, report.rows_read, report.quarantined) == (None, 3, 0)
    verdict = world.verify_one(PEOPLE)
    assert (verdict.equal, verdict.rows_source, verdict.rows_silver) == (True, 2, 2)


def test_files_that_wait_are_merged_before_anything_is_repaired(world: World) -> None:
    world.execute("update everything set t = 'on its way' where id = 5")
    world.capture()
    verdict = world.verify(EVERYTHING, options=REPAIR, failing=True)[EVERYTHING]
    assert "1 files that are not merged yet" in str(verdict.error)
    world.merge(EVERYTHING)


def test_the_command_takes_the_password_from_the_environment_or_a_secret_and_tells_by_its_exit_code(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    access = world.postgres.data / "pg_hba.conf"
    rules = access.read_text()
    world.execute("create role reader login password 'hunter2'", "grant select on everything to reader")
    access.write_text("host all reader 127.0.0.1/32 scram-sha-256\n" + rules)
    world.execute("select pg_reload_conf()")
    document = tmp_path / "shop.json"
    document.write_text(json.dumps(world.document))
    url = world.url.replace("postgres@", "reader@")
    command = ["verify", str(document), "--source", url, "--tries", "0", "--json", "--table"]
    monkeypatch.setenv("DMS_ICEBERG_SOURCE_PASSWORD", "hunter2")
    good = CliRunner().invoke(app, [*command, EVERYTHING])
    assert (good.exit_code, json.loads(good.stdout)["equal"]) == (0, True)
    monkeypatch.setenv("DMS_ICEBERG_SOURCE_PASSWORD", "hunter3")
    with pytest.raises(SourceError) as refused:
        CliRunner().invoke(app, [*command, EVERYTHING], catch_exceptions=False)
    assert "password authentication failed" in str(refused.value)
    with local_aws() as aws:
        account = aws.new_account()
        for name, value in aws.environment(account).items():
            monkeypatch.setenv(name, value)
        secret = json.dumps({"username": "reader", "password": "hunter2"})
        arn = aws.client("secretsmanager", account).create_secret(Name="reader", SecretString=secret)["ARN"]
        forbidden = CliRunner().invoke(app, [*command, PEOPLE, "--source-secret", arn, "--source", url.replace("reader@", "")])
        with pytest.raises(ConfigError, match="cannot be read"):
            CliRunner().invoke(app, [*command, PEOPLE, "--source-secret", arn + "x"], catch_exceptions=False)
    assert forbidden.exit_code == 1
    assert "permission denied" in json.loads(forbidden.stdout)["tables"][PEOPLE]["error"]
    assert "hunter" not in str(refused.value) + good.output + forbidden.output


def test_the_texts_of_a_csv_pipeline_are_those_of_its_files(world: World, tmp_path: Path) -> None:
    bronze = Bronze(uri=str(tmp_path), format=BronzeFormat.CSV, csv=Csv(header=True, null="<null>"))
    settings = EmulatorSettings(state_dir=tmp_path / "task", interval=0.1, slot="slot_csv", files=file_shape(bronze), partition=None)
    emulator = Emulator(world.postgres.dsn(world.database), [EVERYTHING], LocalStore(tmp_path), settings)
    emulator.full_load()
    emulator.close()
    with (tmp_path / "public/everything/LOAD00000001.csv").open(newline="") as file:
        written = {row["id"]: row for row in csv.DictReader(file)}
    source = open_source(parse_source(world.url), Throttle(None))
    # Logical replication omits generated columns.
    columns = [column for column in source.columns("public", "everything") if not column.generated]
    with source.snapshot("public", "everything", [column.sql for column in columns]) as reader:
        for text in map(shown_rows(columns, bronze), reader.rows()):
            cells = dict(zip((column.name for column in columns), json.loads(text), strict=True))
            in_file = written.pop(cells["id"])
            assert {name: "<null>" if cell is None else cell for name, cell in cells.items()} == {name: in_file[name] for name in cells}
    source.close()
    assert not written
