"""A repair never removes a row that the source holds, whatever the source calls equal; and repairs a key change whole, or not at all."""

import random
from collections.abc import Iterable

import attrs
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


FORMS = [form for letter in "abcdef" for form in (letter, letter.upper(), f"{letter} ")]


def equal_forms(key: str, rows: Iterable[str]) -> set[str]:
    return {one for one in rows if folded(one) == folded(key)}


@attrs.define
class World:
    """Random tables of both sides, and a writer between the look and the write. Rows are numbered.

    Attributes:
        seen: the source's rows at the look; ``source`` are those at the write.
        rejected: rows that the job would reject, which are no difference where silver lacks them.
    """

    seen: Row
    source: Row
    silver: Row
    rejected: set[str]

    @classmethod
    def of(cls, chance: random.Random) -> "World":
        # The source's key is unique by its collation; silver's by the text.
        there = {chance.choice([*equal_forms(letter, FORMS)]): number for number, letter in enumerate("abcdef") if chance.random() < 0.7}
        silver = {chance.choice([key, *FORMS]): number for key, number in there.items() if chance.random() < 0.8}
        silver |= {key: 90 + number for number, key in enumerate(chance.sample(FORMS, chance.randrange(3)))}
        source = dict(there)
        if chance.random() < 0.5 and source:
            key = chance.choice([*source])
            changed = source.pop(key)
            if chance.random() < 0.7:
                source[chance.choice([*equal_forms(key, FORMS)])] = changed + 100
        return cls(there, source, silver, {key for key in there if key not in silver and chance.random() < 0.3})

    def wanted(self) -> dict[Key, Wanted]:
        found = {}
        for key in {*self.seen, *self.silver} - self.rejected:
            if self.seen.get(key) != self.silver.get(key):
                kind = "missing" if key not in self.silver else "different" if key in self.seen else "surplus"
                found[(key,)] = Wanted(kind, (1, self.seen[key]) if key in self.seen else None)
        return found

    def found(self, part: Iterable[Key], deletes: Iterable[Key]) -> Found:
        now: dict[Key, SourceState] = {(one,): (1, self.source[one]) for (key,) in part for one in equal_forms(key, self.source)}
        equal = {key: {(one,) for one in equal_forms(key[0], self.source)} - {key} for key in deletes}
        equal = {key: others for key, others in equal.items() if others}
        return Found(now, equal, {one for others in equal.values() for one in others if one[0] in self.silver})

    def merge(self, wanted: dict[Key, Wanted], written: Iterable[Key]) -> None:
        for (key,) in written:
            if wanted[(key,)].is_delete:
                self.silver.pop(key, None)
            else:
                self.silver[key] = self.source[key]


@pytest.mark.parametrize("seed", range(400))
def test_after_a_repair_silver_has_every_row_of_the_source_that_it_had_under_an_equal_key(seed: int) -> None:
    chance = random.Random(seed)
    world = World.of(chance)
    before, wanted, plans = dict(world.silver), world.wanted(), list[FilePlan]()
    keys, size = in_order(wanted), chance.choice([1, 2, 100])
    for start in range(0, len(keys), size):
        part = keys[start : start + size]
        plans.append(plan_file(part, wanted, world.found(part, [key for key in part if wanted[key].is_delete]), plans))
        world.merge(wanted, plans[-1].written)
    lost = [key for key in world.source if equal_forms(key, before) and not equal_forms(key, world.silver)]
    assert lost == [], "the source calls these keys equal to one that silver had"
    written = {key for plan in plans for key in plan.written}
    if any(one.kind == "missing" for key, one in wanted.items() if key not in written):
        assert {*before} <= {*world.silver}, "half of a key change"
    left = sum(len(one.changed) + len(one.halves) + len(one.held) for one in plans)
    assert left + len(written) == len(wanted), "every key is accounted for"
