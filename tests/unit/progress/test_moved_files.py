"""Files that somebody moves within their table's folder once they are merged: known again by name and ETag, and said."""

from datetime import UTC, datetime
from random import Random

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.bronze.moved_keys import former_files, without_copies
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES
from dms_iceberg.progress.pending import Pending, pending_files
from dms_iceberg.progress.progress import Progress

PREFIX = "public/t/"
NOW = datetime(2026, 3, 2, tzinfo=UTC)
LOOK_BACK = LookBack(48, NOW)
LOADS = [f"LOAD{number:08X}.parquet" for number in range(1, 4)]
CHANGES = [f"20260301-1000{number:02d}000.parquet" for number in range(1, 5)]
DATED = [f"2026/03/01/{name}" for name in CHANGES]


def file(relative: str, etag: str | None = None) -> BronzeFile:
    found = parse_key(PREFIX, PREFIX + relative, 10, etag or f"etag of {relative.rpartition('/')[2]}", "20260301120000000")
    assert found is not None
    return found


def merged(names: list[str]) -> Progress:
    files = [file(name) for name in names]
    return Progress().after(files, LOOK_BACK, [one for one in files if not one.is_cdc])


def look(progress: Progress, files: list[BronzeFile]) -> Pending:
    return pending_files(sorted(files, key=lambda one: one.key), progress, "public.t", NOW)


@pytest.mark.parametrize("folder", ["processed/", "processed/2026/", "a/b/c/"])
@pytest.mark.parametrize("names", [LOADS + CHANGES, LOADS + DATED, LOADS, CHANGES], ids=["flat", "dated", "loads", "changes"])
def test_moved_files_are_not_read_again_and_said(folder: str, names: list[str]) -> None:
    progress = merged(names)
    moved = [file(folder + name) for name in names]
    later = file("20260301-110000000.parquet")
    found = look(progress, [*moved, later])
    assert found.files == [later]
    (warning,) = found.warnings("public.t")
    assert f"{PREFIX}{folder}" in warning
    assert "and not read again" in warning
    assert "move them back" in warning
    assert progress.lost(moved) is None
    assert all(map(progress.holds, moved))


@pytest.mark.parametrize("names", [LOADS + CHANGES, LOADS + DATED], ids=["flat", "dated"])
def test_copies_beside_them_are_nothing_to_speak_of(names: list[str]) -> None:
    found = look(merged(names), [file(folder + name) for folder in ("", "copies/") for name in names])
    assert (found.files, found.warnings("public.t")) == ([], [])


@pytest.mark.parametrize("names", [LOADS + CHANGES, LOADS + DATED], ids=["flat", "dated"])
def test_of_a_file_and_its_copy_one_is_left(names: list[str]) -> None:
    files, copies = [file(name) for name in names], [file(f"copies/{name}") for name in names]
    assert without_copies([*copies, *files]) == files
    assert without_copies(copies) == copies, "moved, not copied"
    others = [attrs.evolve(one, etag="another") for one in copies]
    assert without_copies([*files, *others]) == [*files, *others]


@pytest.mark.parametrize("names", [LOADS, CHANGES])
def test_another_etag_is_read_and_what_it_may_be_is_said_of_loads(names: list[str]) -> None:
    moved = [file(f"processed/{name}", "another") for name in names]
    found = look(merged(names), moved)
    assert found.files == moved
    said = found.warnings("public.t")
    # A change counts once wherever it lies. Rows of a load have no place in the order of changes.
    assert bool(said) is (names is LOADS)
    assert all("with another ETag. If that was moved, its rows are read a second time" in text for text in said)


def test_of_very_many_loads_moved_ones_are_read_and_said() -> None:
    names = [f"LOAD{number:08X}.parquet" for number in range(1, LOOK_BACK_FILES + 50)]
    progress = merged(names)
    moved = [file(f"processed/{name}") for name in names]
    found = look(progress, moved)
    assert found.files == moved
    assert any("its rows are read a second time" in text for text in found.warnings("public.t"))
    with pytest.raises(BronzeError, match="some of these files were deleted or moved: put them back"):
        look(progress, [*moved[:5], *(file(name) for name in names[5:])])


def test_segments_of_a_load_are_no_moved_files() -> None:
    progress = merged([f"north/{name}" for name in LOADS])
    south = [file(f"south/{name}", f"south {name}") for name in LOADS]
    found = look(progress, [*(file(f"north/{name}") for name in LOADS), *south])
    assert (found.files, found.warnings("public.t")) == (sorted(south), [])


def test_former_places() -> None:
    found = [one.relative for one in former_files(file("a/b/20260301-100001000.parquet"))]
    assert found == ["a/20260301-100001000.parquet", "b/20260301-100001000.parquet", "20260301-100001000.parquet"]
    assert not list(former_files(file(CHANGES[0])))


@pytest.mark.parametrize("seed", range(30))
def test_random_moves(seed: int) -> None:
    """Whatever is merged and moved, only what was never merged is read, and only what is gone from its place is said."""
    rng = Random(seed)
    names = rng.sample(LOADS + CHANGES, rng.randint(1, 7))
    begun = rng.sample(names, rng.randint(0, len(names)))
    progress, there, gone = merged(begun), list[BronzeFile](), set[str]()
    for name in names:
        places = [[""], [rng.choice(("processed/", "x/y/"))], ["", "copies/"]]
        folders = rng.choice(places) if name in begun else [""]
        there += [file(folder + name) for folder in folders]
        gone |= {name} if "" not in folders else set()
    found = look(progress, there)
    assert {one.relative for one in found.files} == set(names) - set(begun)
    assert {one.former.relative for one in found.moved} == gone


def test_a_file_from_before_the_look_back_counts_as_merged_wherever_it_lies() -> None:
    progress = attrs.evolve(merged(CHANGES), since="20260301100003000")
    assert look(progress, [file(f"processed/{name}") for name in CHANGES[:3]]).files == []
