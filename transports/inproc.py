"""Connections within one process and one event loop: frames pass as objects, nothing is encoded.

``registry`` uses the module for ``inproc://name``. Tests and clusters in one process use it instead of
sockets. It gives the same guarantees as ``stream``, including the handshake, which completes here without
waiting.

A connection is two ends, each with a deque of the frames that the other end has written. Its limits behave
like those of a socket: a deque has a high-water mark, ``write`` may exceed it by what was written before
``drain``, and ``drain`` waits until the other end has received enough. Sizes are counted as on the wire, so
that a program waits at the same places over every transport.

Invariant: a frame is in exactly one deque from ``write`` to its delivery, which is never in the call that
wrote it: a writer is not called back by what it calls.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from errno import EADDRINUSE, ECONNREFUSED

from transports.address import Address
from transports.connection import CLOSE_GRACE, HIGH_WATER, LOW_WATER, Connection, ConnectionStatistics
from transports.delivery import Delivery
from transports.errors import BindError, ConnectError, ConnectionClosed
from transports.frame import Frame, measure_frame
from transports.handshake import NONCE_SIZE, Establish, Fail, Handshake, Instruction, Role, Send
from transports.hello import Hello
from transports.host import current_host
from transports.listener import Listener, OnConnection, logger
from transports.security import SecurityConfig

# Frames are counted as well as bytes: an empty one is 12 bytes on the wire and 200 as an object.
HIGH_WATER_FRAMES = 4096
LOW_WATER_FRAMES = HIGH_WATER_FRAMES // 4


def _new_names() -> dict[str, InprocListener]:
    """Return the table of the listeners of a process by name, as ports are to the machine.

    A listener whose event loop is closed counts as gone.
    """
    return {}


class InprocConnection(Connection):
    """One end of a pair; ``pair`` makes both."""

    def __init__(self, address: str, peer: Hello, wire_version: int) -> None:
        """Make an end that is not yet linked to its other end."""
        self.local_address = address
        self.peer_address = address
        self.peer = peer
        self.wire_version = wire_version
        self._other = self
        self._incoming_bytes = 0
        self._delivery = Delivery(
            frame_of=self._take,
            hold=lambda _: None,  # what the other end may write is limited by drain()
            abort=self.abort,
            closed_error=self._closed_error,
        )
        self._closed_by_us: bool | None = None  # None: not closed
        self._drainers: dict[asyncio.Future[None], None] = {}
        self._frames_sent = self._bytes_sent = 0
        self._frames_received = self._bytes_received = 0

    @classmethod
    def pair(
        cls, address: str, dialler: Hello, listener: Hello, wire_version: int
    ) -> tuple[InprocConnection, InprocConnection]:
        """Return the dialler's end and the listener's end of a new connection."""
        ends = cls(address, listener, wire_version), cls(address, dialler, wire_version)
        ends[0]._other, ends[1]._other = ends[1], ends[0]
        return ends

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; False while frames that the peer wrote before are unread."""
        return self._closed_by_us is not None and not self._delivery.waiting

    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Queue a frame at the other end; bulk frames are not overtaken, because none takes any time."""
        if self._closed_by_us is not None:
            raise self._closed_error()
        size = measure_frame(frame)
        self._frames_sent += 1
        self._bytes_sent += size
        self._other._accept(frame, size)

    @property
    def unsent(self) -> int:
        """The number of bytes that the other end has not received."""
        return self._other._incoming_bytes

    @property
    def ahead(self) -> int:
        """The number of unsent bytes, because no frame overtakes another."""
        return self.unsent

    @property
    def congested(self) -> bool:
        """Whether the other end's queue exceeds the high-water mark, in bytes or frames."""
        return self._other._is_above(HIGH_WATER, HIGH_WATER_FRAMES)

    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while the other end's queue exceeds a mark, the high-water mark by default."""
        other = self._other
        if self._closed_by_us is None and other._is_above(above, HIGH_WATER_FRAMES):
            drainer = asyncio.get_running_loop().create_future()
            other._drainers[drainer] = None
            try:
                await drainer
            finally:
                other._drainers.pop(drainer, None)
        if self._closed_by_us is not None:
            raise self._closed_error()

    async def aclose(self, *, grace: float = CLOSE_GRACE) -> None:
        """Close both ends; frames already written are in the other end's deque."""
        self.abort()

    def abort(self) -> None:
        """Close both ends; the other end can still receive the frames in its deque."""
        if self.closed:
            return
        self._incoming_bytes = 0
        self._ended(by_us=True)
        if self._other._closed_by_us is None:
            self._other._ended(by_us=False)

    def statistics(self) -> ConnectionStatistics:
        """Return the current counters."""
        return ConnectionStatistics(
            frames_sent=self._frames_sent,
            frames_received=self._frames_received,
            bytes_sent=self._bytes_sent,
            bytes_received=self._bytes_received,
            send_buffer=self.unsent,
        )

    def _accept(self, frame: Frame, size: int) -> None:
        """Accept a frame that the other end wrote."""
        self._incoming_bytes += size
        self._frames_received += 1
        self._bytes_received += size
        self._delivery.put_later((frame, size))

    def _take(self, item: tuple[Frame, int]) -> Frame:
        """Return a frame that leaves the queue for its delivery, and wake drainers if enough have left."""
        frame, size = item
        self._incoming_bytes -= size
        if self._drainers and not self._is_above(LOW_WATER, LOW_WATER_FRAMES):
            self._wake_drainers()
        return frame

    def _is_above(self, size: int, frames: int) -> bool:
        """Return whether the queue exceeds these numbers of bytes or frames."""
        return self._incoming_bytes > size or len(self._delivery.waiting) > frames

    def _ended(self, *, by_us: bool) -> None:
        """Record the end, report it, and wake the drainers of both ends."""
        self._closed_by_us = by_us
        if by_us:
            self._delivery.close(self._closed_error())
        else:
            self._delivery.end(self._closed_error, later=True)
        self._wake_drainers()
        self._other._wake_drainers()

    def _closed_error(self) -> ConnectionClosed:
        """Return the error that reports how the connection ended."""
        return self._end(by_us=bool(self._closed_by_us))

    def _wake_drainers(self) -> None:
        """Make drainers of this queue check their condition again."""
        for drainer in self._drainers:
            if not drainer.done():
                drainer.set_result(None)


