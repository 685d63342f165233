"""Names of the silver tables: those of the source in a form that every catalog takes, each once. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count

from dms_iceberg.config.identifier import quarantine_names


def targets(tables: Iterable[str], namespace: str) -> dict[str, str]:
    """Return ``namespace.table`` for each ``schema.table``; tables that would have one name get that of their schema in front."""
    names = [(name, *(_plain(part) for part in name.split(".", 1))) for name in tables]
    shared = Counter(table for _, _, table in names)
    taken: set[str] = set()
    found: dict[str, str] = {}
    # Those that keep their name come first: no other may take it.
    for name, schema, table in sorted(names, key=lambda one: shared[one[2]] > 1):
        wanted = table if shared[table] == 1 else f"{schema}_{table}"
        target = next(one for one in _numbered(f"{namespace}.{wanted}") if taken.isdisjoint(_names(one)))
        taken |= _names(target)
        found[name] = target
    return {name: found[name] for name, _, _ in names}


def keeps_its_name(table: str, target: str) -> bool:
    """Whether the Terraform module gives ``schema.table`` the same name by itself: the source's in lower case."""
    name = table.partition(".")[2]
    return name.isascii() and name.lower() == target.partition(".")[2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _names(target: str) -> set[str]:
    """A target's own name, and those of its tables in the quarantine, which must differ as well."""
    return {target, *quarantine_names(target)}
