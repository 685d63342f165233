"""The state file of a table: the outcome of the last run that did something or failed.

It is ``runs/<pipeline>/<table>.json`` below ``state_uri``: documents of several pipelines may lie in one folder.
"""

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import structlog

from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import NO_REQUEST, RunContext
from dms_iceberg.errors import BronzeError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.runs.report import TableReport
from dms_iceberg.silver.owner import bronze_of
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.store import ObjectStore, join

_LOG = structlog.get_logger("dms_iceberg")
_REQUESTED = "requested"
_DOCUMENT = "document"
"""Member that tells documents apart which have one pipeline's name: their files, their target, and where it lies."""
_SHOWN = {"ended_at": str | None, "error": str | None, "lag_seconds": int | float | None}
"""Members that ``status`` shows, and their types."""


def state_folder(config: Config) -> str:
    """Return the folder, below ``state_uri``, of a pipeline's state files; it ends with a slash."""
    return f"runs/{config.pipeline}/"


def state_key(config: Config, table: Table) -> str:
    """Return the key, in the state folder, of the file with a table's last outcome."""
    return f"{state_folder(config)}{table.source}.json"


def read_state_file(state: ObjectStore, config: Config, table: Table) -> tuple[dict[str, Any], str | None]:
    """Return the document in a table's state file, and what is wrong with the file, if anything. Without a sound file it is empty."""
    key, own = state_key(config, table), _of(config, table)
    try:
        data = state.read(key)
    except BronzeError:
        return {}, None
    try:
        document = json.loads(data)
    except ValueError as error:
        reason = f"no JSON ({type(error).__name__})"
    else:
        if isinstance(document, dict) and document.get(_DOCUMENT, own) != own:
            return {}, (
                f"{join(state.root, key)}: the state file is of another document of the same pipeline (other files, target or warehouse), "
                "so what became of the last run of this one is not known. The next run that merges or fails writes it again; where both "
                "are in use, give one another pipeline or another state_uri."
            )
        if isinstance(document, dict) and all(isinstance(document.get(name), kinds) for name, kinds in _SHOWN.items()):
            return document, None
        reason = "not what a run writes"
    return {}, (
        f"{join(state.root, key)}: the state file is damaged ({reason}), so what became of the last run is not known. The table does not "
        "depend on it; the next run that merges or fails writes it again."
    )


def write_state_file(state: ObjectStore, context: RunContext, table: Table, report: TableReport) -> None:
    """Write the outcome of the last run that did something or failed. ``status`` and alarms read it. A failure to write is a warning."""
    failpoint("before-state", table.source)
    config, run_id = context.config, context.run_id
    own = {_REQUESTED: context.request != NO_REQUEST, _DOCUMENT: _of(config, table)}
    document = {"run_id": run_id, "ended_at": _now(), **report.to_document(), **own}
    key = state_key(config, table)
    try:
        state.put(key, json.dumps(document, indent=1).encode())
    except FAILURES as error:
        # The batches are committed nevertheless.
        report.warn(f"{table.source}: {state.root}/{key} could not be written: {describe(error)}")
        _LOG.error("state_not_written", table=table.source, run_id=run_id, error=describe(error))


def clear_error(state: ObjectStore, context: RunContext, table: Table) -> None:
    """Take the error of an earlier run out of the table's state file: its cause is gone, although there was nothing to merge.

    What an operator has requested, such as a rebuild, and what failed then, a run without a request does not do: such an error stays.
    """
    requested, key = context.request != NO_REQUEST, state_key(context.config, table)
    with contextlib.suppress(BronzeError, ValueError, *FAILURES):
        document = json.loads(state.read(key))
        is_own = isinstance(document, dict) and document.get(_DOCUMENT) == _of(context.config, table)
        if is_own and document.get("error") and (requested or not document.get(_REQUESTED)):
            cleared = {**document, "run_id": context.run_id, "ended_at": _now(), "error": None, _REQUESTED: requested}
            state.put(key, json.dumps(cleared, indent=1).encode())


def _of(config: Config, table: Table) -> dict[str, str]:
    return {"bronze": bronze_of(config), "target": table.target, "warehouse": config.catalog.warehouse}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
