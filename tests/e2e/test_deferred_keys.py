"""A real PostgreSQL whose primary key is deferrable: one statement shifts all keys, another swaps two."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import psycopg
import pytest

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.from_config import file_shape
from dms_emulator.layout import BeforeImages
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.config.parse import parse_config
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.runs.replay import replay
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.store import LocalStore
from support.lake import Lake
from support.verify_world import REPAIR, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEATS = "public.seats"


@pytest.fixture
def world(images: BeforeImages, spark: "SparkSession", warehouse: Path, tmp_path: Path) -> Iterator[World]:
    lake = Lake(spark, warehouse, tmp_path)
    document = lake.document({SEATS: {"key": ["id"], "target": f"{lake.namespace}.seats"}})
    config = parse_config(document, base=str(tmp_path))
    with LocalPostgres() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("create table seats (id bigint, name varchar(40), primary key (id) deferrable)")
            connection.execute("alter table seats replica identity full")
            connection.execute("insert into seats select n, 'guest ' || n from generate_series(1, 5) n")
        files = attrs.evolve(file_shape(config.bronze), before_images=images)
        settings = EmulatorSettings(state_dir=tmp_path / "task", interval=0.1, files=files, partition=None)
        emulator = Emulator(server.dsn(), [SEATS], LocalStore(lake.bronze), settings)
        try:
            emulator.full_load()
            world = World(spark, server, config, document, lake.namespace, emulator)
            world.merge()
            yield world
        finally:
            emulator.close()


def open_reasons(world: World) -> Counter[str]:
    table = world.config.tables[SEATS]
    target = TargetTable(world.spark, world.config.catalog.name, table.target)
    target.refresh()
    rows = open_rows(world.spark, world.config, table, target.progress())
    return Counter(row.reason for row in rows.select("reason").collect()) if rows is not None else Counter()


@pytest.mark.long
@pytest.mark.parametrize("images", BeforeImages)
def test_shifted_and_swapped_keys(world: World, images: BeforeImages) -> None:
    world.execute("update seats set id = id + 1")
    world.replicate(SEATS)
    world.execute("update seats set id = 5 - id where id in (2, 3)")
    world.replicate(SEATS)
    if images is BeforeImages.ALL:
        assert not open_reasons(world)
        assert world.verify_one(SEATS).equal
        return
    # The keys of the rows before are not enough.
    assert set(open_reasons(world)) == {"ambiguous_key_change"}
    assert not world.verify_one(SEATS).equal
    before = open_reasons(world)
    replayed = replay(world.spark, world.config).tables[SEATS]
    assert (replayed.error, replayed.applied, open_reasons(world)) == (None, 0, before)
    world.verify_one(SEATS, REPAIR)
    world.merge()
    assert not open_reasons(world)
    assert world.verify_one(SEATS).equal
