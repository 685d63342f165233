"""The throw-away PostgreSQL."""

from pathlib import Path

import psycopg
import pytest

from dms_emulator.postgres import LocalPostgres, PostgresError


def _one(dsn: str, sql: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(sql).fetchone()
        assert row is not None
        return row[0]


def test_it_decodes_logically_and_leaves_nothing() -> None:
    with LocalPostgres() as server:
        assert _one(server.dsn(), "show wal_level") == "logical"
        assert _one(server.dsn(), "show timezone") == "UTC"
        base = server.base
    assert not base.exists()


def test_a_directory_keeps_the_data_over_restarts(tmp_path: Path) -> None:
    server = LocalPostgres(tmp_path / "pg")
    with server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("create table kept as select 7 as x")
        port = server.port
    with server:
        assert server.port == port
        assert _one(server.dsn(), "select x from kept") == 7
    with LocalPostgres(tmp_path / "pg") as again:
        assert _one(again.dsn(), "select x from kept") == 7


def test_a_server_left_running_in_the_directory_is_replaced(tmp_path: Path) -> None:
    LocalPostgres(tmp_path / "pg").start()
    with LocalPostgres(tmp_path / "pg") as second:
        assert _one(second.dsn(), "select 1") == 1


def test_a_failed_start_shows_the_log(tmp_path: Path) -> None:
    server = LocalPostgres(tmp_path / "pg", {"shared_buffers": "nonsense"})
    with pytest.raises(PostgresError, match="shared_buffers"):
        server.start()


def test_a_failed_start_leaves_nothing() -> None:
    server = LocalPostgres(settings={"shared_buffers": "nonsense"})
    with pytest.raises(PostgresError, match="shared_buffers"), server:
        pass
    assert not server.base.exists()
