"""Proposes the key of a table from samples of its files: what deletes and before-images have, or what is unique and named like a key. Pure.

It is a proposal whatever the samples say: rows that were not looked at may have a value twice.
"""

import re
from collections.abc import Iterator, Sequence

import attrs

from dms_iceberg.discover.proposal import shown_names
from dms_iceberg.init.changing_columns import changing, never_key
from dms_iceberg.init.commit_time import are_times
from dms_iceberg.init.earlier_values import operations
from dms_iceberg.init.images import FoundImages
from dms_iceberg.init.role import Roles, Samples, Sure
from dms_iceberg.init.samples import Sample, all_values

_MOST_COLUMNS = 4
_IMAGED = "the columns that have a before-image (pk-only)"
_WORDS = ("id", "uuid", "guid", "key", "pk", "no", "nr", "number", "code")
_ENDS = re.compile(r"(?:.*[_-])?(?:id|uuid|guid|key|pk|no|nr|number|code)|.*[a-z](?:Id|ID|Key|No)")


@attrs.frozen(kw_only=True)
class ProposedKey:
    """A key, how sure it is, and why; no columns where nothing can be proposed, and then why not."""

    columns: tuple[str, ...]
    sure: Sure
    why: str


def propose_key(table: str, samples: Samples, roles: Roles, images: FoundImages, columns: Sequence[str]) -> ProposedKey:
    """Return the key of a table.

    Args:
        table: its name, without the schema.
        columns: the source's columns, in their order.
    """
    columns = [name for name in columns if name not in roles.added_names]
    rows = _Rows(samples, roles)
    against = list[str]()
    for found, reason in _evidence(samples, roles, images, columns):
        key, narrowed = _without_changing(found, samples, roles, rows)
        why = f"{reason}{narrowed}"
        if problem := rows.against(key):
            against.append(f"{why}, but {problem}")
        else:
            why = f"{why}; {rows.said_of(key)}"
            times = [name for name in key if are_times(all_values(samples.both, name))]
            if times:
                why = f"{why}; but {times[0]} has a time in every row: a commit time would not be part of the key"
            return ProposedKey(columns=key, sure=Sure.DOUBTFUL if times or narrowed else Sure.LIKELY, why=why)
    for key in _by_name(table, columns):
        if rows.count and not rows.against(key, by_name=True):
            why = f"{rows.said}, and named like a key"
            return ProposedKey(columns=key, sure=Sure.DOUBTFUL, why="; ".join([why, *against]))
    imaged = tuple(name for name in columns if name in images.columns)
    if imaged and len(imaged) < len(columns) and not images.of_keys and not rows.against(imaged):
        why = f"{_IMAGED}, unless these are of other columns as well, as every sampled update has one; {rows.said_of(imaged)}"
        return ProposedKey(columns=imaged, sure=Sure.DOUBTFUL, why="; ".join([why, *against]))
    if not rows.count:
        return ProposedKey(columns=(), sure=Sure.DOUBTFUL, why="; ".join(["there is no loaded or inserted row to look at", *against]))
    why = f"no column that is named like a key is unique and never NULL in {rows.count:,} rows"
    return ProposedKey(columns=(), sure=Sure.DOUBTFUL, why="; ".join([why, *against]))


def _without_changing(key: tuple[str, ...], samples: Samples, roles: Roles, rows: "_Rows") -> tuple[tuple[str, ...], str]:
    """Return a key without the columns that cannot be part of it, as those of mapping rules, and which these are."""
    said = ""
    empty = set(never_key(key, samples))
    if empty and (rest := tuple(name for name in key if name not in empty)):
        key, said = rest, f"; without {shown_names(sorted(empty))}, NULL in loaded rows"
    for names in changing(key, samples, roles):
        rest = tuple(name for name in key if name not in names)
        if not rows.against(rest, by_name=True):
            return rest, f"{said}; without {shown_names(names)}, which changes while a row stays"
    return key, said


def against_key(key: Sequence[str], samples: Samples, roles: Roles) -> str:
    """Return what in the samples contradicts that a key identifies rows, "" if nothing does."""
    return _Rows(samples, roles).against(tuple(key))


