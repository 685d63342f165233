"""Control tables: the ``awsdms_*`` folders that DMS writes beside the schemas; they are not source tables."""

import time
from typing import Final

from dms_emulator.files import cdc_key, encode
from dms_emulator.layout import Change, Column, FileShape, TableLayout, Value
from dms_emulator.sequence import moment
from dms_iceberg.storage.store import ObjectStore

# The columns of both are those of real files and of the user guide, "Control table task settings".
_STATUS: Final = TableLayout(
    "",
    "awsdms_status",
    (
        Column("server_name", "wstring", key=True),
        Column("task_name", "wstring", key=True),
        Column("task_status", "wstring"),
        Column("status_time", "datetime"),
        Column("pending_changes", "int8"),
        Column("disk_swap_size", "int8"),
        Column("task_memory", "int8"),
        Column("source_current_position", "wstring"),
        Column("source_current_timestamp", "datetime"),
        Column("source_tail_position", "wstring"),
        Column("source_tail_timestamp", "datetime"),
        Column("source_timestamp_applied", "datetime"),
    ),
)
_HISTORY: Final = TableLayout(
    "",
    "awsdms_history",
    (
        Column("server_name", "wstring", key=True),
        Column("task_name", "wstring", key=True),
        Column("timeslot_type", "wstring", key=True),
        Column("timeslot", "datetime", key=True),
        Column("timeslot_duration", "int8"),
        Column("timeslot_latency", "int8"),
        Column("timeslot_records", "int8"),
        Column("timeslot_volume", "int8"),
    ),
)


def put_control_files(store: ObjectStore, shape: FileShape, task: str, status: str, records: int) -> None:
    """Write one row into each control table.

    Args:
        store: where the schemas' folders are.
        shape: that of the task's other files.
        task: the task's name.
        status: ``CHANGE PROCESSING``, ``NOT RUNNING``, ...
        records: changes of this run.
    """
    now_us = time.time_ns() // 1000
    now = moment(now_us)
    _put(store, shape, _STATUS, now_us, ("localhost", task, status, now, 0, 0, 0, "", now, "", now, now))
    _put(store, shape, _HISTORY, now_us, ("localhost", task, status, now, 5, 0, records, 0))


def _put(store: ObjectStore, shape: FileShape, layout: TableLayout, now_us: int, values: tuple[Value, ...]) -> None:
    key = cdc_key(layout.schema, layout.name, now_us // 1000, shape.extension)
    store.put(key, encode(layout, [Change("I", now_us, values)], shape))
