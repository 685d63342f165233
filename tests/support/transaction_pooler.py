"""A pooler in transaction mode before a PostgreSQL: each transaction has a session of its own, with nothing of the one before."""

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Final, Self

_SSL_REQUEST: Final = 80877103
_ANSWERED: Final = b"QS"
"""Kinds of messages that the server answers with ReadyForQuery."""


class TransactionPooler:
    """Listens on a loopback port, and passes messages on to the server at another one.

    Attributes:
        port: where it listens.
        sessions: how many sessions of the server its clients have had.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port, self.sessions = server_port, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, EOFError):
            startup = _startup(client)
            session = self._begin(startup, client)
            while True:
                kind, message = _message(client)
                if kind == b"X":
                    session.close()
                    return
                session.sendall(message)
                if kind in _ANSWERED and _answer(session, client) == b"I":
                    session.close()
                    session = self._begin(startup, None)

    def _begin(self, startup: bytes, client: socket.socket | None) -> socket.socket:
        session = socket.create_connection(("127.0.0.1", self._server_port))
        session.sendall(startup)
        _answer(session, client)
        self.sessions += 1
        return session


def _read(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _startup(client: socket.socket) -> bytes:
    while True:
        head = _read(client, 8)
        length, code = struct.unpack("!ii", head)
        if code != _SSL_REQUEST:
            return head + _read(client, length - 8)
        client.sendall(b"N")


def _message(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _read(connection, 5)
    return head[:1], head + _read(connection, struct.unpack("!i", head[1:])[0] - 4)


def _answer(session: socket.socket, client: socket.socket | None) -> bytes:
    """Pass the server's messages on until it is ready; return the state of its transaction."""
    while True:
        kind, message = _message(session)
        if client is not None:
            client.sendall(message)
        if kind == b"Z":
            return message[-1:]
