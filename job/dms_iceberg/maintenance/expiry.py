"""Which snapshots of a table may go. Pure.

What must stay is more than what readers want:

* Progress is found in the first snapshot that carries it among the ancestors of main's head, also after a rollback. So with a snapshot stay
  its ancestors up to its carrier.
* Whether a snapshot is among the ancestors of another is asked of the metadata (`TargetTable.is_off_the_line`). So of main's line only its
  old end goes, and never a part in the middle.
* A snapshot that was rolled back, and that a table property names, tells that what it did must be done again.
* A rebuild adds up the books of all snapshots on its branch. So lines of branches and tags stay whole, as far as they are not main's.
"""

from collections.abc import Collection, Mapping, Sequence

import attrs

from dms_iceberg.config.model import Maintenance
from dms_iceberg.iceberg.transaction import MAIN

_HOUR = 3_600_000
_YOUNG = _HOUR
"""Milliseconds for which a snapshot stays however many there are: somebody may be reading it."""
_WORTH_IT = 20
"""An expiry between two batches has so many snapshots to remove at least: it costs a Spark job."""


@attrs.frozen
class SnapshotFact:
    """A snapshot; ``carries`` says whether its summary has the progress."""

    id: int
    parent_id: int | None
    timestamp_ms: int
    carries: bool = False


def expirable(
    snapshots: Sequence[SnapshotFact], refs: Mapping[str, int], named: Collection[int], rules: Maintenance, now_ms: int
) -> list[int]:
    """Return the ids of the snapshots that may go, oldest first.

    Args:
        snapshots: all in the table's metadata.
        refs: head by branch and tag.
        named: snapshots that properties of the table name.
        rules: what is kept.
        now_ms: UTC milliseconds.
    """
    known = {one.id: one for one in snapshots}
    cutoff = now_ms - int(rules.snapshots_max_age_hours * _HOUR)
    main = _line(known, refs.get(MAIN))
    kept = {one.id for one in main[: _length_of(main, rules, cutoff, now_ms)]}
    on_main = {one.id for one in main}
    # A branch is never rolled back, so it needs no progress but its head's; it may begin long before main's oldest snapshot.
    heads = [head for name, head in refs.items() if name != MAIN]
    beside = {one.id for head in heads for one in _line(known, head)} - on_main
    kept |= on_main & set(heads)
    referenced = on_main | beside
    loose = sorted((one for one in snapshots if one.id not in referenced), key=lambda one: -one.timestamp_ms)
    for place, one in enumerate(loose):
        # A table that is replaced again and again, as models are, has all its past there.
        lasting = place < rules.snapshots_max or one.timestamp_ms >= now_ms - _YOUNG
        if one.id in named or (one.timestamp_ms >= cutoff and lasting):
            kept.add(one.id)
    kept |= _carriers(known, kept)
    # What has come to be kept of main's line has come with all that is newer there.
    deepest = max((place for place, one in enumerate(main) if one.id in kept), default=-1)
    kept |= beside | {one.id for one in main[: deepest + 1]}
    return [one.id for one in sorted(snapshots, key=lambda one: one.timestamp_ms) if one.id not in kept]


def is_worth_it(count: int, rules: Maintenance) -> bool:
    """Whether so many snapshots that may go are worth an expiry between two batches."""
    return count >= max(_WORTH_IT, rules.snapshots_max // 10)


def _length_of(line: Sequence[SnapshotFact], rules: Maintenance, cutoff: int, now_ms: int) -> int:
    """Return how many of a line's newest snapshots stay."""
    for place in range(len(line)):
        # A snapshot was the table's content until the next one was made.
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
    """Return, for each kept snapshot, its ancestors up to the first that carries the progress; none where there is no such."""
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
