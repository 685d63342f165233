"""Which full-load files are merged, in bounded space: one fingerprint per file while they are few, then one digest per segment."""

import base64
import re
from collections import defaultdict
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
_MOST_MISSING = 100
_ORDER_DIGITS = 17
_NUMBER = re.compile(r"([0-9A-F]{8})(?=\.[^/]*\Z)", re.ASCII)


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
        missing: numbers up to that of the last file whose files are not merged; None where they are too many to remember.
    """

    name: str
    last: str
    count: int
    combined: str
    missing: tuple[int, ...] | None = None

    @classmethod
    def of(cls, name: str, last: str, merged: Iterable[BronzeFile], missing: tuple[int, ...] | None) -> Self:
        """Return the segment merged up to ``last``; ``merged`` are those of its files that are listed."""
        files = sorted(merged)
        return cls(name, last, len(files), digest(pack(map(fingerprint, files)), 16).hex(), missing)

    @property
    def last_number(self) -> int:
        """The number of the last merged file."""
        return int(self.last.partition("/")[0][SEGMENT_DIGITS:], 16)

    def has(self, file: BronzeFile) -> bool:
        """Whether a file is merged, as far as its name shows."""
        return self.name == _segment(file) and _load_order(file) <= self.last and number_of(file) not in (self.missing or ())

    def had(self, number: int) -> bool:
        """Whether the file of a number, which bronze does not have any more, is merged."""
        if self.missing is not None:
            return number <= self.last_number and number not in self.missing
        # If as many files as the last number are merged, they have all numbers up to it.
        return number <= self.last_number <= self.count

    def as_listed(self, loads: Iterable[BronzeFile]) -> Self:
        """Return this as its files are now."""
        return type(self).of(self.name, self.last, filter(self.has, loads), self.missing)


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
        return cls(frozenset(entries), tuple(map(_segment_of, document.get("segments", ()))))

    def and_of(self, later: Self) -> Self:
        """Return the files of this load and of a later one, as far as each is known by its fingerprint.

        There are at most `LOOK_BACK_FILES`: beyond, only the later load's are kept.
        """
        entries = self.entries | later.entries
        return type(self)(entries if len(entries) <= LOOK_BACK_FILES else later.entries)

    def _is_listed(self, file: BronzeFile) -> bool:
        return fingerprint(file) in self.entries

    def _is_in_segment(self, file: BronzeFile) -> bool:
        return any(one.has(file) for one in self.segments)

    def had(self, key: str, beside: BronzeFile, number: int) -> bool:
        """Whether the LOAD file ``key``, which bronze does not have any more, is merged.

        Args:
            beside: a file of its folder.
            number: its number; DMS counts from 1.
        """
        for one in self.segments:
            if one.name == _segment(beside):
                return one.had(number)
        return digest(key, KEY_BYTES) in {entry[:KEY_BYTES] for entry in self.entries}

    def changed(self, loads: Sequence[BronzeFile]) -> str | None:
        """Return the key of a merged file that has another ETag now, or a description when only a segment's digest shows it; else None."""
        for one in self.segments:
            now = one.as_listed(loads)
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
            return all(one.as_listed(there) == one for one in self.segments)
        return self.entries <= {fingerprint(one) for file in there for one in (file, *former_files(file))}

    def plus(self, files: Sequence[BronzeFile], known: Sequence[BronzeFile]) -> Self:
        """Return this with ``files`` merged as well; ``known`` are all LOAD files as listed (needed beyond the limit)."""
        if not files:
            return self
        entries = self.entries | {fingerprint(file) for file in files}
        if not self.segments and len(entries) <= LOOK_BACK_FILES:
            return attrs.evolve(self, entries=entries)
        own = {file.version for file in files}
        merged = defaultdict[str, list[BronzeFile]](list)
        for file in known:
            if file.version in own or self.has(file):
                merged[_segment(file)].append(file)
        lasts = {one.name: one.last for one in self.segments}
        lasts |= {name: max(lasts.get(name, ""), *map(_load_order, some)) for name, some in merged.items()}
        segments = (MergedSegment.of(name, last, merged[name], self._missing(name, last, merged[name])) for name, last in lasts.items())
        return attrs.evolve(self, entries=frozenset(), segments=tuple(sorted(segments, key=lambda one: one.name)))

    def _missing(self, name: str, last: str, merged: Sequence[BronzeFile]) -> tuple[int, ...] | None:
        """Return which numbers up to that of the file ``last`` are not merged once ``merged``, of one segment, are."""
        before = next((one for one in self.segments if one.name == name), MergedSegment(name, "0" * _ORDER_DIGITS, 0, "", ()))
        there, former = {number_of(file) for file in merged}, before.last_number
        new = range(former + 1, MergedSegment(name, last, 0, "").last_number + 1)
        # A number may be as high as four billion.
        if before.missing is None or len(new) > len(there) + LOOK_BACK_FILES + _MOST_MISSING:
            return None
        found = [number for number in (*before.missing, *new) if number not in there]
        if not self.segments:
            # Bronze may have lost merged files by now.
            found = [number for number in found if not self.had(numbered(merged[0].key, number), merged[0], number)]
        return tuple(found) if len(found) <= _MOST_MISSING else None


def number_of(file: BronzeFile) -> int:
    """Return the number in the name of a LOAD file."""
    return int(file.order[SEGMENT_DIGITS:], 16)


def numbered(key: str, number: int) -> str:
    """Return the key of the LOAD file with another number, in the folder and segment of ``key``."""
    return _NUMBER.sub(f"{number:08X}", key)


def _segment_of(document: Sequence[Any]) -> MergedSegment:
    name, last, count, combined, missing = document
    return MergedSegment(name, last, count, combined, tuple(missing) if missing is not None else None)


def _segment(file: BronzeFile) -> str:
    return file.order[:SEGMENT_DIGITS]


def _load_order(file: BronzeFile) -> str:
    return f"{file.order}/{file.relative}"
