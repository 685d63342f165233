"""A repair never removes a row that the source holds, whatever the source calls equal; and repairs a key change whole, or not at all."""

import random
from collections.abc import Iterable

import pytest

from dms_iceberg.verify.fingerprint import SourceState
from dms_iceberg.verify.whole_repair import FilePlan, Found, Key, Wanted, half_doubt, in_order, plan_file, warnings

ONE: SourceState = (1, 7)
Row = dict[str, int]


def plan(
    wanted: dict[str, Wanted], now: Iterable[str] = (), equal: dict[str, set[str]] | None = None, silver: Iterable[str] = ()
) -> FilePlan:
    keys = {(key,): one for key, one in wanted.items()}
    forms = {(key,): {(other,) for other in others} for key, others in (equal or {}).items()}
    return plan_file(in_order(keys), keys, Found({(key,): ONE for key in now}, forms, {(key,) for key in silver}), [])


SURPLUS, MISSING, DIFFERENT = Wanted("surplus", None), Wanted("missing", ONE), Wanted("different", ONE)


def test_a_key_change_is_written_whole() -> None:
    found = plan({"2": SURPLUS, "22": MISSING}, now=["22"])
    assert (found.written, found.halves) == ((("22",), ("2",)), ())


def test_a_key_is_not_deleted_where_another_that_silver_lacks_is_left_out() -> None:
    found = plan({"2": SURPLUS, "22": MISSING, "3": DIFFERENT}, now=["3"])
    assert (found.written, found.changed, found.halves) == ((("3",),), (("22",),), (("2",),))
    later = plan_file([("2",)], {("2",): SURPLUS, ("22",): MISSING, ("3",): DIFFERENT}, Found({}), [found])
    assert (later.written, later.halves) == ((), (("2",),))


@pytest.mark.parametrize(
    ("silver", "wanted", "written", "says"),
    [
        # Neither side has the other form: the row would be lost.
        ([], {"XX ": SURPLUS}, [], "it has in another form that silver lacks ('XX ' in silver, 'XX' at the source)"),
        (["XX"], {"XX ": SURPLUS}, ["XX "], "silver has it in the source's form from now on ('XX ' in silver, 'XX' at the source)"),
        ([], {"XX ": SURPLUS, "XX": MISSING}, ["XX", "XX "], "silver has it in the source's form from now on"),
    ],
)
def test_a_key_that_the_source_has_in_another_form_is_deleted_only_where_silver_has_that_form(
    silver: list[str], wanted: dict[str, Wanted], written: list[str], says: str
) -> None:
    found = plan(wanted, now=["XX"], equal={"XX ": {"XX"}}, silver=silver)
    assert list(found.written) == [(key,) for key in written]
    (warning,) = warnings([found], 20)
    assert says in warning


def test_forms_are_named_up_to_a_number() -> None:
    held = {(f"A{n}", "x"): {(f"a{n}", "x")} for n in range(3)}
    (warning,) = warnings([FilePlan((), (), (), held, {})], 2)
    assert "('A0', 'x') in silver, ('a0', 'x') at the source; ('A1', 'x') in silver, ('a1', 'x') at the source; ..." in warning


@pytest.mark.parametrize(("surplus", "lacking", "doubts"), [(1, 1, 1), (3, 0, 0), (0, 3, 0), (0, 0, 0)])
def test_deletes_beside_rows_that_are_left_out_are_refused(surplus: int, lacking: int, doubts: int) -> None:
    found = half_doubt(surplus, lacking)
    assert len(found) == doubts
    assert all("--insert-missing" in text and "delete 1 rows and leave out 1" in text for text in found)


def folded(key: str) -> str:
    """A collation that takes case and padding for nothing."""
    return key.lower().rstrip()


@pytest.mark.parametrize("seed", range(400))
def test_after_a_repair_silver_has_every_row_of_the_source_that_it_had_under_an_equal_key(seed: int) -> None:
    """Random tables of both sides, and a writer between the look and the write: rows are numbered, a key change keeps the number."""
    chance = random.Random(seed)
    forms = [form for letter in "abcdef" for form in (letter, letter.upper(), f"{letter} ")]
    # The source's key is unique by its collation; silver's by the text.
    source: Row = {}
    for number, letter in enumerate("abcdef"):
        if chance.random() < 0.7:
            source[chance.choice([form for form in forms if folded(form) == letter])] = number
    silver: Row = {}
    for key, number in source.items():
        if chance.random() < 0.8:
            silver[chance.choice([key, *forms])] = number
    silver |= {key: 90 + n for n, key in enumerate(chance.sample(forms, chance.randrange(3)))}
    seen = dict(source)
    if chance.random() < 0.5 and source:
        key = chance.choice([*source])
        changed = source.pop(key)
        if chance.random() < 0.7:
            source[chance.choice([key, *(form for form in forms if folded(form) == folded(key))])] = changed + 100
    # Rows that the job would reject are no difference where silver lacks them.
    rejected = {key for key in seen if key not in silver and chance.random() < 0.3}
    wanted: dict[Key, Wanted] = {}
    for key in {*seen, *silver} - rejected:
        if seen.get(key) != silver.get(key):
            kind = "missing" if key not in silver else "surplus" if key not in seen else "different"
            wanted[(key,)] = Wanted(kind, (1, seen[key]) if key in seen else None)
    before, plans = dict(silver), list[FilePlan]()
    keys, size = in_order(wanted), chance.choice([1, 2, 100])
    for start in range(0, len(keys), size):
        part = keys[start : start + size]
        now: dict[Key, SourceState] = {
            (key,): (1, number) for key, number in source.items() if any(folded(key) == folded(one) for (one,) in part)
        }
        deletes = [one for one in part if wanted[one].is_delete]
        equal = {one: {(key,) for key in source if folded(key) == folded(one[0]) and key != one[0]} for one in deletes}
        equal = {one: others for one, others in equal.items() if others}
        in_silver = {other for others in equal.values() for other in others if other[0] in before}
        plans.append(plan_file(part, wanted, Found(now, equal, in_silver), plans))
        for one in plans[-1].written:
            if wanted[one].is_delete:
                silver.pop(one[0], None)
            else:
                silver[one[0]] = source[one[0]]
    for key in source:
        had = any(folded(key) == folded(one) for one in before)
        has = any(folded(key) == folded(one) for one in silver)
        assert has or not had, "the source calls the key equal to one that silver had"
    kept_out = {one for one, what in wanted.items() if what.kind == "missing"} - {one for found in plans for one in found.written}
    if kept_out:
        assert {*before} <= {*silver}, "half of a key change"
    left = sum(len(found.changed) + len(found.halves) + len(found.held) + len(found.written) for found in plans)
    assert left == len(wanted), "every key is accounted for"
