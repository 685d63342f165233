"""Playing the changes of a key, as SQL does it, beside the same in plain Python, over thousands of random runs."""

import random
from collections.abc import Sequence
from typing import Any

import attrs
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from dms_iceberg.merge.crowded import crowding
from support.histories import SEED

KEYS = 4_000
_SCHEMA = (
    f"k int, {crowding.PLACE} string, {crowding.SIDE} int, {crowding.ID} string, {crowding.AT} bigint, {crowding.KIND} string, "
    f"{crowding.USABLE} boolean, _cdc_imaged string, {crowding.VALUES} array<string>, {crowding.IMAGE} array<string>, "
    f"{crowding.OTHER_IMAGE} array<string>, {crowding.LOADED} boolean, {crowding.CONTAINED} boolean, {crowding.NET} bigint, "
    f"{crowding.ERA} int"
)


@attrs.frozen
class Event:
    """One event of a key, in its order."""

    id: str
    at: int
    kind: str
    usable: bool
    imaged: str | None
    values: tuple[str | None, ...]
    image: tuple[str | None, ...] | None
    other: tuple[str | None, ...] | None
    loaded: bool
    contained: bool
    era: int

    def may_be(self, values: Sequence[str | None]) -> bool:
        """Whether the image, in one of its readings, is of a row with ``values``."""
        if self.imaged is None or self.image is None or self.other is None:
            return False
        told = [place for place, bit in enumerate(self.imaged) if bit == "1"]
        return any(all(values[place] == one[place] for place in told) for one in (self.image, self.other))


def invented(rng: random.Random) -> list[Event]:
    """A few events of a key, many of one commit."""
    made, at, era = [], 1, 0
    for number in range(rng.randint(1, 9)):
        if rng.random() < 0.3:
            at += 1
            era += rng.random() < 0.3
        texts = [tuple(rng.choice(("x", "y", None)) for _ in range(2)) for _ in range(3)]
        loaded = number == 0 and rng.random() < 0.5
        kind = "U" if loaded else rng.choice("AAULL")
        imaged = rng.choice((None, "11", "11", "10")) if kind != "A" else None
        made.append(
            Event(f"e{number}", at, kind, rng.random() < 0.85, imaged, texts[0], texts[1], texts[2], loaded, rng.random() < 0.8, era)
        )
    return made


def net(events: Sequence[Event], at: int) -> int:
    """How many rows more the key has, at most, at the end of a commit or of a later one, than before it."""
    ends, rows = dict[int, int](), 0
    for event in events:
        rows += {"A": 1, "L": -1}.get(event.kind, 0) if event.at >= at else 0
        ends[event.at] = rows
    return max((ends[event.at] for event in events if event.at >= at and event.contained), default=0)


def played(events: Sequence[Event]) -> list[tuple[list[str], list[str], list[str]]]:
    """The crowded runs: ids, unclear ones, and what is left."""
    runs: list[tuple[list[str], list[str], list[str]]] = []
    rows: list[tuple[Event, str]] = []
    count, at, crowded, ids, unclear = 0, None, False, list[str](), list[str]()
    for event in [*events, None]:
        if event is None or event.at != at:
            if crowded:
                runs.append((ids, unclear, [shown for _, shown in rows]))
            if event is None:
                break
            rows = rows[-1:] if count else []
            if rows and rows[0][0].era < event.era:
                rows = []
            if rows and rows[0][0].loaded and event.contained and net(events, event.at) > 0:
                rows = []
            count, at, crowded, ids, unclear = len(rows), event.at, False, [], []
        ids.append(event.id)
        if event.kind == "A":
            crowded = crowded or count > 0
            rows.append((event, event.id))
            count += 1
            continue
        meant = rows[-1:] if count < 2 else [row for row in rows if event.may_be(row[0].values)]
        if count > 1 and len(meant) != 1:
            unclear.append(event.id)
            count -= event.kind == "L"
            continue
        rows = [] if count < 2 else [row for row in rows if row is not meant[0]]
        if event.kind == "U":
            rows.append((event, meant[0][1] if meant and not event.usable else event.id))
        count = max(count, 1) if event.kind == "U" else max(count - 1, 0)
    return runs


def test_sql_plays_changes_as_python_does(spark: SparkSession) -> None:
    rng = random.Random(SEED)
    stories = [invented(rng) for _ in range(KEYS)]
    rows: list[tuple[Any, ...]] = [
        (
            key,
            f"{place:03d}",
            1,
            e.id,
            e.at,
            e.kind,
            e.usable,
            e.imaged,
            list(e.values),
            e.image,
            e.other,
            e.loaded,
            e.contained,
            net(story, e.at),
            e.era,
        )
        for key, story in enumerate(stories)
        for place, e in enumerate(story)
    ]
    rng.shuffle(rows)
    found = spark.createDataFrame(rows, _SCHEMA).groupBy("k").agg(expr(crowding.outcome_aggregate()).alias("runs")).collect()
    by_key = {row.k: [(run.ids, run.unclear, run.rest) for run in row.runs] for row in found}
    expected = {key: played(story) for key, story in enumerate(stories)}
    assert {key: (by_key[key], runs) for key, runs in expected.items() if by_key[key] != runs} == {}
    assert sum(len(runs) for runs in expected.values()) > KEYS / 2
