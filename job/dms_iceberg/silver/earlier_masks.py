"""What a table of an earlier version withholds: it has only digests of its declarations, which are compared with digests of likely ones."""

from collections.abc import Collection, Iterator, Mapping
from itertools import product

import attrs

from dms_iceberg.config.column_checks import DEFAULT_MASK_SALT
from dms_iceberg.config.model import Column, Mask, Table
from dms_iceberg.silver.cleaning import Cleaning, earlier_digest
from dms_iceberg.silver.withheld import UNKNOWN, MadeMask, Withheld

_TYPES = ("string", "int", "bigint", "date", "timestamp", "timestamp_ntz", "double", "boolean", "float", "smallint", "tinyint", "binary")
_MOST_DIGITS = 38


def withheld_of_earlier(table: Table, made: Cleaning, existing: Collection[str]) -> Withheld:
    """Return what the table withholds, as far as digests show it; a digest of none of the likely declarations is `UNKNOWN`.

    Args:
        table: the table's configuration.
        made: the cleaning that the table records.
        existing: its columns.
    """
    declared = {column.name.lower(): column for column in table.columns}
    masks: dict[str, MadeMask] = {}
    for name, digest in made.columns.items():
        found = _matching(declared.get(name, Column(name=name)), digest, table)
        if found is None:
            masks[name] = MadeMask(UNKNOWN)
        elif found.mask is not None:
            masks[name] = MadeMask(found.mask.value, found.mask_salt or "", text=found.type or "")
    return Withheld(masks, _sources(masks, declared, existing), bool(made.filter))


def _sources(masks: Mapping[str, MadeMask], declared: Mapping[str, Column], existing: Collection[str]) -> dict[str, str]:
    """Return the source columns that silver shows only masked. Without a declaration, a column's source is assumed to have its name."""
    there = {name.lower() for name in existing}
    sources = {name: (declared[name].source_name if name in declared else name) for name in there}
    clear = {source.lower() for name, source in sources.items() if source is not None and name not in masks}
    return {
        source.lower(): made.mask
        for name, made in masks.items()
        if made.mask != UNKNOWN and (source := sources.get(name)) is not None and source.lower() not in clear
    }


def _matching(now: Column, digest: str, table: Table) -> Column | None:
    return next((column for column in _likely(now, table) if earlier_digest(column) == digest), None)


def _likely(now: Column, table: Table) -> Iterator[Column]:
    """Yield declarations that a column may have had: the present one, then those that differ in some of their keys."""
    yield now
    exprs = dict.fromkeys([None, now.expr])
    formats = dict.fromkeys([None, *(column.format for column in table.columns)])
    plain = [
        attrs.evolve(now, expr=expr, format=format_, trim=trim, mask=None, mask_salt=None)
        for expr, format_, trim in product(exprs, formats, (False, True))
    ]
    yield from plain
    salts = dict.fromkeys([DEFAULT_MASK_SALT, *(column.mask_salt for column in table.columns if column.mask_salt)])
    masks = [(Mask.SHA256, salt) for salt in salts] + [(Mask.REDACT, None), (Mask.PARTIAL, None)]
    types = dict.fromkeys([None, *_TYPES, *(column.type for column in table.columns)])
    for type_, (mask, salt), column in product([*types, *_decimals()], masks, plain):
        yield attrs.evolve(column, type=type_, mask=mask, mask_salt=salt)


def _decimals() -> Iterator[str]:
    for digits in range(1, _MOST_DIGITS + 1):
        yield from (f"decimal({digits},{scale})" for scale in range(digits + 1))
