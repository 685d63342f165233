"""One PostgreSQL for all tests of the emulator; each test gets a database of its own."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from dms_iceberg.local.postgres import LocalPostgres

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
        # A slot left behind would keep WAL and count against max_replication_slots.
        admin.execute("select pg_terminate_backend(active_pid) from pg_replication_slots where database = %s and active", (name,))
        admin.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = %s and not active", (name,))
        admin.execute(f"drop database {name} with (force)")
