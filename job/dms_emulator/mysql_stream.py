"""The changes of a MySQL or MariaDB: events of its binary log, by the library ``mysql-replication``."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs
import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants import FIELD_TYPE
from pymysqlreplication.event import (
    HeartbeatLogEvent,
    MariadbGtidEvent,
    NotImplementedEvent,
    QueryEvent,
    XAPrepareEvent,
    XidEvent,
)
from pymysqlreplication.row_event import DeleteRowsEvent, PartialUpdateRowsEvent, TableMapEvent, UpdateRowsEvent, WriteRowsEvent

from dms_emulator.binlog_positions import BinlogPositions
from dms_emulator.errors import EmulatorError
from dms_emulator.mysql_catalog import MySqlCatalog
from dms_emulator.mysql_values import LogColumn, Reader, described, raw
from dms_emulator.source import Batch, Begin, Commit, RowChange, SourceTable, Texts, split_name

_ROW_EVENTS: Final = (WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent)
_EVENTS: Final = (
    *_ROW_EVENTS,
    PartialUpdateRowsEvent,
    TableMapEvent,
    QueryEvent,
    XidEvent,
    XAPrepareEvent,
    MariadbGtidEvent,
    HeartbeatLogEvent,
    NotImplementedEvent,
)
# The server sends one when it has nothing else: a poll waits no longer.
_HEARTBEAT_SECONDS: Final = 0.05
_LIMIT: Final = 1000
_SECOND_US: Final = 1_000_000
_STANDALONE: Final = 1  # flag of MariaDB's GTID event: a statement of its own, without an end of transaction
# Old row events, an incident, MySQL's compressed transactions, MariaDB's compressed events: each may hold changes.
_UNREADABLE: Final = {20, 21, 22, 26, 40, *range(165, 172)}
_DATA_STATEMENTS: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "MERGE")
_KEY_TYPES: Final = (FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.BLOB, FIELD_TYPE.GEOMETRY)
_CHOICE_TYPES: Final = (FIELD_TYPE.ENUM, FIELD_TYPE.SET)

_Readers: TypeAlias = tuple[tuple[int, Reader], ...]


@attrs.frozen
class _Known:
    """A table as the log has described it last."""

    columns: tuple[LogColumn, ...]
    table: SourceTable
    readers: _Readers

    @property
    def places(self) -> list[int]:
        """The places of the captured columns in the log's rows."""
        return [place for place, _ in self.readers]


@attrs.define
class _Open:
    """A transaction whose end has not come yet: its place, and the changes of captured tables."""

    position: int
    changes: list[RowChange] = attrs.field(factory=list)


