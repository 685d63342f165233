"""The design's claim about order, on thousands of histories and without Spark: position alone brings silver right."""

import os
from random import Random

import attrs
import pytest
from hypothesis import given, settings

from dms_emulator.files import Change
from support.histories import World, make_world, small_worlds
from support.position_rule import PositionTable, commit_time, merge_kept, plain_sequence
from support.table_kind import TableKind
from support.table_kinds import ALL_KINDS, PLAIN
from support.task_files import BronzeFile, BronzeRow, is_complete

HISTORIES_PER_KIND = int(os.environ.get("ORDER_HISTORIES", "400"))
FIRST_SEED = int(os.environ.get("ORDER_SEED", "20260301"))


def _rows(world: World) -> list[tuple[BronzeFile, BronzeRow]]:
    return [(file, row) for file in world.files for row in file.rows]


def _in_order_of_arrival(world: World) -> list[tuple[BronzeFile, BronzeRow]]:
    order = sorted(range(len(world.files)), key=lambda place: world.arrivals[place])
    return [(world.files[place], row) for place in order for row in world.files[place].rows]


def _check(world: World, rng: Random) -> None:
    kind = world.kinds[0]
    assert is_complete(file for file in world.files if not file.is_load), world.story()
    shuffled = _rows(world)
    rng.shuffle(shuffled)
    for rows in (_in_order_of_arrival(world), shuffled):
        if kind.kept:
            found = merge_kept(kind, rows)
        else:
            table = PositionTable(kind)
            table.merge(rows)
            found = table.rows
        assert found == world.expected(kind), f"seed {world.seed}\n{world.story()}"


def _worlds(kind: TableKind, count: int) -> list[World]:
    worlds = []
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        rng = Random(seed)
        worlds.append(make_world(rng, [kind], histories=1, transactions=rng.randint(2, 12), keys=rng.choice((2, 3, 4)), seed=seed))
    return worlds


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.name)
def test_merging_by_position_gives_the_oracles_table(kind: TableKind) -> None:
    for world in _worlds(kind, HISTORIES_PER_KIND):
        _check(world, Random(world.seed))


@settings(max_examples=200, derandomize=True)
@given(small_worlds())
def test_merging_by_position_gives_the_oracles_table_for_small_histories(world: World) -> None:
    _check(world, Random(1))


@pytest.mark.parametrize("naive", [plain_sequence, commit_time])
def test_simpler_orders_fail_on_these_histories(naive: object) -> None:
    """The histories are dense enough to tell: whoever leaves out a part of the position is caught."""
    wrong = 0
    for world in _worlds(PLAIN, 400):
        table = PositionTable(PLAIN, position_of=naive)  # type: ignore[arg-type]
        table.merge(_rows(world))
        wrong += table.rows != world.expected(PLAIN)
    assert wrong > 20


def test_histories_have_every_ugliness() -> None:
    """What the generator promises to draw is drawn, and often enough to matter."""
    worlds = _worlds(PLAIN, 300)
    twice = late = moved = split = overlap = hours = twins = again = 0
    for world in worlds:
        changes = [row for file in world.files for row in file.rows if row.number >= 0]
        twice += len(changes) > len({row.number for row in changes})
        late += any(one > two for one, two in zip(world.arrivals, world.arrivals[1:], strict=False))
        moved += any(row.change.op == "U" and row.change.before not in (None, row.change.values[:1]) for row in changes)
        split += len(world.files) > 3
        overlap += any(plan.changes_from < plan.load_at for plan in world.plans.values())
        closed = [file.order for file in world.files if not file.is_load]
        hours += bool(closed) and max(closed) - min(closed) > 3_600_000
        twins += len(set(closed)) < len(closed)
        again += bool(world.uploads)
    found = (twice, late, moved, split, overlap, hours, twins, again)
    assert min(found) > 40, found


def test_a_file_copied_alone_inside_a_tick_is_outside_the_promise() -> None:
    """Why copies must run to their end: a tick's older file under a later name hides the tick's newer file."""
    first, second = (
        BronzeFile(
            "plain",
            False,
            order,
            (BronzeRow(number, 0, Change(op, 1_000, (1, name, 1, None, None, None), f"{'2' * 16}{counter:019d}")),),
        )
        for number, (order, op, name, counter) in enumerate(((10, "I", "old", 61), (11, "U", "new", 73)))
    )
    copy = attrs.evolve(first, order=12)
    table = PositionTable(PLAIN)
    table.merge((file, row) for file in (first, second, copy) for row in file.rows)
    assert [row["name"] for row in table.rows.values()] == ["old"]
    assert not is_complete([first, second, copy])
    assert is_complete([first, second, copy, attrs.evolve(second, order=13)])
