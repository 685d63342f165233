"""A MySQL or MariaDB as source: its binary log, and the rows at one position of it."""

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pymysql
import pymysql.cursors

from dms_emulator.binlog_positions import BinlogPositions
from dms_emulator.errors import EmulatorError
from dms_emulator.mysql_catalog import MySqlCatalog
from dms_emulator.mysql_stream import MySqlStream
from dms_emulator.settings import EmulatorSettings, Profile
from dms_emulator.source import Rows, SourceTable
from dms_iceberg.source.address import Address
from dms_iceberg.source.errors import SourceError
from dms_iceberg.source.mysql import READING_SESSION, close, connect, driver_arguments, reason

_SNAPSHOT: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_SYNTAX_ERROR: Final = 1064
# Far from the small numbers that people give to servers.
_FIRST_SERVER_ID: Final = 1 << 31
_BATCH: Final = 1000


class MySqlBeginning:
    """A position of the binary log, and a snapshot of the tables at it."""

    def __init__(self, address: Address, catalog: MySqlCatalog, positions: BinlogPositions) -> None:
        self._address = address
        self._catalog = catalog
        self._connection = connect(address, READING_SESSION)
        try:
            self.position = positions.number(*self._begin())
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def reading(self, *, consistent: bool) -> Iterator[Rows]:
        """Give a reader of the tables as the snapshot shows them, or as they are now."""
        connection = self._connection if consistent else connect(self._address, READING_SESSION)

        def rows(table: SourceTable) -> Iterator[Sequence[str | None]]:
            with connection.cursor(pymysql.cursors.SSCursor) as cursor:
                cursor.execute(self._catalog.select(table))
                while batch := cursor.fetchmany(_BATCH):
                    yield from batch

        try:
            yield rows
        finally:
            if not consistent:
                close(connection)

    def close(self) -> None:
        """Close the connection, and with it the snapshot."""
        close(self._connection)

    def _begin(self) -> tuple[str, int]:
        with self._connection.cursor() as cursor:
            if _snapshot_position(cursor) is not None:
                # MariaDB knows the position of a snapshot, without a lock.
                cursor.execute(_SNAPSHOT)
                found = _snapshot_position(cursor)
                if found is None:
                    raise EmulatorError("source: the server shows no binlog_snapshot_position any more")
                return found
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            try:
                cursor.execute(_SNAPSHOT)
                return log_end(cursor)
            finally:
                cursor.execute("UNLOCK TABLES")


class MySqlSource:
    """An ordinary connection to the source, for its catalog and its log's state.

    Args:
        address: with user and password.
        settings: those of the task.

    Raises:
        EmulatorError: the source cannot be reached, or has no binary log.
    """

    profile = Profile.MYSQL

    def __init__(self, address: Address, settings: EmulatorSettings) -> None:
        if settings.profile not in (None, Profile.MYSQL):
            raise EmulatorError(f"profile {settings.profile}: files of a MySQL show the habits of mysql only")
        self._address = address
        # Not the slot itself, which MySQL does not have: a number from its name.
        self._server_id = _FIRST_SERVER_ID | zlib.crc32(settings.slot.encode()) >> 1
        try:
            self._connection = connect(address)
        except SourceError as error:
            raise EmulatorError(str(error)) from None
        with self.errors(), self._connection.cursor() as cursor:
            self._positions = BinlogPositions(log_end(cursor)[0])
        self._catalog = MySqlCatalog(self._connection, settings)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the server, which the user must correct, into an `EmulatorError` without a stack trace."""
        try:
            yield
        except (pymysql.MySQLError, SourceError, OSError) as error:
            text = str(error) if isinstance(error, SourceError) else f"source: {reason(error)}"
            raise EmulatorError(f"{text}. The task can be begun again and goes on where it was") from error

    def check(self, names: Sequence[str]) -> None:
        """Raise `EmulatorError` if the server or some tables cannot be captured."""
        self._catalog.check(names)

    def check_free(self, state_dir: object) -> None:
        """Do nothing: the source holds nothing for a task."""

    def check_kept(self, position: int, state_dir: object) -> None:
        """Raise `EmulatorError` if the log does not reach back to ``position``, or does not reach it."""
        file, offset = self._positions.parts(position)
        sizes = {str(row[0]): int(row[1]) for row in self._catalog.query("SHOW BINARY LOGS")}
        if sizes.get(file, -1) < offset:
            raise EmulatorError(
                f"source: its binary log has no {self._positions.text(position)}, the place of the state in {state_dir}:"
                " the server has removed it, or started a new log, and changes are lost; keep the log longer, and ask for a reload"
            )

    def table(self, name: str) -> SourceTable:
        """Return a table as the catalog shows it now."""
        return self._catalog.table(name)

    def begin(self, names: Sequence[str]) -> MySqlBeginning:
        """Take a snapshot, and the position of the log at it."""
        return MySqlBeginning(self._address, self._catalog, self._positions)

    def stream(self, names: Sequence[str]) -> MySqlStream:
        """Return a reader of the binary log."""
        return MySqlStream(driver_arguments(self._address), self._catalog, self._positions, names, self._server_id)

    def position_number(self, text: str) -> int:
        """Return the number of ``file:offset``."""
        return self._positions.parse(text)

    def position_text(self, position: int) -> str:
        """Return ``file:offset``."""
        return self._positions.text(position)

    def drop(self) -> None:
        """Do nothing: the source holds nothing for a task."""

    def close(self) -> None:
        """Close the connection."""
        close(self._connection)


def log_end(cursor: Any) -> tuple[str, int]:
    """Return file and offset of the end of the binary log.

    Raises:
        EmulatorError: there is no binary log.
    """
    try:
        cursor.execute("SHOW MASTER STATUS")
    except pymysql.ProgrammingError as error:
        if error.args[0] != _SYNTAX_ERROR:
            raise
        cursor.execute("SHOW BINARY LOG STATUS")  # MySQL 8.4 and later
    row = cursor.fetchone()
    if row is None:
        raise EmulatorError("source: the server has no binary log: start it with log_bin (RDS: turn automated backups on)")
    return str(row[0]), int(row[1])


def _snapshot_position(cursor: Any) -> tuple[str, int] | None:
    cursor.execute("SHOW STATUS LIKE 'binlog\\_snapshot\\_%'")
    found = {name.lower(): value for name, value in cursor.fetchall()}
    file, offset = found.get("binlog_snapshot_file"), found.get("binlog_snapshot_position")
    return (str(file), int(offset)) if file and offset else None
