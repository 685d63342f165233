"""Which columns of a table's files DMS has added, found by their values and places; a name alone decides nothing. Pure."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from dms_iceberg.bronze.keys import NAME_AHEAD_HOURS, time_of
from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.role import Role, Roles, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values
from dms_iceberg.init.stream_position import find_stream

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?", re.ASCII)
_LONGEST_LOAD = timedelta(hours=48)
_MOST_UNORDERED = 0.02
_SAME_COMMIT = timedelta(seconds=2)


def find_roles(samples: Samples, own: Collection[str] = ()) -> Roles:
    """Return the purposes of a table's columns; ``own`` are known to be the source's."""
    op = _operation(samples, own)
    words = _words(samples, op.name)
    taken = {op.name}
    sequence = _sequence(samples, own)
    taken.add(sequence.name)
    timestamp, doubts = _timestamp(samples, taken, own, op=op.name, sequence=sequence.name)
    taken.add(timestamp.name)
    stream, unsure = find_stream(samples, taken | set(own), sequence.name)
    with_op = [op.name in sample.names for sample in samples.load]
    return Roles(
        op=op,
        words=words,
        op_in_load=all(with_op) if with_op else None,
        timestamp=timestamp,
        sequence=sequence,
        stream=stream,
        doubts=(*doubts, *unsure),
    )


def _operation(samples: Samples, own: Collection[str]) -> Role:
    of = samples.changes or samples.load
    names = [name for name in _others(of, own) if _are_words(all_values(of, name)) and all(name in one.names for one in of)]
    where = "change" if samples.changes else "LOAD"
    if not names:
        why = f"no column of the {where} files has I, U, D (or INSERT, UPDATE, DELETE) in every row"
        return Role(name=None, sure=Sure.CERTAIN, why=why)
    first = [name for name in names if all(one.names[0] == name for one in of)]
    best = first[0] if first else next((name for name in names if name.casefold() == "op"), names[0])
    if not samples.changes:
        return Role(name=best, sure=Sure.LIKELY, why="the same word of an insert in every LOAD row; there are no change files yet")
    others = [name for name in names if name != best]
    why = "every change has a word of an operation there" + (", in the first column" if first else "")
    return Role(name=best, sure=Sure.CERTAIN if first and not others else Sure.LIKELY, why=why + _also(others))


def _also(others: Sequence[str]) -> str:
    return f"; {', '.join(others)} also has such words" if others else ""


def _are_words(values: Sequence[str | None]) -> bool:
    return bool(values) and all(value is not None and value.casefold() in WORDS for value in values)


def _words(samples: Samples, op: str | None) -> dict[str, str]:
    """Return the words that are there, completed by those of the same form for operations that have not occurred yet."""
    seen = {value for value in all_values(samples.both, op) if value} if op is not None else set()
    found = {word: WORDS[word.casefold()] for word in seen if word.casefold() in WORDS}
    for letters in (True, False):
        family = {word: meaning for word, meaning in found.items() if (len(word) == 1) == letters}
        for word, meaning in WORDS.items() if family else ():
            if (len(word) == 1) == letters and meaning not in family.values():
                like = next(iter(family))
                found[word.upper() if like.isupper() else word.title() if like.istitle() else word] = meaning
    return dict(sorted(found.items(), key=lambda item: (len(item[0]) > 1, "IUD".index(item[1]))))


def _others(samples: Sequence[Sample], own: Collection[str]) -> list[str]:
    return [name for name in all_names(samples) if name not in own]


def _sequence(samples: Samples, own: Collection[str]) -> Role:
    for name in _others(samples.changes, own):
        values = all_values(samples.changes, name)
        if values and len(filled(values)) == len(values) and all(map(is_sequence, filled(values))):
            if filled(all_values(samples.load, name)):
                continue
            return Role(name=name, sure=Sure.CERTAIN, why="35 digits that begin with a time in every change, and nothing in loaded rows")
    why = "no column has 35 digits that begin with a time in every change" if samples.changes else "there are no change files yet"
    return Role(name=None, sure=Sure.CERTAIN if samples.changes else Sure.DOUBTFUL, why=why)


def _timestamp(
    samples: Samples, taken: set[str | None], own: Collection[str], *, op: str | None, sequence: str | None
) -> tuple[Role, list[str]]:
    doubts = list[str]()
    for name in all_names(samples.both):
        if name in taken or name in own or not _are_times(all_values(samples.both, name)):
            continue
        in_place = all(_is_in_place(sample, name, taken) for sample in samples.both if name in sample.names)
        against = _against_commit_time(samples, name) or _against_sequence(samples, name, sequence)
        if in_place and not against:
            why = "a time in every row, beside the operation; it rises within each file and is not after the close of its file"
            if sequence is not None:
                return Role(name=name, sure=Sure.CERTAIN, why=f"{why}; it is the time in the sequence"), []
            if any(value is not None and WORDS.get(value.casefold()) == "D" for value in all_values(samples.changes, op or "")):
                return Role(name=name, sure=Sure.CERTAIN, why=f"{why}; deletes have it too"), []
            return Role(name=name, sure=Sure.LIKELY, why=f"{why}. A time of the source could look like this"), []
        if in_place:
            doubts.append(f"{name} stands where DMS writes the commit time, but {against}: taken for a column of the source")
        elif not against and samples.changes:
            doubts.append(
                f"{name} rises like a commit time, but does not stand beside the operation: taken for a column of the source. If a mapping "
                "rule writes $AR_H_COMMIT_TIMESTAMP there, name it in bronze.change.timestamp_column"
            )
    return Role(name=None, sure=Sure.CERTAIN, why="no column beside the operation has the times of commits"), doubts


def _are_times(values: Sequence[str | None]) -> bool:
    return bool(values) and all(value is not None and _TIME.fullmatch(value) for value in values)


def _is_in_place(sample: Sample, name: str, taken: set[str | None]) -> bool:
    """Whether a column is text, as DMS writes it, and follows the operation, or is the first where there is none."""
    return sample.type_of(name) in ("", "string") and sample.names.index(name) == (1 if sample.names[0] in taken else 0)


def _against_commit_time(samples: Samples, name: str) -> str:
    """Return what contradicts that a column has commit times, "" if nothing does."""
    for sample in samples.changes:
        times = [_time(value) for value in filled(sample.values(name))]
        back = sum(later < earlier for earlier, later in pairwise(times))
        if back > max(1, len(times) * _MOST_UNORDERED):
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
    apart = [abs(_time(time) - datetime.strptime(digits[:14], "%Y%m%d%H%M%S")) for time, digits in pairs if time and digits]
    # While a clock that went back has not caught up, the sequence keeps the later time.
    return "it is not the time in the sequence" if sum(one > _SAME_COMMIT for one in apart) * 2 > len(apart) else ""


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text[:19])


def _closed(sample: Sample) -> datetime:
    try:
        return time_of(sample.file.order).replace(tzinfo=None)
    except ValueError:
        return datetime.max - timedelta(hours=NAME_AHEAD_HOURS)
