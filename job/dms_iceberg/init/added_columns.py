"""Columns with the operation or time of each change once more, as mapping rules (``$AR_H_OPERATION``, ``$AR_H_TIMESTAMP``) add them. Pure.

Deletes have them too, so a key that is proposed by what deletes have would contain them, and each change would be a row.
"""

from collections.abc import Collection, Iterator

from dms_iceberg.init.commit_time import are_times, is_near_sequence, is_same_commit
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.role import Added, Role, Samples, filled
from dms_iceberg.init.samples import Sample, all_names, all_values


def find_added(samples: Samples, taken: Collection[str | None], *, op: Role, sequence: Role, timestamp: Role) -> tuple[Added, ...]:
    """Return the columns that are shown to have a change's operation or time, and stay columns of silver.

    Args:
        taken: columns with another purpose, and those that are known to be the source's.
        op: the operation column. Without one nothing is shown.
        sequence: the column with a sequence.
        timestamp: the column with the commit time.
    """
    if op.name is None or not samples.changes:
        return ()
    found = []
    for name in all_names(samples.changes):
        if name in taken:
            continue
        if _has_operations(samples, name, op.name):
            found.append(Added(name=name, what="the operation", rule="$AR_H_OPERATION"))
        elif _has_times(samples, name, op.name, sequence.name, timestamp.name):
            found.append(Added(name=name, what="the time", rule="$AR_H_TIMESTAMP or $AR_H_COMMIT_TIMESTAMP"))
    return tuple(found)


def _has_operations(samples: Samples, name: str, op: str) -> bool:
    """Whether every change has its operation in a column as well, and loaded rows that of an insert or none."""
    pairs = [(_meaning(cells.get(name)), _meaning(cells.get(op))) for one in samples.changes for cells in one.cells()]
    loaded = filled(all_values(samples.load, name))
    return len({meaning for meaning, _ in pairs}) > 1 and all(a == b for a, b in pairs) and all(_meaning(value) == "I" for value in loaded)


def _has_times(samples: Samples, name: str, op: str, sequence: str | None, timestamp: str | None) -> bool:
    """Whether most changes have the time of their commit in a column, and so do most deletes: a time of the source is older there."""
    with_it = [one for one in samples.changes if name in one.names]
    if not are_times(all_values(with_it, name)):
        return False
    near = list(_near(with_it, name, op, sequence, timestamp))
    deletes = [is_near for is_delete, is_near in near if is_delete]
    return bool(deletes) and sum(deletes) * 2 > len(deletes) and sum(is_near for _, is_near in near) * 2 > len(near)


def _near(samples: Collection[Sample], name: str, op: str, sequence: str | None, timestamp: str | None) -> Iterator[tuple[bool, bool]]:
    for one in samples:
        for cells in one.cells():
            time = cells.get(name)
            is_near = is_near_sequence(time, cells.get(sequence or "")) or is_same_commit(time, cells.get(timestamp or ""))
            yield _meaning(cells.get(op)) == "D", is_near


def _meaning(word: str | None) -> str | None:
    return WORDS.get((word or "").casefold())
