"""A file without a header whose number of columns fits two readings is read as what it is, or refused with both and what decides."""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import BronzeError
from dms_iceberg.silver.check_configuration import configuration_text
from support.text_files import cdc_name
from unit.bronze.stored_file import LOAD, stored

SEED = int(os.environ.get("PROPERTY_SEED", "20260301"))
WORLDS = int(os.environ.get("PROPERTY_WORLDS", "300"))
T = "2026-03-01 10:29:00.000000"
SEQUENCES = [f"202603011029{number:04d}{number:019d}" for number in range(60)]
STREAM, IMAGE = "dms_stream_position", "BI_id"


def config_of(folder: Path, change: dict[str, Any], source: tuple[str, ...], **entry: Any) -> Config:
    return parse_config(
        {
            "version": 1,
            "pipeline": "p",
            "bronze": {"uri": str(folder), "format": "csv", "csv": {"header": False}, "change": change},
            "catalog": {"type": "hadoop", "warehouse": str(folder)},
            "tables": {"public.t": {"target": "s.t", "key": ["id"], "source_columns": list(source), **entry}},
        }
    )


def names_of(folder: Path, config: Config, *files: list[str], load: bool = False) -> list[tuple[str, ...]]:
    """Return the names of the columns of each change file."""
    found = list[BronzeFile]()
    for number, lines in enumerate(files):
        name = LOAD if load and number == 0 else cdc_name(number, "csv")
        store, file = stored(folder, "".join(f"{line}\n" for line in lines).encode(), name)
        found.append(attrs.evolve(file, is_cdc=name != LOAD))
    (table,) = config.tables.values()
    by_file = {file.key: group.names for group in inspect(store, found, config.bronze, table) for file in group.files}
    return [by_file[file.key] for file in found]


BIGINT = {"columns": [{"name": "id", "type": "bigint"}]}
U, N, D = (f"{op},{T}" for op in "UID")
S = SEQUENCES
LSN, LOG = "0/16B3748", "mysql-bin.000024:373"
PAIR, TRIPLE = ("id", "n"), ("id", "n", "m")
NO_STREAM: dict[str, Any] = {"stream_position_column": None}
SAID: dict[str, Any] = {"stream_position_column": STREAM}
OPTIONAL: dict[str, Any] = {"before_image": "optional"}
NO_IMAGES: dict[str, Any] = {"before_image_prefix": None}
TO_NULL = "bronze.change.stream_position_column to null"
SAY = f"declare bronze.change.stream_position_column '{STREAM}'"


@pytest.mark.parametrize(
    ("change", "source", "lines", "says"),
    [
        pytest.param({}, PAIR, [f"{U},1,7,{S[0]},1,5"], [TO_NULL, SAY, "later ones"], id="images of all, no stream position"),
        pytest.param({}, PAIR, [f"{U},1,7,{S[0]},1,5", f"{N},6,60,{S[1]},,"], [TO_NULL], id="the same with an insert"),
        pytest.param({}, PAIR, [f"{U},1,7,{S[0]},1,5", f"{D},6,60,{S[1]},6,60"], [TO_NULL, "restore the file"], id="with a delete"),
        pytest.param({}, PAIR, [f"{U},5,5,{S[0]},1,5"], [TO_NULL, SAY], id="the key becomes the other column"),
        pytest.param({}, PAIR, [f"{U},5,6,{S[0]},5,5"], [TO_NULL, SAY], id="the key is the other column"),
        pytest.param(SAID, PAIR, [f"{U},1,7,{S[0]},1,5"], [TO_NULL, "later ones"], id="a word that the fields contradict"),
        pytest.param({}, TRIPLE, [f"{U},1,7,0,{S[0]},1,5"], [TO_NULL], id="images of all but one"),
        pytest.param({}, ("n", "id"), [f"{U},7,1,{S[0]},5,2"], [TO_NULL, SAY], id="the key is the last column"),
        pytest.param(OPTIONAL, PAIR, [f"{U},9,a,{S[0]},1", f"{U},2,b,{S[1]},2"], [TO_NULL, SAY], id="image, no stream position"),
        pytest.param(OPTIONAL, PAIR, [f"{U},9,a,{S[0]},1"], [TO_NULL, SAY], id="the same in a key change alone"),
        pytest.param(OPTIONAL, TRIPLE, [f"{N},5,e,,{S[0]},", f"{U},9,a,,{S[1]},1"], [TO_NULL], id="the same with an insert"),
        pytest.param(OPTIONAL, PAIR, [f"{U},2024/18,a,{S[0]},2024/00017"], [TO_NULL, SAY], id="keys like positions"),
        pytest.param(NO_IMAGES, PAIR, [f"{U},2,b,{S[0]},2"], [TO_NULL, "that of the mapping rule"], id="images that are denied"),
        pytest.param(NO_STREAM, PAIR, [f"{N},2,b,{S[0]},{LSN}"], ["BI_id of public.t cannot be"], id="a stream position that is denied"),
        pytest.param(NO_STREAM, PAIR, [f"{U},2,b,{S[0]},{LSN}"], ["stream_position_column to its name"], id="the same in an update"),
        pytest.param(NO_STREAM, PAIR, [f"{U},2,b,{S[0]},371,2"], ["stream_position_column to its name"], id="position, image"),
        pytest.param(
            {"sequence_column": None, "stream_position_column": None},
            PAIR,
            [f"{U},2,b,{S[0]}"],
            ["sequence_column to its name"],
            id="sequence",
        ),
    ],
)
def test_what_may_be_two_things_is_refused_with_both(
    change: dict[str, Any], source: tuple[str, ...], lines: list[str], says: list[str], tmp_path: Path
) -> None:
    with pytest.raises(BronzeError) as caught:
        names_of(tmp_path, config_of(tmp_path, change, source), lines)
    assert not [part for part in says if part not in str(caught.value)], str(caught.value)


