"""What the comparisons of a table remember of its source: an object ``runs/verified/<table's UUID>.json`` below ``state_uri``.

The UUID is that of the Iceberg table, so documents that share a folder do not share notes, and a table that is made again begins afresh.
"""

import json
from datetime import UTC, datetime
from typing import Any

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.source.errors import SourceError
from dms_iceberg.storage.store import ObjectStore, join
from dms_iceberg.verify.facts import NotedSource


def note_key(uuid: str) -> str:
    """Return the key, in the state folder, of what is noted for the table with this UUID."""
    return f"runs/verified/{uuid}.json"


def read_note(state: ObjectStore, uuid: str) -> NotedSource | None:
    """Return what is noted; None before the first comparison.

    Raises:
        SourceError: the object is damaged.
    """
    key = note_key(uuid)
    try:
        data = state.read(key)
    except BronzeError:
        return None
    try:
        return _parsed(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{join(state.root, key)}: the note of the source that the table was compared with is damaged ({type(error).__name__}), so "
            "whether this is the same source is not known. If it is, remove the object: the next comparison notes the source again."
        ) from None


def _parsed(document: dict[str, Any]) -> NotedSource:
    return NotedSource(
        engine=str(document["engine"]),
        identity={str(name): str(value) for name, value in document["identity"].items()},
        position={str(name): int(value) for name, value in document["position"].items()},
        repaired=str(document["repaired"]),
    )


def write_note(state: ObjectStore, uuid: str, table: Table, note: NotedSource) -> None:
    """Write what is noted. It holds names and numbers of the server, no password and no row."""
    document = {"table": table.source, "target": table.target, "noted_at": datetime.now(UTC).isoformat(timespec="seconds")}
    state.put(note_key(uuid), json.dumps({**document, **attrs.asdict(note)}, indent=1).encode())
