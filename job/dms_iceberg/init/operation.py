"""Finds the operation column of a table's files, and says what was found instead where there is none. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import attrs

from dms_iceberg.bronze.foreign_records import foreign_records
from dms_iceberg.config.problems import first_of
from dms_iceberg.discover.proposal import shown
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.role import Role, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values

_SHOWN = 12
_NEW_EPOCH = "load the table again into a new load epoch"
_INSERTS_ONLY = f"the endpoint writes no operation (CdcInsertsOnly, CdcInsertsAndUpdates: set both to false, and {_NEW_EPOCH})"
_REWRITTEN = "another program than DMS has written or changed the files (restore those of DMS)"
_OTHER_WORDS = "the operation has other words (write the document by hand, with op_column and op_words)"


@attrs.frozen(kw_only=True)
class NoOperation:
    """What the files have instead of an operation, and what may be the cause.

    Attributes:
        found: what is so in which files, without values of rows.
        advice: the possible causes, each with what to do.
    """

    found: str
    advice: str


def find_operation(samples: Samples, own: Collection[str]) -> Role:
    """Return the operation column; ``own`` are known to be the source's."""
    of = samples.changes or samples.load
    # A loaded row is an insert. A column of the source has other words there as well.
    names = [name for name in _with_words(samples, own) if not _contradicting(samples, name)]
    if not samples.changes:
        names = [name for name in names if _are_inserts(all_values(samples.load, name))]
    if not names:
        return Role(name=None, sure=Sure.CERTAIN, why=no_operation(samples, own).found)
    first = [name for name in names if all(one.names[0] == name for one in of)]
    best = first[0] if first else next((name for name in names if name.casefold() == "op"), names[0])
    if not samples.changes:
        return Role(name=best, sure=Sure.LIKELY, why="the same word of an insert in every LOAD row; there are no change files yet")
    others = [name for name in names if name != best]
    why = "every change has a word of an operation there" + (", in the first column" if first else "")
    also = f"; {', '.join(map(shown, others))} also has such words" if others else ""
    return Role(name=best, sure=Sure.CERTAIN if first and not others else Sure.LIKELY, why=why + also)


def is_without_operation(sample: Sample, op: str | None) -> bool:
    """Whether a file has no operation column, or no value in it in any sampled row."""
    return op not in sample.names or not filled(sample.values(op or ""))


def no_operation(samples: Samples, own: Collection[str]) -> NoOperation:
    """Return what files without an operation column have instead."""
    if (foreign := foreign_records(all_names(samples.both))) is not None:
        return NoOperation(found=foreign.found, advice=foreign.advice)
    of = samples.changes or samples.load
    kind = "change" if samples.changes else "LOAD"
    if words := _with_words(samples, own):
        name = next((name for name in words if name.casefold() == "op"), words[0])
        sample = next((one for one in samples.load if _is_contradicting(one, name)), of[0])
        found = (
            f"{shown(name)} has an operation in every row of the {kind} files, but in {sample.file.key} {_odd(sample, name, inserts=True)}"
        )
        return NoOperation(
            found=found,
            advice=f"A loaded row is an insert. {_possible(_REWRITTEN, f'{shown(name)} is a column of the source and {_INSERTS_ONLY}')}",
        )
    if (likeliest := _likeliest(of, own)) is not None:
        return _unlike(of, likeliest, kind)
    columns = first_of([shown(name) for name in all_names(of)], _SHOWN)
    found = f"no column of the {kind} files has I, U, D (or INSERT, UPDATE, DELETE); they have {columns}"
    return NoOperation(found=found, advice=_possible(_INSERTS_ONLY, _REWRITTEN, _OTHER_WORDS))


def _unlike(samples: Sequence[Sample], name: str, kind: str) -> NoOperation:
    """Return why the likeliest column is no operation."""
    if lacking := next((one for one in samples if name not in one.names), None):
        has = next(one for one in samples if name in one.names)
        found = f"{shown(name)} is in {has.file.key}, and {lacking.file.key} has no such column"
        return NoOperation(found=found, advice=_possible(f"for some time {_INSERTS_ONLY}", _REWRITTEN))
    sample = next(one for one in samples if not _are_words(one.values(name)))
    found = f"{shown(name)} may be the operation, but in the {kind} file {sample.file.key} {_odd(sample, name)}"
    causes = (_REWRITTEN, f"{shown(name)} is a column of the source and {_INSERTS_ONLY}")
    empty = len(filled(sample.values(name))) < len(sample.rows)
    return NoOperation(found=found, advice=_possible(*(() if empty else (_OTHER_WORDS,)), *causes))


def _possible(*causes: str) -> str:
    return f"Possible causes: {'; or '.join(causes)}"


def _with_words(samples: Samples, own: Collection[str]) -> list[str]:
    """Return the columns with a word of an operation in every row of change files, or of LOAD files without any."""
    of = samples.changes or samples.load
    return [name for name in _others(of, own) if _are_words(all_values(of, name)) and all(name in one.names for one in of)]


def _contradicting(samples: Samples, name: str) -> bool:
    return any(_is_contradicting(one, name) for one in samples.load)


def _is_contradicting(sample: Sample, name: str) -> bool:
    """Whether a LOAD file has something else in a column than inserts, or nothing at all."""
    return not is_without_operation(sample, name) and not _are_inserts(sample.values(name))


def _odd(sample: Sample, name: str, *, inserts: bool = False) -> str:
    """Return how many rows of a file have no operation, and how many something else, as the end of a clause."""
    values = sample.values(name)
    empty = len(values) - len(filled(values))
    other = sum(bool(value) and not (WORDS.get((value or "").casefold()) == "I" if inserts else _is_word(value)) for value in values)
    what = "something else than an insert" if inserts else "something else than these words"
    parts = [f"{count:,} of {len(values):,} sampled rows have {text} there" for count, text in ((empty, "nothing"), (other, what)) if count]
    return " and ".join(parts)


def _likeliest(samples: Sequence[Sample], own: Collection[str]) -> str | None:
    """Return the column that has words of operations in most rows, or is called like the operation; None where none is like one."""

    def words(name: str) -> int:
        return sum(map(_is_word, all_values(samples, name)))

    rows = sum(len(one.rows) for one in samples)
    names = [name for name in _others(samples, own) if name.casefold() == "op" or words(name) * 2 > rows]
    return max(names, key=lambda name: (words(name), name.casefold() == "op"), default=None)


def _is_word(value: str | None) -> bool:
    return value is not None and value.casefold() in WORDS


def _are_words(values: Sequence[str | None]) -> bool:
    return bool(values) and all(map(_is_word, values))


def _are_inserts(values: Iterable[str | None]) -> bool:
    return all(value is not None and WORDS.get(value.casefold()) == "I" for value in values)


def _others(samples: Sequence[Sample], own: Collection[str]) -> Iterator[str]:
    yield from (name for name in all_names(samples) if name not in own)
