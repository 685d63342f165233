"""Which columns of a table's files DMS has added, found by their values and places; a name alone decides nothing. Pure."""

from collections.abc import Collection, Sequence

from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.init.added_columns import find_added
from dms_iceberg.init.commit_time import find_commit_time
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.operation import find_operation, is_without_operation
from dms_iceberg.init.role import Role, Roles, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values
from dms_iceberg.init.stream_position import find_stream


def find_roles(samples: Samples, own: Collection[str] = ()) -> Roles:
    """Return the purposes of a table's columns; ``own`` are known to be the source's."""
    op = find_operation(samples, own)
    words = _words(samples, op.name)
    taken = {op.name}
    sequence = _sequence(samples, own)
    taken.add(sequence.name)
    timestamp, doubts = find_commit_time(samples, taken, own, op=op.name, sequence=sequence.name)
    taken.add(timestamp.name)
    stream, unsure = find_stream(samples, taken | set(own), sequence.name)
    added = find_added(samples, taken | {stream.name, *own}, op=op, sequence=sequence, timestamp=timestamp)
    with_op = [not is_without_operation(sample, op.name) for sample in samples.load]
    return Roles(
        op=op,
        words=words,
        op_in_load=all(with_op) if with_op else None,
        timestamp=timestamp,
        sequence=sequence,
        stream=stream,
        added=added,
        doubts=(*doubts, *unsure),
    )


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
