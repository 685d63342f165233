"""Addressing the source: a password never in the argument list, never in a message."""

from pathlib import Path

import pytest

from dms_iceberg.errors import ConfigError
from dms_iceberg.source.address import Address, Engine, SslMode, parse_source, with_credentials


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


@pytest.mark.parametrize(("text", "says"), [(None, "No such file"), ("no certificate", "holds no certificates")])
def test_a_file_of_certificates_that_is_none_is_named(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "rds.pem"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        parse_source(f"postgresql://ana@db/shop?sslmode=verify-full&sslrootcert={path}").ssl_context()
    assert str(path) in str(caught.value)
