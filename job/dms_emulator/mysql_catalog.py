"""MySQL's catalog: the tables, their columns, and whether server and tables can be captured."""

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, Final

import structlog

from dms_emulator.errors import EmulatorError
from dms_emulator.layout import Column, TableLayout
from dms_emulator.mysql_values import BINARY, CODECS, Decoder, LogColumn, Reader, reader
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import SourceTable, split_name
from dms_iceberg.dms.mysql import GEOMETRIES, limited, map_type, text_sql
from dms_iceberg.sql.quoting import quote  # MySQL quotes names as Spark does.

_log = structlog.get_logger(__name__)

_TABLE: Final = "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_COLUMNS: Final = """
    SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE, CHARACTER_SET_NAME, EXTRA
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_KEY: Final = """
    SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY'
"""
_CASCADES: Final = """
    SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s
    AND (UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))
"""
_WANTED: Final = {
    "log_bin": ("ON",),
    "binlog_format": ("ROW",),
    "binlog_row_image": ("FULL",),
    # DMS does without: it follows the statements of DDL. The emulator reads names and types from the log.
    "binlog_row_metadata": ("FULL",),
}
# The library passes over compressed events, and partial JSON cannot become a whole value. Not every server has these.
_UNWANTED: Final = {"log_bin_compress": ("OFF",), "binlog_transaction_compression": ("OFF",), "binlog_row_value_options": ("",)}
_NOT_IN_LOG: Final = frozenset({"uuid", "inet6", "inet4", "xmltype", "vector"})


