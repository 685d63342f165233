"""A PostgreSQL as source: publication, slot, and the rows at the slot's first position."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

import psycopg
from psycopg import sql
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from dms_emulator.errors import EmulatorError
from dms_emulator.postgres_catalog import PostgresCatalog
from dms_emulator.postgres_replication import Replication, lsn_number, lsn_text, session_dsn
from dms_emulator.postgres_stream import PostgresStream
from dms_emulator.settings import EmulatorSettings, Profile
from dms_emulator.source import Rows, SourceTable, split_name

_SLOT_BUSY_SECONDS: Final = 15


class PostgresBeginning:
    """A new slot. Its snapshot lives until the next command of the replication connection."""

    def __init__(self, dsn: str, slot: str) -> None:
        self._dsn = dsn
        self._replication = Replication(dsn)
        created = self._replication.create_slot(slot)
        self.position, self._snapshot = created.lsn, created.snapshot

    @contextlib.contextmanager
    def reading(self, *, consistent: bool) -> Iterator[Rows]:
        """Give a reader of the tables as the slot's snapshot shows them, or as they are now."""
        with psycopg.connect(self._dsn) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            if consistent:
                connection.execute(sql.SQL("set transaction snapshot {}").format(sql.Literal(self._snapshot)))

            def rows(table: SourceTable) -> Iterator[Sequence[str | None]]:
                columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.layout.columns)
                name = sql.Identifier(table.layout.schema, table.layout.name)
                query = sql.SQL("copy (select {} from only {}) to stdout").format(columns, name)
                with connection.cursor() as cursor, cursor.copy(query) as copy:
                    yield from copy.rows()

            yield rows

    def close(self) -> None:
        """Close the connection that holds the snapshot; the slot stays."""
        self._replication.close()


class PostgresSource:
    """An ordinary connection to the source, for its catalog, publication and slot.

    Raises:
        EmulatorError: the source cannot be reached.
    """

    def __init__(self, dsn: str, settings: EmulatorSettings) -> None:
        self._dsn = session_dsn(dsn)
        self._settings = settings
        self.profile = settings.profile or Profile.POSTGRES
        try:
            self.connection = psycopg.connect(self._dsn, autocommit=True)
        except psycopg.OperationalError as error:
            raise EmulatorError(f"source: cannot connect: {str(error).strip()}") from None
        self._catalog = PostgresCatalog(self.connection, settings)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the server, which the user must correct, into an `EmulatorError` without a stack trace."""
        try:
            yield
        except psycopg.Error as error:
            # Without the details, which can quote a row.
            reason = error.diag.message_primary or str(error).strip() or type(error).__name__
            raise EmulatorError(f"source: {reason}. The task can be begun again and goes on where it was") from error

    def check(self, names: Sequence[str]) -> None:
        """Raise `EmulatorError` if some tables cannot be captured."""
        self._catalog.check(names)

    def table(self, name: str) -> SourceTable:
        """Return a table as the catalog shows it now."""
        return self._catalog.table(name)

    def check_free(self, state_dir: object) -> None:
        """Raise `EmulatorError` if there is a slot of this name already."""
        if self.confirmed_lsn() is not None:
            raise EmulatorError(
                f"source: slot {self._settings.slot!r} exists, but {state_dir} knows nothing of it."
                " Another task may own it: give the right state folder or another slot name, or ask for a reload"
            )

    def check_kept(self, position: int, state_dir: object) -> None:
        """Raise `EmulatorError` if the slot is gone, or was moved beyond ``position``."""
        confirmed = self.confirmed_lsn()
        if confirmed is None:
            raise EmulatorError(f"source: slot {self._settings.slot!r} does not exist any more: changes are lost; ask for a reload")
        if lsn_number(confirmed) > position:
            raise EmulatorError(
                f"source: slot {self._settings.slot!r} stands at {confirmed}, beyond {lsn_text(position)} of"
                f" the state in {state_dir}: somebody else read it and changes are lost;"
                " ask for a reload"
            )

    def begin(self, names: Sequence[str]) -> PostgresBeginning:
        """Set the publication, and create the slot again."""
        self.drop_slot()
        self.publish(names)
        return PostgresBeginning(self._dsn, self._settings.slot)

    def stream(self, names: Sequence[str]) -> PostgresStream:
        """Return a reader of the slot; the publication determines its tables."""
        return PostgresStream(self._catalog, Replication(self._dsn), self._settings.slot)

    def position_number(self, text: str) -> int:
        """Return the number of an LSN."""
        return lsn_number(text)

    def position_text(self, position: int) -> str:
        """Return the LSN as PostgreSQL prints it."""
        return lsn_text(position)

    def drop(self) -> None:
        """Remove slot and publication: an abandoned slot would fill the source's disk."""
        self.drop_slot()
        self.unpublish()

    def publish(self, names: Sequence[str]) -> None:
        """Create the publication, or set the tables of an existing one.

        It must exist before the slot: decoding uses the catalog as of that position, and PostgreSQL 18 silently skips changes
        from before the publication. An existing one is not created again: a statement of another session that writes to the
        table at that moment would fail (``cache lookup failed for publication``).
        """
        name = sql.Identifier(self._settings.slot)
        tables = sql.SQL(", ").join(sql.Identifier(*split_name(table)) for table in names)
        found = self.connection.execute(
            "select 1 from pg_publication where pubname = %s and not puballtables", (self._settings.slot,)
        ).fetchone()
        if found is None:
            self.unpublish()
            self.connection.execute(sql.SQL("create publication {} for table only {}").format(name, tables))
            return
        whole = "publish = 'insert, update, delete, truncate', publish_via_partition_root = false"
        self.connection.execute(sql.SQL("alter publication {} set table only {}").format(name, tables))
        self.connection.execute(sql.SQL("alter publication {} set ({})").format(name, sql.SQL(whole)))

    def unpublish(self) -> None:
        """Drop the publication if it exists."""
        name = sql.Identifier(self._settings.slot)
        self.connection.execute(sql.SQL("drop publication if exists {}").format(name))

    def confirmed_lsn(self) -> str | None:
        """Return the position up to which the slot was confirmed; None if there is no such slot."""
        query = "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = %s"
        row = self.connection.execute(query, (self._settings.slot,)).fetchone()
        return None if row is None else str(row[0])

    def drop_slot(self) -> None:
        """Drop the slot if it exists; wait for the server process of a connection that was just closed to release it."""
        for attempt in Retrying(
            retry=retry_if_exception_type(psycopg.errors.ObjectInUse),
            stop=stop_after_delay(_SLOT_BUSY_SECONDS),
            wait=wait_fixed(0.1),
            reraise=True,
        ):
            with attempt:
                self._drop_slot()

    def _drop_slot(self) -> None:
        self.connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s",
            (self._settings.slot,),
        )

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
