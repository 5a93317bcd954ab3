"""Probes: HTTP answers to whoever restarts processes and routes to them, such as Kubernetes.

``GET /healthz`` answers 200 while the event loop of the server turns, and ``GET /readyz`` while the server
also serves; both answer 503 otherwise. They are answered without a token, and say nothing but their status.
The sidecar cannot do this: it answers holders of the token, and says whether a process is alive, and not
whether its loop is. Started by ``child`` before the server is, and closed after it has stopped.

Invariant: the answers come from a loop in a thread of its own, and each of them from a turn of the server's
loop that began after the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from types import TracebackType

from actorsession.cluster.server.http_port import HttpPort, Response
from actorsession.runtime.loop_thread import LoopThread

__all__ = ["Probes"]

# Seconds for the server's loop to turn; those who ask have limits of their own, and Kubernetes one second.
_LIMIT = 5.0


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
        self._http = HttpPort("probes", {"/healthz": self._is_alive, "/readyz": self._serves}, limit)
        self._thread: LoopThread | None = None
        # Both belong to the loop of the thread.
        self._waiting: list[asyncio.Future[bool]] = []
        self._next: list[asyncio.Future[bool]] = []  # those that came after the question was sent

    def __enter__(self) -> Probes:
        self._thread = LoopThread("actorsession-probes")
        try:
            self._thread.wait(self._http.open(self._sock))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.wait(self._http.aclose())
            thread.stop()
        self._sock.close()

    async def _is_alive(self, accept: str) -> Response:
        await self._ask()
        return Response(200)

    async def _serves(self, accept: str) -> Response:
        return Response(200 if await self._ask() else 503)

    def _ask(self) -> asyncio.Future[bool]:
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
