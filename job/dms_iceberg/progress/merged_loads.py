"""Which full-load files are merged, in bounded space: one fingerprint per file while they are few, then one digest per segment."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import attrs

from dms_iceberg.bronze.keys import SEGMENT_DIGITS, BronzeFile
from dms_iceberg.bronze.moved_keys import Moved, former_files
from dms_iceberg.storage.store import digest

LOOK_BACK_FILES = 200
KEY_BYTES, _ETAG_BYTES = 5, 3
MARK_BYTES = KEY_BYTES + _ETAG_BYTES
_TIME_BYTES = 7


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


def pack_recent(recent: Iterable[tuple[str, bytes]]) -> str:
    """Return close times (17 digits) and fingerprints of change files as Base64 text."""
    return pack(int(time).to_bytes(_TIME_BYTES) + mark for time, mark in recent)


def unpack_recent(text: str) -> tuple[tuple[str, bytes], ...]:
    """Return the entries from the text that `pack_recent` returned."""
    entries = unpack(text, _TIME_BYTES + MARK_BYTES)
    return tuple((f"{int.from_bytes(one[:_TIME_BYTES]):017d}", one[_TIME_BYTES:]) for one in entries)


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
        """Whether this file (name and ETag) is merged, from its place or from one of which it was moved (or copied) into a folder.

        Of more files than are remembered one by one, only those in their places are known.
        """
        return self._is_in_segment(file) if self.segments else self._is_listed(file) or self.moved_from(file) is not None

    def has_version(self, file: BronzeFile) -> bool | None:
        """Whether exactly this version of a file (name and ETag) is merged; None where there are too many files to know each ETag."""
        has = self.has(file)
        return None if self.segments and has else has

    def moved_from(self, file: BronzeFile) -> BronzeFile | None:
        """Return where a LOAD file was when it was merged, if it has been moved (or copied) into a folder since; None if it was not."""
        return None if self._is_listed(file) else next(filter(self._is_listed, former_files(file)), None)

    def moved(self, loads: Sequence[BronzeFile]) -> list[Moved]:
        """Return the LOAD files that lie in another folder than one that was merged, of the same name, and is not there any more."""
        there, keys = {file.key for file in loads}, {entry[:KEY_BYTES] for entry in self.entries}
        found = []
        for file in loads:
            if self._is_listed(file) or self._is_in_segment(file):
                continue
            former = (one for one in former_files(file) if one.key not in there)
            if was := [one for one in former if self._is_in_segment(one) or digest(one.key, KEY_BYTES) in keys]:
                same = next(filter(self._is_listed, was), None)
                found.append(Moved(file, same or was[0], same is not None))
        return found

    def to_document(self) -> dict[str, Any]:
        """Return this as what JSON can hold."""
        return {"entries": pack(sorted(self.entries)), "segments": [attrs.astuple(one) for one in self.segments]}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_document` returned; an empty document is no file."""
        entries = unpack(document.get("entries", ""), MARK_BYTES)
        return cls(frozenset(entries), tuple(MergedSegment(*one) for one in document.get("segments", ())))

    def and_of(self, later: Self) -> Self:
        """Return the files of this load and of a later one, as far as each is known by its fingerprint.

        There are at most `LOOK_BACK_FILES`: beyond, only the later load's are kept.
        """
        entries = self.entries | later.entries
        return type(self)(entries if len(entries) <= LOOK_BACK_FILES else later.entries)

    def _is_listed(self, file: BronzeFile) -> bool:
        return fingerprint(file) in self.entries

    def _is_in_segment(self, file: BronzeFile) -> bool:
        return any(one.name == _segment(file) and _load_order(file) <= one.last for one in self.segments)

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
        return self.entries <= {fingerprint(one) for file in there for one in (file, *former_files(file))}

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
