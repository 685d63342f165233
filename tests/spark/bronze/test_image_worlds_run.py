"""Columns that look like before-images, through whole runs: silver has the source's rows and no image, or the table is refused by name."""

import itertools
import json
import os
from collections.abc import Iterator

import pyarrow as pa
import pytest

from dms_iceberg.errors import ConfigError
from support.image_worlds import FORMS, ImageWorld, image_world
from support.lake import Lake
from support.text_files import cdc_name

SEED = int(os.environ.get("PROPERTY_SEED", "20260301"))
DOCUMENTS, TABLES = 2, 4


def documents(lake: Lake, form: str) -> Iterator[list[ImageWorld]]:
    """Worlds that one document describes."""
    by_bronze: dict[str, list[ImageWorld]] = {}
    for seed in itertools.count(SEED):
        world = image_world(seed, form)
        try:
            lake.config({"public.t": world.entry()}, bronze=world.bronze())
        except ConfigError:
            continue
        alike = by_bronze.setdefault(json.dumps(world.bronze()), [])
        alike.append(world)
        if len(alike) == TABLES:
            yield alike


def write(lake: Lake, table: str, world: ImageWorld) -> None:
    extension = "csv" if world.form == "headerless" else world.form
    for number, name in enumerate((f"LOAD00000001.{extension}", cdc_name(1, extension), cdc_name(3, extension))):
        if world.form == "parquet":
            names = world.columns(number)
            rows = [[row.get(one) for one in names] for row in world.rows(number)]
            lake.parquet(table, name, [(one, pa.string()) for one in names], rows)
        else:
            lake.path(table, name).write_text(world.text(number))


def judge(lake: Lake, table: str, world: ImageWorld, error: str | None) -> None:
    exists = lake.spark.catalog.tableExists(f"lake.{lake.namespace}.{table}")
    columns = [name for name in lake.target(table).column_types() if not name.startswith("_cdc_")] if exists else []
    secrets = {f"{name} of" for name in world.source if name.lower() in world.hidden}
    found = [dict(zip(columns, row, strict=True)) for row in lake.rows(table, ", ".join(f"`{one}`" for one in columns))] if exists else []
    values = [str(value) for row in found for value in row.values()]
    assert not [value for value in values if value.startswith(tuple(secrets))], "published"
    if error is not None:
        assert not world.is_clear, error
        assert any(repr(name) in error for name in (*world.source, *world.images)) or world.form == "headerless", error
        return
    assert set(columns) - world.images.keys() == world.shown, columns
    key = world.key
    assert sorted(({name: row[name] for name in sorted(world.shown)} for row in found), key=lambda row: row[key]) == world.expected()


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_worlds_with_columns_like_images(lake: Lake, form: str) -> None:
    refused = 0
    for number, worlds in enumerate(itertools.islice(documents(lake, form), DOCUMENTS)):
        named = {f"t{number}_{place}": world for place, world in enumerate(worlds)}
        config = lake.config({f"public.{name}": world.entry() for name, world in named.items()}, bronze=worlds[0].bronze())
        for name, world in named.items():
            write(lake, f"public.{name}", world)
        reports = lake.run(config).tables
        for name, world in named.items():
            error = reports[f"public.{name}"].error
            refused += error is not None
            try:
                judge(lake, name, world, error)
            except AssertionError as failed:
                raise AssertionError(f"PROPERTY_SEED={SEED}: {world}: {error}: {failed}") from failed
    assert refused < DOCUMENTS * TABLES
