"""Which full-load files are merged, in bounded space: one fingerprint per file while they are few, then one digest per segment."""

import base64
from collections.abc import Iterable, Sequence
from typing import Self

import attrs

from dms_iceberg.bronze.keys import SEGMENT_DIGITS, BronzeFile
from dms_iceberg.storage.store import digest

LOOK_BACK_FILES = 200
KEY_BYTES, _ETAG_BYTES = 5, 3
MARK_BYTES = KEY_BYTES + _ETAG_BYTES


def fingerprint(file: BronzeFile) -> bytes:
    """Return `MARK_BYTES` bytes that stand for key and ETag."""
    return digest(file.key, KEY_BYTES) + digest(file.etag, _ETAG_BYTES)


def pack(entries: Iterable[bytes]) -> str:
    """Return entries as Base64 text."""
    return base64.b64encode(b"".join(entries)).decode()


def unpack(text: str, size: int) -> list[bytes]:
    """Return the entries of ``size`` bytes from the text that `pack` returned."""
    data = base64.b64decode(text)
    return [data[start : start + size] for start in range(0, len(data), size)]


@attrs.frozen
class MergedSegment:
    """The merged LOAD files of one folder: DMS numbers them upwards, and loads several such segments side by side.

    Attributes:
        name: first part of `BronzeFile.order`.
        last: order and relative key of the last merged file.
        count: how many files are merged.
        combined: digest of their fingerprints in order.
    """

    name: str
    last: str
    count: int
    combined: str

    @classmethod
    def of(cls, name: str, last: str, known: Iterable[BronzeFile]) -> Self:
        """Return the segment merged up to ``last``; ``known`` are all LOAD files as listed."""
        merged = sorted(file for file in known if _segment(file) == name and _load_order(file) <= last)
        return cls(name, last, len(merged), digest(pack(map(fingerprint, merged)), 16).hex())


@attrs.frozen
class MergedLoads:
    """The full-load files that are merged: a fingerprint of each while they are few, then count and digest of each segment.

    Attributes:
        entries: fingerprints of key and ETag; empty when there are more than `LOOK_BACK_FILES`.
        segments: by name; empty while ``entries`` lists the files.
    """

    entries: frozenset[bytes] = frozenset()
    segments: tuple[MergedSegment, ...] = ()

    def has(self, file: BronzeFile) -> bool:
        """Whether this file (key and ETag) is merged."""
        if self.segments:
            return any(one.name == _segment(file) and _load_order(file) <= one.last for one in self.segments)
        return fingerprint(file) in self.entries

    def has_version(self, file: BronzeFile) -> bool | None:
        """Whether exactly this version of a file (key and ETag) is merged; None where there are too many files to know each ETag."""
        if not self.segments:
            return fingerprint(file) in self.entries
        return None if self.has(file) else False

    def had(self, key: str, beside: BronzeFile, number: int) -> bool:
        """Whether the LOAD file ``key``, which bronze does not have any more, is merged.

        Args:
            beside: a file of its folder.
            number: its number; DMS counts from 1.
        """
        for one in self.segments:
            if one.name == _segment(beside):
                # If as many files as the last number are merged, they have all numbers up to it.
                last = int(one.last.partition("/")[0][-8:], 16)
                return number <= last <= one.count
        return digest(key, KEY_BYTES) in {entry[:KEY_BYTES] for entry in self.entries}

    def changed(self, loads: Sequence[BronzeFile]) -> str | None:
        """Return the key of a merged file that has another ETag now, or a description when only a segment's digest shows it; else None."""
        for one in self.segments:
            now = MergedSegment.of(one.name, one.last, loads)
            # Where bronze does not keep its full load, nothing is left that could be compared, or merged twice.
            if now.count and now != one:
                return f"(one of the first {one.count})"
        keys = {entry[:KEY_BYTES] for entry in self.entries}
        for file in loads:
            mark = fingerprint(file)
            if mark not in self.entries and mark[:KEY_BYTES] in keys:
                return file.key
        return None

    def are_all_in(self, loads: Iterable[BronzeFile]) -> bool:
        """Whether every merged file is still there."""
        there = list(loads)
        if self.segments:
            return all(MergedSegment.of(one.name, one.last, there) == one for one in self.segments)
        return self.entries <= {fingerprint(file) for file in there}

    def plus(self, files: Sequence[BronzeFile], known: Sequence[BronzeFile]) -> Self:
        """Return this with ``files`` merged as well; ``known`` are all LOAD files as listed (needed beyond the limit)."""
        if not files:
            return self
        entries = self.entries | {fingerprint(file) for file in files}
        if not self.segments and len(entries) <= LOOK_BACK_FILES:
            return attrs.evolve(self, entries=entries)
        lasts = {one.name: one.last for one in self.segments}
        for file in [*files, *(file for file in known if self.has(file))]:
            lasts[_segment(file)] = max(lasts.get(_segment(file), ""), _load_order(file))
        segments = tuple(MergedSegment.of(name, last, known) for name, last in sorted(lasts.items()))
        return attrs.evolve(self, entries=frozenset(), segments=segments)


def _segment(file: BronzeFile) -> str:
    return file.order[:SEGMENT_DIGITS]


def _load_order(file: BronzeFile) -> str:
    return f"{file.order}/{file.relative}"
