"""Finds the commit time among a table's columns, by its values and its place. Pure."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import Enum
from itertools import pairwise

from dms_iceberg.bronze.keys import NAME_AHEAD_HOURS, time_of
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.role import Role, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?", re.ASCII)
_LONGEST_LOAD = timedelta(hours=48)
_MOST_UNORDERED = 0.02
_SAME_COMMIT = timedelta(seconds=2)


def find_commit_time(
    samples: Samples, taken: set[str | None], own: Collection[str], *, op: str | None, sequence: str | None
) -> tuple[Role, list[str]]:
    """Return the column of commit times, and columns that may have them and are taken for the source's.

    It is certain only where chance cannot explain it: where it is the time in the sequence, or deletes have it and no other value but the
    key, and not as the row had it.

    Args:
        taken: columns with another purpose.
        own: columns that are known to be the source's.
    """
    doubts = list[str]()
    for name in all_names(samples.both):
        if name in taken or name in own or not are_times(all_values(samples.both, name)):
            continue
        in_place = all(_is_in_place(sample, name, taken) for sample in samples.both if name in sample.names)
        deletes = _in_deletes(samples, name, op, sequence) if op is not None else _Deletes.SAY_NOTHING
        against = _against_commit_time(samples, name, ordered=sequence is not None) or _against_sequence(samples, name, sequence)
        if not against and deletes is _Deletes.CONTRADICT and sequence is None:
            against = "deletes have it as the loaded row did"
        if in_place and not against:
            why = "a time in every row, beside the operation; it is not after the close of its file"
            if sequence is not None and samples.changes:
                why = f"{why}, and is the time in the sequence"
                if deletes is not _Deletes.CONTRADICT and _is_in_deletes(samples, name, op, sequence):
                    return Role(name=name, sure=Sure.CERTAIN, why=f"{why}, also of deletes"), []
            elif deletes is _Deletes.PROVE:
                why = f"{why}, and rises within each file"
                why = f"{why}; deletes have it and else the key only, and not as the row had it"
                return Role(name=name, sure=Sure.CERTAIN, why=why), []
            return Role(name=name, sure=Sure.LIKELY, why=f"{why}. A time of the source could look like this"), []
        if in_place:
            doubts.append(
                f"{name} stands where DMS writes the commit time, but {against}: taken for a column of the source. If it is the endpoint's "
                "TimestampColumnName, name it in bronze.change.timestamp_column before the first run"
            )
        elif not against and samples.changes:
            doubts.append(
                f"{name} rises like a commit time, but does not stand beside the operation: taken for a column of the source. If a mapping "
                "rule writes $AR_H_COMMIT_TIMESTAMP there, name it in bronze.change.timestamp_column"
            )
    sure = Sure.DOUBTFUL if doubts else Sure.CERTAIN
    return Role(name=None, sure=sure, why="no column beside the operation is shown to have the times of commits"), doubts


class _Deletes(Enum):
    """What deletes say of a column of times."""

    PROVE = "prove"
    CONTRADICT = "contradict"
    SAY_NOTHING = "say nothing"


def _in_deletes(samples: Samples, name: str, op: str, sequence: str | None) -> _Deletes:
    """Return what deletes say: a column of the source has what the row had before, or nothing; a commit time is another one."""
    own = [one for one in all_names(samples.both) if one not in (op, name, sequence)]
    deletes = [
        (sample.file.order, cells)
        for sample in samples.changes
        for cells in sample.cells()
        if WORDS.get((cells.get(op) or "").casefold()) == "D"
    ]
    there = [one for one in own if any(cells.get(one) for _, cells in deletes)]
    if not deletes or not there:
        return _Deletes.SAY_NOTHING
    loaded = {(*(cells.get(one) for one in there), cells.get(name)) for sample in samples.load for cells in sample.cells()}
    if any((*(cells.get(one) for one in there), cells.get(name)) in loaded for _, cells in deletes):
        return _Deletes.CONTRADICT
    before: dict[tuple[str | None, ...], set[tuple[str, str | None]]] = {}
    inserts = []
    for sample in samples.both:
        for cells in sample.cells():
            if not sample.file.is_cdc or WORDS.get((cells.get(op) or "").casefold()) == "I":
                inserts.append(cells)
            if not sample.file.is_cdc or WORDS.get((cells.get(op) or "").casefold()) in ("I", "U"):
                order = sample.file.order if sample.file.is_cdc else ""
                before.setdefault(tuple(cells.get(one) for one in there), set()).add((order, cells.get(name)))
    # A whole row may have NULLs as well; but not in a column that otherwise never has one.
    withheld = [one for one in own if one not in there and inserts and all(cells.get(one) for cells in inserts)]
    shown = False
    for order, cells in deletes:
        known = before.get(tuple(cells.get(one) for one in there), set())
        earlier = {time for file, time in known if file < order}
        if cells.get(name) in earlier:
            return _Deletes.SAY_NOTHING
        shown = shown or (bool(earlier) and len(earlier) == len({time for _, time in known}))
    return _Deletes.PROVE if shown and withheld else _Deletes.SAY_NOTHING


def _is_in_deletes(samples: Samples, name: str, op: str | None, sequence: str) -> bool:
    """Whether deletes have the time in the sequence. A time of the source is that of the insert or the last update there."""
    deletes = [cells for one in samples.changes for cells in one.cells() if WORDS.get((cells.get(op or "") or "").casefold()) == "D"]
    return bool(deletes) and sum(is_near_sequence(cells.get(name), cells.get(sequence)) for cells in deletes) * 2 > len(deletes)


def is_near_sequence(time: str | None, sequence: str | None) -> bool:
    """Whether a time is that in a sequence, but for a moment."""
    return bool(time and sequence) and abs(_time(time or "") - _in_sequence(sequence or "")) <= _SAME_COMMIT


def is_same_commit(time: str | None, other: str | None) -> bool:
    """Whether two times may be those of one commit."""
    return bool(time and other) and abs(_time(time or "") - _time(other or "")) <= _SAME_COMMIT


def _in_sequence(digits: str) -> datetime:
    return datetime.strptime(digits[:14], "%Y%m%d%H%M%S")


def are_times(values: Sequence[str | None]) -> bool:
    """Whether there is a date with a time in every row."""
    return bool(values) and all(value is not None and _TIME.fullmatch(value) for value in values)


def _is_in_place(sample: Sample, name: str, taken: set[str | None]) -> bool:
    """Whether a column is text, as DMS writes it, and follows the operation, or is the first where there is none."""
    return sample.type_of(name) in ("", "string") and sample.names.index(name) == (1 if sample.names[0] in taken else 0)


def _against_commit_time(samples: Samples, name: str, *, ordered: bool) -> str:
    """Return what contradicts that a column has commit times, "" if nothing does.

    Args:
        ordered: there is a sequence, which shows by itself whether these are its times.
    """
    for sample in samples.changes:
        times = [_exact(value) for value in filled(sample.values(name))]
        back = sum(later < earlier for earlier, later in pairwise(times))
        if back > (max(1, len(times) * _MOST_UNORDERED) if ordered else 0):
            return "its values do not rise within a file"
        if times and max(times) > _closed(sample) + timedelta(hours=NAME_AHEAD_HOURS):
            return "it has times after the close of its file"
    loaded = [_time(value) for value in filled(all_values(samples.load, name))]
    if loaded and max(loaded) - min(loaded) > _LONGEST_LOAD:
        return "its values in loaded rows are days apart, and a load takes hours"
    return ""


def _against_sequence(samples: Samples, name: str, sequence: str | None) -> str:
    """Return that the times are not those in the sequence, "" if they are, or if there is no sequence."""
    pairs = [pair for one in samples.changes for pair in zip(one.values(name), one.values(sequence or ""), strict=False)]
    apart = [abs(_time(time) - _in_sequence(digits)) for time, digits in pairs if time and digits]
    # While a clock that went back has not caught up, the sequence keeps the later time.
    return "it is not the time in the sequence" if sum(one > _SAME_COMMIT for one in apart) * 2 > len(apart) else ""


def _exact(text: str) -> datetime:
    """Return a time with its fraction, of which Python keeps six digits."""
    return datetime.fromisoformat(text[:26])


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text[:19])


def _closed(sample: Sample) -> datetime:
    try:
        return time_of(sample.file.order).replace(tzinfo=None)
    except ValueError:
        return datetime.max - timedelta(hours=NAME_AHEAD_HOURS)
