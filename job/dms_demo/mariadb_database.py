"""The shop in a MariaDB of the demo's own."""

from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

import pymysql

from dms_demo.database import ConnectionSession, Parameters
from dms_demo.sample import COLUMNS, Shop
from dms_emulator.mariadb import LocalMariaDb

_SCHEMA: Final = (
    """CREATE TABLE customers (
        customer_id   bigint AUTO_INCREMENT PRIMARY KEY,
        full_name     varchar(120) NOT NULL,
        email         varchar(200),
        location      varchar(120),
        registered    varchar(20),
        birth_date    varchar(10),
        newsletter    boolean NOT NULL DEFAULT false,
        updated_at    timestamp(6) NOT NULL DEFAULT current_timestamp(6)
    )""",
    """CREATE TABLE orders (
        order_id      bigint AUTO_INCREMENT PRIMARY KEY,
        customer_id   bigint NOT NULL REFERENCES customers (customer_id),
        status        varchar(12) NOT NULL,
        amount        decimal(12, 2) NOT NULL,
        ordered_at    timestamp(6) NOT NULL DEFAULT current_timestamp(6),
        promised_for  datetime(6),
        INDEX (customer_id)
    )""",
    # No foreign key with a cascade: InnoDB writes what a cascade changes to no log.
    """CREATE TABLE order_lines (
        order_id      bigint NOT NULL,
        line_no       smallint NOT NULL,
        product       varchar(80) NOT NULL,
        quantity      integer NOT NULL,
        unit_price    decimal(10, 2) NOT NULL,
        PRIMARY KEY (order_id, line_no)
    )""",
)
_INSTANT: Final = "'%%Y-%%m-%%d %%H:%%i:%%s.%%f'"
_EXPECTED: Final[Mapping[str, str]] = {
    "customers": f"""
        SELECT customer_id, TRIM(full_name) AS full_name, SHA2(CONCAT(%(salt)s, email), 256) AS email,
               TRIM(SUBSTRING_INDEX(location, ',', 1)) AS city, TRIM(SUBSTRING_INDEX(location, ',', -1)) AS country,
               DATE_FORMAT(STR_TO_DATE(registered, '%%d.%%m.%%Y %%H:%%i'), {_INSTANT}) AS registered_at,
               STR_TO_DATE(birth_date, '%%d/%%m/%%Y') AS birth_date, IF(newsletter, 'true', 'false') AS newsletter,
               DATE_FORMAT(updated_at, {_INSTANT}) AS updated_at, loyalty_points
        FROM customers""",
    "orders": f"""
        SELECT order_id, customer_id, status, amount, DATE_FORMAT(ordered_at, {_INSTANT}) AS ordered_at,
               DATE_FORMAT(promised_for, {_INSTANT}) AS promised_for
        FROM orders""",
    "order_lines": "SELECT order_id, line_no, product, quantity, unit_price FROM order_lines",
}
# A deadlock, a lock that was waited for too long, a table that was altered since the transaction began.
_CONFLICTS: Final = frozenset({1213, 1205, 1412})


class MariaDbSession(ConnectionSession):
    """A connection of PyMySQL."""

    def __init__(self, server: LocalMariaDb, database: str | None) -> None:
        super().__init__(server.connect(database, autocommit=False, init_command="SET time_zone = '+00:00'"))

    def execute(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        return self.query(statement, parameters)[1]

    def query(self, statement: str, parameters: Parameters = ()) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run a statement; return names of columns, and rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            return tuple(column[0] for column in cursor.description or ()), list(cursor.fetchall())

    def fill(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Insert many rows."""
        columns = COLUMNS[table]
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})", rows)


class MariaDbDatabase:
    """The server, and the SQL that only MariaDB understands.

    Raises:
        MariaDbError: there is no binary for this machine.
    """

    engine = "MariaDB"
    schema = "shop"
    now = "now(6)"
    cancel_order: tuple[str, ...] = ("DELETE FROM order_lines WHERE order_id = %s", "DELETE FROM orders WHERE order_id = %s")
    renumber_order: tuple[str, ...] = (
        "UPDATE orders SET order_id = -order_id WHERE order_id = %s",
        "UPDATE order_lines SET order_id = -order_id WHERE order_id = %s",
    )
    # A MySQL boolean is a tinyint(1), for DMS a number.
    column_types: Mapping[str, Mapping[str, str]] = MappingProxyType({"customers": {"newsletter": "boolean"}})

    def __init__(self) -> None:
        self._server = LocalMariaDb()

    @property
    def dsn(self) -> str:
        """The server's URL."""
        return self._server.url(self.schema)

    def create(self, shop: Shop) -> None:
        """Create and fill the tables."""
        with MariaDbSession(self._server, None) as session:
            session.execute(f"CREATE DATABASE {self.schema}")
            session.execute(f"USE {self.schema}")
            for statement in _SCHEMA:
                session.execute(statement)
            for table in COLUMNS:
                session.fill(table, shop.rows[table])
            session.commit()

    def session(self) -> MariaDbSession:
        """Return a new connection."""
        return MariaDbSession(self._server, self.schema)

    def is_conflict(self, error: Exception) -> bool:
        """Whether the server ended a transaction because of another one."""
        return isinstance(error, pymysql.MySQLError) and bool(error.args) and error.args[0] in _CONFLICTS

    def expected(self, table: str, salt: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return columns and rows of a table as silver should show them."""
        with self.session() as session:
            query = _EXPECTED[table]
            if not session.execute("SHOW COLUMNS FROM customers LIKE 'loyalty_points'"):
                query = query.replace(", loyalty_points", "")
            return session.query(query, {"salt": salt})

    def log_end(self) -> str:
        """Return file and offset of the end of the binary log."""
        with self.session() as session:
            file, offset, *_ = session.execute("SHOW MASTER STATUS")[0]
            return f"{file}:{offset}"

    def version(self) -> str:
        """Return the server's version."""
        with self.session() as session:
            return str(session.execute("SELECT version()")[0][0]).partition("-")[0]

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.__exit__(kind, error, trace)
