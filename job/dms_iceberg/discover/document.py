"""The configuration document of proposals; its reasons apart, as JSON has no comments. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.comments import left_out, of_entry, one_line
from dms_iceberg.discover.proposal import Declared, Entry, LeftOut, Proposal, grouped, shown

PLACEHOLDERS: Final = "bronze.uri and catalog.warehouse are examples: write the folder of your DMS files, and your own bucket."
_NO_NAME: Final = "source"


def column_values(column: Declared) -> dict[str, str]:
    """Return an entry of ``columns``."""
    given = {"name": column.name, "from": column.source, "expr": column.expression, "type": column.type}
    return {key: value for key, value in given.items() if value}


def surroundings(catalog: Catalog) -> dict[str, Any]:
    """Return a document without tables: with examples of what the source does not show."""
    pipeline = re.sub(r"[^A-Za-z0-9]+", "-", catalog.database).strip("-")[:100] or _NO_NAME
    return {
        "version": 1,
        "pipeline": pipeline,
        "bronze": {"uri": f"s3://BRONZE-BUCKET/dms/{pipeline}/"},
        "catalog": {"type": "glue", "warehouse": "s3://SILVER-BUCKET/"},
    }


def document(catalog: Catalog, entries: Sequence[Entry], targets: Mapping[str, str]) -> dict[str, Any]:
    """Return a document with these tables."""
    return with_tables(surroundings(catalog), entries, targets)


def with_tables(around: Mapping[str, Any], entries: Sequence[Entry], targets: Mapping[str, str]) -> dict[str, Any]:
    """Return a document with these tables, in these surroundings."""
    return {**around, "tables": {entry.table: _values(entry, targets[entry.table]) for entry in entries}}


def _values(entry: Entry, target: str) -> dict[str, Any]:
    values: dict[str, Any] = {"target": target, "key": list(entry.key)}
    if not entry.key_confirmed:
        values["key_confirmed"] = False
    if entry.source_columns:
        values["source_columns"] = list(entry.source_columns)
    if entry.declared:
        values["columns"] = [column_values(column) for column in entry.declared]
    if entry.dropped:
        values["drop"] = [name for name, _ in entry.dropped]
    return values


def mapping_rules(entry: Entry) -> list[str]:
    """Return what the DMS task must be told for a table, where its document is not also the task's."""
    return [f"{text}. Give the task a mapping rule for it: change-data-type, to string" for text in grouped(entry.as_text)]


def reasons(proposals: Sequence[Proposal]) -> list[str]:
    """Return what the comments of a text say, for a document that has none: a line each."""
    of_entries = [f"{shown(one.table)}: {text}" for one in proposals for text in _of(one)]
    return [PLACEHOLDERS, *map(one_line, [*of_entries, *(f"left out: {text}" for text in left_out(proposals))])]


def _of(proposal: Proposal) -> list[str]:
    if isinstance(proposal, LeftOut):
        return []
    declared = grouped((column.source or column.name, column.why) for column in proposal.declared)
    return [*of_entry(proposal), *mapping_rules(proposal), *declared, *grouped(proposal.dropped)]