def is_there(key: Sequence[str], samples: Samples) -> bool:
    """Whether every sampled file has the columns of a key."""
    return all({name.casefold() for name in key} <= {name.casefold() for name in sample.names} for sample in samples.both)


def _evidence(samples: Samples, roles: Roles, images: FoundImages, columns: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    deleted = list(_deleted(samples, roles, columns))
    filled = tuple(name for place, name in enumerate(columns) if deleted and all(row[place] is not None for row in deleted))
    empty = [name for place, name in enumerate(columns) if deleted and all(row[place] is None for row in deleted)]
    # A whole row may have NULLs as well; but not in a column that otherwise never has one.
    withheld = any(_is_never_null(samples, roles, name) for name in empty)
    if filled and len(filled) + len(empty) == len(columns) and withheld:
        yield filled, f"the {len(deleted):,} sampled deletes have these columns and no other"
    imaged = tuple(name for name in columns if name in images.columns)
    if imaged and images.of_keys and len(imaged) < len(columns):
        yield imaged, _IMAGED


def _is_never_null(samples: Samples, roles: Roles, name: str) -> bool:
    values = [
        value
        for sample in samples.both
        for value, operation in zip(sample.values(name), operations(sample, roles), strict=False)
        if operation == "I"
    ]
    return bool(values) and None not in values


def _deleted(samples: Samples, roles: Roles, columns: Sequence[str]) -> Iterator[list[str | None]]:
    for sample in samples.changes:
        places = [sample.names.index(name) if name in sample.names else None for name in columns]
        for row, operation in zip(sample.rows, operations(sample, roles), strict=True):
            if operation == "D":
                yield [None if place is None else row[place] for place in places]


class _Rows:
    """The rows of which each key is there once: those of one full-load file, or the inserts of one change file."""

    def __init__(self, samples: Samples, roles: Roles) -> None:
        load = max(samples.load, key=lambda one: len(one.rows), default=None)
        sample = load or max(samples.changes, key=lambda one: len(one.rows), default=None)
        self._sample: Sample | None = sample
        self._rows = (
            []
            if sample is None
            else [row for row, operation in zip(sample.rows, operations(sample, roles), strict=True) if operation == "I"]
        )
        self._once = load is not None
        self.count = len(self._rows)
        self.said = f"unique and never NULL in {self.count:,} {'loaded' if self._once else 'inserted'} rows"

    def said_of(self, key: tuple[str, ...]) -> str:
        """Return what the rows say for a key that they do not contradict."""
        return f"never NULL in {self.count:,} inserted rows" if self.against(key, by_name=True) else self.said

    def against(self, key: tuple[str, ...], *, by_name: bool = False) -> str:
        """Return what contradicts a key. A row that was deleted may be inserted again, so inserts contradict only a guess by names."""
        if self._sample is None:
            return ""
        there = {name.casefold(): place for place, name in enumerate(self._sample.names)}
        if missing := [name for name in key if name.casefold() not in there]:
            return f"{', '.join(missing)} is not in the file {self._sample.file.key}"
        places = [there[name.casefold()] for name in key]
        values = [tuple(row[place] for place in places) for row in self._rows]
        if any(None in value for value in values):
            return f"{', '.join(key)} is NULL in a row of {self._sample.file.key}"
        if (self._once or by_name) and len(set(values)) < len(values):
            return f"{', '.join(key)} has a value twice in {self._sample.file.key}"
        return ""


def _by_name(table: str, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield keys that names suggest, the likeliest first: ``id``, ``<table>_id``, the first column, then the first ones together."""
    owns = {form.casefold() for form in (table, table.removesuffix("s"), table.removesuffix("es"), re.sub("ies$", "y", table)) if form}
    # In `order_lines`, `line_no` is a key of the line.
    likely = {*_WORDS[:5], *(f"{own}{between}{word}" for own in owns for between in ("_", "") for word in _WORDS)}
    yield from ((name,) for name in columns if name.casefold() in likely)
    if columns and _ENDS.fullmatch(columns[0]):
        yield (columns[0],)
    leading = []
    for name in columns[:_MOST_COLUMNS]:
        if not _ENDS.fullmatch(name):
            break
        leading.append(name)
    yield from (tuple(leading[:count]) for count in range(2, len(leading) + 1))
