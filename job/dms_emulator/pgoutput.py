"""Decoder of PostgreSQL's ``pgoutput`` plugin, protocol version 1 (PostgreSQL manual, "Logical Replication Message Formats").

Values are the texts of PostgreSQL's output functions; None is NULL and ``NOT_SUPPLIED`` an unchanged TOAST value.
"""

import struct
from typing import Final, TypeAlias

import attrs

from dms_emulator.layout import NOT_SUPPLIED
from dms_emulator.source import Texts

# Microseconds between 1970, where our times begin, and 2000, where PostgreSQL's do.
EPOCH_SHIFT_US: Final = 946_684_800_000_000

_U16: Final = struct.Struct(">H").unpack_from
_U32: Final = struct.Struct(">I").unpack_from
_BEGIN: Final = struct.Struct(">QqI").unpack_from
_COMMIT: Final = struct.Struct(">BQQq").unpack_from
_COLUMN: Final = struct.Struct(">Ii").unpack_from

_TEXT: Final = ord("t")
_NULL: Final = ord("n")


@attrs.define
class Begin:
    """Start of a committed transaction: LSN of its commit record, commit time in microseconds since 1970 UTC."""

    commit_lsn: int
    commit_us: int


@attrs.define
class Commit:
    """End of a transaction: the LSN after its commit record, where replication may continue."""

    end_lsn: int


@attrs.frozen
class RelationColumn:
    """A column as the stream describes it; ``in_identity`` is whether it belongs to the replica identity."""

    name: str
    type_oid: int
    type_modifier: int
    in_identity: bool


@attrs.frozen
class Relation:
    """A table's structure, sent before its first change and again after a DDL statement."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@attrs.define
class RowChange:
    """An insert, update or delete.

    Attributes:
        op: ``I``, ``U`` or ``D``.
        oid: the relation.
        new: the new row, None for a delete.
        old: the old row or key if it was sent, else None.
        old_is_row: whether ``old`` is a whole row (REPLICA IDENTITY FULL) and not just a key.
        size: bytes of the message.
    """

    op: str
    oid: int
    new: Texts | None
    old: Texts | None
    old_is_row: bool
    size: int


Message: TypeAlias = Begin | Commit | Relation | RowChange | None


def decode(data: bytes) -> Message:
    """Return one message of the stream; None for those without an effect on files (TRUNCATE, origin, type, ...)."""
    match data[:1]:
        case b"I":
            return RowChange("I", _U32(data, 1)[0], _row(data, 6)[0], None, False, len(data))
        case b"U":
            return _update(data)
        case b"D":
            return RowChange("D", _U32(data, 1)[0], None, _row(data, 6)[0], data[5:6] == b"O", len(data))
        case b"B":
            commit_lsn, commit_us, _ = _BEGIN(data, 1)
            return Begin(commit_lsn, commit_us + EPOCH_SHIFT_US)
        case b"C":
            return Commit(_COMMIT(data, 1)[2])
        case b"R":
            return _relation(data)
        case _:
            return None


def _update(data: bytes) -> RowChange:
    old: Texts | None = None
    kind = data[5:6]
    offset = 5
    if kind in (b"K", b"O"):
        old, offset = _row(data, 6)
    return RowChange("U", _U32(data, 1)[0], _row(data, offset + 1)[0], old, kind == b"O", len(data))


def _row(data: bytes, offset: int) -> tuple[Texts, int]:
    (count,) = _U16(data, offset)
    offset += 2
    values: Texts = []
    for _ in range(count):
        kind = data[offset]
        if kind == _TEXT:
            start = offset + 5
            offset = start + _U32(data, offset + 1)[0]
            values.append(data[start:offset].decode())
        else:
            values.append(None if kind == _NULL else NOT_SUPPLIED)
            offset += 1
    return values, offset


def _relation(data: bytes) -> Relation:
    schema, offset = _string(data, 5)
    name, offset = _string(data, offset)
    identity = chr(data[offset])
    (count,) = _U16(data, offset + 1)
    offset += 3
    columns = []
    for _ in range(count):
        in_identity = bool(data[offset] & 1)
        column, offset = _string(data, offset + 1)
        type_oid, modifier = _COLUMN(data, offset)
        offset += 8
        columns.append(RelationColumn(column, type_oid, modifier, in_identity))
    return Relation(_U32(data, 1)[0], schema, name, identity, tuple(columns))


def _string(data: bytes, offset: int) -> tuple[str, int]:
    end = data.index(0, offset)
    return data[offset:end].decode(), end + 1