DEFAULT = ["dms_change_seq", STREAM, IMAGE]


@pytest.mark.parametrize(
    ("change", "entry", "lines", "after"),
    [
        pytest.param({}, {}, [f"{U},1,7,{S[0]},{LSN},1"], DEFAULT, id="PostgreSQL"),
        pytest.param({}, {}, [f"{U},1,7,{S[0]},{LOG},3"], DEFAULT, id="MySQL"),
        pytest.param({}, {}, [f"{U},1,7,{S[0]},00000a3c:00000e10:0003,1"], DEFAULT, id="SQL Server"),
        pytest.param({}, {}, [f"{U},1,7,{S[0]},371,1", f"{N},4,1,{S[1]},372,"], DEFAULT, id="SCN with an insert"),
        pytest.param({}, {}, [f"{D},4,1,{S[1]},372,"], DEFAULT, id="SCN with a delete"),
        pytest.param(SAID, {}, [f"{U},1,7,{S[0]},371,1"], DEFAULT, id="SCN and a word"),
        pytest.param({}, BIGINT, [f"{U},1,7,{S[0]},checkpoint:V1#27#x:1#*#0,1"], DEFAULT, id="by the type"),
        pytest.param(NO_STREAM, {}, [f"{U},1,7,{S[0]},1,5"], ["dms_change_seq", IMAGE, "BI_n"], id="images of all, and a word"),
        pytest.param(NO_STREAM, {}, [f"{U},9,7,{S[0]},1"], ["dms_change_seq", IMAGE], id="a key change, and a word"),
        pytest.param(OPTIONAL, {}, [f"{U},1,7,{S[0]},{LSN}"], DEFAULT[:2], id="no images"),
        pytest.param(OPTIONAL, {}, [f"{N},1,7,{S[0]},371"], DEFAULT[:2], id="no images, SCN with an insert"),
        pytest.param(OPTIONAL | NO_STREAM, {}, [f"{U},9,7,{S[0]},1"], ["dms_change_seq", IMAGE], id="optional images, and a word"),
    ],
)
def test_fields_or_a_word_decide(change: dict[str, Any], entry: dict[str, Any], lines: list[str], after: list[str], tmp_path: Path) -> None:
    (names,) = names_of(tmp_path, config_of(tmp_path, change, PAIR, **entry), lines)
    assert names[4:] == tuple(after)