class MySqlStream:
    """The binary log, read as a replica does.

    The end of a transaction has its commit time. So its changes are kept in memory until then.

    Args:
        arguments: PyMySQL's, for the two connections.
        catalog: knows what the log does not say of tables.
        positions: of the server's log.
        names: the captured tables.
        server_id: no other replica of the server may have it.
    """

    def __init__(
        self, arguments: dict[str, Any], catalog: MySqlCatalog, positions: BinlogPositions, names: Sequence[str], server_id: int
    ) -> None:
        self._arguments = arguments
        self._catalog = catalog
        self._positions = positions
        self._names = {split_name(name): name for name in names}
        self._server_id = server_id
        self._reader: Any = None
        self._connections = 0
        self._known: dict[str, _Known] = {}
        # Tables of which a statement may have changed what the log does not show, such as that a column is generated.
        self._doubtful: set[str] = set()
        self._by_id: dict[int, _Known | None] = {}
        self._open: _Open | None = None
        self._end = 0

    def start(self, position: int) -> None:
        """Begin to read at a position between two transactions."""
        file, offset = self._positions.parts(position)
        self._end = position
        self._reader = BinLogStreamReader(
            connection_settings=dict(self._arguments),
            server_id=self._server_id,
            blocking=True,
            resume_stream=True,
            log_file=file,
            log_pos=offset,
            only_events=_EVENTS,
            filter_non_implemented_events=False,
            only_schemas=sorted({schema for schema, _ in self._names}),
            only_tables=sorted({table for _, table in self._names}),
            slave_heartbeat=_HEARTBEAT_SECONDS,
            pymysql_wrapper=self._connect,
            enable_logging=False,
        )

    def poll(self, timeout: float) -> Batch:
        """Return what has arrived; wait for the server's next heartbeat if there is nothing.

        Raises:
            EmulatorError: the log has something that cannot be captured, or the server ended the stream.
        """
        batch = Batch()
        deadline = time.monotonic() + timeout
        while len(batch.messages) < _LIMIT:
            event = self._reader.fetchone()
            if event is None:
                raise EmulatorError("source: the server ended the stream of its binary log")
            if not isinstance(event, HeartbeatLogEvent):
                self._take(event, batch)
            self._end = max(self._end, self._positions.number(self._reader.log_file, self._reader.log_pos))
            if isinstance(event, HeartbeatLogEvent) or time.monotonic() >= deadline:
                break
        batch.end = self._end if self._open is None else 0
        return batch

    def confirm(self, position: int, *, ask: bool = False) -> None:
        """Do nothing: the server removes its log by time, not by what replicas have read."""

    def close(self) -> None:
        """Close the connections."""
        if self._reader is not None:
            self._reader.close()

    def _connect(self, **arguments: Any) -> Any:
        # The library needs two, and would connect again if one breaks, in the middle of a transaction.
        self._connections += 1
        if self._connections > 2:
            raise EmulatorError("source: the server closed the connection. The task can be begun again and goes on where it was")
        # PyMySQL warns of the name that the library uses.
        database = arguments.pop("db", None)
        return pymysql.connect(**arguments | ({"database": database} if database else {}))

    def _take(self, event: Any, batch: Batch) -> None:
        match event:
            case TableMapEvent():
                self._table(event)
            case PartialUpdateRowsEvent():
                raise _unreadable("parts of JSON values; set binlog_row_value_options = '' at the source")
            case WriteRowsEvent() | UpdateRowsEvent() | DeleteRowsEvent():
                self._rows(event)
            case XidEvent():
                self._finish(event, batch)
            case QueryEvent():
                self._statement(event, batch)
            case MariadbGtidEvent() if not event.flags & _STANDALONE:
                self._open = _Open(self._start_of(event))
            case XAPrepareEvent() if self._open is not None and self._open.changes:
                raise _unreadable("a transaction that is prepared and committed apart (XA)")
            case XAPrepareEvent():
                self._open = None
            case NotImplementedEvent() if event.event_type in _UNREADABLE:
                raise _unreadable(
                    f"an event of type {event.event_type}; the log may be compressed: set log_bin_compress (MariaDB) or"
                    " binlog_transaction_compression (MySQL) = OFF"
                )

    def _statement(self, event: Any, batch: Batch) -> None:
        words = event.query.lstrip()[:40].upper()
        if words.startswith("BEGIN"):
            self._open = _Open(self._start_of(event))
        elif words.startswith("COMMIT"):
            self._finish(event, batch)
        elif words.startswith("ROLLBACK TO"):
            if self._open is not None and self._open.changes:
                raise _unreadable("a rollback to a savepoint, which comes with tables that are not InnoDB")
        elif words.startswith("ROLLBACK"):
            self._open = None
        elif self._open is not None and words.startswith(_DATA_STATEMENTS):
            raise _unreadable("statements instead of rows: some session has another binlog_format than ROW")
        elif not words.startswith("SAVEPOINT"):
            self._doubtful |= set(self._known)

    def _finish(self, event: Any, batch: Batch) -> None:
        done, self._open = self._open, None
        if done is not None and done.changes:
            label = self._positions.text(done.position)
            batch.messages += [Begin(done.position, event.timestamp * _SECOND_US, label), *done.changes]
            batch.messages.append(Commit(self._positions.number(self._reader.log_file, event.packet.log_pos)))

    def _start_of(self, event: Any) -> int:
        return self._positions.number(self._reader.log_file, event.packet.log_pos - event.packet.event_size)

    def _table(self, event: Any) -> None:
        name = self._names.get((event.schema, event.table))
        if name is None:
            self._by_id[event.table_id] = None
            return
        columns = self._described(name, event)
        known = self._known.get(name)
        if known is None or known.columns != columns or name in self._doubtful:
            found = _Known(columns, *self._catalog.logged(name, columns))
            if known is None or known.columns != columns or known.places != found.places:
                known = self._known[name] = found
            self._doubtful.discard(name)
        self._by_id[event.table_id] = known
        for column in event.columns:
            raw(column)

    def _described(self, name: str, event: Any) -> tuple[LogColumn, ...]:
        metadata = event.optional_metadata
        if len(metadata.column_name_list) != len(event.columns):
            raise _unreadable(
                f"changes of {name} without names of columns, from before binlog_row_metadata was FULL at the source; ask for a reload"
            )
        sets = self._character_sets(event, _KEY_TYPES, metadata.charset_collation_list)
        sets |= self._character_sets(event, _CHOICE_TYPES, metadata.enum_and_set_collation_list)
        keys = {*metadata.simple_primary_key_list, *metadata.primary_keys_with_prefix}
        try:
            return tuple(described(column, key=place in keys, character_set=sets.get(place)) for place, column in enumerate(event.columns))
        except EmulatorError as error:
            raise EmulatorError(f"source: {name}, column {error}") from None

    def _character_sets(self, event: Any, types: tuple[int, ...], collations: Sequence[int]) -> dict[int, str]:
        places = [place for place, column in enumerate(event.columns) if column.type in types]
        return {place: self._catalog.character_set(number) for place, number in zip(places, collations or (), strict=True)}

    def _rows(self, event: Any) -> None:
        known = self._by_id.get(event.table_id)
        if known is None or self._open is None:
            return
        for bitmap in (event.columns_present_bitmap, getattr(event, "columns_present_bitmap2", None)):
            if bitmap is not None and not _has_all(bitmap, known.places):
                raise _unreadable(f"changes of {known.table.name} without some columns: some session's binlog_row_image is not FULL")
        rows = event.rows
        size = event.packet.event_size // max(len(rows), 1)
        self._open.changes.extend(self._changes(event, rows, known, size))

    def _changes(self, event: Any, rows: Sequence[dict[str, Any]], known: _Known, size: int) -> Iterator[RowChange]:
        for row in rows:
            if isinstance(event, UpdateRowsEvent):
                old = _texts(row["before_values"], known.readers)
                yield RowChange("U", known.table, _texts(row["after_values"], known.readers), old, True, size)
            elif isinstance(event, DeleteRowsEvent):
                yield RowChange("D", known.table, None, _texts(row["values"], known.readers), True, size)
            else:
                yield RowChange("I", known.table, _texts(row["values"], known.readers), None, False, size)


def _texts(values: dict[str, Any], readers: _Readers) -> Texts:
    cells = list(values.values())
    return [None if cells[place] is None else read(cells[place]) for place, read in readers]


def _has_all(bitmap: bytes, places: Sequence[int]) -> bool:
    return all(bitmap[place // 8] >> place % 8 & 1 for place in places)


def _unreadable(what: str) -> EmulatorError:
    return EmulatorError(f"source: the binary log has {what}")
