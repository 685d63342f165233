"""Connections to PostgreSQL: what becomes of an answer that the driver cannot read."""

import pytest

from dms_iceberg.source.errors import SourceError
from dms_iceberg.source.postgres import translated


class _Connection:
    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_text_that_cannot_be_read_ends_the_connection_whose_answer_is_read_in_part() -> None:
    connection = _Connection()
    with pytest.raises(SourceError, match="SQL_ASCII") as refused, translated("public.t", connection):
        b"row \xc3".decode("ascii")
    assert ("public.t" in str(refused.value), "row" in str(refused.value), connection.is_closed) == (True, False, True)
    assert refused.value.__cause__ is None
