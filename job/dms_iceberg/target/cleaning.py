"""The cleaning that a table's rows were made with: a change of it reaches only later rows, until the table is rebuilt."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from dms_iceberg.config.key_columns import silver_key
from dms_iceberg.config.model import Column, OtherColumns, Table
from dms_iceberg.staging.store import digest

CLEANING_PROPERTY = "dms-iceberg.cleaning"
"""Table property with a digest for each column that is more than a copy, for the filter and for each rule, as JSON."""

MADE_BY_KEY = "dms-iceberg.made-by"
"""Summary key of the snapshots of a load that is being built: a digest of what its rows are made with (`made_by`)."""

_DIGEST_BYTES = 8


@attrs.frozen
class Cleaning:
    """Digests of what makes silver values of source values; what is not named is copied as it is.

    Attributes:
        columns: by silver column, in lower case.
        rules: by the rule's name.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict)
    filter: str = ""
    rules: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of(cls, table: Table) -> "Cleaning":
        """Return what the configuration declares."""
        texts = {column.name.lower(): _column_text(column) for column in table.columns}
        return cls(
            {name: _digest(text) for name, text in texts.items() if text},
            _digest({"filter": table.filter.strip()}) if table.filter else "",
            {rule.name: _digest({"expr": rule.expr.strip(), "on_fail": rule.on_fail.value}) for rule in table.rules},
        )

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "Cleaning | None":
        """Return what a table was made with, None for a table of an earlier version."""
        text = properties.get(CLEANING_PROPERTY)
        return cls(**json.loads(text)) if text is not None else None

    def to_properties(self) -> dict[str, str]:
        """Return the table property."""
        return {CLEANING_PROPERTY: json.dumps(attrs.asdict(self), separators=(",", ":"), sort_keys=True)}

    def plus(self, other: "Cleaning", columns: Iterable[str]) -> "Cleaning":
        """Return this with the ``columns`` of another, which the table gets now."""
        names = {name.lower() for name in columns}
        kept = {name: text for name, text in self.columns.items() if name not in names}
        return attrs.evolve(self, columns=kept | {name: text for name, text in other.columns.items() if name in names})

    def differences(self, other: "Cleaning", columns: Collection[str]) -> list[str]:
        """Return what differs, in words; only of ``columns``, which table and configuration both have."""
        names = [name for name in columns if self.columns.get(name.lower()) != other.columns.get(name.lower())]
        rules = [name for name in sorted({*self.rules, *other.rules}) if self.rules.get(name) != other.rules.get(name)]
        found = [f"column {name}" for name in names] + (["the filter"] if self.filter != other.filter else [])
        return found + [f"rule {name}" for name in rules]


def made_by(table: Table) -> dict[str, str]:
    """Return what a snapshot's summary says of the configuration that its rows are made with: cleaning and key."""
    key = sorted(name.lower() for name in silver_key(table))
    return {MADE_BY_KEY: _digest({"cleaning": attrs.asdict(Cleaning.of(table)), "key": key})}


def _column_text(column: Column) -> dict[str, Any]:
    """What changes a value on its way. Its source does not count: who follows a rename there wants old rows as they are."""
    text = {"expr": column.expr and column.expr.strip(), "format": column.format, "trim": column.trim, "mask": column.mask}
    if column.mask:
        text |= {"mask_salt": column.mask_salt, "type": column.type}
    return {key: value for key, value in text.items() if value}


def _digest(text: Mapping[str, Any]) -> str:
    return digest(json.dumps(text, sort_keys=True), _DIGEST_BYTES).hex()


def other_cleaning(table: Table, properties: Mapping[str, str], columns: Iterable[str]) -> str | None:
    """Return the warning that a table's older rows were cleaned in another way than the configuration says now, None when they were not.

    Args:
        columns: the table's, metadata columns aside.
    """
    made = Cleaning.from_properties(properties)
    if made is None:
        return None
    found = made.differences(Cleaning.of(table), [name for name in columns if _is_live(table, name)])
    if not found:
        return None
    return (
        f"{table.source}: {table.target} was made with another configuration of {', '.join(found)}. Rows written before the change "
        f"stay as they are until they change at the source. To make all rows anew from bronze run with --rebuild {table.source}."
    )


def _is_live(table: Table, name: str) -> bool:
    """Whether a column still gets values, as far as the configuration tells; one that is left out is warned of for itself."""
    if any(column.name.lower() == name.lower() for column in table.columns):
        return True
    left_out = {*table.drop, *(column.source_name or "" for column in table.columns)}
    return table.other_columns is OtherColumns.KEEP and name.lower() not in {one.lower() for one in left_out}
