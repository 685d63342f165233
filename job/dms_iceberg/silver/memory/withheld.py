"""What a silver table withholds from its readers: masked values, columns that are left out, and rows outside a filter.

The table remembers it, because the configuration has only the present state: after a typing error there, a column that was masked would get
clear text from the next batch on, or by a rebuild at once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.changes.mapping import SilverColumn, silver_columns
from dms_iceberg.config.choices import NewColumns
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import Column, Mask, Table

WITHHELD_PROPERTY = "dms-iceberg.withheld"
"""Table property with a `Withheld` as JSON. Snapshots of content that is being built have it in their summary."""

LEFT_OUT = "left out"
_CLEAR = ""
_STRENGTH = {_CLEAR: 0, Mask.PARTIAL.value: 1, Mask.SHA256.value: 2, Mask.REDACT.value: 3, LEFT_OUT: 4}


@attrs.frozen
class MadeMask:
    """The mask that a silver column's values were computed with.

    Attributes:
        mask: `Mask`.
        salt: reference of its salt (``mask_salt``).
        check: digest of the salt's content (`salts.check_of`); "" where it is unknown.
        text: the type that defines the masked texts (`sql.mask_text`); "" before a file had one.
    """

    mask: str
    salt: str = ""
    check: str = ""
    text: str = ""


@attrs.frozen
class Withheld:
    """What a table withholds. Names are in lower case.

    Attributes:
        masks: by silver column.
        sources: by source column that silver shows only masked, or not at all: the weakest mask, or `LEFT_OUT`.
        filter: whether a filter selects the rows.
        texts: by key column that is text in silver and not in its files, and is not masked: the type that defines its texts
            (`silver.schema.text_types`). No secret; it stands here because it goes through renames, loads and rollbacks like masks.
        held: source columns that are held back until the document names them (`silver.memory.held_columns`): the withheld columns
            that their files lacked.
    """

    masks: Mapping[str, MadeMask] = attrs.field(factory=dict)
    sources: Mapping[str, str] = attrs.field(factory=dict)
    filter: bool = False
    texts: Mapping[str, str] = attrs.field(factory=dict)
    held: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)

    @classmethod
    def from_text(cls, text: str) -> "Withheld":
        """Read what `to_text` wrote."""
        document = json.loads(text)
        masks = {name: MadeMask(**made) for name, made in document["masks"].items()}
        held = {name: tuple(lacking) for name, lacking in document.get("held", {}).items()}
        return cls(masks, document["sources"], document["filter"], document.get("texts", {}), held)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "Withheld | None":
        """Return what a table records, None before its first batch."""
        text = properties.get(WITHHELD_PROPERTY)
        return cls.from_text(text) if text is not None else None

    def to_text(self) -> str:
        """Return the text of the table property."""
        document = attrs.asdict(self, filter=lambda field, value: field.name not in ("texts", "held") or bool(value))
        return json.dumps(document, separators=(",", ":"), sort_keys=True)

    def renamed(self, new: Mapping[str, str]) -> "Withheld":
        """Return this after renames of silver columns; ``new`` has new names by old names in lower case."""
        masks = {new.get(name, name).lower(): made for name, made in self.masks.items()}
        return attrs.evolve(self, masks=masks, texts={new.get(name, name).lower(): type_ for name, type_ in self.texts.items()})

    def after(
        self, table: Table, names: Sequence[str], masks: Mapping[str, MadeMask], texts: Mapping[str, str] | None = None
    ) -> "Withheld":
        """Return what is withheld after a batch is merged.

        Args:
            table: the table's configuration.
            names: the source columns of the batch's files.
            masks: the masks of the configuration, by silver column in lower case.
            texts: the types that define the texts of columns, by silver column in lower case.
        """
        present = {name.lower() for name in names}
        written = written_columns(silver_columns(table, names), names)
        made = {name: one for name, one in self.masks.items() if name not in {column.name.lower() for column in written}}
        made |= {name: masks[name] for column in written if (name := column.name.lower()) in masks}
        # Masks of columns that no file had yet are recorded as well.
        made = {**masks, **made} if names else made
        shown: dict[str, str] = dict.fromkeys(present, LEFT_OUT)
        for column in written:
            # An expression with the name of a source column replaces this column, so its mask counts.
            source = (column.source or column.name).lower()
            if source in shown:
                shown[source] = _weaker(shown[source], _form(column.declared))
        sources = {**to_be_masked(table), **dict.fromkeys((name.lower() for name in table.drop), LEFT_OUT)} if names else {}
        sources = {name: form for name, form in (sources | dict(self.sources)).items() if name not in present}
        clear = {name: type_ for name, type_ in {**self.texts, **(texts or {})}.items() if name not in masks}
        shown = {name: form for name, form in shown.items() if form != _CLEAR}
        return Withheld(made, sources | shown, bool(table.filter), clear, self.held)

    def form_of(self, table: Table, source: str) -> str:
        """Return how silver has shown a source column, by its name or by its name before a declared rename."""
        names = [source.lower(), *(old.lower() for old, new in former_names(table) if new.lower() == source.lower())]
        return next((self.sources[name] for name in names if name in self.sources), _CLEAR)


def written_columns(columns: Iterable[SilverColumn], names: Sequence[str]) -> list[SilverColumn]:
    """Return those of ``columns`` that get values from files with the source columns ``names``."""
    present = {name.lower() for name in names}
    return [one for one in columns if not one.retired and (one.source is None or one.source.lower() in present)]


def to_be_masked(table: Table) -> dict[str, str]:
    """Return the weakest mask by source column in lower case, for columns that the configuration shows only masked; former names, too."""
    weakest: dict[str, str] = {}
    for column in table.columns:
        # An expression over the source column of its own name comes in its place.
        own = column.name if column.expr and column.name.lower() in {name.lower() for name in referenced_columns(column.expr)} else None
        for name in {name.lower() for name in (column.source_name, column.renamed_from, own) if name is not None}:
            weakest[name] = _weaker(weakest.get(name, LEFT_OUT), _form(column))
    return {name: form for name, form in weakest.items() if form != _CLEAR}


def _weaker(one: str, other: str) -> str:
    return min(one, other, key=_STRENGTH.__getitem__)


def _form(column: Column) -> str:
    return column.mask.value if column.mask else _CLEAR


def weaker_columns(withheld: Withheld, table: Table, columns: Sequence[SilverColumn]) -> list[tuple[SilverColumn, str]]:
    """Return the columns that would show more than silver has shown, with how it has shown them: a mask, or not at all (`LEFT_OUT`)."""
    declared = {column.name.lower() for column in table.columns}
    # A column with the former name of a masked one may be that column, whatever the table remembers.
    masked = to_be_masked(table)
    found = []
    for column in columns:
        made = withheld.masks.get(column.name.lower())
        of_source = withheld.form_of(table, column.source) or masked.get(column.source.lower(), _CLEAR) if column.source else _CLEAR
        is_told = column.name.lower() in declared or (
            table.new_columns is NewColumns.ADD and (column.source or "").lower() in withheld.held
        )
        if of_source == LEFT_OUT and is_told:
            # To declare a column is to publish it.
            of_source = _CLEAR
        forms = [form for form in (made.mask if made else _CLEAR, of_source) if _STRENGTH[_form(column.declared)] < _STRENGTH[form]]
        found += [(column, form) for form in forms[:1]]
    return found


def other_salts(withheld: Withheld, columns: Iterable[SilverColumn], checks: Mapping[str, str]) -> list[SilverColumn]:
    """Return the columns that were hashed with another salt. A salt may move to another place: if its content is known, only that counts.

    Args:
        withheld: what the table remembers.
        columns: the columns that get values.
        checks: digests of the contents of salts, by their references.
    """
    found = []
    for column in columns:
        made, salt = withheld.masks.get(column.name.lower()), column.declared.mask_salt or ""
        if made is None or made.mask != Mask.SHA256.value or column.declared.mask is not Mask.SHA256:
            continue
        is_other = made.check != checks.get(salt, made.check) if made.check else made.salt != salt
        if is_other:
            found.append(column)
    return found
