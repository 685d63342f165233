"""Addressing the source: a password never in the argument list, never in a message."""

import pytest

from dms_iceberg.errors import ConfigError
from dms_iceberg.verify.source import Address, Engine, SslMode, Throttle, chunks, parse_source, with_credentials


def test_a_url_is_read_with_its_defaults() -> None:
    address = parse_source("postgresql://an%40a@db.example.org/shop%20floor?sslmode=verify-full&sslrootcert=/rds.pem")
    assert address == Address(
        engine=Engine.POSTGRESQL,
        host="db.example.org",
        port=5432,
        database="shop floor",
        user="an@a",
        ssl_mode=SslMode.VERIFY_FULL,
        ssl_root_certificate="/rds.pem",
    )
    assert parse_source("mysql://root@db:3307").port == 3307
    assert parse_source("mariadb://root@db").engine is Engine.MYSQL


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://ana:hunter2@db/shop", "holds a password"),
        ("postgresql://ana@db/shop?password=hunter2", "holds a password"),
        ("hunter2", "neither postgresql:// nor mysql://"),
        ("oracle://hunter2@db/shop", "neither postgresql:// nor mysql://"),
        ("postgresql://ana@db:hunter2/shop", "cannot be read"),
        ("postgresql://ana@db", "names no database"),
        ("postgresql://ana@db/shop?sslmode=maybe", "sslmode is 'maybe'"),
        ("postgresql://ana@db/shop?connect_timeout=5", "'connect_timeout' is unknown"),
    ],
)
def test_what_is_refused_says_why_and_never_repeats_a_password(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source(url)
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_password_comes_from_a_variable_or_a_secret() -> None:
    postgres, mysql = parse_source("postgresql://ana@db/shop"), parse_source("mysql://ana@db")
    environment = {"PGPASSWORD": "one", "MYSQL_PWD": "two"}
    assert with_credentials(postgres, None, environment).password == "one"
    assert with_credentials(mysql, None, environment).password == "two"
    assert with_credentials(mysql, None, environment | {"DMS_ICEBERG_SOURCE_PASSWORD": "three"}).password == "three"
    assert with_credentials(postgres, None, {}).password is None
    named = with_credentials(parse_source("postgresql://db/shop"), '{"username": "dms", "password": "four", "port": 1}', {})
    assert (named.user, named.password, named.port) == ("dms", "four", 5432)
    assert with_credentials(postgres, '{"username": "dms", "password": "four"}', environment).user == "ana"
    assert with_credentials(postgres, "five", environment).password == "five"
    assert "four" not in repr(named)


@pytest.mark.parametrize(("url", "secret"), [("postgresql://db/shop", None), ("postgresql://ana@db/shop", '{"username": "ana"}')])
def test_credentials_that_are_not_there(url: str, secret: str | None) -> None:
    with pytest.raises(ConfigError):
        with_credentials(parse_source(url), secret, {})


def test_a_throttle_waits_as_long_as_the_rows_need() -> None:
    now, waited = [0.0], []

    def wait(seconds: float) -> None:
        waited.append(round(seconds, 3))
        now[0] += seconds

    throttle = Throttle(100, clock=lambda: now[0], wait=wait)
    throttle.passed(50)
    now[0] += 10
    throttle.passed(100)
    throttle.passed(10)
    assert waited == [0.5, 1.0, 0.1]
    Throttle(None, wait=wait).passed(1_000_000)
    assert len(waited) == 3


def test_chunks_are_bounded_in_rows_and_in_size() -> None:
    assert list(chunks(["a"] * 5, 2, 100)) == [["a", "a"], ["a", "a"], ["a"]]
    assert list(chunks(["aaa", "b", "cc", "dd"], 10, 4)) == [["aaa", "b"], ["cc", "dd"]]
    assert list(chunks([], 10, 4)) == []
