"""Print proposals as a configuration document in YAML. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.comments import comments, end, head, of_entry, one_line
from dms_iceberg.discover.document import PLACEHOLDERS, column_values, mapping_rules, surroundings
from dms_iceberg.discover.proposal import Entry, Proposal, grouped
from dms_iceberg.discover.targets import targets

_MOST_IN_A_LINE = 3
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def yaml_text(value: str) -> str:
    """Return a text in double quotes, so that no word or character of it means anything else."""
    return '"' + "".join(_ESCAPES.get(one, one if one.isprintable() else f"\\U{ord(one):08x}") for one in value) + '"'


def print_yaml(catalog: Catalog, proposals: Sequence[Proposal], namespace: str) -> str:
    """Return the text; ``namespace`` is that of the targets."""
    return print_document([head(catalog, proposals), PLACEHOLDERS], surroundings(catalog), proposals, namespace)


def print_document(about: Iterable[str], around: Mapping[str, Any], proposals: Sequence[Proposal], namespace: str) -> str:
    """Return the text of a document: comments about the whole, what is around the tables, and these."""
    entries = [one for one in proposals if isinstance(one, Entry)]
    named = targets((entry.table for entry in entries), namespace)
    lines = [*comments(about), *_object(around), "tables:" if entries else "tables: {}"]
    for number, entry in enumerate(entries):
        lines += [""] * (number > 0) + [f"  {line}" for line in _entry(entry, named[entry.table])]
    return "\n".join([*lines, *end(proposals), ""])


def _object(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict) and (len(value) > _MOST_IN_A_LINE or any(isinstance(one, dict) for one in value.values())):
            yield f"{key}:"
            yield from (f"  {line}" for line in _object(value))
        else:
            yield f"{key}: {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return _flow(value)
    if isinstance(value, str):
        return yaml_text(value)
    return json.dumps(value)


def _flow(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in values.items()) + "}"


def _entry(entry: Entry, target: str) -> Iterator[str]:
    yield from comments([*of_entry(entry), *mapping_rules(entry)])
    yield f"{yaml_text(entry.table)}:"
    yield f"  target: {yaml_text(target)}"
    yield f"  key: {_list(entry.key)}"
    if not entry.key_confirmed:
        yield "  key_confirmed: false"
    if entry.source_columns:
        yield f"  source_columns: {_list(entry.source_columns)}"
    if entry.declared:
        yield "  columns:"
        for column in entry.declared:
            yield from (f"    {line}" for line in comments([column.why]))
            yield f"    - {_flow(column_values(column))}"
    yield from (f"  {line}" for line in _suggested(entry))
    if entry.dropped:
        yield from (f"  {line}" for line in comments(grouped(entry.dropped)))
        yield f"  drop: {_list(name for name, _ in entry.dropped)}"


def _suggested(entry: Entry) -> Iterator[str]:
    """Yield entries of ``columns`` as comments: without the number sign and the space after it they are part of the document."""
    if entry.suggested and not entry.declared:
        yield "# columns:"
    for reason, same in groupby(entry.suggested, key=lambda column: column.why):
        yield from (f"# {line}" for line in comments([reason]))
        yield from (f"#   - {one_line(_flow(column_values(column)))}" for column in same)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(yaml_text, texts))}]"
