"""Connections to MySQL: what a password may hold, and what an error says."""

import socket

import pytest

from dms_iceberg.source import mysql
from dms_iceberg.source.address import Address, Engine, SslMode
from dms_iceberg.source.errors import SourceError


@pytest.mark.parametrize("password", ["caffè", "пароль", "100€"])
def test_a_password_may_have_any_letter_and_is_in_no_error(password: str) -> None:
    """The driver takes a text for Latin-1; nobody answers here, so that it gets no further than its first bytes."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = Address(
            engine=Engine.MYSQL,
            host="127.0.0.1",
            port=nobody.getsockname()[1],
            database="shop",
            user="dms",
            password=password,
            ssl_mode=SslMode.DISABLE,
        )
        with pytest.raises(SourceError, match=r"127\.0\.0\.1") as refused:
            mysql.connect(address)
    assert not any(letter in str(refused.value) for letter in password if ord(letter) > 127)
    assert refused.value.__cause__ is None
