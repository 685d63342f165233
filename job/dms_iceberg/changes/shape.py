"""The silver columns that cleaning makes, and their types. Pure."""

from collections.abc import Mapping

import attrs

from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.sql.quoting import quote, string_literal

_REASON = "schema_change: "


@attrs.frozen
class Refused:
    """Why the schema policy rejects files.

    Attributes:
        changes: by source column, how its values would change the table's structure.
    """

    changes: Mapping[str, str]

    @property
    def problem(self) -> str:
        """The problem of every row of the files."""
        return _REASON + "; ".join(self.changes.values())

    def problem_sql(self, *, by_row: bool) -> str:
        """SQL of a row's problem. With ``by_row`` only rows with a value in one of the columns have one."""
        if not by_row:
            return string_literal(self.problem)
        some = " OR ".join(f"{quote(name)} IS NOT NULL" for name in self.changes)
        texts = ", ".join(f"CASE WHEN {quote(name)} IS NOT NULL THEN {string_literal(text)} END" for name, text in self.changes.items())
        return f"CASE WHEN {some} THEN concat({string_literal(_REASON)}, concat_ws('; ', {texts})) END"


@attrs.frozen
class Shape:
    """What cleaning needs to know: the silver columns and their types in the target.

    Attributes:
        columns: the silver columns.
        types: Spark type by silver column.
        exact: columns whose value must survive the cast unchanged (files and table disagree on the type).
        refused: by number of the group, files whose structure the schema policy rejects.
        first_seen: since when the source has the columns with a backfill (`silver.schema.first_seen`); no entry: no file has had them.
        keeps_deleted: deleted rows are kept, so a key has a newest row beside its newest change (`merge.soft_delete_state`).
        texts: the type that defines the texts of masked columns and of keys that are text, by silver column (`sql.mask_text`).
        salts: salts by their references (``mask_salt``); others are read when they are needed.
    """

    columns: tuple[SilverColumn, ...]
    types: Mapping[str, str]
    exact: frozenset[str] = frozenset()
    refused: Mapping[int, Refused] = attrs.field(factory=dict)
    first_seen: Mapping[str, str | None] = attrs.field(factory=dict)
    keeps_deleted: bool = False
    texts: Mapping[str, str] = attrs.field(factory=dict)
    salts: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    @property
    def key(self) -> list[str]:
        """Silver key columns."""
        return [column.name for column in self.columns if column.is_key]

    @property
    def values(self) -> list[str]:
        """The other silver columns."""
        return [column.name for column in self.columns if not column.is_key]