class MySqlCatalog:
    """The catalog as a connection sees it.

    Args:
        connection: in autocommit mode.
        settings: the LOB size.
    """

    def __init__(self, connection: Any, settings: EmulatorSettings) -> None:
        self._connection = connection
        self._lob_bytes = settings.lob_max_kb * 1024
        self._character_sets: dict[int, str] | None = None
        self._decoders: dict[str, Decoder] = {}

    def check(self, names: Sequence[str]) -> None:
        """Check the server's settings, and that every table can be captured.

        Raises:
            EmulatorError: something is in the way; the message names each, and what to do.
        """
        problems = [*self._server_problems(), *(problem for name in names for problem in self._problems(name))]
        if problems:
            raise EmulatorError("source: this cannot be captured:\n  " + "\n  ".join(problems))
        for name in names:
            for (constraint,) in self.query(_CASCADES, *split_name(name)):
                # The storage engine makes them (MySQL manual, "InnoDB and MySQL Replication"), so DMS loses them as well.
                _log.warning("what a foreign key cascades is not in the binary log", table=name, constraint=constraint)

    def table(self, name: str) -> SourceTable:
        """Return a table as the catalog shows it now.

        Raises:
            EmulatorError: it does not exist.
        """
        keys = {row[0] for row in self.query(_KEY, *split_name(name))}
        columns = [
            LogColumn(column, type_.lower(), shown.lower(), column in keys, precision, scale)
            for column, type_, shown, precision, scale, _, extra in self._columns(name)
            if not _is_generated(extra)
        ]
        return self._table(name, columns)

    def select(self, table: SourceTable) -> str:
        """Return the SELECT of all rows as the texts that the table's converters expect."""
        types = {row[0]: (row[1].lower(), row[2].lower(), row[3], row[4]) for row in self._columns(table.name)}
        cells = []
        for column in table.layout.columns:
            type_, shown, precision, scale = types[column.name]
            mapped = map_type(type_, shown, precision, scale)
            if mapped is None:
                raise EmulatorError(f"source: {table.name}: {column.name} became a geometry while the table was read")
            cells.append(text_sql(f"t.{quote(column.name)}", type_, shown, mapped))
        return f"SELECT {', '.join(cells)} FROM {quote(table.layout.schema)}.{quote(table.layout.name)} t"

    def logged(self, name: str, columns: Sequence[LogColumn]) -> tuple[SourceTable, tuple[tuple[int, Reader], ...]]:
        """Return a table as the binary log describes it, and the place in the log's rows and the reader of each of its columns.

        The log does not show which columns are generated, nor some types of MariaDB: for these the catalog is asked, as it is now.

        Raises:
            EmulatorError: it has columns that cannot be captured.
        """
        found = {row[0]: row for row in self.query(_COLUMNS, *split_name(name))}
        problems = [problem for row in found.values() if (problem := self._column_problem(name, row)) is not None]
        # A table may get system versioning later: then its log has deletes as updates, and old rows as inserts.
        problems += [problem for kind, _ in self.query(_TABLE, *split_name(name)) if (problem := _kind_problem(name, kind)) is not None]
        if problems:
            raise EmulatorError("source: this cannot be captured:\n  " + "\n  ".join(problems))
        places = [place for place, column in enumerate(columns) if not (column.name in found and _is_generated(found[column.name][6]))]
        try:
            readers = tuple((place, reader(columns[place], self.decoder(columns[place].character_set or BINARY))) for place in places)
        except EmulatorError as error:
            raise EmulatorError(f"source: {name}, column {error}") from None
        return self._table(name, [columns[place] for place in places]), readers

    def character_set(self, collation: int) -> str:
        """Return the character set of a collation, by the number that the binary log has.

        Raises:
            EmulatorError: the server has no such collation.
        """
        if self._character_sets is None:
            self._character_sets = dict(self._collations())
        if collation not in self._character_sets:
            raise EmulatorError(f"source: the binary log has collation number {collation}, which the server does not know")
        return self._character_sets[collation]

    def decoder(self, character_set: str) -> Decoder:
        """Return the function that decodes a character set as the server does.

        Raises:
            EmulatorError: it is one of several bytes that the emulator does not read.
        """
        if character_set not in self._decoders:
            self._decoders[character_set] = self._make_decoder(character_set)
        return self._decoders[character_set]

    def query(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def variables(self, *names: str) -> dict[str, str]:
        """Return those of some global variables that the server has."""
        marks = ", ".join(["%s"] * len(names))
        return dict(self.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({marks})", *names))

    def _collations(self) -> Iterator[tuple[int, str]]:
        # MariaDB's own collations since 10.10 have several numbers, which only this table shows.
        wide = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = 'COLLATION_CHARACTER_SET_APPLICABILITY'"
        names = {row[0].upper() for row in self.query(f"{wide} AND TABLE_SCHEMA = 'information_schema'")}
        table = "COLLATION_CHARACTER_SET_APPLICABILITY" if "ID" in names else "COLLATIONS"
        for number, name in self.query(f"SELECT ID, CHARACTER_SET_NAME FROM information_schema.{table}"):
            if number is not None and name is not None:
                yield int(number), str(name)

    def _columns(self, name: str) -> list[tuple[Any, ...]]:
        found = self.query(_COLUMNS, *split_name(name))
        if not found:
            raise EmulatorError(f"source: table {name} does not exist")
        return found

    def _table(self, name: str, columns: Sequence[LogColumn]) -> SourceTable:
        mapped = []
        for column in columns:
            plain = map_type(column.type, column.shown, column.precision, column.scale)
            if plain is None:
                raise EmulatorError(f"source: {name}: {_GEOMETRY.format(column.name)}")
            mapped.append(limited(plain, self._lob_bytes))
        schema, table = split_name(name)
        pairs = zip(columns, mapped, strict=True)
        layout = TableLayout(schema, table, [Column(column.name, kind.type, column.key) for column, kind in pairs])
        return SourceTable(layout, tuple(kind.converter for kind in mapped), layout.key_indexes)

    def _make_decoder(self, character_set: str) -> Decoder:
        codec = CODECS.get(character_set)
        if codec is not None:
            return lambda data: data.decode(codec)
        if character_set == BINARY:
            return lambda data: data.hex()
        one_byte = {row[0] for row in self.query("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS WHERE MAXLEN = 1")}
        if character_set not in one_byte:
            raise EmulatorError(
                f"character set {character_set}, which the emulator does not read; of those of several bytes it reads {', '.join(CODECS)}"
            )
        # The name is one of the server's own.
        every = f"SELECT CONVERT(_{character_set} x'{bytes(range(256)).hex()}' USING utf8mb4)"
        letters = str(self.query(every)[0][0])
        return lambda data: codecs.charmap_decode(data, "strict", letters)[0]

    def _server_problems(self) -> Iterator[str]:
        found = self.variables(*_WANTED, *_UNWANTED)
        for name, allowed in {**_WANTED, **_UNWANTED}.items():
            value = found.get(name)
            if value is None and name in _UNWANTED:
                continue
            if value is None or value.upper() not in allowed:
                shown = "not there" if value is None else repr(value)
                yield f"the server's {name} is {shown}; it must be {allowed[0] or 'empty'}"

    def _problems(self, name: str) -> Iterator[str]:
        found = self.query(_TABLE, *split_name(name))
        if not found:
            yield f"{name}: does not exist, or the user may not see it"
            return
        kind, engine = found[0]
        if problem := _kind_problem(name, kind):
            yield problem
            return
        if (engine or "").upper() != "INNODB":
            yield f"{name}: engine {engine}, which has neither snapshots nor rollbacks: ALTER TABLE ... ENGINE = InnoDB"
        keys = self.query(_KEY, *split_name(name))
        if not keys:
            yield f"{name}: has no primary key. Add one, or leave the table out"
        yield from (f"{name}: the primary key has only a part of {column}" for column, part in keys if part is not None)
        for row in self.query(_COLUMNS, *split_name(name)):
            problem = self._column_problem(name, row)
            if problem is not None:
                yield problem

    def _column_problem(self, name: str, row: Sequence[Any]) -> str | None:
        column, type_, shown, _, _, character_set, _ = row
        if type_.lower() in GEOMETRIES:
            return f"{name}: {_GEOMETRY.format(column)}"
        if type_.lower() in _NOT_IN_LOG:
            return f"{name}: column {column} is of type {type_}, of which nobody has said in which form DMS writes it"
        if type_.lower() == "json":
            # MariaDB's JSON is a LONGTEXT.
            return f"{name}: column {column} is JSON in MySQL's binary form, which the emulator does not read"
        if "COMPRESSED" in shown.upper():
            return f"{name}: column {column} is compressed, which the emulator does not read"
        if character_set is not None:
            try:
                self.decoder(character_set)
            except EmulatorError as error:
                return f"{name}: column {column} has {error}"
        return None


_GEOMETRY: Final = "column {} is a geometry, of which nobody has said in which form DMS writes it"


def _kind_problem(name: str, kind: str) -> str | None:
    return None if kind == "BASE TABLE" else f"{name}: is no ordinary table ({kind.lower()})"


def _is_generated(extra: str | None) -> bool:
    words = (extra or "").upper()
    # Of columns with a default that is an expression, MySQL says DEFAULT_GENERATED.
    return "VIRTUAL" in words or "STORED GENERATED" in words
