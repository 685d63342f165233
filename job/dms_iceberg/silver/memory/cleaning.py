"""The cleaning that a table's rows were computed with: a change of it affects only later rows, until the table is rebuilt."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from dms_iceberg.config.key_columns import silver_key
from dms_iceberg.config.model import Column, Mask, OtherColumns, Table
from dms_iceberg.config.publish import published_columns
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.silver.memory.withheld import MadeMask, Withheld
from dms_iceberg.sql.mask_text import is_plain
from dms_iceberg.storage.store import digest

CLEANING_PROPERTY = "dms-iceberg.cleaning"
"""Table property with a digest for each column that is not a plain copy, for the filter and for each rule, as JSON."""

MADE_BY_KEY = "dms-iceberg.made-by"
"""Summary key of the snapshots of a load that is being built: a digest of what makes its rows (`made_by`)."""

UNFILLED = "unfilled"
"""Stands in `Cleaning.columns` for the digest of a column that older rows lack, though their files have the values."""

_DIGEST_BYTES = 8


@attrs.frozen
class Cleaning:
    """Digests of what computes silver values from source values; columns without a digest are copies.

    Attributes:
        columns: digest by silver column, in lower case.
        filter: digest of the filter, "" without one.
        rules: digest by the rule's name.
        renames: by silver column in lower case, the name before a declared rename that older rows follow; by a name between two renames,
            the one before it.
        tracked: digest of ``track_columns``, "" in other modes than history, and where nothing is known.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict)
    filter: str = ""
    rules: Mapping[str, str] = attrs.field(factory=dict)
    renames: Mapping[str, str] = attrs.field(factory=dict)
    tracked: str = ""

    @classmethod
    def of(cls, table: Table) -> "Cleaning":
        """Return the cleaning that the configuration declares."""
        texts = {column.name.lower(): _column_text(column) for column in table.columns}
        return cls(
            {name: _digest(text) for name, text in texts.items() if text},
            _digest({"filter": table.filter.strip()}) if table.filter else "",
            {rule.name: _digest({"expr": rule.expr.strip(), "on_fail": rule.on_fail.value}) for rule in table.rules},
            declared_renames(table),
            _digest({"columns": sorted({name.lower() for name in table.track_columns})}) if table_mode(table.mode).has_versions else "",
        )

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "Cleaning | None":
        """Return the cleaning that a table records, None before its first batch."""
        text = properties.get(CLEANING_PROPERTY)
        return cls(**json.loads(text)) if text is not None else None

    def to_properties(self) -> dict[str, str]:
        """Return the table property."""
        return {CLEANING_PROPERTY: json.dumps(self.to_document(), separators=(",", ":"), sort_keys=True)}

    def to_document(self) -> dict[str, Any]:
        """Return this as plain data, without what is empty and was added later."""
        return attrs.asdict(self, filter=lambda field, value: field.name not in ("renames", "tracked") or bool(value))

    def plus(self, other: "Cleaning", columns: Iterable[str]) -> "Cleaning":
        """Return this cleaning with ``columns`` from another, because the table gets them now."""
        names = {name.lower() for name in columns}
        kept = {name: text for name, text in self.columns.items() if name not in names}
        return attrs.evolve(self, columns=kept | {name: text for name, text in other.columns.items() if name in names})

    def is_that_of(self, table: Table) -> bool:
        """Whether rows that were made so may stand beside those that the configuration makes now.

        They follow all declared renames, and maybe others that were done and are not declared any more. In columns that are UNFILLED they
        lack values, whatever is declared.
        """
        now = Cleaning.of(table)
        if not now.renames.items() <= self.renames.items():
            return False
        unfilled = self.unfilled()
        columns = [{name: text for name, text in one.columns.items() if name not in unfilled} for one in (self, now)]
        return columns[0] == columns[1] and (self.filter, self.rules, self.tracked) == (now.filter, now.rules, now.tracked)

    def unfilled(self) -> dict[str, str]:
        """Return the columns that older rows lack, in lower case, each with UNFILLED."""
        return {name: text for name, text in self.columns.items() if text == UNFILLED}

    def differences(self, table: Table, columns: Collection[str], withheld: Withheld | None) -> list[str]:
        """Return what the configuration cleans in another way, in words.

        Args:
            table: the table's configuration.
            columns: the columns to compare, which table and configuration both have.
            withheld: what the table remembers of its masks.
        """
        now = Cleaning.of(table)
        rules = [name for name in sorted({*self.rules, *now.rules}) if self.rules.get(name) != now.rules.get(name)]
        others = self.other_columns(table, columns, withheld)
        found = [f"column {name}" for name in others if self.columns.get(name.lower()) != UNFILLED]
        found += ["the filter"] if self.filter != now.filter else []
        found += ["track_columns"] if self.tracked and now.tracked and self.tracked != now.tracked else []
        return found + [f"rule {name}" for name in rules]

    def other_columns(self, table: Table, columns: Iterable[str], withheld: Withheld | None) -> list[str]:
        """Return those of ``columns`` that the configuration computes in another way; see `differences`."""
        now, masks = Cleaning.of(table).columns, withheld.masks if withheld else {}
        declared = {column.name.lower(): column for column in table.columns}
        others = [name for name in columns if self.columns.get(name.lower()) != now.get(name.lower())]
        return [
            name
            for name in others
            if self.columns.get(name.lower())
            not in _equivalent_digests(declared.get(name.lower(), Column(name=name)), masks.get(name.lower()))
        ]

    def as_now(self, table: Table, masks: Mapping[str, MadeMask], changed: Collection[str] = ()) -> "Cleaning":
        """Return this cleaning with present digests for columns whose values stay the same, though their declaration has changed.

        Args:
            table: the table's configuration. No column has another salt than before, though the salt may be in another place.
            masks: what the table remembers of its masks.
            changed: columns, in lower case, that are masked in another way nevertheless.
        """
        now, recorded = Cleaning.of(table), dict(self.columns)
        for column in table.columns:
            name, mask = column.name.lower(), masks.get(column.name.lower())
            moved = [attrs.evolve(column, mask_salt=mask.salt)] if mask is not None and column.mask is Mask.SHA256 else []
            if (
                name not in changed
                and name in now.columns
                and any(recorded.get(name) in _equivalent_digests(one, mask) for one in (column, *moved))
            ):
                recorded[name] = now.columns[name]
        return attrs.evolve(self, columns=recorded)


