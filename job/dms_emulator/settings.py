"""The emulator's settings: the endpoint and task settings of DMS that matter, and its awkward behaviour."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from dms_emulator.keys import DatePartition
from dms_emulator.layout import FileShape


class Profile(StrEnum):
    """The source engine that the files imitate.

    * ``postgres``: a delete carries its key only; commit times have microseconds.
    * ``mysql``: a delete carries the whole row (the tables need REPLICA IDENTITY FULL); commit times are whole seconds.
    """

    POSTGRES = "postgres"
    MYSQL = "mysql"


def _zero_or_at_least_two(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
    # If every file were held back, there would be no newer one to wait for.
    if value < 0 or value == 1:
        raise ValueError(f"emulator setting {attribute.name}: found {value}, allowed are 0 (none) and 2 or more")


def _slot_name(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    # The characters that PostgreSQL allows for a slot; the name is also unquoted in replication commands.
    if not re.fullmatch(r"[a-z0-9_]{1,63}", value):
        raise ValueError(
            f"emulator setting {attribute.name}: found {value!r}, allowed are 1 to 63 lower-case letters, digits and underscores, such as "
            "dms_shop"
        )


@attrs.frozen(kw_only=True)
class Ugly:
    """Awkward behaviour of DMS, all off. Two more are elsewhere: no ``Op`` in LOAD files, and a small ``lob_max_kb``.

    Attributes:
        reset_counter: every resumed run starts the sequence counter at 61 again, as a newly created task does.
        reemit_changes: every resumed run writes at least this many of the last changes again, in new files. It repeats
            whole transactions, so there can be more.
        late_every: every n-th change file of each table is held back; 0 holds none back.
        late_by: a held file appears, under its old name, after this many newer files of its table, or when the capture
            ends.
        overlap: the full load reads each table as it is when its turn comes, not as it was when capture began; changes
            between the two are in LOAD files and in change files.
        empty_files: files without rows when a capture begins and ends, and for an empty table's full load.
        control_tables: ``awsdms_status`` and ``awsdms_history`` beside the schemas.
    """

    reset_counter: bool = False
    reemit_changes: int = 0
    late_every: int = attrs.field(default=0, validator=_zero_or_at_least_two)
    late_by: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    overlap: bool = False
    empty_files: bool = False
    control_tables: bool = False


_SHAPE: Final = FileShape()
_PARTITION: Final = DatePartition()


@attrs.frozen(kw_only=True)
class EmulatorSettings:
    """The settings of one task.

    Attributes:
        state_dir: a local folder for the task's state; a restart of the task must use the same one. It is not beside
            the files, so that bronze contains only what DMS writes, even if bronze is a bucket.
        files: format and service columns.
        partition: ``DatePartitionEnabled`` and its settings; None writes into the table's folder.
        interval: ``CdcMaxBatchInterval`` in seconds: a table's file is closed this long after its first row arrived.
        max_kb: ``CdcMinFileSize`` in KB, an upper limit in spite of its name, counted before encoding.
        rows_per_load_file: rows of a LOAD file. DMS counts bytes (``MaxFileSize``).
        profile: the source engine to imitate; None: the source itself.
        lob_max_kb: ``LobMaxSize`` in KB: longer text, json, arrays, xml and bytea are cut. DMS's default is 32.
        boolean_as_boolean: ``MapBooleanAsBoolean``; False writes the texts ``true`` and ``false``.
        time_as_string: a ``change-data-type`` rule that turns ``time`` into a string, which Spark needs with Parquet.
        trim_char: ``TrimSpaceInChar``: padding of ``char(n)`` is removed.
        slot: name of the replication slot and the publication; MySQL's number of the replica follows from it.
        ugly: awkward behaviour of DMS.
    """

    state_dir: Path = attrs.field(converter=Path)
    files: FileShape = _SHAPE
    partition: DatePartition | None = _PARTITION
    interval: float = attrs.field(default=60.0, validator=attrs.validators.ge(0))
    max_kb: int = attrs.field(default=32_000, validator=attrs.validators.ge(1))
    rows_per_load_file: int = attrs.field(default=500_000, validator=attrs.validators.ge(1))
    profile: Profile | None = attrs.field(default=None, converter=attrs.converters.optional(Profile))
    lob_max_kb: int = attrs.field(default=1024, validator=attrs.validators.ge(1))
    boolean_as_boolean: bool = True
    time_as_string: bool = False
    trim_char: bool = True
    slot: str = attrs.field(default="dms_iceberg", validator=_slot_name)
    ugly: Ugly = Ugly()
