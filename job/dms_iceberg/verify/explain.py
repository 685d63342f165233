"""Which columns of a differing key differ: only names, never a value."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote
from dms_iceberg.verify.fingerprint import FINGERPRINT, KIND, SILVER, SOURCE, column_hashes
from dms_iceberg.verify.verdict import Example, TableVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dms_iceberg.verify.cleaning import Cleaning

_HASHES = "_cdc_hashes"
_EXAMPLES = 20


class Compared(Protocol):
    """The part of a comparison that this module needs (`compare.Comparison`)."""

    cleaning: "Cleaning"
    verdict: TableVerdict

    def rows_again(self, keys: "DataFrame", count: int, sql: str) -> tuple["DataFrame", "DataFrame"]:
        """Return the present rows of a few keys on both sides, with ``sql`` as further columns."""
        ...


def show(comparison: "Compared", stays: "DataFrame") -> None:
    """Add the findings on the keys that remain different to the verdict: examples, their columns, and keys that collide."""
    verdict, key = comparison.verdict, comparison.cleaning.shape.key
    shown = stays.orderBy(*(quote(name) for name in key)).limit(_EXAMPLES).localCheckpoint()
    rows = shown.selectExpr(f"{json_sql(key)} AS key", f"{KIND} AS kind").collect()
    count = sum(row.kind == "different" for row in rows)
    columns = differing_columns(comparison, shown.where(f"{KIND} = 'different'"), count) if count else {}
    verdict.examples = [Example(key=row.key, kind=row.kind, columns=columns.get(row.key, ())) for row in rows]
    named = Counter(name for example in verdict.examples for name in example.columns)
    verdict.differing_columns = {name: named[name] for name in comparison.cleaning.compared if name in named}
    collided = verdict.differing["collided"]
    if collided:
        verdict.warnings.append(
            f"{collided:,} keys of silver stand for several rows of the source each, and silver can hold one of them: "
            f"{comparison.cleaning.why_keys_collide}"
        )


def differing_columns(comparison: "Compared", different: "DataFrame", count: int) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the columns in which keys differ, by the key's JSON. Keys whose rows have changed since then are left out.

    Args:
        different: a few keys with the states of both sides.
        count: their number.
    """
    cleaning = comparison.cleaning
    names, key = cleaning.compared, cleaning.shape.key
    keys = [quote(name) for name in key]
    hashes = f"{column_hashes(names, cleaning.types())} AS {_HASHES}"
    source, silver = comparison.rows_again(different.select(*keys), count, hashes)
    found = different.join(source.withColumnRenamed(_HASHES, f"{_HASHES}_source").withColumnRenamed(FINGERPRINT, "_cdc_now"), on=key)
    found = found.where(f"{SOURCE}.n = 1 AND {SOURCE}.sum = _cdc_now").drop("_cdc_now").join(silver, on=key)
    found = found.where(f"{SILVER}.n = 1 AND {SILVER}.sum = {FINGERPRINT}")
    rows = found.selectExpr(f"{json_sql(key)} AS key", f"{_HASHES}_source AS source", f"{_HASHES} AS silver").collect()
    return {row.key: tuple(name for name, one, other in zip(names, row.source, row.silver, strict=True) if one != other) for row in rows}
