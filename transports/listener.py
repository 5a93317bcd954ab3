"""The part of a listener that all transports share: the children that serve its connections.

``stream`` and ``inproc`` derive from ``Listener`` and implement how accepting stops. Callers receive a
``Listener`` from ``listen``. The module imports ``connection`` and ``errors``.

Invariants. Every child is in ``_children`` from its creation to its end, and ``aclose`` awaits all of them.
An exception of a handler is logged here and propagates no further; an exception because the handler's own
connection has ended is not a failure. A connection is closed when its handler has ended.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeAlias

from transports.connection import CLOSE_GRACE, Connection
from transports.errors import ConnectionClosed

logger = logging.getLogger("transports")

OnConnection: TypeAlias = Callable[[Connection], Awaitable[None]]


class Listener(ABC):
    """An address where peers can connect, and the owner of the children that serve them.

    Attributes:
        address: The address to dial; the port is the actual one.
        near: Whether only this machine can reach the listener; set by ``listen``.
    """

    near = False

    def __init__(self, address: str, on_connection: OnConnection) -> None:
        """Make a listener that has no children yet.

        Args:
            address: The address to dial.
            on_connection: Serves one connection, which is closed when the handler returns.
        """
        self.address = address
        self._on_connection = on_connection
        self._children: dict[asyncio.Task[None], None] = {}  # in the order of their beginning
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._closed = False

    def abandon(self) -> None:  # noqa: B027  (a listener without a socket has nothing to do)
        """Release the address of a listener whose event loop was closed without closing the listener."""

    @abstractmethod
    async def _stop_accepting(self) -> None:
        """Stop accepting and release the address; called once."""

    async def aclose(self, *, connections: bool = True, grace: float = CLOSE_GRACE) -> None:
        """Stop listening, close the connections and wait for their handlers.

        The method may be called repeatedly. A handler may call it; the connection of that handler is then
        not closed. Cancelling the call aborts the connections that it would have closed.

        Args:
            connections: False leaves open connections and their handlers as they are; a later call may
                close them.
            grace: Seconds that connections have to send queued bytes, and then as many for handlers to end.
                Handlers that have not ended by then are cancelled.
        """
        own = asyncio.current_task()
        try:
            if not self._closed:
                self._closed = True
                await self._stop_accepting()
            if connections:
                await self._close_children(grace, [child for child in self._children if child is not own])
        except asyncio.CancelledError:
            for child in list(self._children) if connections else ():
                if child is not own:
                    self._abort_child(child)
            raise

    async def _close_children(self, grace: float, children: Sequence[asyncio.Task[None]]) -> None:
        """Close the connections of these children and wait for them; cancel those that are late."""
        async with asyncio.TaskGroup() as group:
            for child in children:
                connection = self._connections.get(child)
                if connection is None:
                    child.cancel()  # still in the handshake
                else:
                    group.create_task(connection.aclose(grace=grace), name=f"close a connection of {self.address}")
        late = await _wait_for(children, grace)
        for child in late:
            self._abort_child(child)
        for child in await _wait_for(late, grace):
            logger.error("%s of %s did not end after being cancelled", child.get_name(), self.address)

    def _abort_child(self, child: asyncio.Task[None]) -> None:
        """Abort the connection of a child and cancel the child."""
        if child in self._connections:
            self._connections[child].abort()
        child.cancel()

    def _own_child(
        self, work: Coroutine[None, None, None], name: str, abandon: Callable[[], None]
    ) -> asyncio.Task[None]:
        """Start a child that this listener owns, and return it.

        Args:
            work: The coroutine that the child runs.
            name: The name of the asyncio task, for debugging.
            abandon: Called when the child has ended, for whatever reason: a child that is cancelled before
                its first step never closes the resources passed to it.
        """
        child = asyncio.get_running_loop().create_task(work, name=name)
        self._children[child] = None
        child.add_done_callback(partial(self._child_ended, abandon))
        return child

    def _child_ended(self, abandon: Callable[[], None], child: asyncio.Task[None]) -> None:
        self._children.pop(child, None)
        abandon()

    async def _serve(self, connection: Connection) -> None:
        """Run the handler for a connection; called by a child of this listener."""
        child = asyncio.current_task()
        assert child is not None  # _own_child made it
        self._connections[child] = connection
        try:
            await self._on_connection(connection)
        except Exception as error:
            if connection.closed and _is_connection_error(error):
                logger.debug("handler of %s ended: %s", connection.peer_address, error)
            else:
                logger.exception(
                    "handler of the connection from %s at %s failed", connection.peer.task, connection.peer_address
                )
        finally:
            try:
                if child.cancelling():
                    connection.abort()
                else:
                    await connection.aclose()
            finally:
                del self._connections[child]

    async def __aenter__(self) -> Self:
        """Return the listener."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the listener and its connections."""
        await self.aclose()

    def __repr__(self) -> str:
        """Return the address, the state and the number of connections."""
        state = "closed" if self._closed else "open"
        return f"<{type(self).__name__} {state} {self.address}, {len(self._connections)} connections>"


def _is_connection_error(error: Exception) -> bool:
    """Return whether a handler ended only because its connection did, in a task group or not."""
    if isinstance(error, ExceptionGroup):
        return error.split(ConnectionClosed)[1] is None
    return isinstance(error, ConnectionClosed)


async def _wait_for(children: Iterable[asyncio.Task[None]], seconds: float) -> list[asyncio.Task[None]]:
    """Wait for children to end, and return those that have not."""
    left = [child for child in children if not child.done()]
    if left:
        await asyncio.wait(left, timeout=seconds)
    return [child for child in left if not child.done()]
