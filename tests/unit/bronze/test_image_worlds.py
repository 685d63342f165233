"""Columns that look like before-images in every way are right, or refused by name: never lost, never published.

``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import os
from collections import Counter
from pathlib import Path

import attrs
import pytest

from dms_iceberg.bronze.columns import split_columns
from dms_iceberg.bronze.schema_groups import SchemaGroup, inspect
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import BronzeError, ConfigError
from support.image_worlds import FORMS, ImageWorld, image_world
from support.text_files import cdc_name
from unit.bronze.stored_file import LOAD, stored

SEED = int(os.environ.get("PROPERTY_SEED", "20260301"))
WORLDS = int(os.environ.get("PROPERTY_WORLDS", "400"))


def config_of(world: ImageWorld, folder: Path) -> Config:
    return parse_config(
        {
            "version": 1,
            "pipeline": "images",
            "bronze": {"uri": str(folder), **world.bronze()},
            "catalog": {"type": "hadoop", "warehouse": str(folder)},
            "tables": {"public.t": {"target": "s.t", **world.entry()}},
        }
    )


def judge_places(world: ImageWorld, config: Config, folder: Path) -> None:
    """Only the place tells a column: each value must be read as what it is. The load is a batch, and both change files are another."""
    (table,) = config.tables.values()
    for numbers in ((0,), (1, 2)):
        files = {}
        for number in numbers:
            store, file = stored(folder, world.text(number).encode(), cdc_name(number, "csv") if number else LOAD)
            files[file.key] = number, attrs.evolve(file, is_cdc=number > 0)
        for group in inspect(store, [file for _, file in files.values()], config.bronze, table):
            assert split_columns(group, list(group.columns), config.bronze, table, set(group.names)).names == world.source
            for number in (files[file.key][0] for file in group.files):
                for place, name in enumerate(world.columns(number)):
                    there = any(row.get(name) for row in world.rows(number))
                    image = number >= world.since and name in world.images
                    assert not there or group.names[place] == (world.named_image(name) if image else name), (number, group.names)


def judged(world: ImageWorld, folder: Path) -> str:
    """Return what became of the world: ``right`` or ``refused``."""
    try:
        config = config_of(world, folder)
        (table,) = config.tables.values()
        known = {name for number in range(3) for name in world.columns(number)}
        if world.form == "headerless":
            judge_places(world, config, folder)
            return "right"
        for number in range(3):
            names = world.columns(number)
            group = SchemaGroup(number > 0, "", tuple((name, "string") for name in names), (), None)
            columns = split_columns(group, list(group.columns), config.bronze, table, known)
            images = {name for name in world.images if number >= world.since}
            lost = (set(world.source) - set(columns.names)) - (set(world.source) - world.shown)
            assert not lost, f"lost: {lost}"
            published = {name for name in images & set(columns.names) if world.images[name].lower() in world.hidden}
            assert not published, f"published: {published}"
            if world.is_clear:
                assert set(columns.names) == set(world.source)
                assert bool(columns.before_image) == bool(images)
    except (BronzeError, ConfigError) as error:
        text = str(error)
        assert not world.is_clear, text
        # By name, with both readings; or by its columns, where files have no names.
        assert any(repr(name) in text for name in (*world.source, *world.images)) or world.form == "headerless", text
        return "refused"
    return "right"


@pytest.mark.parametrize("form", FORMS)
def test_worlds_of_columns_that_look_like_before_images(form: str, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in range(WORLDS):
        world = image_world(SEED + number, form)
        try:
            counts[judged(world, tmp_path)] += 1
        except AssertionError as error:
            raise AssertionError(f"PROPERTY_SEED={SEED + number} PROPERTY_WORLDS=1: {world}: {error}") from error
    # A product that refuses everything would pass otherwise.
    assert counts["right"] > WORLDS / 3, counts
