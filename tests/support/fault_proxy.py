"""A proxy in front of the local S3 and Glue that answers some requests as a troubled service does.

Faults are planned: one after the other for what a test names, or at random from a seed. What was injected is kept, to be printed. The
proxy is Werkzeug's, and so is the server; only the deciding is ours.
"""

import io
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import attrs
from werkzeug.middleware.http_proxy import ProxyMiddleware
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler
from werkzeug.wrappers import Request, Response

StartResponse = Callable[..., Any]
_RESET = struct.pack("ii", 1, 0)


class Fault(StrEnum):
    """What goes wrong with a request. AFTER: the server has done what was asked, and only the answer is lost. CUT: half of it comes."""

    SERVER_ERROR = "500"
    SLOW_DOWN = "503"
    ERROR_AFTER = "500 after"
    RESET = "reset"
    RESET_AFTER = "reset after"
    CUT = "cut"
    DELAY = "delay"


_AFTER = (Fault.ERROR_AFTER, Fault.RESET_AFTER)


@attrs.define
class Rule:
    """Faults for matching requests.

    Attributes:
        operation: name of an API operation, such as ``UpdateTable``; "" for all, ``Glue`` or ``S3`` for those of one service.
        about: text that the path, the query or the body of the request holds.
        times: how often; None for always.
        then: rules that begin to hold when this one has struck for the last time.
    """

    fault: Fault
    operation: str = ""
    about: str = ""
    times: int | None = 1
    then: "tuple[Rule, ...]" = ()

    def takes(self, call: "Call") -> bool:
        """Whether the rule strikes this request."""
        if self.operation not in ("", call.operation, call.service) or self.about not in call.text:
            return False
        if self.times is not None:
            self.times -= 1
        return True


@attrs.frozen
class Call:
    """A request as the API sees it."""

    service: str
    operation: str
    text: str = attrs.field(repr=False)
    path: str = ""


class FaultProxy:
    """The WSGI application: decides, then forwards to the server behind it, or not."""

    def __init__(self, backend: str, delay_seconds: float) -> None:
        self._proxy = ProxyMiddleware(_nothing_here, {}, timeout=60)
        self._backend = {"target": backend, "host": None, "remove_prefix": False, "headers": {}, "ssl_context": None}
        self._delay = delay_seconds
        self._rules: list[Rule] = []
        self._chance: tuple[random.Random, float] | None = None
        self._lock = threading.Lock()
        self.injected: list[str] = []
        self.calls: list[Call] = []
        self.url = ""

    def plan(self, *rules: Rule) -> None:
        """Let these rules, and no others, decide from now on; without any, nothing goes wrong. Forgets what was injected."""
        with self._lock:
            self._rules, self._chance, self.injected, self.calls = list(rules), None, [], []

    def randomly(self, seed: int, rate: float) -> None:
        """Strike this part of all requests, each with any fault."""
        with self._lock:
            self._rules, self._chance, self.injected, self.calls = [], (random.Random(seed), rate), [], []

    def take_injected(self) -> list[str]:
        """Return what was injected since the last time."""
        with self._lock:
            taken, self.injected = self.injected, []
            self.calls = []
            return taken

    def count(self, operation: str, about: str) -> int:
        """Return how many requests of an operation came since the plan was made."""
        with self._lock:
            return sum(call.operation == operation and about in call.text for call in self.calls)

    def _decide(self, call: Call) -> Fault | None:
        with self._lock:
            self.calls.append(call)
            struck = next((rule for rule in self._rules if rule.takes(call)), None)
            fault = struck.fault if struck is not None else None
            if struck is not None and struck.times == 0:
                self._rules = [*(rule for rule in self._rules if rule is not struck), *struck.then]
            if self._chance is not None and self._chance[0].random() < self._chance[1]:
                fault = self._chance[0].choice(list(Fault))
            if fault is not None:
                self.injected.append(f"{fault}: {call.operation} {call.path}")
            return fault

    def _forward(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        return self._proxy.proxy_to(self._backend, environ["PATH_INFO"], "")(environ, start_response)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        request = Request(environ)
        body = request.get_data()
        # Read whole, so that an early answer leaves nothing in the socket.
        environ["wsgi.input"] = io.BytesIO(body)
        call = _call(request, body)
        fault = self._decide(call)
        if fault in _AFTER:
            list(self._forward(environ, lambda *_: lambda _: None))
        if fault in (Fault.RESET, Fault.RESET_AFTER):
            _reset(environ)
        if fault in (Fault.SERVER_ERROR, Fault.ERROR_AFTER, Fault.SLOW_DOWN):
            return _refusal(call, fault)(environ, start_response)
        if fault is Fault.CUT:
            return self._cut(environ, start_response)
        if fault is Fault.DELAY:
            time.sleep(self._delay)
        return self._forward(environ, start_response)

    def _cut(self, environ: dict[str, Any], start_response: StartResponse) -> Iterator[bytes]:
        body = b"".join(self._forward(environ, start_response))
        yield body[: len(body) // 2]
        _reset(environ)


def _reset(environ: dict[str, Any]) -> None:
    environ["werkzeug.socket"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    raise ConnectionResetError


def _nothing_here(_environ: dict[str, Any], _start_response: StartResponse) -> Iterable[bytes]:
    raise AssertionError("everything is forwarded")


def _call(request: Request, body: bytes) -> Call:
    text = f"{request.full_path} {body[:10_000].decode(errors='replace')}"
    target = request.headers.get("X-Amz-Target", "")
    if target:
        service, _, operation = target.removeprefix("AWS").partition(".")
        return Call(service, operation, text)
    name = {"GET": "GetObject", "HEAD": "HeadObject", "PUT": "PutObject", "DELETE": "DeleteObject", "POST": "PostObject"}[request.method]
    return Call("S3", "ListObjectsV2" if "list-type" in request.args else name, text, request.path)


def _refusal(call: Call, fault: Fault) -> Response:
    status = 503 if fault is Fault.SLOW_DOWN else 500
    if call.service == "S3":
        code, words = ("SlowDown", "Please reduce your request rate.") if status == 503 else ("InternalError", "We encountered an error.")
        xml = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{words}</Message><RequestId>0</RequestId></Error>'
        return Response(xml, status, content_type="application/xml")
    if status == 503:
        # Glue throttles with 400.
        return Response('{"__type": "ThrottlingException", "message": "Rate exceeded"}', 400, content_type="application/x-amz-json-1.1")
    return Response('{"__type": "InternalServiceException", "Message": "Service"}', 500, content_type="application/x-amz-json-1.1")


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: faults are expected here."""


class _Server(ThreadedWSGIServer):
    daemon_threads = True

    def shutdown_request(self, request: Any) -> None:
        """Close without the polite end where a reset is wanted."""
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER):
            self.close_request(request)
        else:
            super().shutdown_request(request)


@contextmanager
def fault_proxy(backend: str, delay_seconds: float) -> Iterator[FaultProxy]:
    """Start a proxy on a free port.

    Args:
        backend: URL of the server behind it.
        delay_seconds: how long `Fault.DELAY` holds a request back before it is forwarded; more than the clients' patience.
    """
    proxy = FaultProxy(backend, delay_seconds)
    server = _Server("127.0.0.1", 0, proxy, _Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
