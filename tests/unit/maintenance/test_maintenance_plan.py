"""What a table needs, and which of its snapshots may go."""

import random

import attrs
import pytest

from dms_iceberg.config.model import AfterRun, Maintenance
from dms_iceberg.maintenance.expiry import SnapshotFact, expirable
from dms_iceberg.maintenance.plan import METADATA_SETTINGS, Compactable, Scope, Step, TableStats, needs

NOW = 1_800_000_000_000
HOUR = 3_600_000
RULES = Maintenance(snapshots_kept=3, snapshots_max=10, snapshots_max_age_hours=24)


def line(*ages: float, carriers: str = "", first: int = 1, parent: int | None = None) -> list[SnapshotFact]:
    """Snapshots by their age in hours, each the parent of the next; those whose letter is c carry the progress, all by default."""
    found = list[SnapshotFact]()
    for place, age in enumerate(ages):
        above = parent if not found else found[-1].id
        found.append(SnapshotFact(first + place, above, NOW - int(age * HOUR), not carriers or carriers[place] == "c"))
    return found


def gone(snapshots: list[SnapshotFact], rules: Maintenance = RULES, named: frozenset[int] = frozenset(), **refs: int) -> list[int]:
    return expirable(snapshots, {"main": snapshots[-1].id, **refs}, named, rules, NOW)


def test_the_newest_stay_however_old() -> None:
    assert gone(line(900, 800, 700)) == []
    assert gone(line(1000, 900, 800, 700)) == [1]


def test_young_ones_stay_and_the_one_that_readers_see_at_the_edge_of_their_travel() -> None:
    assert gone(line(60, 50, 40, 23, 5, 4, 3)) == [1, 2]


def test_there_is_a_most_of_them_but_not_within_an_hour() -> None:
    assert gone(line(*(20 - n for n in range(15)))) == [1, 2, 3, 4, 5]
    assert gone(line(*(0.9 - n / 100 for n in range(15)))) == []


def test_a_kept_snapshot_keeps_the_way_to_its_progress() -> None:
    assert gone(line(99, 98, 97, 96, 95, 94, carriers="ccnnnn")) == [1]
    assert gone(line(99, 98, 97, 96, 95, 94, carriers="nnnnnn")) == [1, 2, 3], "where there is none, nothing is kept for it"


def test_a_line_is_cut_at_its_old_end_only() -> None:
    off = line(2, carriers="n", first=100, parent=2)
    snapshots = [*line(99, 98, 97, 96, 95, 94, 93), *off]
    assert expirable(snapshots, {"main": 7}, frozenset(), RULES, NOW) == [1]


def test_what_was_rolled_back_stays_for_its_age_or_while_a_property_names_it() -> None:
    snapshots = [*line(99, 98, 97), *line(96, 2, first=10, parent=3)]
    refs = {"main": 3}
    assert expirable(snapshots, refs, frozenset(), RULES, NOW) == [10]
    assert expirable(snapshots, refs, frozenset({10}), RULES, NOW) == []


