"""Columns that mapping rules add with what a change has anyway: no part of a key, whatever their names, types and places."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from dms_iceberg.discover.proposal import Entry
from dms_iceberg.init.finding import Found
from dms_iceberg.init.report import report
from unit.init.test_own_columns import look, parquet, sequence, write

WORDS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
LOADED = "2026-03-01 09:00:00"
TIMES = {"text": pa.string(), "instant": pa.timestamp("us", "UTC"), "wall-clock": pa.timestamp("us")}


def at(second: int) -> str:
    return f"2026-03-01 10:00:{second:02d}"


def added(kind: str, op: str, second: int) -> object:
    """The value of a column that a rule adds, in a change of a second; in loaded rows (second 0) as DMS writes it there."""
    time = at(second) if second else LOADED
    if kind == "operation":
        return WORDS[op]
    if kind == "user":
        return f"app{second % 2}" if second else None
    if kind == "constant":
        return "shop"
    return time if kind == "text" else dt.datetime.fromisoformat(time).replace(tzinfo=dt.UTC if kind == "instant" else None)


def folder(path: Path, kinds: list[str], *, op_in_load: bool, stamp: bool, ordered: bool, key: tuple[str, ...] = ("id",)) -> None:
    """A load of three rows, and an update, a delete and an insert; deletes have the key and what rules add."""
    own = {"id": pa.int64(), "line": pa.int64(), "note": pa.string()}
    types: dict[str, pa.DataType] = {"Op": pa.string(), **({"ts": pa.string()} if stamp else {}), **own}
    types |= {f"x_{kind}": TIMES.get(kind, pa.string()) for kind in kinds} | ({"seq": pa.string()} if ordered else {})

    def row(op: str, second: int, number: int, line: int, note: str | None) -> tuple[object, ...]:
        values: dict[str, object] = {"Op": op, "ts": f"{at(second) if second else LOADED}.000000", "id": number, "note": note}
        values["line"] = line if op != "D" or "line" in key else None
        values |= {f"x_{kind}": added(kind, op, second) for kind in kinds}
        values["seq"] = f"{at(second).translate(str.maketrans('', '', '- :'))}00{second:019d}" if second else None
        return tuple(values[name] for name in types)

    loaded = [row("I", 0, 1, 1, "a"), row("I", 0, 2, 1, "b"), row("I", 0, 3, 2, "c")]
    loaded += [row("I", 0, 3, 3, "d")] if "line" in key else []
    changes = [row("U", 11, 1, 1, "a2"), row("D", 12, 2, 1, None), row("I", 13, 4, 1, "e"), row("U", 14, 3, 2, "c2")]
    load_types = types if op_in_load else {name: type_ for name, type_ in types.items() if name != "Op"}
    shown = loaded if op_in_load else [one[1:] for one in loaded]
    write(path, {"LOAD00000001.parquet": parquet(load_types, *shown), "20260301-100100000.parquet": parquet(types, *changes)})


def entry(found: Found) -> Entry:
    (one,) = found.proposals
    assert isinstance(one, Entry), one
    return one


@pytest.mark.parametrize("stamp", [True, False], ids=["stamp", "no-stamp"])
@pytest.mark.parametrize("ordered", [True, False], ids=["sequence", "no-sequence"])
@pytest.mark.parametrize("op_in_load", [True, False], ids=["op", "load-without-op"])
@pytest.mark.parametrize(
    "kinds",
    [["operation"], ["instant"], ["wall-clock"], ["text"], ["user"], ["instant", "operation"], ["text", "user", "operation"]],
    ids="-".join,
)
def test_what_a_rule_adds_is_no_key(kinds: list[str], op_in_load: bool, ordered: bool, stamp: bool, tmp_path: Path) -> None:
    folder(tmp_path, kinds, op_in_load=op_in_load, stamp=stamp, ordered=ordered)
    assert entry(look(tmp_path)).key == ("id",)


@pytest.mark.parametrize("kinds", [["operation"], ["instant", "operation"], ["text", "operation"]], ids="-".join)
def test_of_a_key_of_two_columns_both_stay(kinds: list[str], tmp_path: Path) -> None:
    folder(tmp_path, kinds, op_in_load=True, stamp=True, ordered=True, key=("id", "line"))
    assert entry(look(tmp_path)).key == ("id", "line")


def test_what_is_known_is_said_and_no_type_is_asked_for(tmp_path: Path) -> None:
    folder(tmp_path, ["instant", "operation"], op_in_load=False, stamp=True, ordered=True)
    found = look(tmp_path)
    said = report(found)
    assert "x_operation has the operation of every change once more, as a mapping rule with $AR_H_OPERATION adds it" in said
    assert "x_instant has the time of every change once more, as a mapping rule with $AR_H_TIMESTAMP" in said
    assert "x_instant: timestamp_ntz?" not in said
    assert {"x_instant", "x_operation"} <= set(found.tables[0].columns)  # type: ignore[union-attr]


def test_a_column_of_the_source_with_such_words_is_not_taken_for_the_operation_once_more(tmp_path: Path) -> None:
    """A log of what users did: its words are not those of its changes."""
    types: Mapping[str, pa.DataType] = {"Op": pa.string(), "id": pa.int64(), "did": pa.string(), "seq": pa.string()}
    load = parquet(types, ("I", 1, "INSERT", None), ("I", 2, "INSERT", None))
    changes = parquet(types, ("I", 3, "DELETE", sequence(1)), ("U", 1, "INSERT", sequence(2)), ("D", 2, None, sequence(3)))
    write(tmp_path, {"LOAD00000001.parquet": load, "20260301-100001000.parquet": changes})
    assert "once more" not in report(look(tmp_path))


@pytest.mark.parametrize("seed", range(20))
def test_random_tasks(seed: int, tmp_path: Path) -> None:
    """Whatever rules add, wherever they add it: the key is that of the source, or is doubtful and has it."""
    rng = Random(seed)
    kinds = rng.sample(["operation", "instant", "wall-clock", "user", "constant"], rng.randint(1, 4))
    key = rng.choice([("id",), ("id", "line")])
    op, stamp, ordered = (rng.random() < 0.5 for _ in range(3))
    folder(tmp_path, kinds, op_in_load=op, stamp=stamp, ordered=ordered, key=key)
    found = entry(look(tmp_path)).key
    assert set(key) <= set(found)
    # What is the same in every row of a table harms no key.
    assert set(found) - set(key) <= {"x_constant"}


HEAD = "Op,sensor,measured,v"


@pytest.mark.parametrize(
    ("load", "changes"),
    [
        # Two measurements of one sensor are loaded.
        (["I,1,2026-03-01~08:00:00,a", "I,1,2026-03-01~08:10:00,b"], ["D,1,2026-03-01~08:00:00,"]),
        # The second one is inserted beside the first, which is there.
        (["I,1,2026-03-01~08:00:00,a"], ["I,1,2026-03-01~08:10:00,b", "D,1,2026-03-01~08:20:00,"]),
        # It is the one that is meant.
        (["I,1,2026-03-01~08:00:00,a", "I,2,2026-03-01~08:00:00,b"], ["D,1,2026-03-01~08:00:00,", "U,2,2026-03-01~08:00:00,c"]),
    ],
)
def test_a_time_of_the_key_stays(load: list[str], changes: list[str], tmp_path: Path) -> None:
    write(tmp_path, {"LOAD00000001.csv": " ".join([HEAD, *load]), "20260301-100000000.csv": " ".join([HEAD, *changes])})
    assert entry(look(tmp_path)).key == ("sensor", "measured")


def test_a_number_of_the_key_stays_though_its_row_was_not_sampled(tmp_path: Path) -> None:
    """A key of too few columns loses rows, and one of too many is doubtful at worst."""
    head = "Op,order_id,line_no,v"
    load, changes = f"{head} I,1,1,a I,2,1,b", f"{head} D,1,2, D,2,3,"
    write(tmp_path, {"LOAD00000001.csv": load, "20260301-100000000.csv": changes})
    assert entry(look(tmp_path)).key == ("order_id", "line_no")
