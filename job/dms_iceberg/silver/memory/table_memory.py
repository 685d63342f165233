"""What a table remembers of the configuration and the files that it was made from."""

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Table
from dms_iceberg.config.salts import check_of
from dms_iceberg.silver.memory.cleaning import Cleaning
from dms_iceberg.silver.memory.held_columns import Held
from dms_iceberg.silver.memory.key import KEY_PROPERTY, key_property
from dms_iceberg.silver.memory.late_declarations import as_declared
from dms_iceberg.silver.memory.name_changes import RETURNED_PROPERTY
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY, MadeMask, Withheld, other_salts, written_columns
from dms_iceberg.silver.table import TargetTable


@attrs.frozen
class Memory:
    """What a table remembers.

    Attributes:
        withheld: what it withholds from readers.
        seen: the columns that its files have had.
        texts: by silver column in lower case, the type that defines the texts of masked columns and of keys that are text.
        salts: by their references (``mask_salt``).
        held: the source columns that are held back (`held_columns`), those of the batch included.
        kept_out: further ones, that the schema policy keeps out (`held_columns.left_to_policy`).
        returned: source columns that come back with the batch (`name_changes`).
    """

    withheld: Withheld = attrs.field(factory=Withheld)
    seen: Seen = attrs.field(factory=Seen)
    texts: Mapping[str, str] = attrs.field(factory=dict)
    salts: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    held: Held = attrs.field(factory=dict)
    kept_out: Held = attrs.field(factory=dict)
    returned: frozenset[str] = frozenset()

    @property
    def checks(self) -> dict[str, str]:
        """Digests of the contents of salts (`check_of`), by their references."""
        return {place: check_of(salt) for place, salt in self.salts.items()}

    def withheld_after(self, table: Table, shape: Shape, names: Sequence[str]) -> Withheld:
        """Return what is withheld after a batch with the source columns ``names`` is merged."""
        texts, checks = {name.lower(): type_ for name, type_ in shape.texts.items()}, self.checks
        masks = {
            column.name.lower(): MadeMask(
                column.mask.value, column.mask_salt or "", checks.get(column.mask_salt or "", ""), texts.get(column.name.lower(), "")
            )
            for column in table.columns
            if column.mask
        }
        return attrs.evolve(self.withheld.after(table, names, masks, texts), held={**self.kept_out, **self.held})

    def after(self, table: Table, shape: Shape, names: Sequence[str]) -> "Memory":
        """Return what the table will remember after a batch is merged."""
        return attrs.evolve(self, withheld=self.withheld_after(table, shape, names), seen=self.seen.plus(names))

    def summary_after(self, table: Table, shape: Shape, names: Sequence[str]) -> dict[str, str]:
        """Return what the summary of a branch's snapshot must record after a batch is merged, as long as main does not have its content."""
        return {WITHHELD_PROPERTY: self.withheld_after(table, shape, names).to_text(), **self.seen.plus(names).to_properties()}

    def properties_after(
        self, table: Table, target: TargetTable, shape: Shape, names: Sequence[str], found: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the table properties with what the table must remember after a batch is merged.

        Args:
            table: the table's configuration.
            target: the table before the batch.
            shape: the shape of the batch.
            names: source columns of its files.
            found: source columns of other files that were inspected.
        """
        properties = target.properties()
        cleaning = Cleaning.from_properties(properties)
        if cleaning is not None:
            written = written_columns(silver_columns(table, names), names)
            changed = {column.name.lower() for column in other_salts(self.withheld, written, self.checks)}
            cleaning = cleaning.as_now(table, self.withheld.masks, changed)
            cleaning = as_declared(cleaning, table, self.withheld, target.column_types())
        returned = self.returned | {*json.loads(properties.get(RETURNED_PROPERTY, "[]"))}
        return {
            **key_property(table, shape.key),
            **({KEY_PROPERTY: properties[KEY_PROPERTY]} if KEY_PROPERTY in properties else {}),
            **(cleaning or Cleaning.of(table)).to_properties(),
            WITHHELD_PROPERTY: self.withheld_after(table, shape, names).to_text(),
            **self.seen.plus(names, found).to_properties(),
            **({RETURNED_PROPERTY: json.dumps(sorted(returned))} if returned else {}),
        }