def test_of_the_past_of_a_model_made_anew_each_time_so_many_stay_but_not_within_an_hour() -> None:
    made = [SnapshotFact(one, None, NOW - (40 - one) * HOUR // 2, carries=True) for one in range(1, 41)]
    assert gone(made) == [one.id for one in made[: -1 - RULES.snapshots_max]]
    assert gone([SnapshotFact(one, None, NOW - (40 - one) * HOUR // 50, carries=True) for one in range(1, 41)]) == []


def test_lines_of_branches_and_tags_stay_whole() -> None:
    main = line(99, 98, 97, 96, 95, 94, 93)
    branch = line(92, 91, 90, 89, 88, carriers="ncccc", first=20, parent=1)
    assert expirable([*main, *branch], {"main": 7, "dms_iceberg_rebuild_1": 24}, frozenset(), RULES, NOW) == [1, 2, 3, 4]
    assert gone(main, tagged=2) == [1], "main's line has no hole"


@pytest.mark.parametrize("seed", range(300))
def test_expiry_keeps_what_the_job_needs(seed: int) -> None:
    """Random trees of snapshots, rollbacks, branches and properties."""
    draw = random.Random(seed)
    snapshots = list[SnapshotFact]()
    for number in range(1, draw.randint(2, 30)):
        parent = draw.choice([one.id for one in snapshots[-4:]]) if snapshots and draw.random() < 0.9 else None
        snapshots.append(SnapshotFact(number, parent, NOW - (40 - number) * 3 * HOUR, draw.random() < 0.6))
    ids = [one.id for one in snapshots]
    refs = {"main": draw.choice(ids[-3:]), **{f"b{n}": draw.choice(ids) for n in range(draw.randint(0, 2))}}
    named = frozenset(draw.sample(ids, min(len(ids), 2)))
    removed = set(expirable(snapshots, refs, named, RULES, NOW))
    kept = {one.id: one for one in snapshots if one.id not in removed}
    known = {one.id: one for one in snapshots}

    def ancestors(head: int, among: dict[int, SnapshotFact]) -> list[int]:
        found, at = [], head
        while at in among:
            found.append(at)
            at = among[at].parent_id or 0
        return found

    def carrier(head: int, among: dict[int, SnapshotFact]) -> int | None:
        return next((one for one in ancestors(head, among) if among[one].carries), None)

    assert set(refs.values()) <= set(kept)
    main = ancestors(refs["main"], known)
    beside = {one for name, head in refs.items() if name != "main" for one in ancestors(head, known)} - set(main)
    for one in set(kept) - beside:
        assert carrier(one, kept) == carrier(one, known), "a rollback finds the same progress"
    assert [one for one in main if one in kept] == ancestors(refs["main"], kept), "no hole in main's line"
    assert set(main[:3]) <= set(kept)
    assert (named - set(main)) <= set(kept), "what must be noticed as rolled back"
    assert beside <= set(kept), "lines of branches stay whole"
    # What has gone is gone for good: once more, there is nothing to do.
    assert expirable(list(kept.values()), refs, named, RULES, NOW) == []


# --- what is needed ------------------------------------------------------------------------------------------------

CALM = TableStats(snapshots=tuple(line(3, 2, 1)), refs={"main": 3}, properties=METADATA_SETTINGS, data_files=9, delete_files=2)


def found(stats: TableStats, scope: Scope = Scope.FULL, **rules: object) -> dict[Step, str]:
    return needs(stats, attrs.evolve(RULES, **{"orphan_files_older_than_hours": None, **rules}), scope, NOW)


def test_a_table_in_order_needs_nothing() -> None:
    assert found(CALM) == {}
    assert found(TableStats(properties=METADATA_SETTINGS)) == {}, "nor does one without a snapshot"


@pytest.mark.parametrize(
    ("stats", "step", "reason"),
    [
        ({"compactable": Compactable(20)}, Step.COMPACT, "20 files are small or have many deletes"),
        ({"compactable": Compactable(2, 512 << 20)}, Step.COMPACT, "files of 512 MiB have many deletes"),
        ({"delete_files": 28}, Step.DELETE_FILES, "28 delete files for 9 data files"),
        ({"small_manifests": 50}, Step.MANIFESTS, "50 small manifests"),
        ({"resolved": 7}, Step.RESOLVED, "7 rows are resolved for good"),
        ({"properties": {}}, Step.SETTINGS, f"{', '.join(METADATA_SETTINGS)} to be set"),
        (
            {"properties": {**METADATA_SETTINGS, "write.merge.distribution-mode": "none"}},
            Step.SETTINGS,
            "write.merge.distribution-mode to be set",
        ),
        ({"snapshots": tuple(line(3, 2, 1, carriers="ccn"))}, Step.PROGRESS, "the newest snapshot does not carry the progress"),
        ({"snapshots": tuple(line(90, 80, 3, 2, 1)), "refs": {"main": 5}}, Step.EXPIRE, "1 of 5 snapshots may go"),
    ],
)
def test_each_need_has_its_reason(stats: dict[str, object], step: Step, reason: str) -> None:
    assert found(attrs.evolve(CALM, **stats)) == {step: reason}


def test_files_that_somebody_keeps_for_another_table_stay() -> None:
    old = attrs.evolve(CALM, snapshots=tuple(line(90, 80, 3, 2, 1)), refs={"main": 5})
    assert set(found(old, orphan_files_older_than_hours=24.0)) == {Step.EXPIRE, Step.ORPHANS}
    kept = attrs.evolve(old, properties={**METADATA_SETTINGS, "gc.enabled": "FALSE"})
    assert found(kept, orphan_files_older_than_hours=24.0) == {}


def test_just_below_a_threshold_nothing_is_needed() -> None:
    below = {"compactable": Compactable(19, (512 << 20) - 1), "delete_files": 27, "small_manifests": 49}
    assert found(attrs.evolve(CALM, **below)) == {}


def test_steps_come_in_an_order_in_which_the_later_sees_the_earlier() -> None:
    stats = attrs.evolve(
        CALM, snapshots=tuple(line(90, 80, 3, 2, 1, carriers="ccccn")), refs={"main": 5}, properties={}, resolved=1, delete_files=99
    )
    stats = attrs.evolve(stats, compactable=Compactable(99), small_manifests=99)
    everything = needs(stats, RULES, Scope.FULL, NOW)
    assert list(everything) == list(Step)
    assert everything[Step.ORPHANS] == "files that belong to no snapshot go after 72 hours"
    assert list(needs(stats, RULES, Scope.METADATA, NOW)) == [Step.SETTINGS, Step.MANIFESTS, Step.PROGRESS]
    assert Step.ORPHANS not in needs(stats, RULES, Scope.ALL, NOW)
    assert needs(stats, RULES, Scope.NOTHING, NOW) == {}


def test_between_batches_snapshots_are_expired_many_at_a_time() -> None:
    many = tuple(line(*(200 - n for n in range(30))))
    stats = attrs.evolve(CALM, snapshots=many, refs={"main": 30})
    assert found(stats, Scope.ALL) == {Step.EXPIRE: "27 of 30 snapshots may go"}
    few = attrs.evolve(stats, snapshots=many[10:])
    assert found(few, Scope.ALL) == {}
    assert found(few, Scope.FULL) == {Step.EXPIRE: "17 of 20 snapshots may go"}


def test_quarantine_tables_have_no_progress_to_lose() -> None:
    stats = attrs.evolve(CALM, snapshots=tuple(line(99, 98, 97, 96, carriers="nnnn")), refs={"main": 4}, is_silver=False)
    assert found(stats) == {Step.EXPIRE: "1 of 4 snapshots may go"}


def test_every_word_of_after_run_is_a_scope() -> None:
    assert [Scope.after(word) for word in AfterRun] == [Scope.ALL, Scope.METADATA, Scope.NOTHING]
