"""Random commits in which several rows have a key at once, cut anywhere between two batches: the rows are those of the source.

``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import json
import os
from collections import Counter
from collections.abc import Collection
from random import Random
from typing import Any

import pytest

from dms_iceberg.config.model import Config
from support.histories import NUMBERS, SEED
from support.lake import Lake
from support.shifted import COLUMNS, Change, happens_again, random_commit, rows, write

LOADED = [(1, "a"), (2, "b"), (3, "c")]
_TABLES = {"mirror": 4, "soft_delete": 2, "history": 2}
_LOADED_AT = 1_772_355_600
"""2026-03-01 09:00, before every change."""
_LATE: Change = ("I", (77, "late"), None)
_LATE_AT = "2026030110003000"
"""Before the commit that is cut, of a key that it does not have."""


def merged(
    lake: Lake, config: Config, stories: dict[str, list[Change]], cuts: dict[str, int], *, images: bool, late: Collection[str] = ()
) -> None:
    """Load the tables, and merge what comes before the cut of each story, then the rest, for ``late`` ones with a late change."""
    # See docs/limits.md.
    streams = {name: images and happens_again(story) for name, story in stories.items()}
    for name, story in stories.items():
        os.utime(lake.load(f"public.{name}", COLUMNS, LOADED), (_LOADED_AT, _LOADED_AT))
        write(lake, f"public.{name}", 1, story[: cuts[name]], images=images, stream=streams[name])
    assert lake.run(config).errors == {}
    for name, story in stories.items():
        if story[cuts[name] :]:
            write(lake, f"public.{name}", 2, story[cuts[name] :], first=61 + 4 * cuts[name], images=images, stream=streams[name])
        if name in late:
            write(lake, f"public.{name}", 3, [_LATE], at=_LATE_AT, images=images, stream=streams[name])
    assert lake.run(config).errors == {}


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_rows_are_those_of_the_source_wherever_the_commit_is_cut(lake: Lake, number: int) -> None:
    stories, cuts, modes = dict[str, list[Change]](), dict[str, int](), dict[str, str]()
    expected = dict[str, list[tuple[int, Any]]]()
    for mode, count in _TABLES.items():
        for place in range(count):
            name, random = f"{mode}_{place}", Random(f"{SEED}:{number}:{mode}:{place}")
            stories[name], expected[name] = random_commit(LOADED, random)
            cuts[name], modes[name] = random.randint(1, len(stories[name])), mode
    late = {name for name in stories if Random(f"{SEED}:{number}:{name}:late").random() < 0.5}
    for name in late:
        expected[name] = sorted([*expected[name], _LATE[1]])
    config = lake.config({f"public.{name}": {"mode": mode} for name, mode in modes.items()})
    merged(lake, config, stories, cuts, images=True, late=late)
    wrong = [
        f"{name} (cut {cuts[name]}{', late' if name in late else ''}): {found} instead of {expected[name]}, "
        f"{lake.open_quarantine(config, name)} in quarantine: {story}"
        for name, story in stories.items()
        if (found := rows(lake, name, modes[name])) != expected[name] or lake.open_quarantine(config, name)
    ]
    assert not wrong, f"seed {SEED}, world {number}\n" + "\n".join(wrong)


@pytest.mark.release
@pytest.mark.parametrize("number", NUMBERS)
def test_images_of_keys_alone_give_the_same_rows_wherever_the_commit_is_cut(lake: Lake, number: int) -> None:
    stories = {f"t{place}": random_commit(LOADED, Random(f"{SEED}:{number}:{place}"), 4)[0] for place in range(4)}
    twins = {f"{name}_cut": story for name, story in stories.items()}
    cuts = {name: len(story) for name, story in stories.items()}
    cuts |= {name: Random(name).randint(1, len(story)) for name, story in twins.items()}
    config = lake.config({f"public.{name}": {} for name in (*stories, *twins)})
    merged(lake, config, stories | twins, cuts, images=False)

    def waiting(name: str) -> Counter[str]:
        return Counter(json.loads(key)["id"] for (key,) in lake.open_quarantine(config, name, "key"))

    wrong = []
    for name, story in stories.items():
        whole, cut = (rows(lake, each, "mirror") for each in (name, f"{name}_cut"))
        told, told_of_cut = waiting(name), waiting(f"{name}_cut")
        surplus = told - told_of_cut - merged_before(story, cuts[f"{name}_cut"])
        if whole != cut or surplus or told_of_cut - told or bool(told) != bool(told_of_cut):
            wrong.append(f"{name}: {whole} with {told} and {cut} with {told_of_cut}: {story}")
    assert not wrong, f"seed {SEED}, world {number}\n" + "\n".join(wrong)


def merged_before(story: list[Change], cut: int) -> Counter[Any]:
    """Count by key the updates in place before a cut: merged, and undone by what comes behind it (see docs/limits.md)."""
    return Counter(row[0] for op, row, before in story[:cut] if op == "U" and before is not None and before[0] == row[0])
