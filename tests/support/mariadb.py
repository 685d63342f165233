"""The MariaDB server of the emulator's package, with what tests need to fill it."""

from typing import Any

import pytest

from dms_emulator.mariadb import LocalMariaDb as Server
from dms_emulator.mariadb import is_available


def skip_without_mariadb() -> None:
    """Skip where no registry has a server."""
    if not is_available():
        pytest.skip("no jar holds a MariaDB for this machine")


class LocalMariaDb(Server):
    """Runs statements and scripts, each in a connection of its own."""

    def execute(self, *statements: str | tuple[str, Any], database: str | None = None) -> None:
        """Run statements, with their values, in one connection."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                text, values = statement if isinstance(statement, tuple) else (statement, None)
                cursor.execute(text, values)

    def script(self, text: str) -> list[tuple[Any, ...]]:
        """Run a script, as the command line does, in one connection; returns the rows of its last query that has any."""
        rows: list[tuple[Any, ...]] = []
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in text.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
                    rows = list(cursor.fetchall()) or rows
        return rows
