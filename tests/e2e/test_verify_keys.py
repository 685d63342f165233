"""`verify` and keys that are several rows at the source and one in silver; and keys that DMS rounds."""

from collections.abc import Iterator

import psycopg
import pytest

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.from_config import file_shape
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.config.parse import parse_config
from dms_iceberg.source.address import parse_source
from dms_iceberg.storage.store import LocalStore
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.reading_progress import Read
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from support.lake import Lake
from support.verify_world import AT_REST, REPAIR, SCHEMA, World

ROUNDED, MOMENTS, PAIRS = "public.rounded", "public.moments", "public.pairs"
AGAIN = Options(tries=1, settle=0)


@pytest.fixture
def world(lake: Lake) -> Iterator[World]:
    tables = {ROUNDED: {"key": ["k"]}, MOMENTS: {"key": ["at"]}, PAIRS: {"key": ["id"]}}
    document = lake.document(tables)
    config = parse_config(document, base=str(lake.folder))
    settings = EmulatorSettings(state_dir=lake.folder / "task", interval=0.1, files=file_shape(config.bronze), partition=None)
    with LocalPostgres() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(SCHEMA)
        with Emulator(server.dsn(), list(tables), LocalStore(lake.bronze), settings) as emulator:
            emulator.full_load()
            world = World(lake.spark, server, config, document, lake.namespace, emulator)
            world.merge()
            yield world


@pytest.mark.long
def test_keys_that_collide_are_named_and_keys_that_are_rounded_are_found(world: World) -> None:
    found = world.verify(options=AGAIN)
    for table in (ROUNDED, MOMENTS):
        one = found[table]
        assert {kind: n for kind, n in one.differing.items() if n} == {"collided": 1}
        assert [example.kind for example in one.examples] == ["collided"]
        assert "stand for several rows of the source" in one.warnings[0]
    assert "key column k DMS writes one value for several" in found[ROUNDED].warnings[0]
    # A composite with fields that are NULL is not NULL.
    assert (found[PAIRS].equal, found[PAIRS].rows_source) == (True, 3)
    world.execute("update rounded set v = 'other' where v = 'c'", "update moments set v = 'other' where v = 'c'")
    found = world.verify(options=AGAIN)
    for table in (ROUNDED, MOMENTS):
        assert {kind: n for kind, n in found[table].differing.items() if n} == {"collided": 1, "different": 1}
        assert [(one.kind, one.columns) for one in found[table].examples if one.columns] == [("different", ("v",))]


def test_it_tells_how_far_it_has_read(world: World) -> None:
    heard: list[Read] = []
    source = open_source(parse_source(world.url), Throttle(None))
    verify(world.spark, world.config, source, [MOMENTS, PAIRS], AT_REST, heard.append)
    source.close()
    assert [(read.table, read.number, read.tables, read.rows) for read in heard] == [(MOMENTS, 1, 2, 3), (PAIRS, 2, 2, 3)]


@pytest.mark.long
def test_a_repair_mends_what_it_can_and_deletes_no_key_that_is_rounded(world: World) -> None:
    world.silver("UPDATE silver.moments SET v = 'wrong' WHERE v = 'c'")
    world.silver("UPDATE silver.rounded SET v = 'wrong' WHERE v = 'c'")
    found = world.verify(options=REPAIR, failing=True)
    assert (found[MOMENTS].repaired, found[MOMENTS].error) == (1, None)
    assert "cannot be repaired" in str(found[ROUNDED].error)
    world.merge()
    left = world.verify(options=AGAIN)
    assert {kind: n for kind, n in left[MOMENTS].differing.items() if n} == {"collided": 1}
