"""The interface of a connection, independent of the transport that carries it.

Callers hold a ``Connection`` and need only this file. ``stream`` and ``inproc`` implement the interface,
and one conformance suite tests both. The module imports ``delivery``, ``errors``, ``frame`` and ``hello``.

A consumer of frames either calls ``deliver`` once, and is called back for each frame and for the end, or
awaits ``recv`` for one frame after the other. Callbacks are what links use: a frame is handled in the call
that read it, and what is written meanwhile leaves in one write.

Invariants. Each frame arrives whole and exactly once. Urgent frames arrive in the order in which they were
written, and so do bulk frames. An urgent frame may overtake bulk frames, and never waits for more than the
high-water mark. ``write`` never blocks; a caller that writes faster than the peer reads should await
``drain``. A consumer that is slower than the peer makes the peer wait. A connection ends once, closed by
this end or by the peer, and every later call reports which. Cancelling a ``recv`` or a ``drain`` loses
nothing: the next call continues from the same state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from transports.delivery import Delivery, OnEnd, OnFrame
from transports.errors import ConnectionClosed
from transports.frame import Frame
from transports.hello import Hello

# drain() waits above this many unsent bytes, until a quarter is left. A single frame with a large array
# therefore always passes, and a stalled peer costs its sender at most one MiB beyond that frame.
HIGH_WATER = 2**20
LOW_WATER = HIGH_WATER // 4

# How long aclose() waits for queued bytes to be sent, in seconds. The kernel takes megabytes at once, so
# bytes that are still queued after this time belong to a peer that does not read.
CLOSE_GRACE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionStatistics:
    """Counters of a connection since its handshake, as counted at this end.

    Attributes:
        frames_sent: Frames accepted by ``write``.
        frames_received: Frames received whole, whether the consumer has got them or not.
        bytes_sent: Size in bytes of the frames sent, as on the wire. Frames that go through shared memory
            count as if they went over the wire.
        bytes_received: Bytes received, counted likewise, including those of an incomplete frame.
        bulk_bytes_sent: Those of the bytes sent that went by the bulk lane.
        bulk_bytes_received: Those of the bytes received that came by it.
        shared_bytes_sent: Those of the bytes sent that went through shared memory.
        shared_bytes_received: Those of the bytes received that came through it.
        send_buffer: Bytes written that have not left this process, or, for inproc, that the peer has not
            received.
    """

    frames_sent: int
    frames_received: int
    bytes_sent: int
    bytes_received: int
    send_buffer: int
    bulk_bytes_sent: int = 0
    bulk_bytes_received: int = 0
    shared_bytes_sent: int = 0
    shared_bytes_received: int = 0


class SharedMemory(Protocol):
    """Memory that both ends of a connection share, as a connection knows it."""

    @property
    def lent(self) -> dict[int, object] | None:
        """See ``Connection.lent``."""

    @property
    def reads_peer(self) -> bool:
        """See ``Connection.reads_peer``."""


class Connection(ABC):
    """A bidirectional, ordered and reliable channel for frames to one identified peer.

    A connection is not thread-safe: all calls but those for other threads must be made on the event loop on
    which the connection was made. There is one consumer: the callbacks passed to ``deliver``, or one child at
    a time in ``recv``. Any number may write and drain. A connection is an async context manager that closes
    it on exit.

    Attributes:
        local_address: The address of this end.
        peer_address: The address of the other end; on the dialling side, the address as dialled.
        peer: The identity of the peer.
        wire_version: The version of frames that both sides agreed upon.
    """

    local_address: str
    peer_address: str
    peer: Hello
    wire_version: int
    _delivery: Delivery  # made by the derived class
    _sharing: SharedMemory | None = None  # by which they share it, if they can

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the connection has ended, as far as this end has noticed."""

    @abstractmethod
    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Queue a frame behind those written before, without blocking.

        Args:
            frame: Borrowed until it is sent: its buffers must not change until ``drain`` or the peer's
                answer shows that it was sent. Over inproc the peer receives this very object.
            bulk: Whether frames that are not bulk may overtake this one, because it is large and nothing in
                it is urgent.

        Raises:
            ConnectionClosed: The connection has ended.
            ValueError: The frame is larger than any receiver accepts, or a buffer is not C-contiguous.
            MemoryError: There is no memory to encode it, and nothing of it was written.
        """

    def write_short(self, header: bytes) -> bool:
        """Write a short frame without segments, if nothing has to be said or done before.

        Returns:
            Whether it was written; if not, ``write`` does it or raises the reason.
        """
        return False

    def open_to_threads(self) -> None:  # noqa: B027  (a connection without a socket has nothing to do)
        """Let ``write_from_thread`` write, where the connection has a plain socket; may be called again."""

    @property
    def threads_may_write(self) -> bool:
        """Whether ``write_from_thread`` can write a frame now, as far as can be seen; for any thread."""
        return False

    def write_from_thread(self, header: bytes) -> bool:
        """Write a frame without segments at once, in any thread.

        The frame may overtake what is held until the end of a turn.

        Returns:
            Whether it was written. It is not if ``open_to_threads`` was not called, for a large frame, while
            anything is unsent and after the end of the connection; then the loop's thread can write it.
        """
        return False

    @property
    def lent(self) -> dict[int, object] | None:
        """What this end has lent to the peer beside frames, by numbers of the caller, who adds and removes it.

        What is left at the end of the connection is kept until the peer has ended its own, or its process has ended.
        None unless the peer is another process of this host and known to share memory: asking for it may have that
        found out.
        """
        return None if self._sharing is None else self._sharing.lent

    @property
    def reads_peer(self) -> bool:
        """Whether what the peer has lent is there: this end shares memory with it, and has not ended."""
        return self._sharing is not None and self._sharing.reads_peer

    def hold_writes(self) -> AbstractContextManager[None]:
        """Return a context in which writes to all connections of this event loop are held.

        What was written leaves at the end of the outermost such block, with one system call per connection; a
        large amount leaves before. Callbacks of ``deliver`` run within such a block. There must be no
        ``await`` in it.
        """
        return self._delivery.turn

    def unsent_exceeds(self, nbytes: int) -> bool:
        """Return whether more than so many bytes are unsent."""
        return self.unsent > nbytes

    @property
    @abstractmethod
    def unsent(self) -> int:
        """The number of bytes written that have not left this process (inproc: that were not received)."""

    @property
    @abstractmethod
    def ahead(self) -> int:
        """The number of unsent bytes that are sent before an urgent frame that is written now."""

    @property
    def congested(self) -> bool:
        """Whether the unsent bytes exceed the high-water mark, so that ``drain`` may wait."""
        return self.unsent_exceeds(HIGH_WATER)

    @abstractmethod
    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while the unsent bytes exceed the high-water mark; return at once otherwise.

        The call has no deadline: it ends when the peer reads on or the connection ends. Cancelling it does
        not withdraw any frame.

        Args:
            above: Wait only while more than this many bytes are unsent; not less than the high-water mark.

        Raises:
            ConnectionClosed: The connection has ended.
        """

    def deliver(self, on_frame: OnFrame, on_end: OnEnd) -> None:
        """Have each frame passed to a callback from now on, in the call that reads it.

        Frames that have arrived before are passed in the next iteration of the event loop. In one iteration
        at most ``delivery.FRAMES_PER_TURN`` are passed; the peer is not read from while more are waiting.
        Callbacks run in a copy of the context of this call, one after the other.

        Args:
            on_frame: Called with each frame, which belongs to the callee as that of ``recv`` does. If it
                raises an ``Exception``, the connection is aborted and ``on_end`` is called with that.
            on_end: Called once, with the error that ``recv`` would raise, after all frames that are
                delivered. It must not raise.

        Raises:
            RuntimeError: The connection has a consumer already.
        """
        self._delivery.deliver(on_frame, on_end)

    def pause(self) -> None:
        """Have callbacks get no more frames, and no end, until ``resume``; called by one of them.

        So a consumer that works on a frame elsewhere gets the next one when it has done so, and its peer
        waits as for any slow consumer.
        """
        self._delivery.pause()

    def resume(self) -> None:
        """End a pause; what has arrived meanwhile is passed from the next iteration of the event loop on."""
        self._delivery.resume()

    async def recv(self) -> Frame:
        """Return the next frame, suspending only if none has arrived.

        The call has no deadline: liveness is checked by the caller's heartbeats. Cancelling it loses no
        frame.

        Returns:
            The frame, which belongs to the caller. Over inproc its buffers still belong to the sender and
            must not be written to.

        Raises:
            ConnectionClosed: The connection has ended. Frames that arrived before the peer closed are
                returned first; after a local ``aclose`` or ``abort`` no frame is.
            ProtocolError: The peer sent something that is not a frame; the connection is closed.
            RuntimeError: The connection has another consumer.
        """
        return await self._delivery.recv()

    @abstractmethod
    async def aclose(self, *, grace: float = CLOSE_GRACE) -> None:
        """Close the connection after sending the queued frames.

        A pending ``recv`` raises at once, a pending ``drain`` when the queue is empty or dropped. The
        method may be called repeatedly and from several children. Cancelling it aborts the connection.

        Args:
            grace: Seconds after which frames that are still queued are dropped; the call takes no longer.
        """

    @abstractmethod
    def abort(self) -> None:
        """Close the connection at once and drop queued frames; do nothing if it has ended."""

    def abandon(self) -> None:  # noqa: B027  (a connection without a socket has nothing to do)
        """Close the socket of a connection whose event loop was closed without closing the connection."""

    @abstractmethod
    def statistics(self) -> ConnectionStatistics:
        """Return the current counters."""

    def _end(self, *, by_us: bool, detail: str = "") -> ConnectionClosed:
        """Return the error that calls raise after the end, a new one each time because of its traceback."""
        how = "closed by us" if by_us else "closed by the peer"
        return ConnectionClosed(
            f"the connection to {self.peer.task} at {self.peer_address} was {how}" + (f": {detail}" if detail else ""),
            address=self.peer_address,
            by_us=by_us,
        )

    async def __aenter__(self) -> Self:
        """Return the connection."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self.aclose()

    def __repr__(self) -> str:
        """Return the peer, both addresses, the state and the frame counts."""
        state = "closed" if self.closed else "open"
        seen = self.statistics()
        return (
            f"<{type(self).__name__} {state} {self.local_address} to {self.peer.task} at "
            f"{self.peer_address}, sent {seen.frames_sent}, received {seen.frames_received}>"
        )
