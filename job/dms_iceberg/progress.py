"""How far a table has come. Lives in the summary of the Iceberg snapshot that holds the data, so both commit or neither does.

The look-back (which files were merged lately, to tell a late file from a known one) is bounded: 14 bytes a file, 200 files, so a
summary stays far below 16 KB and metadata.json does not grow with the age of a pipeline.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Self

import attrs

from dms_iceberg.changes.position import clock_of, truncate_position
from dms_iceberg.errors import TargetError
from dms_iceberg.staging.keys import SEGMENT_DIGITS, BronzeFile, digits_of, earlier
from dms_iceberg.staging.store import digest

PROGRESS_KEY = "dms-iceberg.progress"
ACCOUNTING_KEY = "dms-iceberg.accounting"
FORMAT_VERSION = 1
LOOK_BACK_FILES = 200
_RELOADS = 1000
_ZONE_MINUTES = 30
"""The least that a zone is behind UTC is an hour, and the newest change of a file was committed shortly before its close."""
_KEY_BYTES, _ETAG_BYTES, _TIME_BYTES = 5, 3, 7


def _fingerprint(file: BronzeFile) -> bytes:
    return digest(file.key, _KEY_BYTES) + digest(file.etag, _ETAG_BYTES)


def _pack(entries: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(entries)).decode()


def _unpack(text: str, size: int) -> list[bytes]:
    data = base64.b64decode(text)
    return [data[start : start + size] for start in range(0, len(data), size)]


@attrs.frozen
class MergedSegment:
    """The merged LOAD files of one folder: DMS numbers them upwards, and loads several such segments side by side.

    Attributes:
        name: first part of `BronzeFile.order`.
        last: the highest of them in order.
        count: how many there are.
        combined: digest over their fingerprints in order.
    """

    name: str
    last: str
    count: int
    combined: str

    @classmethod
    def of(cls, name: str, last: str, known: Iterable[BronzeFile]) -> Self:
        """Return the segment merged up to ``last``; ``known`` are all LOAD files as listed."""
        merged = sorted(file for file in known if _segment(file) == name and _load_order(file) <= last)
        return cls(name, last, len(merged), digest(_pack(map(_fingerprint, merged)), 16).hex())


@attrs.frozen
class MergedLoads:
    """The full-load files that are merged: each one while they are few, count and common digest of each segment beyond.

    Attributes:
        entries: fingerprints of key and ETag; empty when there are more than `LOOK_BACK_FILES`.
        segments: by name; empty while ``entries`` lists the files.
    """

    entries: frozenset[bytes] = frozenset()
    segments: tuple[MergedSegment, ...] = ()

    def has(self, file: BronzeFile) -> bool:
        """Whether this very file (key and ETag) is merged."""
        if self.segments:
            return any(one.name == _segment(file) and _load_order(file) <= one.last for one in self.segments)
        return _fingerprint(file) in self.entries

    def changed(self, loads: Sequence[BronzeFile]) -> str | None:
        """Return the key of a merged file that has another ETag now, or a description when only their digest tells."""
        for one in self.segments:
            now = MergedSegment.of(one.name, one.last, loads)
            # Where bronze keeps its full load no longer, nothing is left to be compared, or to be merged twice.
            if now.count and now != one:
                return f"(one of the first {one.count})"
        keys = {entry[:_KEY_BYTES] for entry in self.entries}
        for file in loads:
            mark = _fingerprint(file)
            if mark not in self.entries and mark[:_KEY_BYTES] in keys:
                return file.key
        return None

    def are_all_in(self, loads: Iterable[BronzeFile]) -> bool:
        """Whether every merged file is still there."""
        there = list(loads)
        if self.segments:
            return all(MergedSegment.of(one.name, one.last, there) == one for one in self.segments)
        return self.entries <= {_fingerprint(file) for file in there}

    def plus(self, files: Sequence[BronzeFile], known: Sequence[BronzeFile]) -> Self:
        """Return this with ``files`` merged as well; ``known`` are all LOAD files as listed (needed beyond the limit)."""
        if not files:
            return self
        entries = self.entries | {_fingerprint(file) for file in files}
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


@attrs.frozen
class LookBack:
    """How far back a late file is still told from a merged one: ``hours`` before now, or before the frontier where that lies behind."""

    hours: float
    now: datetime

    def begin(self, frontier: str) -> str:
        """Return the earliest close time (17 digits) that is looked back to.

        Files may be named ahead of now, in the zone of `DatePartitionTimezone` or by a wrong clock. What others bring meanwhile is late
        beside them, so they must not shorten the look-back.
        """
        return earlier(min(frontier, digits_of(self.now)), hours=self.hours)


@attrs.frozen
class Progress:
    """What is merged.

    Attributes:
        epoch, reload: number of the full load the content belongs to; how often it was done again in the epoch's own folder.
        reloaded_at: 17 digits, when the last such reload began; what is older in the folder belongs to the content before. "" for none.
        first: 17 digits, the earliest close time among merged CDC files, but those that came when bronze had lost this one.
        frontier: 17 digits, the latest close time among merged CDC files; "" before the first.
        since: 17 digits; CDC files closed up to here count as merged, later ones only if they are in ``recent``.
        recent: (close time, fingerprint) of merged CDC files after ``since``.
        high_water: the highest position ever applied; "" for none.
        loads: the full-load files that are merged.
        truncated: 17 digits, the latest truncate that is applied; "" for none.
        replay: id of the newest replay of quarantined rows that the content has; "" for none.
        behind: some files were named in a zone behind UTC, before the commits that they hold.
    """

    epoch: int = 0
    reload: int = 0
    reloaded_at: str = ""
    first: str = ""
    frontier: str = ""
    since: str = ""
    recent: tuple[tuple[str, bytes], ...] = ()
    high_water: str = ""
    loads: MergedLoads = MergedLoads()
    truncated: str = ""
    replay: str = ""
    behind: bool = False

    @property
    def load(self) -> int:
        """Number of the full load, by which positions begin: a later load has a higher one."""
        return self.epoch * _RELOADS + self.reload

    @property
    def is_empty(self) -> bool:
        """Whether no file is merged."""
        return not self.frontier and self.loads == MergedLoads()

    @property
    def reached(self) -> str:
        """The position up to which a change may be older than what was applied: the highest one, or that of a later truncate."""
        return max(self.high_water, truncate_position(self.load, self.truncated) if self.truncated else "")

    @property
    def committed(self) -> str:
        """Commit time of the newest applied change, 17 digits; "" before the first."""
        return clock_of(self.high_water) if self.high_water else ""

    @property
    def start(self) -> Self:
        """The progress of the same load before its first file."""
        return attrs.evolve(type(self)(), epoch=self.epoch, reload=self.reload, reloaded_at=self.reloaded_at, since=self.reloaded_at)

    def frontier_until(self, now: str) -> str:
        """Return the frontier without files that are named after ``now`` (17 digits)."""
        if self.frontier <= now:
            return self.frontier
        return max([self.since, *(time for time, _ in self.recent if time <= now)])

    def lost(self, listing: Sequence[BronzeFile]) -> str | None:
        """Return which merged files are no longer in ``listing``, all files of the load; None when all that can be told are there."""
        if not self.loads.are_all_in(file for file in listing if not file.is_cdc):
            return "files of the full load"
        changes = [file for file in listing if file.is_cdc and file.order > self.reloaded_at and self.has_merged(file)]
        if self.first and min((file.order for file in changes), default="~") > self.first:
            return f"change files from {self.first[:14]} on"
        if not set(self.recent) <= {(file.order, _fingerprint(file)) for file in changes}:
            return "change files of late"
        return None

    def has_merged(self, file: BronzeFile) -> bool:
        """Whether a CDC file (key and ETag) is merged, or too old to tell."""
        return file.order <= self.since or (file.order <= self.frontier and (file.order, _fingerprint(file)) in self.recent)

    def holds(self, file: BronzeFile) -> bool:
        """Whether a file of either kind is merged."""
        return self.has_merged(file) if file.is_cdc else self.loads.has(file)

    def after(
        self, files: Sequence[BronzeFile], high: str, look_back: LookBack, loads: Sequence[BronzeFile], *, is_cut: bool = False
    ) -> Self:
        """Return the progress once ``files`` are merged and ``high`` was reached; ``is_cut`` if bronze has lost some of those before."""
        cdc = [file for file in files if file.is_cdc]
        frontier = max([self.frontier, *(file.order for file in cdc)])
        recent = sorted({*self.recent, *((file.order, _fingerprint(file)) for file in cdc)})
        since = self.since
        floor = look_back.begin(frontier) if frontier else ""
        while recent and (len(recent) > LOOK_BACK_FILES or recent[0][0] < floor):
            since = max(since, recent.pop(0)[0])
            # Files of one millisecond are forgotten together, or `since` would hide those that stay.
            recent = [entry for entry in recent if entry[0] > since]
        merged = self.loads.plus([file for file in files if not file.is_cdc], loads)
        newest = max((file.order for file in cdc), default="")
        is_behind = bool(newest and high) and earlier(clock_of(high), minutes=_ZONE_MINUTES) > newest
        return attrs.evolve(
            self,
            first=self.first if is_cut else min([*filter(None, [self.first]), *(file.order for file in cdc)], default=""),
            frontier=frontier,
            since=since,
            recent=tuple(recent),
            high_water=max(self.high_water, high),
            loads=merged,
            behind=self.behind or is_behind,
        )

    def to_json(self) -> str:
        """Return the compact text that goes into the snapshot summary."""
        document: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "epoch": self.epoch,
            "reload": [self.reload, self.reloaded_at],
            "first": self.first,
            "frontier": self.frontier,
            "since": self.since,
            "high_water": self.high_water,
            "truncated": self.truncated,
            "recent": _pack(int(time).to_bytes(_TIME_BYTES) + mark for time, mark in self.recent),
            "loads": {
                "entries": _pack(sorted(self.loads.entries)),
                "segments": [attrs.astuple(one) for one in self.loads.segments],
            },
            **({"replay": self.replay} if self.replay else {}),
            **({"behind": True} if self.behind else {}),
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            TargetError: the text was written by a newer version, which must not be guessed at.
        """
        document = json.loads(text)
        if document["format"] > FORMAT_VERSION:
            raise TargetError(
                f"progress in the snapshot has format {document['format']}, this version reads up to {FORMAT_VERSION}: "
                "a newer dms-iceberg wrote this table. Run that version or a later one."
            )
        width, loads = _KEY_BYTES + _ETAG_BYTES, document["loads"]
        entries = _unpack(document["recent"], _TIME_BYTES + width)
        recent = tuple((f"{int.from_bytes(one[:_TIME_BYTES]):017d}", one[_TIME_BYTES:]) for one in entries)
        return cls(
            epoch=document["epoch"],
            reload=document["reload"][0],
            reloaded_at=document["reload"][1],
            first=document["first"],
            frontier=document["frontier"],
            since=document["since"],
            high_water=document["high_water"],
            recent=recent,
            truncated=document.get("truncated", ""),
            loads=MergedLoads(frozenset(_unpack(loads["entries"], width)), tuple(MergedSegment(*one) for one in loads["segments"])),
            replay=document.get("replay", ""),
            behind=document.get("behind", False),
        )
