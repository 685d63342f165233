"""A table's progress. It is stored in the summary of the Iceberg snapshot that holds the data, so both are committed or neither is.

The list of recently merged files, by which a late file is distinguished from a merged one, is bounded: at most 200 files of 15 bytes. So a
summary stays far below 16 KB and metadata.json does not grow with the age of a pipeline.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from dms_iceberg.bronze.keys import BronzeFile, shown_time
from dms_iceberg.bronze.moved_keys import former_files
from dms_iceberg.bronze.position import clock_of, truncate_position
from dms_iceberg.errors import TargetError
from dms_iceberg.progress.arrivals import NO_ARRIVALS, Arrivals
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_changes import MergedChanges
from dms_iceberg.progress.merged_loads import KEY_BYTES, LOOK_BACK_FILES, MergedLoads, fingerprint, pack_recent, unpack_recent

PROGRESS_KEY = "dms-iceberg.progress"
ACCOUNTING_KEY = "dms-iceberg.accounting"
FORMAT_VERSION = 1
_RELOADS = 1000


@attrs.frozen
class Progress:
    """What is merged.

    Attributes:
        epoch, reload: load epoch of the content; how often DMS has loaded the table again in the epoch's own folder.
        reloaded_at: 17 digits, when the last such reload began; older files in the folder belong to the content before. "" for none.
        first: 17 digits, the earliest close time among merged CDC files, except those merged after bronze had lost this file.
        frontier: 17 digits, the latest close time among merged CDC files; "" before the first.
        since: 17 digits; CDC files closed up to this time count as merged, later ones only if they are in ``recent``.
        recent: (close time, fingerprint) of merged CDC files after ``since``.
        changes: all merged CDC files in two numbers.
        high_water: the highest position ever applied; "" for none.
        loads: the full-load files that are merged.
        former_loads: those of the loads that reloads in place of the epoch have replaced.
        load_written: 17 digits, when the newest of them was written, by the store's clock; "" for none, and where it was not recorded.
        truncated, before_truncated: 17 digits, the latest truncate that is applied, "" for none; and the latest before it, in order.
        replay: id of the newest replay of quarantined rows in the content; "" for none.
        first_seen: by silver column with a backfill, in lower case: the first change that had it, "" for none (`silver.schema.first_seen`).
        arrivals: when rows last arrived at keys.
        named_behind_utc: some files have names in a zone behind UTC, earlier than the commits that they hold.
        pending_since: 17 digits, when the oldest date folder begins of the files that were listed and left to later batches; "" for none.
        load_told: the operator or DMS has said that a load without any file is complete (`loads.changes_alone`).
        built_since: 17 digits, when the job began to build the load beside the content before; "" for a load that was never beside any.
        by_file: merged changes have neither commit time nor sequence, and are ordered by their files (`progress.change_order`).
    """

    epoch: int = 0
    reload: int = 0
    reloaded_at: str = ""
    first: str = ""
    frontier: str = ""
    since: str = ""
    recent: tuple[tuple[str, bytes], ...] = ()
    changes: MergedChanges = attrs.field(factory=MergedChanges)
    high_water: str = ""
    loads: MergedLoads = attrs.field(factory=MergedLoads)
    former_loads: MergedLoads = attrs.field(factory=MergedLoads)
    load_written: str = ""
    truncated: str = ""
    before_truncated: tuple[str, ...] = ()
    replay: str = ""
    first_seen: Mapping[str, str] = attrs.field(factory=dict)
    arrivals: Arrivals = NO_ARRIVALS
    named_behind_utc: bool = False
    by_file: bool = False
    pending_since: str = ""
    load_told: bool = False
    built_since: str = ""

    @property
    def load(self) -> int:
        """Number of the full load, with which positions begin: a later load has a higher one."""
        return self.epoch * _RELOADS + self.reload

    @property
    def is_empty(self) -> bool:
        """Whether no file is merged."""
        return not self.frontier and self.loads == MergedLoads()

    @property
    def truncates(self) -> tuple[str, ...]:
        """The truncates that are applied, 17 digits each, in order."""
        return (*self.before_truncated, self.truncated) if self.truncated else ()

    @property
    def reached(self) -> str:
        """The position up to which a change is late: the highest applied one, or that of a later truncate."""
        return max(self.high_water, truncate_position(self.load, self.truncated) if self.truncated else "")

    @property
    def committed(self) -> str:
        """Commit time of the newest applied change, 17 digits; "" before the first."""
        return clock_of(self.high_water) if self.high_water else ""

    def to_come(self, look_back: LookBack) -> str:
        """Return the commit time, 17 digits, of the oldest change that a listing must find; "" for all.

        Date folders are named after commits. A task that is restarted from an earlier point, or whose source's clock goes back, writes
        files that are closed now into folders of earlier days. The list of recent files says nothing about these folders: it is bounded
        by number. Files that one listing has found must be found by the next, however many batches they are merged in.
        """
        return min(filter(None, [look_back.begin(self.committed), self.pending_since])) if self.committed else ""

    @property
    def start(self) -> Self:
        """The progress of the same load before its first file. Facts about the source (``first_seen``) are kept."""
        seen, began = {name: first for name, first in self.first_seen.items() if first}, self.reloaded_at
        return type(self)(self.epoch, self.reload, began, since=began, first_seen=seen, former_loads=self.former_loads)

    def frontier_until(self, now: str) -> str:
        """Return the frontier without files whose names are later than ``now`` (17 digits)."""
        if self.frontier <= now:
            return self.frontier
        return max([self.since, *(time for time, _ in self.recent if time <= now)])

    def lost(self, listing: Sequence[BronzeFile], again: Sequence[BronzeFile] = ()) -> str | None:
        """Say which merged files are missing in ``listing``, all files of the load; None when all that progress remembers are there.

        Args:
            again: files of ``listing`` of which another version is merged (`rewritten`).
        """
        if not self.loads.are_all_in(file for file in listing if not file.is_cdc):
            return "files of the full load"
        return self.lost_changes(listing, again)

    def lost_changes(self, listing: Sequence[BronzeFile], again: Sequence[BronzeFile] = ()) -> str | None:
        """Say which merged change files are missing in ``listing``; see `lost`."""
        changes = [file for file in listing if file.is_cdc and file.order > self.reloaded_at and (self.has_merged(file) or file in again)]
        if self.first and min((file.order for file in changes), default="~") > self.first:
            return f"change files from {shown_time(self.first)} on"
        # Keys without ETags: of a file that was uploaded again, bronze has only the last version.
        were = [*changes, *filter(None, map(self.moved_from, changes))]
        if not {(time, mark[:KEY_BYTES]) for time, mark in self.recent} <= {(file.order, fingerprint(file)[:KEY_BYTES]) for file in were}:
            return "recent change files"
        return None

    def has_merged(self, file: BronzeFile) -> bool:
        """Whether a CDC file (key and ETag) is merged, or so old that it counts as merged."""
        return file.order <= self.since or (
            file.order <= self.frontier and ((file.order, fingerprint(file)) in self.recent or self.moved_from(file) is not None)
        )

    def moved_from(self, file: BronzeFile) -> BronzeFile | None:
        """Return where a CDC file was when it was merged, if it has been moved (or copied) into a folder since; None if it was not."""
        if (file.order, fingerprint(file)) in self.recent:
            return None
        return next((one for one in former_files(file) if (one.order, fingerprint(one)) in self.recent), None)

    def merged_key(self, file: BronzeFile) -> str:
        """Return the key under which a merged file was merged: its own, or the former one of a file that has been moved since."""
        former = self.moved_from(file) if file.is_cdc else self.loads.moved_from(file)
        return (former or file).key

    def has_merged_version(self, file: BronzeFile) -> bool:
        """Whether a CDC file is merged, or an earlier version that it has overwritten."""
        return self.has_merged(file) or bool(self.rewritten([file]))

    def rewritten(self, files: Sequence[BronzeFile]) -> list[BronzeFile]:
        """Return the CDC files among ``files`` of which a version is merged; for files that are not merged, one with another ETag."""
        keys = {(time, mark[:KEY_BYTES]) for time, mark in self.recent}
        return [file for file in files if file.is_cdc and (file.order, fingerprint(file)[:KEY_BYTES]) in keys]

    def earlier_versions(self, other: Self) -> list[tuple[str, bytes]]:
        """Return the marks of files of which several versions are merged here, in so far as ``other`` lacks them: it read the last ones."""
        versions = Counter((time, mark[:KEY_BYTES]) for time, mark in self.recent)
        several = [(time, mark) for time, mark in self.recent if versions[time, mark[:KEY_BYTES]] > 1 and time > other.since]
        return [one for one in several if one not in other.recent]

    def holds(self, file: BronzeFile) -> bool:
        """Whether a file of either kind is merged."""
        return self.has_merged(file) if file.is_cdc else self.loads.has(file)

    def after(
        self,
        files: Sequence[BronzeFile],
        look_back: LookBack,
        loads: Sequence[BronzeFile],
        *,
        is_cut: bool = False,
        pending_since: str = "",
    ) -> Self:
        """Return the progress once ``files`` are merged; `with_rows` adds what their rows show.

        Args:
            files: the files of the batch.
            look_back: bounds the list of recently merged files.
            loads: all full-load files as listed.
            is_cut: bronze has lost some of the files that were merged before.
            pending_since: `FileBatch.pending_since`, of the files that come after the batch.
        """
        cdc = [file for file in files if file.is_cdc]
        frontier = max([self.frontier, *(file.order for file in cdc)])
        changes = self.changes.plus({file.order for file in cdc} - {time for time, _ in self.recent})
        recent = sorted({*self.recent, *((file.order, fingerprint(file)) for file in cdc)})
        since = self.since
        floor = look_back.begin(frontier) if frontier else ""
        while recent and (len(recent) > LOOK_BACK_FILES or recent[0][0] < floor):
            since = max(since, recent.pop(0)[0])
            # Files of one millisecond are removed together, because `since` covers all of them.
            recent = [entry for entry in recent if entry[0] > since]
        new_loads = [file for file in files if not file.is_cdc]
        return attrs.evolve(
            self,
            first=self.first if is_cut else min([*filter(None, [self.first]), *(file.order for file in cdc)], default=""),
            frontier=frontier,
            since=since,
            recent=tuple(recent),
            changes=changes,
            loads=self.loads.plus(new_loads, loads),
            load_written=max([self.load_written, *(file.modified for file in new_loads)]),
            pending_since=pending_since,
        )

    def with_rows(self, high: str, *, named_behind_utc: bool, arrivals: Arrivals = NO_ARRIVALS) -> Self:
        """Return the progress once rows of a batch are merged, up to position ``high`` ("" for none); the others are as the attributes."""
        return attrs.evolve(
            self,
            high_water=max(self.high_water, high),
            arrivals=self.arrivals.plus(arrivals),
            named_behind_utc=self.named_behind_utc or named_behind_utc,
        )

    def with_truncate(self, at: str) -> Self:
        """Return the progress once the truncate ``at`` (17 digits) is applied."""
        return attrs.evolve(self, truncated=at, before_truncated=self.truncates[-LOOK_BACK_FILES:])

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
            "recent": pack_recent(self.recent),
            "loads": self.loads.to_document(),
            **({"former_loads": self.former_loads.to_document()} if self.former_loads != MergedLoads() else {}),
            "changes": attrs.astuple(self.changes),
            **({"before_truncated": self.before_truncated} if self.before_truncated else {}),
            **({"load_written": self.load_written} if self.load_written else {}),
            **({"replay": self.replay} if self.replay else {}),
            **({"first_seen": self.first_seen} if self.first_seen else {}),
            **({"arrivals": attrs.astuple(self.arrivals)} if self.arrivals != NO_ARRIVALS else {}),
            **({"behind": True} if self.named_behind_utc else {}),
            **({"by_file": True} if self.by_file else {}),
            **({"waiting": self.pending_since} if self.pending_since else {}),
            **({"load_told": True} if self.load_told else {}),
            **({"built": self.built_since} if self.built_since else {}),
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            TargetError: a newer version wrote the text, in a format that this version does not know.
        """
        document = json.loads(text)
        if document["format"] > FORMAT_VERSION:
            raise TargetError(
                f"progress in the snapshot has format {document['format']}, this version reads up to {FORMAT_VERSION}: "
                "a newer dms-iceberg wrote this table. Run that version or a later one."
            )
        return cls(
            epoch=document["epoch"],
            reload=document["reload"][0],
            reloaded_at=document["reload"][1],
            first=document["first"],
            frontier=document["frontier"],
            since=document["since"],
            high_water=document["high_water"],
            recent=unpack_recent(document["recent"]),
            changes=MergedChanges(*document["changes"]),
            truncated=document.get("truncated", ""),
            before_truncated=tuple(document.get("before_truncated", ())),
            loads=MergedLoads.from_document(document["loads"]),
            former_loads=MergedLoads.from_document(document.get("former_loads", {})),
            load_written=document.get("load_written", ""),
            replay=document.get("replay", ""),
            first_seen=document.get("first_seen", {}),
            arrivals=Arrivals(*document.get("arrivals", ())),
            named_behind_utc=document.get("behind", False),
            by_file=document.get("by_file", False),
            pending_since=document.get("waiting", ""),
            load_told=document.get("load_told", False),
            built_since=document.get("built", ""),
        )
