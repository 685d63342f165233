"""What the files of JSON lines show of columns that may have to be held back: which of them have values, and side by side with which."""

from collections.abc import Collection, Sequence

from pyspark.sql.functions import expr

from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.silver.memory.held_columns import Lines
from dms_iceberg.silver.memory.name_changes import structure
from dms_iceberg.sql.cdc_columns import FILE_NAME
from dms_iceberg.sql.quoting import quote


def lines_seen(groups: Sequence[ReadGroup], secrets: Collection[str], known: Collection[str], *, is_first_load: bool) -> list[Lines]:
    """Return what the files of JSON lines show, in their order. Takes a Spark job for a group with new columns, if anything is withheld.

    Args:
        groups: the batch, opened.
        secrets: the withheld columns, in lower case.
        known: the columns that silver or files had, in lower case.
        is_first_load: load files are of the table's first load: all of them show one moment, and no other is known.
    """
    found = list[Lines]()
    for group in sorted(groups, key=lambda one: one.group.is_cdc):
        names, is_first = structure(group), is_first_load and not group.group.is_cdc
        new = names.keys() - {*known, *secrets, *(name for one in found if one.is_first for name in one.names)}
        found += [Lines(frozenset(names), is_first=is_first)] if is_first or not new or not secrets else _by_file(group, new, secrets)
    return found


def _by_file(group: ReadGroup, new: Collection[str], secrets: Collection[str]) -> list[Lines]:
    names = structure(group)
    has = {name: f"{quote(names[name])} IS NOT NULL" for name in sorted({*new, *secrets} & names.keys())}
    pairs = [(name, secret) for name in sorted(new) for secret in has if secret in secrets]
    tests = [*has.values(), *(f"{has[name]} AND {has[secret]}" for name, secret in pairs)]
    some = [expr(f"coalesce(max({test}), false) AS t{number}") for number, test in enumerate(tests)]
    # Names of change files sort by time, and those of load files by number.
    rows = group.frame.groupBy(FILE_NAME).agg(*some).sort(FILE_NAME).collect()
    found, left = list[Lines](), {*new}
    for row in rows:
        holds = [row[f"t{number}"] for number in range(len(tests))]
        there = {name for name, is_there in zip(has, holds, strict=False) if is_there}
        both = [pair for pair, is_there in zip(pairs, holds[len(has) :], strict=True) if is_there]
        found.append(Lines(frozenset(there), {name: frozenset(one for other, one in both if other == name) for name in there & {*new}}))
        left -= there
    # A column without any value is as new as the others.
    return [*found, Lines(frozenset(left | (names.keys() - has.keys())))]
