"""One PostgreSQL and one MariaDB for all tests of the emulator; each test gets a database of its own."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest
from tenacity import Retrying, stop_after_delay, wait_fixed

from dms_emulator.postgres import LocalPostgres
from support.mariadb import LocalMariaDb, skip_without_mariadb

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    with LocalPostgres() as server:
        yield server


@pytest.fixture
def dsn(postgres: LocalPostgres) -> Iterator[str]:
    name = f"source{next(_numbers)}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(f"create database {name}")
    yield postgres.dsn(name)
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        _drop_slots(admin, name)
        admin.execute(f"drop database {name} with (force)")


def _drop_slots(admin: psycopg.Connection, database: str) -> None:
    """Slots belong to the server: one left behind would keep WAL and its name. A WAL sender takes a moment to end."""
    for attempt in Retrying(stop=stop_after_delay(30), wait=wait_fixed(0.05), reraise=True):
        with attempt:
            for slot, pid in admin.execute(
                "select slot_name, active_pid from pg_replication_slots where database = %s", (database,)
            ).fetchall():
                if pid is not None:
                    admin.execute("select pg_terminate_backend(%s)", (pid,))
                admin.execute("select pg_drop_replication_slot(%s)", (slot,))


@pytest.fixture(scope="session")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        yield server


@pytest.fixture
def shop(mariadb: LocalMariaDb) -> Iterator[str]:
    """The address of an empty database of MariaDB named `shop`, and the current one of its connections."""
    mariadb.execute("create database shop character set utf8mb4")
    yield mariadb.url("shop")
    mariadb.execute("drop database shop")
