"""The state file of a table: the outcome of the last run that did something or failed, as ``runs/<table>.json`` below ``state_uri``."""

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import structlog

from dms_iceberg.config.model import Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.runs.report import TableReport
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.store import ObjectStore, join

_LOG = structlog.get_logger("dms_iceberg")
_REQUESTED = "requested"
_SHOWN = {"ended_at": str | None, "error": str | None, "lag_seconds": int | float | None}
"""Members that ``status`` shows, and their types."""


def state_key(table: Table) -> str:
    """Return the key, in the state folder, of the file with a table's last outcome."""
    return f"runs/{table.source}.json"


def read_state_file(state: ObjectStore, table: Table) -> tuple[dict[str, Any], str | None]:
    """Return the document in a table's state file, and what is wrong with the file, if anything. Without a sound file it is empty."""
    key = state_key(table)
    try:
        data = state.read(key)
    except BronzeError:
        return {}, None
    try:
        document = json.loads(data)
    except ValueError as error:
        reason = f"no JSON ({type(error).__name__})"
    else:
        if isinstance(document, dict) and all(isinstance(document.get(name), kinds) for name, kinds in _SHOWN.items()):
            return document, None
        reason = "not what a run writes"
    return {}, (
        f"{join(state.root, key)}: the state file is damaged ({reason}), so what became of the last run is not known. The table does not "
        "depend on it; the next run that merges or fails writes it again."
    )


def write_state_file(state: ObjectStore, table: Table, run_id: str, report: TableReport, *, requested: bool = False) -> None:
    """Write the outcome of the last run that did something or failed. ``status`` and alarms read it. A failure to write is a warning.

    ``requested``: the operator had requests (`RunRequest`).
    """
    failpoint("before-state", table.source)
    document = {"run_id": run_id, "ended_at": _now(), **report.to_document(), _REQUESTED: requested}
    try:
        state.put(state_key(table), json.dumps(document, indent=1).encode())
    except FAILURES as error:
        # The batches are committed nevertheless.
        report.warn(f"{table.source}: {state.root}/{state_key(table)} could not be written: {describe(error)}")
        _LOG.error("state_not_written", table=table.source, run_id=run_id, error=describe(error))


def clear_error(state: ObjectStore, table: Table, run_id: str, *, requested: bool = False) -> None:
    """Take the error of an earlier run out of the table's state file: its cause is gone, although there was nothing to merge.

    What an operator has requested, such as a rebuild, and what failed then, a run without a request does not do: such an error stays.
    """
    with contextlib.suppress(BronzeError, ValueError, *FAILURES):
        document = json.loads(state.read(state_key(table)))
        if isinstance(document, dict) and document.get("error") and (requested or not document.get(_REQUESTED)):
            cleared = {**document, "run_id": run_id, "ended_at": _now(), "error": None, _REQUESTED: requested}
            state.put(state_key(table), json.dumps(cleared, indent=1).encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
