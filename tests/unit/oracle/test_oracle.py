"""The oracle against outcomes worked out by hand, and against a second definition of the same thing."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from support.histories import World, seeded_world, small_worlds
from support.oracle import (
    Cleaning,
    Delete,
    Insert,
    Key,
    Row,
    Statement,
    Transaction,
    Truncate,
    Unfit,
    Update,
    expected_silver,
    source_rows,
)
from support.table_kind import TableKind
from support.table_kinds import ALL_KINDS


def _row(key: object, value: object) -> Row:
    return {"k": key, "v": value}


def _number(row: Row) -> object:
    if row["v"] == "bad":
        raise Unfit("bad")
    return row["v"]


def _key(row: Row) -> object:
    return None if row["k"] == "null" else row["k"]


PLAIN = Cleaning(source_key=("k",), silver_key=("k",), columns={"k": _key, "v": _number})
FILTERED = Cleaning(
    source_key=("k",),
    silver_key=("k",),
    columns={"k": _key, "v": _number},
    filter=lambda row: None if row["v"] is None else row["v"] != "hidden",
)
DROPPING = Cleaning(source_key=("k",), silver_key=("k",), columns={"k": _key, "v": _number}, drop=(lambda row: row["v"] != "hidden",))


def _insert(key: object, value: object = "a") -> Insert:
    return Insert("t", _row(key, value))


def _update(old: object, new: object, value: object) -> Update:
    return Update("t", (old,), _row(new, value))


def _delete(key: object) -> Delete:
    return Delete("t", (key,), _row(key, None))


def _silver(cleaning: Cleaning, *statements: Statement, load_at: int = 0, changes_from: int = 0) -> dict[object, object]:
    transactions = [Transaction(number, (statement,)) for number, statement in enumerate(statements)]
    rows = expected_silver("t", transactions, cleaning, load_at, changes_from)
    return {row["k"]: row["v"] for row in rows.values()}


@pytest.mark.parametrize(
    ("statements", "silver"),
    [
        pytest.param([_insert(1, "5"), _update(1, 1, "7"), _update(1, 1, "9")], {1: "9"}, id="the last update wins"),
        pytest.param(
            [_insert(1, "a"), _insert(2, "b"), _update(1, 0, "a"), _update(2, 1, "b"), _update(0, 2, "a")],
            {1: "b", 2: "a"},
            id="two keys swapped by way of a free one",
        ),
        pytest.param([_insert(1), _update(1, 1, "b"), _delete(1)], {}, id="a delete ends all updates"),
        pytest.param([_insert(1), _delete(1), _insert(1, "b")], {1: "b"}, id="re-insert"),
        pytest.param([_insert(1, "a"), _insert(2), _delete(2), _update(1, 2, "a")], {2: "a"}, id="onto a deleted key"),
        pytest.param([_insert(1), _update(1, 1, "bad")], {1: "a"}, id="the last good version stays"),
        pytest.param([_insert(1), _update(1, 2, "bad")], {}, id="a bad new row still ends the old key"),
        pytest.param([_insert(1), _update(1, "null", "b")], {}, id="a NULL key ends the old one"),
        pytest.param([_insert("null"), _update("null", 1, "b")], {1: "b"}, id="from no key to a key"),
        pytest.param([_insert(1, "bad"), _delete(1)], {}, id="deleting what was never good"),
        pytest.param([_insert("null"), _delete("null")], {}, id="deleting what had no key"),
        pytest.param([_insert(1), _insert(2), Truncate("t"), _insert(2, "b")], {2: "b"}, id="a truncate ends all rows before it"),
    ],
)
def test_mirror(statements: Sequence[Statement], silver: dict[object, object]) -> None:
    assert _silver(PLAIN, *statements) == silver


@pytest.mark.parametrize("cleaning", [FILTERED, DROPPING], ids=["filter", "drop rule"])
@pytest.mark.parametrize(
    ("statements", "silver"),
    [
        pytest.param([_insert(1, "hidden"), _update(1, 1, "a")], {1: "a"}, id="enters"),
        pytest.param([_insert(1), _update(1, 1, "hidden")], {}, id="leaves"),
        pytest.param([_insert(1), _update(1, 1, "hidden"), _update(1, 1, "b")], {1: "b"}, id="leaves and comes back"),
        pytest.param([_insert(1), _update(1, 2, "hidden")], {}, id="moves out"),
        pytest.param([_insert(1), _delete(1)], {}, id="a delete is not judged by its empty columns"),
    ],
)
def test_rows_outside(cleaning: Cleaning, statements: Sequence[Statement], silver: dict[object, object]) -> None:
    assert _silver(cleaning, *statements) == silver


def test_null_does_not_pass_a_filter_but_passes_a_rule() -> None:
    null_passes = Cleaning(source_key=("k",), silver_key=("k",), columns={"k": _key, "v": _number}, quarantine=(lambda row: None,))
    assert _silver(FILTERED, _insert(1, None)) == {}
    assert _silver(null_passes, _insert(1, None)) == {1: None}


def test_a_load_that_overlaps_its_changes_makes_no_difference_to_good_rows() -> None:
    story: list[Statement] = [_insert(1, "a"), _update(1, 2, "b"), _insert(1, "c"), _update(2, 2, "d")]
    for load_at in range(5):
        for changes_from in range(load_at + 1):
            assert _silver(PLAIN, *story, load_at=load_at, changes_from=changes_from) == {1: "c", 2: "d"}


def test_a_good_version_from_before_the_load_is_unknown() -> None:
    story: list[Statement] = [_insert(1, "a"), _update(1, 1, "bad")]
    assert _silver(PLAIN, *story, load_at=2, changes_from=2) == {}
    assert _silver(PLAIN, *story, load_at=1, changes_from=1) == {1: "a"}


def test_a_gap_between_load_and_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="gap"):
        _silver(PLAIN, _insert(1), _delete(1), load_at=0, changes_from=1)


@pytest.mark.parametrize("statement", [_insert(1), _delete(2), _update(2, 3, "a")])
def test_what_a_source_would_refuse_is_refused(statement: Statement) -> None:
    with pytest.raises(ValueError, match=r"exists already|no row"):
        source_rows("t", [Transaction(0, (_insert(1), statement))], PLAIN)


def _cleaned(kind: TableKind, rows: dict[Key, Row]) -> dict[Key, Row]:
    """The promise as one sentence: the source rows WHERE filter, cleaned."""
    cleaning = kind.cleaning
    made: dict[Key, Row] = {}
    for row in rows.values():
        key, silver = cleaning.silver_key_of(cleaning.key_of(row)), cleaning.silver_row(row)
        dropped = any(rule(row) is False for rule in cleaning.drop)
        if key is not None and silver is not None and cleaning.is_accepted(row) and not dropped:
            made[key] = silver
    return made


@settings(max_examples=300, derandomize=True)
@given(small_worlds([kind for kind in ALL_KINDS if not (kind.cleaning.quarantine or kind.deferred) and kind.name != "order_lines"]))
def test_without_bad_rows_silver_is_the_source_cleaned(world: World) -> None:
    kind = world.kinds[0]
    rows = source_rows(kind.name, world.transactions, kind.cleaning)
    assert world.expected(kind) == _cleaned(kind, rows)


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.name)
def test_no_two_source_keys_share_a_silver_key(kind: TableKind) -> None:
    keys = [kind.key(history, index) for history in range(8) for index in range(6)]
    silver = [key for key in map(kind.cleaning.silver_key_of, keys) if key is not None]
    assert len(set(keys)) == len(keys)
    assert len(set(silver)) == len(silver)


def test_worlds_are_the_same_for_the_same_seed() -> None:
    one, two = seeded_world(7, histories=2, per_table=10), seeded_world(7, histories=2, per_table=10)
    assert one == two
