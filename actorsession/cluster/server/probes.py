"""Probes: HTTP answers to whoever restarts processes and routes to them, such as Kubernetes.

``GET /healthz`` answers 200 while the event loop of the server turns, and ``GET /readyz`` while the server
also serves; both answer 503 otherwise. They are answered without a token, and say nothing but their status.
The sidecar cannot do this: it answers holders of the token, and says whether a process is alive, and not
whether its loop is. Started by ``child`` before the server is, and closed after it has stopped.

Invariants: the answers come from a loop in a thread of its own, and each of them from a turn of the server's
loop that began after the request. No client can hold more than its share: connections are few, short, and the
oldest makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import cast

from actorsession.runtime.loop_thread import LoopThread

__all__ = ["Probes"]

# Seconds for the server's loop to turn; those who ask have limits of their own, and Kubernetes one second.
_LIMIT = 5.0
# Seconds for a request to arrive, which is one packet.
_PATIENCE = 5.0
# Open connections: a machine sends two probes at a time. A request of theirs has some 200 bytes.
_CONNECTIONS = 32
_REQUEST = 8192

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Probes:
    """The port at which a process answers probes, from ``__enter__`` to ``__exit__``.

    Args:
        port: the port, on all addresses; 0 for any that is free.
        loop: the event loop that is alive as long as it turns.
        is_ready: whether the server serves; called on that loop.
        limit: seconds for the loop to turn.

    Raises:
        OSError: if the port cannot be bound.
    """

    def __init__(
        self, port: int, loop: asyncio.AbstractEventLoop, is_ready: Callable[[], bool], *, limit: float = _LIMIT
    ) -> None:
        self._sock = _bind(port)
        self.port: int = self._sock.getsockname()[1]
        self._loop = loop
        self._is_ready = is_ready
        self._limit = limit
        self._thread: LoopThread | None = None
        self._server: asyncio.Server | None = None
        # All of these belong to the loop of the thread.
        self._exchanges: dict[_Exchange, None] = {}  # the oldest first
        self._waiting: list[asyncio.Future[bool]] = []
        self._next: list[asyncio.Future[bool]] = []  # those that came after the question was sent

    def __enter__(self) -> Probes:
        self._thread = LoopThread("actorsession-probes")
        try:
            self._thread.wait(self._listen())
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.wait(self._end())
            thread.stop()
        self._sock.close()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        # The event loop accepts as many before the oldest can make room.
        self._server = await loop.create_server(lambda: _Exchange(self), sock=self._sock, backlog=_CONNECTIONS)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        for exchange in list(self._exchanges):
            exchange.abort()
        await asyncio.sleep(0)  # in which the loop reports that they are lost

    def add(self, exchange: _Exchange) -> None:
        """Register a connection; the oldest makes room for it."""
        self._exchanges[exchange] = None
        if len(self._exchanges) > _CONNECTIONS:
            next(iter(self._exchanges)).abort()

    def remove(self, exchange: _Exchange) -> None:
        """Forget a connection."""
        self._exchanges.pop(exchange, None)

    def ask(self) -> asyncio.Future[bool]:
        """Return a future of whether the server is ready, which a later turn of the server's loop answers."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._waiting:
            # One question at a time, so that a loop which hangs does not collect them.
            self._next = [*(a for a in self._next if not a.done()), answer]
        else:
            self._waiting.append(answer)
            self._send()
        return answer

    def _send(self) -> None:
        own = asyncio.get_running_loop()

        def answer() -> None:
            ready = self._is_ready()
            with contextlib.suppress(RuntimeError):  # the probes have ended
                own.call_soon_threadsafe(self._answered, ready)

        with contextlib.suppress(RuntimeError):  # the server's loop is closed, and never answers
            self._loop.call_soon_threadsafe(answer)

    def _answered(self, ready: bool) -> None:
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(ready)
        self._waiting, self._next = self._next, []
        if self._waiting:
            self._send()

    @property
    def limit(self) -> float:
        """Seconds for the server's loop to turn."""
        return self._limit


# For each path the status that follows from whether the server is ready.
_PATHS: Mapping[str, Callable[[bool], int]] = {
    "/healthz": lambda ready: 200,
    "/readyz": lambda ready: 200 if ready else 503,
}


class _Exchange(asyncio.Protocol):
    """One connection: a request, an answer, and the end."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._request = b""
        self._answer: asyncio.Future[bool] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the request."""
        self._transport = cast(asyncio.Transport, transport)
        self._timer = self._loop.call_later(_PATIENCE, self.abort)
        self._probes.add(self)

    def data_received(self, data: bytes) -> None:
        """Answer once the request is complete."""
        if self._answer is not None or self._transport is None:
            return
        self._request += data
        if b"\r\n\r\n" in self._request:
            self._begin(self._request.partition(b"\r\n")[0].decode("latin-1").split(" "))
        elif len(self._request) > _REQUEST:
            self._end(400)

    def _begin(self, words: list[str]) -> None:
        """Answer a request line, in its three words."""
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._end(400)
        elif (status := _PATHS.get(words[1].partition("?")[0])) is None:
            self._end(404)
        elif words[0] not in ("GET", "HEAD"):
            self._end(405)
        else:
            self._wait(status)

    def _wait(self, status: Callable[[bool], int]) -> None:
        """Answer when the server's loop has, or the limit has passed."""
        self._answer = answer = self._probes.ask()
        answer.add_done_callback(lambda done: self._end(503 if done.cancelled() else status(done.result())))
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.call_later(self._probes.limit, answer.cancel)

    def _end(self, status: int) -> None:
        if self._transport is not None and not self._transport.is_closing():
            allow = "Allow: GET, HEAD\r\n" if status == 405 else ""
            self._transport.write(
                f"HTTP/1.1 {status} {_REASONS[status]}\r\n{allow}Content-Length: 0\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            self._transport.close()

    def abort(self) -> None:
        """End the connection without an answer."""
        if self._transport is not None:
            self._transport.abort()
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        if self._answer is not None:
            self._answer.cancel()
        self._probes.remove(self)


def _bind(port: int) -> socket.socket:
    """Return a socket that listens at a port of all addresses.

    Raises:
        OSError: names the port.
    """
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        return socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as exc:
        reason = os.strerror(exc.errno or 0)
        raise OSError(exc.errno, f"cannot listen for probes at port {port}: {reason}") from None