class InprocListener(Listener):
    """A listener under a name in this process."""

    def __init__(self, address: Address, hello: Hello, on_connection: OnConnection, token: str | None) -> None:
        """Register the name.

        Raises:
            BindError: Another listener has the name.
        """
        super().__init__(str(address), on_connection)
        self._name = address.name
        self._hello = hello
        self._token = token
        self._loop = asyncio.get_running_loop()
        self._names = current_host().own(_new_names)
        holder = self._names.get(self._name)
        if holder is not None and not holder._loop.is_closed():
            raise BindError(
                f"{holder._hello.task} already listens under this name", address=self.address, errno=EADDRINUSE
            )
        self._names[self._name] = self

    async def _stop_accepting(self) -> None:
        """Release the name."""
        if self._names.get(self._name) is self:
            del self._names[self._name]

    def accept(self, dialler: Handshake, hello: Hello) -> InprocConnection:
        """Shake hands with a dialler, start serving the connection, and return the dialler's end.

        Raises:
            WrongPeer: One side is not the one that the other expects.
            AuthenticationError: The tokens differ.
        """
        nonce = current_host().entropy.token_bytes(NONCE_SIZE)
        listener = Handshake(Role.LISTENER, self._hello, nonce=nonce, token=self._token, address=self.address)
        outcomes = shake_hands(dialler, listener)
        outcome, ours = outcomes[Role.DIALLER], outcomes[Role.LISTENER]
        if isinstance(ours, Fail):
            logger.warning("%s refused a connection: %s", self.address, ours.error)
        if isinstance(outcome, Fail):
            raise outcome.error
        ends = InprocConnection.pair(self.address, hello, self._hello, outcome.wire_version)
        name = f"connection of {self.address} from {hello.task}"
        _ = self._own_child(self._serve(ends[1]), name, ends[1].abort)
        return ends[0]


class InprocTransport:
    """The transport for ``inproc://name``."""

    async def connect(
        self,
        address: Address,
        hello: Hello,
        *,
        connect_timeout: float,
        expect_task: str | None,
        expect_cluster: str | None,
        token: str | None,
        security: SecurityConfig | None = None,
    ) -> Connection:
        """Connect to a listener of this event loop; see ``transports.connect``."""
        names = current_host().own(_new_names)
        listener = names.get(address.name)
        if listener is None or listener._loop.is_closed():
            raise ConnectError(
                f"no listener has this name in this process; there are {sorted(names)}",
                address=str(address),
                errno=ECONNREFUSED,
            )
        if listener._loop is not asyncio.get_running_loop():
            raise ConnectError(
                "the listener of this name runs on another event loop; tcp:// and unix:// connect across event loops",
                address=str(address),
            )
        dialler = Handshake(
            Role.DIALLER,
            hello,
            nonce=current_host().entropy.token_bytes(NONCE_SIZE),
            token=token,
            expect_task=expect_task,
            expect_cluster=expect_cluster,
            address=str(address),
        )
        return listener.accept(dialler, hello)

    async def listen(
        self,
        address: Address,
        hello: Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
        sock: socket.socket | None,
        security: SecurityConfig | None = None,
    ) -> Listener:
        """Listen under a name; see ``transports.listen``."""
        if sock is not None:
            raise ValueError(f"{address} cannot use a listening socket, because inproc:// has no sockets")
        return InprocListener(address, hello, on_connection, token)


def shake_hands(dialler: Handshake, listener: Handshake) -> dict[Role, Establish | Fail]:
    """Run two handshakes against each other until both have ended.

    Args:
        dialler: The side that sends first.
        listener: The other side.

    Returns:
        The final instruction of each side.
    """
    sides = {Role.DIALLER: dialler, Role.LISTENER: listener}
    ends: dict[Role, Establish | Fail] = {}
    todo: deque[tuple[Role, Instruction]] = deque((Role.DIALLER, i) for i in dialler.start())
    while todo:
        role, instruction = todo.popleft()
        if not isinstance(instruction, Send):
            ends[role] = instruction
        elif role.other not in ends:
            answers = sides[role.other].receive(instruction.header)
            todo.extend((role.other, answer) for answer in answers)
    return ends
