"""Which snapshots of a table may expire. Pure.

More snapshots must stay than readers need:

* The progress is in the first ancestor of main's head that carries it, also after a rollback. So a snapshot that stays keeps its
  ancestors up to the one that carries its progress.
* The job asks the metadata whether one snapshot is an ancestor of another (`TargetTable.is_off_the_line`). So only the oldest part of
  main's line expires, never a part in the middle.
* If a table property names a snapshot that was rolled back, the job learns from it that it must do something again.
* A rebuild sums up the row counts of all snapshots on its branch. So the lines of branches and tags stay whole, except for what they
  share with main.
"""

from collections.abc import Collection, Mapping, Sequence

import attrs

from dms_iceberg.config.model import Maintenance
from dms_iceberg.iceberg.transaction import MAIN

_HOUR = 3_600_000
_YOUNG = _HOUR
"""A snapshot that is younger, in milliseconds, stays even beyond the maximum number: a query may be reading it."""
_WORTH_IT = 20
"""An expiry between two batches must remove at least this many snapshots, because it costs a Spark job."""


@attrs.frozen
class SnapshotFact:
    """A snapshot; ``carries`` is whether its summary has the progress."""

    id: int
    parent_id: int | None
    timestamp_ms: int
    carries: bool = False


def expirable(
    snapshots: Sequence[SnapshotFact], refs: Mapping[str, int], named: Collection[int], rules: Maintenance, now_ms: int
) -> list[int]:
    """Return the ids of the snapshots that may expire, oldest first.

    Args:
        snapshots: all in the table's metadata.
        refs: head by branch and tag.
        named: snapshots that properties of the table name.
        rules: how many snapshots to keep, and for how long.
        now_ms: UTC milliseconds.
    """
    known = {one.id: one for one in snapshots}
    cutoff = now_ms - int(rules.snapshots_max_age_hours * _HOUR)
    main = _line(known, refs.get(MAIN))
    kept = {one.id for one in main[: _length_of(main, rules, cutoff, now_ms)]}
    on_main = {one.id for one in main}
    # A branch is never rolled back, so only its head needs progress. A branch may begin long before main's oldest snapshot.
    heads = [head for name, head in refs.items() if name != MAIN]
    beside = {one.id for head in heads for one in _line(known, head)} - on_main
    kept |= on_main & set(heads)
    referenced = on_main | beside
    loose = sorted((one for one in snapshots if one.id not in referenced), key=lambda one: -one.timestamp_ms)
    for place, one in enumerate(loose):
        # A table that is replaced again and again, as a model is, has all its former content here.
        lasting = place < rules.snapshots_max or one.timestamp_ms >= now_ms - _YOUNG
        if one.id in named or (one.timestamp_ms >= cutoff and lasting):
            kept.add(one.id)
    kept |= _carriers(known, kept)
    # A snapshot of main's line that stays keeps all newer ones on the line.
    deepest = max((place for place, one in enumerate(main) if one.id in kept), default=-1)
    kept |= beside | {one.id for one in main[: deepest + 1]}
    return [one.id for one in sorted(snapshots, key=lambda one: one.timestamp_ms) if one.id not in kept]


def is_worth_it(count: int, rules: Maintenance) -> bool:
    """Whether this many expirable snapshots justify an expiry between two batches."""
    return count >= max(_WORTH_IT, rules.snapshots_max // 10)


def _length_of(line: Sequence[SnapshotFact], rules: Maintenance, cutoff: int, now_ms: int) -> int:
    """Return how many of a line's newest snapshots stay."""
    for place in range(len(line)):
        # A snapshot was the table's content until the next one was committed.
        until = line[place - 1].timestamp_ms if place else now_ms
        if place < rules.snapshots_kept or until >= now_ms - _YOUNG:
            continue
        if place >= rules.snapshots_max or until < cutoff:
            return place
    return len(line)


def _line(known: Mapping[int, SnapshotFact], head: int | None) -> list[SnapshotFact]:
    found = list[SnapshotFact]()
    while head is not None and head in known:
        found.append(known[head])
        head = known[head].parent_id
    return found


def _carriers(known: Mapping[int, SnapshotFact], kept: Collection[int]) -> set[int]:
    """Return the ancestors of each kept snapshot up to the first that carries the progress; none if no ancestor carries it."""
    found, looked_at = set[int](), set[int]()
    for one in kept:
        way = list[int]()
        at: int | None = one
        while at is not None and at in known and at not in looked_at and not known[at].carries:
            way.append(at)
            at = known[at].parent_id
        looked_at.update(way)
        if at is not None and at in known and (known[at].carries or at in found):
            found |= {*way, at}
    return found