def made_by(table: Table) -> dict[str, str]:
    """Return the summary entry with a digest of the configuration that computes a snapshot's rows: cleaning, key, mode, which columns."""
    made = {
        "cleaning": attrs.evolve(Cleaning.of(table), renames={}).to_document(),
        "key": sorted(name.lower() for name in silver_key(table)),
        "mode": table.mode.value,
        "shown": _shown(table),
    }
    return {MADE_BY_KEY: _digest(made)}


def _shown(table: Table) -> dict[str, Any]:
    """Return the declarations that decide which source columns rows have; see `_column_text` for why the names at the source do not."""
    # Where other columns are kept, a column that is declared is there without that as well.
    named = table.columns if table.other_columns is OtherColumns.DROP else ()
    return {
        "drop": sorted({name.lower() for name in table.drop}),
        "other_columns": table.other_columns.value,
        # The names before declared renames, by which no value is lost.
        "columns": sorted({(one.renamed_from or one.name).lower() for one in named}),
    }


def declared_renames(table: Table) -> dict[str, str]:
    """Return the names of columns before their declared renames, by their names in silver; all in lower case."""
    found = {one.name.lower(): one.renamed_from.lower() for one in table.columns if one.renamed_from is not None}
    return {name: old for name, old in found.items() if name != old}


def _column_text(column: Column) -> dict[str, Any]:
    """Return the declarations that change a value. The source column does not count: after a rename there, old rows stay valid."""
    text: dict[str, Any] = {"expr": column.expr and column.expr.strip(), "format": column.format, "trim": column.trim, "mask": column.mask}
    if column.mask:
        text |= {"mask_salt": column.mask_salt, "type": column.type}
    return {key: value for key, value in text.items() if value}


def _equivalent_digests(column: Column, recorded: MadeMask | None) -> set[str | None]:
    """Return the digests of all declarations that compute the same values as this one; None is that of a copy.

    Args:
        column: the declaration.
        recorded: what the table remembers of the column's mask.
    """
    types = {column.type}
    if recorded is not None and recorded.text:
        if column.type is None:
            types.add(recorded.text)
        elif is_plain(column.type, recorded.text) and is_plain(recorded.text, column.type):
            types |= {None, recorded.text}
    texts = [_column_text(attrs.evolve(column, type=type_)) for type_ in types]
    return {_digest(text) if text else None for text in texts}


def _digest(text: Mapping[str, Any]) -> str:
    return digest(json.dumps(text, sort_keys=True), _DIGEST_BYTES).hex()


def other_cleaning(table: Table, properties: Mapping[str, str], columns: Iterable[str]) -> str | None:
    """Return a warning if a table's older rows were cleaned in another way than the configuration says now, None otherwise.

    Args:
        columns: the table's, metadata columns aside.
    """
    recorded = Cleaning.from_properties(properties)
    if recorded is None:
        return None
    found = recorded.differences(table, [name for name in columns if _is_live(table, name)], Withheld.from_properties(properties))
    if not found:
        return None
    return (
        f"{table.source}: {table.target} was made with another configuration of {', '.join(found)}. Rows written before the change "
        f"stay as they are until they change at the source. To make all rows again from bronze run with --rebuild {table.source}."
    )


def _is_live(table: Table, name: str) -> bool:
    """Whether a column still gets values by the configuration; there is another warning for a column that is left out."""
    if any(column.name.lower() == name.lower() for column in table.columns):
        return True
    left_out = {*table.drop, *(column.source_name or "" for column in table.columns)}
    return table.other_columns is OtherColumns.KEEP and name.lower() not in {one.lower() for one in left_out}


def refuse_other_key_values(table: Table, properties: Mapping[str, str]) -> None:
    """Refuse to merge by a key whose values would be computed in another way: new rows would not replace old ones.

    A removed mask that ``publish`` does not allow is left to `publish_guard.refuse_published`, which also checks the files.

    Raises:
        SchemaChangeError: a key column's mask, or what else computes its values, is not what the table's rows were made with.
    """
    recorded, withheld = Cleaning.from_properties(properties), Withheld.from_properties(properties)
    if recorded is None:
        return
    masks = withheld.masks if withheld else {}
    meant = {word.lower() for word in published_columns(table)}
    for shown in sorted(silver_key(table)):
        name = shown.lower()
        declared = next((column for column in table.columns if column.name.lower() == name), Column(name=name))
        is_masked = declared.mask is not None or name in masks
        is_guarded = is_masked and declared.mask is None and not {name, (declared.source_name or name).lower()} & meant
        if is_guarded or recorded.columns.get(name) in _equivalent_digests(declared, masks.get(name)):
            continue
        made = (
            "was masked in another way (mask, salt, type, trim, format or expr) than it would be now, so its values would have other hashes"
            if is_masked
            else "was computed in another way (expr, format or trim) than it would be now"
        )
        raise SchemaChangeError(
            f'tables."{table.source}".columns: the key column {shown!r} of {table.target} {made}: changes would not find their rows. '
            f"Put its declaration back; or make the table again with run --rebuild {table.source}. Nothing was written."
        )
