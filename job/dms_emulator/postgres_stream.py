"""The changes of a PostgreSQL: messages of its slot, with the tables that they are about."""

from dms_emulator import pgoutput
from dms_emulator.pgoutput import decode
from dms_emulator.postgres_catalog import PostgresCatalog
from dms_emulator.postgres_replication import Replication
from dms_emulator.source import Batch, Begin, Commit, Message, RowChange, SourceTable


class PostgresStream:
    """A slot that is being read.

    Args:
        catalog: knows the tables that the stream describes.
        replication: a connection, which this closes.
        slot: its name, and that of the publication.
    """

    def __init__(self, catalog: PostgresCatalog, replication: Replication, slot: str) -> None:
        self._catalog = catalog
        self._replication = replication
        self._slot = slot
        self._relations: dict[int, tuple[pgoutput.Relation, SourceTable]] = {}

    def start(self, position: int) -> None:
        """Begin to stream from an LSN, or from where the slot was confirmed if that is later."""
        self._replication.start(self._slot, position)

    def poll(self, timeout: float) -> Batch:
        """Return what has arrived."""
        raw = self._replication.poll(timeout)
        messages = [message for data in raw.messages if (message := self._message(decode(data))) is not None]
        return Batch(messages, raw.wal_end, raw.reply_wanted)

    def confirm(self, position: int, *, ask: bool = False) -> None:
        """Move the slot."""
        self._replication.confirm(position, ask=ask)

    def close(self) -> None:
        """Close the connection; the slot stays."""
        self._replication.close()

    def _message(self, message: pgoutput.Message) -> Message | None:
        match message:
            case pgoutput.RowChange():
                table = self._relations[message.oid][1]
                return RowChange(message.op, table, message.new, message.old, message.old_is_row, message.size)
            case pgoutput.Begin():
                lsn = message.commit_lsn
                return Begin(lsn, message.commit_us, f"{lsn >> 32:08X}/{lsn & 0xFFFFFFFF:08X}")
            case pgoutput.Commit():
                return Commit(message.end_lsn)
            case pgoutput.Relation():
                # The stream repeats a relation, for example after ANALYZE: only another structure begins a new file.
                known = self._relations.get(message.oid)
                if known is None or known[0] != message:
                    self._relations[message.oid] = (message, self._catalog.related(message))
        return None
