"""What maintenance a table needs, by facts about it and thresholds. Pure."""

from collections.abc import Mapping
from enum import StrEnum

import attrs

from dms_iceberg.config.model import AfterRun, Maintenance
from dms_iceberg.iceberg.transaction import MAIN
from dms_iceberg.maintenance.expiry import SnapshotFact, expirable, is_worth_it
from dms_iceberg.silver.schema.ddl import MERGE_DISTRIBUTION, METADATA_SETTINGS


class Step(StrEnum):
    """A step of maintenance; steps are executed in this order.

    Row deletes come before the compaction that removes these rows from the files, and steps that add snapshots before their expiry.
    """

    SETTINGS = "settings"
    RESOLVED = "resolved_rows"
    COMPACT = "compact"
    DELETE_FILES = "delete_files"
    MANIFESTS = "manifests"
    PROGRESS = "progress"
    EXPIRE = "expire"
    ORPHANS = "orphan_files"


class Scope(StrEnum):
    """Which steps are considered: all for the command `maintain` (``full``), fewer right after a merge into the table."""

    FULL = "full"
    ALL = "all"
    METADATA = "metadata"
    NOTHING = "nothing"

    @classmethod
    def after(cls, word: AfterRun) -> "Scope":
        """Return the scope that the configuration sets for the end of a run, and for the time between two batches of a watch."""
        return cls(word.value)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its steps, in order."""
        return _STEPS[self]


_CHEAP = (Step.SETTINGS, Step.MANIFESTS, Step.PROGRESS, Step.EXPIRE)
_STEPS: Mapping[Scope, tuple[Step, ...]] = {
    Scope.FULL: tuple(Step),
    # Looking for orphan files lists the whole folder, and counting resolved rows reads three tables: too much after every batch.
    Scope.ALL: tuple(step for step in Step if step not in (Step.ORPHANS, Step.RESOLVED)),
    Scope.METADATA: _CHEAP,
    Scope.NOTHING: (),
}


@attrs.frozen
class Compactable:
    """What a compaction would rewrite.

    Attributes:
        files: data files, of any kind.
        heavy_bytes: total size of those among them that have too many deletes, whatever their size.
    """

    files: int = 0
    heavy_bytes: int = 0


@attrs.frozen(kw_only=True)
class TableStats:
    """A table as its metadata describes it.

    Attributes:
        refs: head by branch and tag.
        named: snapshots that the job's own table properties name.
        properties: table properties.
        data_files: live data files of main.
        delete_files: live delete files of main.
        format_version: of Iceberg; in version 3 a data file has at most one delete file, which is removed with it.
        small_manifests: manifests of main below half of Iceberg's target size that are not the only such one of their kind.
        compactable: see `Compactable`.
        target_bytes: target size of data files.
        resolved: resolved rows of a quarantine table that nothing can open again.
        is_silver: whether the table has progress.
    """

    snapshots: tuple[SnapshotFact, ...] = ()
    refs: Mapping[str, int] = attrs.field(factory=dict)
    named: frozenset[int] = frozenset()
    properties: Mapping[str, str] = attrs.field(factory=dict)
    data_files: int = 0
    delete_files: int = 0
    format_version: int = 2
    small_manifests: int = 0
    compactable: Compactable = Compactable()
    target_bytes: int = 512 << 20
    resolved: int = 0
    is_silver: bool = True

    @property
    def head(self) -> SnapshotFact | None:
        """Main's newest snapshot, None without one."""
        return next((one for one in self.snapshots if one.id == self.refs.get(MAIN)), None)


def needs(stats: TableStats, rules: Maintenance, scope: Scope, now_ms: int) -> dict[Step, str]:
    """Return the steps that a table needs, in order, each with its reason."""
    found = ((step, reason(step, stats, rules, scope, now_ms)) for step in scope.steps)
    return {step: text for step, text in found if text}


def reason(step: Step, stats: TableStats, rules: Maintenance, scope: Scope, now_ms: int) -> str:
    """Return why a table needs a step, "" if it does not."""
    if step is Step.SETTINGS:
        missing = missing_settings(stats)
        return f"{', '.join(missing)} to be set" if missing else ""
    if step in (Step.EXPIRE, Step.ORPHANS) and stats.properties.get("gc.enabled", "true").lower() == "false":
        # ``gc.enabled = false``: another table may use this table's files. Iceberg would refuse.
        return ""
    if step is Step.ORPHANS:
        hours = rules.orphan_files_older_than_hours
        return f"files that belong to no snapshot go after {hours:g} hours" if hours is not None else ""
    if stats.head is None:
        return ""
    if step is Step.PROGRESS:
        lost = stats.is_silver and not stats.head.carries and any(one.carries for one in stats.snapshots)
        return "the newest snapshot does not carry the progress" if lost else ""
    if step is Step.EXPIRE:
        count = len(to_expire(stats, rules, now_ms))
        return f"{count} of {len(stats.snapshots)} snapshots may go" if count and (scope is Scope.FULL or is_worth_it(count, rules)) else ""
    return _of_files(step, stats, rules)


def _of_files(step: Step, stats: TableStats, rules: Maintenance) -> str:
    if step is Step.RESOLVED:
        return f"{stats.resolved:,} rows are resolved for good" if stats.resolved else ""
    if step is Step.MANIFESTS:
        return f"{stats.small_manifests} small manifests" if stats.small_manifests >= rules.manifests else ""
    if step is Step.DELETE_FILES:
        most = rules.delete_files_per_data_file * max(1, stats.data_files)
        many = stats.format_version < 3 and stats.delete_files > most
        return f"{stats.delete_files:,} delete files for {stats.data_files:,} data files" if many else ""
    found = stats.compactable
    if found.files >= rules.small_files:
        return f"{found.files:,} files are small or have many deletes"
    return f"files of {found.heavy_bytes >> 20:,} MiB have many deletes" if found.heavy_bytes >= stats.target_bytes else ""


def missing_settings(stats: TableStats) -> dict[str, str]:
    """Return the properties that a table should have and lacks.

    Some bound its metadata files; a value that another writer set stays. One is the distribution of rows in a MERGE: it is the job's
    choice, whatever a table has.
    """
    missing = {name: value for name, value in METADATA_SETTINGS.items() if name not in stats.properties}
    other = {name: value for name, value in MERGE_DISTRIBUTION.items() if stats.properties.get(name, value) != value}
    return missing | (other if stats.is_silver else {})


def to_expire(stats: TableStats, rules: Maintenance, now_ms: int) -> list[int]:
    """Return the snapshots that may expire; see `expirable`."""
    return expirable(stats.snapshots, stats.refs, stats.named, rules, now_ms)
