"""LOAD files that are missing although DMS must have written them: it numbers those of a folder from 1 without a gap."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.progress.merged_loads import MergedLoads, number_of, numbered

_SHOWN = 3


@attrs.frozen
class Gaps:
    """LOAD files that are missing at the beginning or in between; after the last file a gap cannot be seen.

    Attributes:
        keys: the first missing keys, as DMS would have named them.
        more: there are others.
    """

    keys: tuple[str, ...] = ()
    more: bool = False


def find_gaps(loads: Iterable[BronzeFile], merged: MergedLoads) -> Gaps:
    """Return which LOAD files are missing among all listed ones.

    Merged files do not count as missing: bronze may keep its full load for a while only.
    """
    folders = defaultdict[str, list[BronzeFile]](list)
    for file in loads:
        folders[_stem(file)].append(file)
    # Beyond the keys that are shown, it is enough to know whether there are others: a number may be as high as four billion.
    found = [key for _, files in sorted(folders.items()) for key in islice(_missing(files, merged), _SHOWN + 1)]
    return Gaps(tuple(found[:_SHOWN]), len(found) > _SHOWN)


def fills_gap(file: BronzeFile, merged: Iterable[BronzeFile]) -> bool:
    """Whether a LOAD file that is not merged has a number below that of a merged one of its folder."""
    return any(_stem(one) == _stem(file) and number_of(one) > number_of(file) for one in merged)


def _missing(files: list[BronzeFile], merged: MergedLoads) -> Iterator[str]:
    there = {number_of(file) for file in files}
    last = max(files, key=number_of)
    # This runs for every listing, and nearly all have every number.
    if len(there) == number_of(last):
        return
    for number in range(1, number_of(last)):
        if number not in there and not merged.had(key := numbered(last.key, number), last, number):
            yield key


def _stem(file: BronzeFile) -> str:
    return numbered(file.key, 0)