def test_other_files_decide(tmp_path: Path) -> None:
    config = config_of(tmp_path, {}, PAIR)
    open_, told = [f"{U},1,7,{S[0]},371,1"], [f"{N},2,7,{S[1]},372,"]
    with pytest.raises(BronzeError, match="its rows fit both alike"):
        names_of(tmp_path, config, open_)
    assert len(names_of(tmp_path, config, open_, told)) == 2
    # An update that gives the key what another column had looks like images of all columns with a stream position, until others show it.
    word = config_of(tmp_path, NO_STREAM, PAIR)
    like = [f"{U},5,5,{S[0]},1,5"]
    with pytest.raises(BronzeError, match="for the latter speak 1 of its first 1 rows"):
        names_of(tmp_path, word, like)
    assert len(names_of(tmp_path, word, like, [f"{N},2,7,{S[1]},,", f"{U},2,8,{S[2]},2,7"])) == 2
    # What a row of its own decides, no other file does.
    with pytest.raises(BronzeError, match="restore the file"):
        names_of(tmp_path, config, [f"{U},1,7,{S[0]},1,5", f"{N},6,60,{S[1]},,"], [told[0]] * 9)


@pytest.mark.parametrize(
    ("source", "key", "files", "says"),
    [
        pytest.param(("pk", "id", "v"), ["id"], [[f"{U},1,5,a,{S[0]},1"]], "the value of 'pk' there", id="an update"),
        pytest.param(("id", "v", "pk"), ["id"], [[f"{U},5,a,1,{S[0]},1"]], "the value of 'pk' there", id="another place"),
        pytest.param(("pk", "id", "v"), ["id"], [[f"{D},1,,,{S[0]},1"]], "the value of 'pk' there", id="a delete"),
        pytest.param(("pk", "id"), ["id"], [[f"{U},1,1,{S[0]},1"], [f"{U},2,1,{S[1]},2"]], "but 1 of the first", id="one row tells"),
        pytest.param(("a", "b", "c"), ["a", "b"], [[f"{U},1,5,7,{S[0]},1,7"]], "the value of 'c' there", id="one of two columns"),
        pytest.param(
            ("pk", "id", "v"), ["id"], [[f"{U},{n},5,a,{S[n]},{n}" for n in (1, 2, 5)] + [f"{U},8,6,a,{S[8]},4"]], "but 2", id="most rows"
        ),
    ],
)
def test_images_of_another_column_than_the_key_are_refused(
    source: tuple[str, ...], key: list[str], files: list[list[str]], says: str, tmp_path: Path
) -> None:
    """By pk-only DMS writes the images of the primary key. As old keys they would delete the rows that have these keys."""
    with pytest.raises(BronzeError) as caught:
        names_of(tmp_path, config_of(tmp_path, NO_STREAM, source, key=key), *files)
    assert says in str(caught.value) and f"column {key[-1]!r}" in str(caught.value), str(caught.value)


def test_a_key_that_moves_is_not_taken_for_another_column(tmp_path: Path) -> None:
    config = config_of(tmp_path, NO_STREAM, ("pk", "id", "v"))
    moves, stays = f"{U},1,5,a,{S[0]},1", f"{U},1,5,b,{S[1]},5"
    for files in ([[f"{U},2,5,a,{S[0]},1"]], [[moves, stays]], [[moves], [stays]], [[f"{U},5,5,a,{S[0]},5"]], [[f"{N},1,5,a,{S[0]},"]]):
        assert {names[5:] for names in names_of(tmp_path, config, *files)} == {("dms_change_seq", "BI_id")}
    with pytest.raises(BronzeError, match="merge the file together with later ones"):
        names_of(tmp_path, config, [moves])
    # Of a task that writes images of moved keys alone.
    assert len(names_of(tmp_path, config, [moves, f"{U},2,6,a,{S[1]},"])) == 1


def test_a_file_whose_rows_say_nothing_is_read(tmp_path: Path) -> None:
    assert names_of(tmp_path, config_of(tmp_path, {}, PAIR), [f"I,{T},1,5,,,"], load=True) == [("Op", "dms_commit_ts", *PAIR, *DEFAULT)]
    # One odd row among many decides nothing.
    odd = [*(f"{U},1,7,{number},{LSN},1" for number in S[1:]), f"{N},4,1,{S[0]},,"]
    assert names_of(tmp_path, config_of(tmp_path, {}, PAIR), odd) == [("Op", "dms_commit_ts", *PAIR, *DEFAULT)]


def test_who_says_a_setting_changes_no_content(tmp_path: Path) -> None:
    said, default = (config_of(tmp_path, change, PAIR) for change in (SAID, {}))
    texts = {configuration_text(one, table) for one in (said, default) for table in one.tables.values()}
    assert len(texts) == 1 and said == default and "assumed" not in texts.pop()


