"""A port that answers HTTP: GET requests for a few paths, each over a connection of its own.

The probes and the metrics of a server are behind such ports, for programs that speak nothing else. It is no
general web server: a request has no body, an answer ends its connection. Imports children only.

Invariants: no client can hold more than its share. Connections are few and short, the oldest makes room for a new
one, and a request and the reading of an answer have a time and a size. What serves a path is a child, which is
cancelled when its connection or its time is over.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from actorsession.actors.supervision import Children
from transports.host import current_host

__all__ = ["Handler", "HttpPort", "Response"]

# Seconds for a request to arrive, which is one packet, and for an answer to be read.
_PATIENCE = 5.0
# Open connections: a machine sends two probes at a time, and Prometheus one request, each of some 500 bytes.
_CONNECTIONS = 32
_REQUEST = 8192
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

_log = logging.getLogger("actorsession.cluster")


class Response(NamedTuple):
    """An answer.

    Attributes:
        status: its status.
        body: its body.
        content_type: the type of that; "" for none.
    """

    status: int
    body: bytes = b""
    content_type: str = ""


Handler: TypeAlias = Callable[[str], Coroutine[Any, Any, Response]]
"""Answers a request for one path; the argument is its Accept header."""


class HttpPort:
    """The port, from ``open`` to ``aclose``; belongs to one event loop.

    Args:
        name: what it is for, in logs.
        handlers: what answers a request, by path.
        limit: seconds for that; then the answer is 503.
        patience: seconds for a request to arrive, and for an answer to be read.
    """

    def __init__(self, name: str, handlers: Mapping[str, Handler], limit: float, patience: float = _PATIENCE) -> None:
        self.handlers = handlers
        self.limit = limit
        self.patience = patience
        self.children = Children(name)
        self._server: asyncio.AbstractServer | None = None
        self._exchanges: dict[_Exchange, None] = {}  # the oldest first

    async def open(self, sock: socket.socket) -> None:
        """Listen at a bound socket, which belongs to the port from now on."""
        # The event loop accepts as many before the oldest can make room.
        self._server = await current_host().network.listen(lambda: _Exchange(self), sock, _CONNECTIONS)

    async def aclose(self) -> None:
        """Release the port and end its connections; may be called again."""
        if self._server is not None:
            self._server.close()
        for exchange in list(self._exchanges):
            exchange.abort()
        await self.children.stop()
        await asyncio.sleep(0)  # in which the loop reports that they are lost

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._exchanges)

    def add(self, exchange: _Exchange) -> None:
        """Register a connection; the oldest makes room for it."""
        self._exchanges[exchange] = None
        if len(self._exchanges) > _CONNECTIONS:
            next(iter(self._exchanges)).abort()

    def remove(self, exchange: _Exchange) -> None:
        """Forget a connection."""
        self._exchanges.pop(exchange, None)

    async def respond(self, handler: Handler, accept: str) -> Response:
        """Return what a handler answers, within the limit."""
        try:
            async with asyncio.timeout(self.limit):
                return await handler(accept)
        except TimeoutError:
            return Response(503)
        except Exception:
            _log.exception("a request over HTTP could not be answered")
            return Response(500)


class _Exchange(asyncio.Protocol):
    """One connection: a request, an answer, and the end."""

    def __init__(self, port: HttpPort) -> None:
        self._port = port
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._request = b""
        self._has_body = True
        self._answering: asyncio.Task[Response] | None = None
        self._is_answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the request."""
        self._transport = cast(asyncio.Transport, transport)
        self._timer = self._loop.call_later(self._port.patience, self.abort)
        self._port.add(self)

    def data_received(self, data: bytes) -> None:
        """Answer once the request is complete."""
        if self._answering is not None or self._is_answered:
            return
        self._request += data
        head, end, _ = self._request.partition(b"\r\n\r\n")
        if end and len(head) <= _REQUEST:
            self._begin(head.decode("latin-1").split("\r\n"))
        elif len(self._request) > _REQUEST:
            self._end(Response(400))

    def _begin(self, lines: list[str]) -> None:
        """Answer a request line, in its three words, and the headers behind it."""
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._end(Response(400))
        elif (handler := self._port.handlers.get(words[1].partition("?")[0])) is None:
            self._end(Response(404))
        elif words[0] not in ("GET", "HEAD"):
            self._end(Response(405))
        else:
            headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:])}
            self._has_body = words[0] == "GET"
            self._wait_no_more()
            answering = self._port.respond(handler, headers.get("accept", ""))
            self._answering = self._port.children.start(answering, name=f"answer {words[1]:.100}", awaited=True)
            self._answering.add_done_callback(self._answered)

    def _answered(self, child: asyncio.Task[Response]) -> None:
        if not child.cancelled():
            self._end(child.result())

    def _end(self, response: Response) -> None:
        self._wait_no_more()
        if self._transport is None or self._transport.is_closing():
            return
        self._is_answered = True
        status, body, content_type = response
        lines = [f"HTTP/1.1 {status} {_REASONS[status]}", f"Content-Length: {len(body)}", "Connection: close"]
        if status == 405:
            lines.append("Allow: GET, HEAD")
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")
        self._timer = self._loop.call_later(self._port.patience, self.abort)
        self._transport.write(head + (body if self._has_body else b""))
        self._transport.close()

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        """End the connection without an answer."""
        if self._transport is not None:
            self._transport.abort()
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything."""
        self._transport = None
        self._wait_no_more()
        if self._answering is not None:
            self._answering.cancel()
        self._port.remove(self)
