"""A network between two real processes that can be broken: a proxy on loopback.

A ``Proxy`` stands before one server. Peers are told its address in place of the server's, and every
connection that they make goes through it, so that each of the two directions can lose bytes, hold them back,
or pass them slowly, without a word to either end. What a lost host does is ``lose_host``: neither FIN nor
RST gets through any more, and new connections are accepted by the kernel and answered by nobody.

What was swallowed is lost for good, so ``heal`` resets the connections that lost something, as a host does
that hears of a connection which it does not know. What was held back goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
import struct
from dataclasses import dataclass, field
from types import TracebackType

from actorsession.actors import Children
from actorsession.process_bound import ProcessBound

__all__ = ["BOTH", "CHUNK", "Condition", "Proxy", "Way"]

CHUNK = 4096
"""Bytes that a proxy passes at once; few, so that a slow link passes something many times a second."""


class Way(enum.Enum):
    """A direction of a connection through the proxy."""

    THERE = "to the server"
    BACK = "from the server"


BOTH = (Way.THERE, Way.BACK)


class Condition(enum.Enum):
    """What happens to bytes of one direction."""

    PASS = enum.auto()
    HOLD = enum.auto()
    SWALLOW = enum.auto()


def _bound(address: tuple[str, int]) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.setblocking(False)
    bound.bind(address)
    return bound


@dataclass(eq=False)
class _Pair:
    """One connection: the socket of whoever dialled, and ours to the server."""

    dialler: socket.socket
    server: socket.socket
    said: bytes = b""
    lost: set[Way] = field(default_factory=set)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Proxy(ProcessBound):
    """Stands before a server.

    Args:
        target: the server's address, ``tcp://127.0.0.1:port``.
        shuts: whether it refuses who dials it, once it has found nobody at the target, until ``open``: as the
            target does itself. Else it resets each connection at once, as a forwarder does that knows no better.

    Attributes:
        address: where peers find it; known once it is started.
        connections: how many were made through it so far.
        passed: bytes that it has passed on, by direction.
    """

    def __init__(self, target: str, *, shuts: bool = False) -> None:
        host, _, port = target.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._shuts = shuts
        self._listening = _bound(("127.0.0.1", 0))
        self._listening.listen()
        self._accepting: asyncio.Task[None] | None = None
        self._children = Children(f"proxy of {target}")
        self._pairs: set[_Pair] = set()
        self._conditions = dict.fromkeys(Way, Condition.PASS)
        self._of = b""
        self._changed = asyncio.Event()
        self._rate: float | None = None
        self._delay = 0.0
        self._refusing = False
        self.address = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections = 0
        self.passed = dict.fromkeys(Way, 0)

    async def __aenter__(self) -> Proxy:
        self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._children.stop(1.0)
        self._listening.close()

    def open(self) -> None:
        """Accept connections again, if none were."""
        if self._accepting is None or self._accepting.done():
            self._listening.listen()
            self._accepting = self._children.start(self._accept(), name="accept")

    # -- faults --------------------------------------------------------------------------------

    def swallow(self, *ways: Way, of: str = "") -> None:
        """Lose every byte from now on, FIN and RST included.

        Args:
            ways: of which directions; both by default.
            of: of connections that were dialled by this task only; of all by default.
        """
        self._of = of.encode()
        self._set(Condition.SWALLOW, ways or BOTH)

    def hold(self, *ways: Way) -> None:
        """Hold bytes of some directions back, both by default, as a network does that will be repaired in time."""
        self._set(Condition.HOLD, ways or BOTH)

    def lose_host(self) -> None:
        """Lose the host of the server: whatever its kernel says reaches nobody."""
        self.swallow()

    def slow(self, bytes_per_second: float) -> None:
        """Pass no more than so much in each direction of each connection."""
        self._rate = bytes_per_second

    def delay(self, seconds: float) -> None:
        """Pass everything so much later, as a long way does; any number of bytes may be under way."""
        self._delay = seconds

    def cut(self) -> None:
        """Reset every connection, and each new one as soon as it is made."""
        self._refusing = True
        for pair in list(self._pairs):
            pair.over.set()

    def heal(self) -> None:
        """Pass everything again; connections that have lost bytes are reset."""
        self._refusing, self._rate, self._delay, self._of = False, None, 0.0, b""
        self._set(Condition.PASS, BOTH)
        for pair in list(self._pairs):
            if pair.lost:
                pair.over.set()

    def _set(self, condition: Condition, ways: tuple[Way, ...]) -> None:
        self._conditions.update(dict.fromkeys(ways, condition))
        self._changed.set()
        self._changed = asyncio.Event()

    # -- connections ---------------------------------------------------------------------------

    async def _accept(self) -> None:
        while True:
            dialler, _ = await asyncio.get_running_loop().sock_accept(self._listening)
            dialler.setblocking(False)
            self.connections += 1
            _ = self._children.start(self._serve(dialler), name="a connection")

    async def _serve(self, dialler: socket.socket) -> None:
        """Carry one connection until both directions have ended, or it is reset."""
        in_order = False
        server = socket.socket()
        server.setblocking(False)
        try:
            if self._refusing or not await self._reached(server):
                # Nobody is at home. The dialler hears of it, unless the network swallows that too.
                if self._shuts and not self._refusing:
                    self._shut()
                await self._passes(Way.BACK)
                return
            pair = _Pair(dialler, server)
            self._pairs.add(pair)
            try:
                in_order = await self._carry(pair)
            finally:
                self._pairs.discard(pair)
        finally:
            for end in (dialler, server):
                _hang_up(end, in_order=in_order)

    def _shut(self) -> None:
        """Refuse whoever dials; the port stays bound, so that nobody else gets it."""
        if self._accepting is not None:
            self._accepting.cancel()
        waiting = self._listening
        self._listening = _bound(waiting.getsockname())
        waiting.close()

    async def _reached(self, server: socket.socket) -> bool:
        try:
            await asyncio.get_running_loop().sock_connect(server, self._target)
        except OSError:
            return False
        return True

    async def _carry(self, pair: _Pair) -> bool:
        """Return whether both directions have ended in order; if not, the ends are to be reset."""

        async def until_over() -> None:
            await pair.over.wait()
            raise _Over

        with contextlib.suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(until_over())
                there = self._pump(pair, Way.THERE, pair.dialler, pair.server)
                back = self._pump(pair, Way.BACK, pair.server, pair.dialler)
                async with asyncio.TaskGroup() as pumps:
                    pumps.create_task(there)
                    pumps.create_task(back)
                watch.cancel()
                return True
        return False

    async def _pump(self, pair: _Pair, way: Way, source: socket.socket, sink: socket.socket) -> None:
        """Carry the bytes of one direction, and its end."""
        loop = asyncio.get_running_loop()
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        deliveries = self._children.start(self._deliver(way, sink, late), name="delayed bytes")
        while True:
            data, reset = b"", False
            try:
                data = await loop.sock_recv(source, CHUNK)
            except OSError:
                reset = True
            if way is Way.THERE and not pair.said:
                pair.said = data  # whoever dials says first who it is, and waits then
            while self._condition(pair, way) is Condition.HOLD:
                await self._changed.wait()
            # A stream with a hole in it is none: nothing more of it is passed on.
            if self._condition(pair, way) is Condition.SWALLOW or way in pair.lost:
                pair.lost.add(way)
                if data:
                    continue
                await self._passes(way)
                raise _Over
            if reset:
                raise _Over
            if not data:
                break
            if self._delay:
                late.put_nowait((loop.time() + self._delay, data))
            else:
                await late.join()
                await self._pass_on(way, data, sink)
        await late.join()
        deliveries.cancel()
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    async def _deliver(self, way: Way, sink: socket.socket, late: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Pass on what is delayed."""
        while True:
            when, data = await late.get()
            await asyncio.sleep(when - asyncio.get_running_loop().time())
            await self._pass_on(way, data, sink)
            late.task_done()

    def _condition(self, pair: _Pair, way: Way) -> Condition:
        return self._conditions[way] if self._of in pair.said else Condition.PASS

    async def _pass_on(self, way: Way, data: bytes, sink: socket.socket) -> None:
        if self._rate is not None:
            await asyncio.sleep(len(data) / self._rate)
        try:
            await asyncio.get_running_loop().sock_sendall(sink, data)
        except OSError:
            # The sink hung up. Whoever sends hears of it by the other direction.
            return
        self.passed[way] += len(data)

    async def _passes(self, way: Way) -> None:
        """Wait until a direction passes bytes."""
        while self._conditions[way] is not Condition.PASS:
            await self._changed.wait()


class _Over(Exception):
    """The connection is to be reset."""


def _hang_up(end: socket.socket, *, in_order: bool) -> None:
    """End a connection, with RST unless it has ended in order: that would overtake the last bytes."""
    if not in_order:
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
