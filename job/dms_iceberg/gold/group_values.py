"""Which values the columns of changed groups have: conditions by which Iceberg leaves out files without any of them."""

from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame

from dms_iceberg.config.incremental import KEY
from dms_iceberg.merge.statement import IN_LIST_KEYS, KeyRange, key_list_sql
from dms_iceberg.sql.quoting import quote


@attrs.frozen
class ColumnValues:
    """The values of one column, as Spark shows them.

    Attributes:
        type: of the column.
        has_null: whether NULL is one of them.
        listed: all others; None if they are too many.
        low: the lowest of them, and ``high`` the highest, if they are not listed.
    """

    type: str
    has_null: bool
    listed: Sequence[str] | None
    low: str | None = None
    high: str | None = None

    def sql(self, alias: str, column: str) -> str | None:
        """Return a condition that is true for every one of the values, None if they have no exact literals."""
        null = f"{alias}.{quote(column)} IS NULL"
        if self.listed == ():
            return null
        listed = self.listed is not None
        found = key_list_sql(alias, column, self.type, self.listed or ()) if listed else self._range(column).sql(f"{alias}.")
        return f"({found} OR {null})" if found and self.has_null else found

    def _range(self, column: str) -> KeyRange:
        return KeyRange(column, self.type, self.low, self.high)


@attrs.frozen
class GroupValues:
    """The values of the columns of changed groups, column by column."""

    columns: Sequence[ColumnValues]

    def sql(self, alias: str, names: Sequence[str]) -> str:
        """Return a condition that is true for every row of the groups, in a table ``alias`` whose columns have these names."""
        found = (one.sql(alias, name) for one, name in zip(self.columns, names, strict=True))
        return " AND ".join(filter(None, found)) or "true"


def values_of(keys: DataFrame, count: int) -> GroupValues:
    """Return the values of the columns ``_key_0``, ``_key_1`` ... of ``count`` rows."""
    types = [field.dataType.simpleString() for field in keys.schema.fields]
    names = [f"{KEY}{n}" for n in range(len(types))]
    if count <= IN_LIST_KEYS:
        rows = keys.selectExpr(*(f"CAST({name} AS string)" for name in names)).collect()
        columns = [{row[n] for row in rows} for n in range(len(types))]
        return GroupValues(
            [ColumnValues(type_, None in found, tuple(sorted(found - {None}))) for type_, found in zip(types, columns, strict=True)]
        )
    ends = [text for name in names for text in (f"CAST(min({name}) AS string)", f"CAST(max({name}) AS string)", f"count({name})")]
    row = keys.selectExpr(*ends).collect()[0]
    parts = [row[3 * n : 3 * n + 3] for n in range(len(types))]
    return GroupValues(
        [
            ColumnValues(type_, known < count, () if known == 0 else None, low, high)
            for type_, (low, high, known) in zip(types, parts, strict=True)
        ]
    )
