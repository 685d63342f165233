"""Columns that are no part of a key although deletes have them: the samples show rows of which they change. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from dms_iceberg.init.commit_time import are_times
from dms_iceberg.init.csv_form import WORDS
from dms_iceberg.init.earlier_values import operations
from dms_iceberg.init.role import Roles, Samples
from dms_iceberg.init.samples import all_values

_MOST_COLUMNS = 8
_Values = tuple[str | None, ...]
_Event = tuple[str, _Values]


def never_key(key: Sequence[str], samples: Samples) -> tuple[str, ...]:
    """Return the columns of a supposed key that are NULL in a loaded row, as those of a mapping rule are (``$AR_H_USER``)."""
    return tuple(name for name in key if any(None in one.values(name) for one in samples.load))


def changing(key: Sequence[str], samples: Samples, roles: Roles) -> Iterator[tuple[str, ...]]:
    """Yield the times and words of operations, the fewest first, without which most changes meet a row that was there, and with which not.

    A key means the same row before a change and in it. Other columns stay: a row that was not sampled may have been the one that was meant,
    and a key of too few columns loses rows.

    Args:
        key: the columns of a supposed key.
    """
    if len(key) > _MOST_COLUMNS:
        return
    events = list(_events(key, samples, roles))
    suspects = [place for place, name in enumerate(key) if _may_change(name, samples)]
    for count in range(1, min(len(suspects) + 1, len(key))):
        for places in combinations(suspects, count):
            if _change(events, frozenset(places)):
                yield tuple(key[place] for place in places)


def _may_change(name: str, samples: Samples) -> bool:
    values = all_values(samples.both, name)
    return are_times(values) or all(value is not None and value.casefold() in WORDS for value in values)


def _events(key: Sequence[str], samples: Samples, roles: Roles) -> Iterator[_Event]:
    """Yield for each row in order what it does (L for a loaded one), and its values of the key."""
    done = set[_Values]()
    for sample in (*samples.load, *samples.changes):
        if not set(key) <= set(sample.names):
            continue
        places = [sample.names.index(name) for name in key]
        for row, operation in zip(sample.rows, operations(sample, roles), strict=True):
            # DMS writes changes again after a restart.
            if sample.file.is_cdc and row in done:
                continue
            done.add(row)
            if operation:
                yield operation if sample.file.is_cdc else "L", tuple(row[place] for place in places)


def _change(events: Sequence[_Event], removed: frozenset[int]) -> bool:
    """Whether more changes miss the whole key of a row than meet it; an insert beside a row that is there speaks for the whole key."""
    seen, live = defaultdict[_Values, set[_Values]](set), set[_Values]()
    met = missed = 0
    for operation, values in events:
        rest = tuple(value for place, value in enumerate(values) if place not in removed)
        part = tuple(value for place, value in enumerate(values) if place in removed)
        if operation in ("U", "D") and rest in seen:
            met += part in seen[rest]
            missed += part not in seen[rest]
        met += operation == "I" and rest in live
        seen[rest].add(part)
        live.add(rest)
        if operation == "D":
            live.discard(rest)
    return missed > met
