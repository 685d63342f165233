"""DMS's statement that the full load of a table is complete: an object that the trigger writes beside the table folders of a load epoch.

The trigger asks DMS and writes ``_load_complete/<schema>/<table>.json`` once per table and epoch folder. DMS uploads a table's LOAD files
before it reports the table as loaded, and the job reads the marker before it lists them, so the listing has all files of that load. The
marker has the effect of the operator's ``--load-complete``, with exceptions: it never completes a load that has no file, that has files
written after the marker, or whose files lie among those of another load.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from dms_iceberg.bronze.keys import BronzeFile, digits_of, earlier
from dms_iceberg.config.model import Table
from dms_iceberg.progress.load_gaps import find_gaps
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.store import ObjectStore, join

MARKER_FOLDER = "_load_complete/"
"""The folder of the markers, beside the folders of the schemas."""
_CLOCKS_DIFFER_SECONDS = 60
"""Allowed difference of two clocks: DMS's, for when a load began, and S3's, for when a file was written."""


@attrs.frozen
class LoadMarker:
    """A marker as it was read.

    Attributes:
        uri: URI of the object.
        written: 17 digits by the store's clock, like those of the LOAD files.
        epoch: the load epoch that it is about; None if the object is damaged, or another table's.
        rows: how many rows DMS reports as loaded.
        began: 17 digits by DMS's clock, when the load of the table began.
    """

    uri: str
    written: str
    epoch: int | None = None
    rows: int = 0
    began: str = ""

    def doubt(self, progress: Progress, loads: Sequence[BronzeFile]) -> str:
        """Return why the marker does not complete the load, "" if it does once all of ``loads`` are merged.

        Args:
            progress: progress of the branch on which the load is built.
            loads: every LOAD file of the table, listed after the marker was read.
        """
        if self.epoch is None:
            return f"{self.uri} is damaged or another table's, so it is ignored."
        if self.epoch != progress.epoch:
            return f"{self.uri} names load epoch {self.epoch}, so it is ignored: whoever copied the folder should leave it out."
        if progress.reload:
            return f"{self.uri} names the load before the reload in place, so it is ignored."
        if not loads:
            said = "that the table was empty" if self.rows == 0 else f"that {self.rows} rows were loaded"
            return (
                f"{self.uri} says {said}, but the folder has no file of its full load. An empty folder never replaces content by itself: "
                "it may be the wrong one."
            )
        if missing := find_gaps(loads, progress.loads).keys:
            return (
                f"{missing[0]} is not there, although LOAD files with higher numbers are, so {self.uri} is ignored: rows of the load "
                "are missing. Restore the file, or load the table again; if all rows are there, run with --load-complete."
            )
        if late := [file.key for file in loads if file.modified > self.written]:
            return f"{late[0]} was written after {self.uri}, which is therefore ignored: DMS loads the table again into the same folder."
        began = earlier(self.began, seconds=_CLOCKS_DIFFER_SECONDS)
        if left := [file.key for file in loads if file.modified < began]:
            return (
                f"{left[0]} was written before the load that {self.uri} names began, so it is ignored: the file is left over from "
                "another load into the same folder, and its rows may be gone at the source."
            )
        return ""


def marker_key(table: Table) -> str:
    """Return the key of a table's marker, relative to the folder of a load epoch."""
    return f"{MARKER_FOLDER}{table.schema_name}/{table.table_name}.json"


def read_marker(store: ObjectStore, table: Table) -> LoadMarker | None:
    """Return a table's marker, None without one. It covers only files that are listed after this call."""
    key = marker_key(table)
    found = next((one for one in store.list(key) if one.key == key), None)
    if found is None:
        return None
    marker = LoadMarker(join(store.root, key), digits_of(found.modified))
    content = _parse(store.read(key))
    if content is None or (content["schema"], content["table"]) != (table.schema_name, table.table_name):
        return marker
    return attrs.evolve(marker, epoch=content["epoch"], rows=content["rows"], began=digits_of(content["began"]))


def _parse(data: bytes) -> dict[str, Any] | None:
    """Return the members of a marker, ``began`` as a time in UTC; None if the trigger did not write it so."""
    kinds = {"schema": str, "table": str, "epoch": int, "rows": int, "began": str}
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or any(type(content.get(name)) is not kind for name, kind in kinds.items()):
            return None
        began = datetime.fromisoformat(content["began"])
    except ValueError:
        return None
    return {**content, "began": began.astimezone(UTC)} if began.tzinfo else None
