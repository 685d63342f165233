"""Print proposals as a configuration document in YAML. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.comments import comments, end, head, of_entry
from dms_iceberg.discover.document import PLACEHOLDERS, column_values, mapping_rules, surroundings
from dms_iceberg.discover.proposal import Entry, Proposal, grouped
from dms_iceberg.discover.targets import targets

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def yaml_text(value: str) -> str:
    """Return a text in double quotes, so that no word or character of it means anything else."""
    return '"' + "".join(_ESCAPES.get(one, one if one.isprintable() else f"\\U{ord(one):08x}") for one in value) + '"'


def print_yaml(catalog: Catalog, proposals: Sequence[Proposal], namespace: str) -> str:
    """Return the text; ``namespace`` is that of the targets."""
    entries = [one for one in proposals if isinstance(one, Entry)]
    named = targets((entry.table for entry in entries), namespace)
    lines = [*comments([head(catalog, proposals), PLACEHOLDERS]), *_object(surroundings(catalog)), "tables:" if entries else "tables: {}"]
    for number, entry in enumerate(entries):
        lines += [""] * (number > 0) + [f"  {line}" for line in _entry(entry, named[entry.table])]
    return "\n".join([*lines, *end(proposals), ""])


def _object(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        yield f"{key}: {_flow(value) if isinstance(value, dict) else yaml_text(value) if isinstance(value, str) else value}"


def _flow(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {yaml_text(value)}" for key, value in values.items()) + "}"


def _entry(entry: Entry, target: str) -> Iterator[str]:
    yield from comments([*of_entry(entry), *mapping_rules(entry)])
    yield f"{yaml_text(entry.table)}:"
    yield f"  target: {yaml_text(target)}"
    yield f"  key: {_list(entry.key)}"
    if entry.declared:
        yield "  columns:"
        for column in entry.declared:
            yield from (f"    {line}" for line in comments([column.why]))
            yield f"    - {_flow(column_values(column))}"
    if entry.dropped:
        yield from (f"  {line}" for line in comments(grouped(entry.dropped)))
        yield f"  drop: {_list(name for name, _ in entry.dropped)}"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(yaml_text, texts))}]"