@attrs.frozen
class World:
    """What a task writes beside a table's columns, and what its document says of it: the truth, or nothing.

    Attributes:
        change: what the document says.
        lines: those of the load, and of two change files.
        names: all columns, by the names that the document has for them.
        is_clear: the document says everything, and inserts decide.
    """

    source: tuple[str, ...]
    names: tuple[str, ...]
    change: dict[str, Any]
    is_typed: bool
    lines: tuple[list[str], ...]
    is_clear: bool


def a_world(rng: random.Random) -> World:
    source = ["id", "a", "b", "c"][: rng.randint(2, 4)]
    source = tuple(rng.sample(source, len(source)))
    has_time, has_sequence, has_stream = (rng.random() < chance for chance in (0.8, 0.8, 0.5))
    form = rng.choice(["{}", "{}", "0/16B37{}8"])
    others = [name for name in source if name != "id"]
    imaged = rng.choice([set(), {"id"}, set(source), {"id", *rng.sample(others, rng.randint(0, len(others)))}])
    written: dict[str, Any] = {
        "timestamp_column": "dms_commit_ts" if has_time else None,
        "sequence_column": "dms_change_seq" if has_sequence else None,
        "stream_position_column": STREAM if has_stream else None,
        "before_image_prefix": "BI_" if imaged else None,
    }
    change = {name: value for name, value in written.items() if rng.random() < 0.5}
    if rng.random() < 0.4 and has_sequence and change.get("before_image_prefix", "BI_"):
        change["before_image"] = "optional"
    images = [name for name in source if name in imaged]
    names = ("Op", *(["dms_commit_ts"] if has_time else []), *source, *(["dms_change_seq"] if has_sequence else []))
    names += (*([STREAM] if has_stream else []), *(f"BI_{name}" for name in images))

    def line(op: str, number: int, new: dict[str, Any], old: dict[str, Any]) -> str:
        cells = [op, *([T] if has_time else []), *(new[name] for name in source)]
        cells += [SEQUENCES[number] if number else ""] if has_sequence else []
        cells += [form.format(number + 10) if number else ""] if has_stream else []
        return ",".join(map(str, [*cells, *(old.get(name, "") for name in images)]))

    def row() -> dict[str, Any]:
        return {name: rng.randint(1, 30) for name in source}

    def changes(begin: int) -> list[str]:
        found, words = list[str](), rng.choice(["U", "U", "UI", "UID"])
        for number in range(begin, begin + rng.randint(1, 5)):
            op, old = rng.choice(words), row()
            moved = row() if rng.random() < 0.3 else row() | {"id": old["id"]}
            # As many a statement does: the key becomes what another column was.
            moved = moved | {"id": old[others[0]]} if rng.random() < 0.1 else moved
            found.append(line(op, number, *{"I": (old, {}), "D": (old, old), "U": (moved, old)}[op]))
        return found

    lines = [line("I", 0, row(), {}) for _ in range(3)], changes(1), changes(20)
    all_said = all(name in change for name in written)
    told = all(any(text.startswith("I") for text in one) for one in lines[1:])
    is_clear = all_said and told and has_sequence and imaged in (set(), {"id"}, set(source))
    return World(source, names, change, rng.random() < 0.5, lines, is_clear)


def test_random_tasks_and_documents(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEED, SEED + WORLDS):
        world = a_world(random.Random(seed))
        types = {"columns": [{"name": name, "type": "bigint"} for name in world.source]} if world.is_typed else {}
        config = config_of(tmp_path, world.change, world.source, **types)
        try:
            found = names_of(tmp_path, config, *world.lines, load=True)
        except BronzeError as error:
            assert not world.is_clear, (seed, world, str(error))
            counts["refused: two readings" if "two things" in str(error) else "refused"] += 1
            continue
        counts["read"] += 1
        for names, lines in zip(found, world.lines, strict=True):
            cells = zip(*(line.split(",") for line in lines), strict=True)
            wrong = [name for name, there, values in zip(names, world.names, cells, strict=True) if any(values) and name != there]
            assert not wrong, (seed, world, names)
    assert counts["read"] > WORLDS / 10 and counts["refused: two readings"] > WORLDS / 50, counts
