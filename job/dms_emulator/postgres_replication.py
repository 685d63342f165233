"""The streaming replication protocol over psycopg's wrapper of libpq: no other driver is needed."""

import select
import struct
import time
from typing import Final

import attrs
import structlog
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from dms_emulator.errors import EmulatorError
from dms_emulator.pgoutput import EPOCH_SHIFT_US

_log = structlog.get_logger(__name__)

# Make texts of values what this package parses, whatever the settings of the server and the role are.
_SESSION: Final = (
    "-c client_encoding=UTF8 -c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres"
    " -c bytea_output=hex -c extra_float_digits=1 -c statement_timeout=0"
)
_KEEPALIVE: Final = struct.Struct(">QqB").unpack_from
_STATUS: Final = struct.Struct(">cQQQqB").pack
_DATA_OFFSET: Final = 25
_SLOT_BUSY_SECONDS: Final = 15


def session_dsn(dsn: str, **extra: str) -> str:
    """Return ``dsn`` with the session settings that give values the texts which this package parses."""
    options = str(conninfo_to_dict(dsn).get("options") or "")
    return make_conninfo(dsn, options=f"{options} {_SESSION}".strip(), **extra)


def lsn_number(text: str) -> int:
    """Return the number of an LSN such as ``16/B374D848``.

    Raises:
        EmulatorError: the text is not an LSN.
    """
    high, slash, low = text.partition("/")
    try:
        number = (int(high, 16) << 32) | int(low, 16)
    except ValueError:
        number = -1
    if not slash or not 0 <= number < 1 << 64:
        raise EmulatorError(f"LSN {text!r}: expected two hexadecimal numbers, such as 16/B374D848")
    return number


def lsn_text(number: int) -> str:
    """Return a log position as PostgreSQL prints it."""
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


@attrs.frozen
class Slot:
    """A new slot: where its stream begins, and the snapshot that shows the tables at that point."""

    lsn: int
    snapshot: str


@attrs.define
class Batch:
    """The result of one poll: messages of the plugin, and the last keepalive."""

    messages: list[bytes] = attrs.field(factory=list)
    wal_end: int = 0
    reply_wanted: bool = False


class Replication:
    """One replication connection.

    Raises:
        EmulatorError: the source cannot be reached, or its ``wal_level`` is not logical.
    """

    def __init__(self, dsn: str) -> None:
        self._connection = pq.PGconn.connect(session_dsn(dsn, replication="database").encode())
        if self._connection.status != pq.ConnStatus.OK:
            raise EmulatorError(f"source: no replication connection: {self._error()}")

    def create_slot(self, name: str) -> Slot:
        """Create a slot. Its snapshot lives until the next command of this connection.

        The server waits for the transactions that are open at this moment.
        """
        row = self._command(f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput EXPORT_SNAPSHOT')
        return Slot(lsn_number(row[1]), row[2])

    def start(self, slot: str, lsn: int) -> None:
        """Begin to stream from ``lsn``, or from where the slot was confirmed if that is later."""
        command = f"START_REPLICATION SLOT \"{slot}\" LOGICAL {lsn_text(lsn)} (proto_version '1', publication_names '\"{slot}\"')"
        # The server process of a connection that was just closed can hold the slot for a moment.
        for attempt in Retrying(
            retry=retry_if_exception(lambda error: "is active for PID" in str(error)),
            stop=stop_after_delay(_SLOT_BUSY_SECONDS),
            wait=wait_fixed(0.1),
            reraise=True,
        ):
            with attempt:
                self._command(command)

    def poll(self, timeout: float, limit: int = 1000) -> Batch:
        """Return what has arrived, at most ``limit`` messages; wait up to ``timeout`` seconds if there is nothing.

        Raises:
            EmulatorError: the server ended the stream.
        """
        batch = Batch()
        connection = self._connection
        waited = False
        while len(batch.messages) < limit:
            size, data = connection.get_copy_data(1)
            if size > 0:
                if data[0] == ord("w"):
                    batch.messages.append(bytes(data[_DATA_OFFSET:]))
                else:
                    batch.wal_end, _, wanted = _KEEPALIVE(data, 1)
                    batch.reply_wanted |= bool(wanted)
                    # What follows is after this position: the caller must see them in turn.
                    break
            elif size == 0:
                if batch.messages or waited or not select.select([connection.socket], [], [], timeout)[0]:
                    break
                connection.consume_input()
                waited = True
            else:
                raise EmulatorError(f"source: the replication stream ended: {self._result_error()}")
        return batch

    def confirm(self, lsn: int, *, ask: bool = False) -> None:
        """Tell the server that everything before ``lsn`` is safe; ``ask`` requests its position in reply."""
        now = time.time_ns() // 1000 - EPOCH_SHIFT_US
        self._connection.put_copy_data(_STATUS(b"r", lsn, lsn, lsn, now, ask))
        self._connection.flush()

    def close(self) -> None:
        """Close the connection; the slot stays."""
        self._connection.finish()

    def _command(self, command: str) -> list[str]:
        result = self._connection.exec_(command.encode())
        good = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.COPY_BOTH)
        if result.status not in good:
            message = result.error_message.decode(errors="replace").strip()
            raise EmulatorError(f"source: {command.split(' (')[0]}: {message}{_advice(message)}")
        if result.ntuples == 0:
            return []
        return [(result.get_value(0, column) or b"").decode() for column in range(result.nfields)]

    def _error(self) -> str:
        return self._connection.error_message.decode(errors="replace").strip()

    def _result_error(self) -> str:
        result = self._connection.get_result()
        return result.error_message.decode(errors="replace").strip() if result else "without a reason"


def _advice(message: str) -> str:
    if "wal_level" in message:
        return ". Set wal_level = logical (RDS: rds.logical_replication = 1) and restart the server"
    if "does not exist" in message:
        return ". The slot was dropped since: start the task again with a reload"
    if "permission" in message:
        return ". The user needs the REPLICATION attribute (RDS: role rds_replication)"
    return ""
