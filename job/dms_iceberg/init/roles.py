"""Which columns of a table's files DMS has added, found by their values and places; a name alone decides nothing. Pure."""

from collections.abc import Collection, Sequence

from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.init.commit_time import find_commit_time
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.role import Role, Roles, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values
from dms_iceberg.init.stream_position import find_stream


def find_roles(samples: Samples, own: Collection[str] = ()) -> Roles:
    """Return the purposes of a table's columns; ``own`` are known to be the source's."""
    op = _operation(samples, own)
    words = _words(samples, op.name)
    taken = {op.name}
    sequence = _sequence(samples, own)
    taken.add(sequence.name)
    timestamp, doubts = find_commit_time(samples, taken, own, op=op.name, sequence=sequence.name)
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
    # A loaded row is an insert. A column of the source has other words there as well.
    names = [name for name in names if _are_inserts(all_values(samples.load, name))]
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


def _are_inserts(values: Sequence[str | None]) -> bool:
    return all(value is not None and WORDS.get(value.casefold()) == "I" for value in values)


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
