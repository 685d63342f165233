"""What a comparison reports. Plain data that turns into JSON."""

from collections.abc import Mapping
from typing import Any

import attrs

KINDS = ("missing", "surplus", "collided", "different")
_REPAIRS = {
    "missing": "insert",
    "surplus": "delete",
    "different": "replace",
    # Keys of the quarantine, where both sides are equal.
    "same": "confirm",
    "absent": "confirm the absence of",
}


def shown_counts(by_kind: Mapping[str, int]) -> str:
    """Return what a repair does to silver, by the number of keys of each kind: ``insert 2 rows, delete 1 row``."""
    return ", ".join(f"{verb} {by_kind[kind]:,} row{'s' * (by_kind[kind] != 1)}" for kind, verb in _REPAIRS.items() if by_kind.get(kind))


@attrs.frozen(kw_only=True)
class Example:
    """One key that differs.

    Attributes:
        key: the silver key columns as JSON.
        kind: one of `KINDS`.
        columns: names of the silver columns that differ, for a key of kind `different`; empty if they are unknown.
    """

    key: str
    kind: str
    columns: tuple[str, ...] = ()


@attrs.define(kw_only=True)
class TableVerdict:
    """The verdict on one table.

    Attributes:
        rows_source: rows of the source, filtered and rejected ones included.
        filtered: rows of the source that the filter or a rule with ``on_fail: drop`` excludes from silver.
        rejected: rows of the source that the job would quarantine: silver has their last good version or none, which is not checked here.
        ranges: number of compared ranges of the key's hash; ``ranges_differing`` of them differed at first.
        rechecked: number of keys that differed at first.
        differing: number of keys by kind; *collided* are keys of silver that several rows of the source have.
        differing_columns: by silver column, how many of the examples differ in it.
        unsettled: number of keys that differ and changed on either side meanwhile, so that the comparison has no result for them.
        not_compared: columns that both sides have and that cannot be compared, with the reason.
        one_sided: columns that only one side has, with the side: such a table is not equal, whatever its rows are.
        source: the source's identity, as ``--accept-source`` takes it; "" if the table was not compared.
        to_repair: number of keys by kind that a repair writes, or would write; empty without one. Beside `KINDS` it has keys of the
            quarantine that do not differ: *same* on both sides, or *absent* from both.
        repaired: number of change rows that ``--repair`` wrote.
        skipped: why the table was not compared.
    """

    table: str
    target: str
    rows_source: int = 0
    rows_silver: int = 0
    filtered: int = 0
    rejected: int = 0
    ranges: int = 0
    ranges_differing: int = 0
    rechecked: int = 0
    differing: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(KINDS, 0))
    differing_columns: dict[str, int] = attrs.field(factory=dict)
    unsettled: int = 0
    examples: list[Example] = attrs.field(factory=list)
    not_compared: list[str] = attrs.field(factory=list)
    one_sided: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)
    snapshot_id: int | None = None
    source: str = ""
    to_repair: dict[str, int] = attrs.field(factory=dict)
    repaired: int = 0
    seconds: float = 0.0
    skipped: str | None = None
    error: str | None = None

    @property
    def differences(self) -> int:
        """Number of keys that remain different."""
        return sum(self.differing.values())

    @property
    def equal(self) -> bool | None:
        """Whether both sides hold the same; None if the table was not compared, or only unsettled keys differ."""
        if self.error is not None or self.skipped is not None:
            return None
        if self.differences or self.one_sided:
            return False
        return None if self.unsettled else True

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        document = attrs.asdict(self, filter=lambda field, _: field.name != "table")
        return {"equal": self.equal, **document, "seconds": round(self.seconds, 3)}


@attrs.frozen
class Verdict:
    """The verdict on all (chosen) tables."""

    tables: dict[str, TableVerdict]
    seconds: float

    @property
    def exit_code(self) -> int:
        """1 if a table differs or could not be compared, else 0."""
        return 1 if any(table.error is not None or table.equal is False for table in self.tables.values()) else 0

    @property
    def equal(self) -> bool | None:
        """Whether all compared tables are equal; None if no table was compared, or one has no result."""
        if self.exit_code:
            return False
        results = {table.equal for table in self.tables.values() if table.skipped is None}
        return True if results == {True} else None

    def to_document(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "equal": self.equal,
            "seconds": round(self.seconds, 3),
            "tables": {name: table.to_document() for name, table in self.tables.items()},
        }
