"""What a connection is, whatever carries it.

Callers hold a `Connection` and need to know no more than this file; `stream` and `inproc` implement
it, and one conformance suite holds them to it. It imports `errors`, `frame` and `hello`.

Invariants. Frames arrive whole and once; those written as urgent in their order, those written as bulk in
theirs. An urgent frame may pass bulk ones, and never waits for more than the high-water mark. `write` never
waits; who writes faster than the peer reads is asked to `drain`. A connection ends once, by us or by the
peer, and every later call says which. Cancelling a `recv` or a `drain` loses nothing: the next call goes on
where it stood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from transports.errors import ConnectionClosed
from transports.frame import Frame
from transports.hello import Hello

# Above this many unsent bytes drain() waits, and until a quarter is left: one frame of a large
# array always passes, and a peer that stands still costs its sender no more than a mebibyte beyond
# it.
HIGH_WATER = 2**20
LOW_WATER = HIGH_WATER // 4

# After so many frames without a pause recv() lets the loop turn: at 10 us of work each they hold it
# for 5 ms, and a peer that floods us must not stop our heartbeats.
MAX_BURST = 512

# How long aclose() waits for queued bytes to go out: the kernel takes megabytes at once, so who is
# not through by then has a peer that does not read.
CLOSE_GRACE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionStatistics:
    """What went over a connection since its handshake, counted at this end.

    Attributes:
        frames_sent: Frames accepted by `write`.
        frames_received: Frames that came whole, whether `recv` has returned them or not.
        bytes_sent: Size in bytes of the frames sent, as they are on the wire; those that go through shared
            memory count as if they were.
        bytes_received: Bytes that came, likewise; those of an incomplete frame included.
        send_buffer: Bytes written that have not left this process, or for inproc are not taken by
            the peer.
    """

    frames_sent: int
    frames_received: int
    bytes_sent: int
    bytes_received: int
    send_buffer: int


class Connection(ABC):
    """Two-way, ordered and reliable passage of frames to one peer that has said who it is.

    Not safe for threads: all calls are made on the loop that the connection was made on. One child
    at a time may be in `recv`; any number may write and drain. As an async context manager it is
    closed at the end.

    Attributes:
        local_address: Our end.
        peer_address: The other end: as dialled where we dialled.
        peer: Who is there.
        wire_version: The frame layout agreed upon.
    """

    local_address: str
    peer_address: str
    peer: Hello
    wire_version: int

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether it has ended, as far as this end has noticed."""

    @abstractmethod
    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Queue a frame to be sent after those written before; never blocks.

        Args:
            frame: Borrowed until it is sent: its buffers must not change before `drain` or the
                peer's answer says so. Over inproc the peer receives this very object.
            bulk: Whether frames that are not may pass it, because it is large and nothing in it is
                urgent.

        Raises:
            ConnectionClosed: The connection has ended.
            ValueError: The frame is larger than any receiver takes, or not C-contiguous.
        """

    @property
    @abstractmethod
    def unsent(self) -> int:
        """How many bytes were written that have not left this process, or for inproc are not taken."""

    @property
    @abstractmethod
    def ahead(self) -> int:
        """How many of the unsent bytes an urgent frame that is written now has to wait for."""

    @property
    def congested(self) -> bool:
        """Whether more is unsent than the high-water mark: `drain` may wait."""
        return self.unsent > HIGH_WATER

    @abstractmethod
    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while more is unsent than the high-water mark; return at once otherwise.

        Args:
            above: Wait only while more than this is unsent, in bytes; not less than the mark.

        There is no deadline in it: it ends when the peer reads on or the connection ends.
        Cancelling it unsends nothing.

        Raises:
            ConnectionClosed: The connection has ended.
        """

    @abstractmethod
    async def recv(self) -> Frame:
        """Return the next frame; suspends only if none has come.

        There is no deadline in it: liveness is for the caller's heartbeats. Cancelling it loses no
        frame.

        Returns:
            The frame, the caller's own; over inproc its buffers are still the sender's and are not
            to be written to.

        Raises:
            ConnectionClosed: The connection has ended; frames that came before the peer's end were
                returned first, after our own `aclose` or `abort` none is.
            ProtocolError: The peer sent what is no frame; the connection is closed.
            RuntimeError: Another child is in `recv`.
        """

    @abstractmethod
    async def aclose(self, *, grace: float = CLOSE_GRACE) -> None:
        """Close the connection; queued frames are let out first.

        A pending `recv` raises at once, a pending `drain` when the queue is empty or dropped. May
        be called again, and from several children. Cancelling it aborts the connection.

        Args:
            grace: Seconds after which what is still queued is dropped; the call takes no longer.
        """

    @abstractmethod
    def abort(self) -> None:
        """Close the connection at once, dropping what is queued; nothing if it has ended."""

    @abstractmethod
    def statistics(self) -> ConnectionStatistics:
        """Return the counters as they are now."""

    def _end(self, *, by_us: bool, detail: str = "") -> ConnectionClosed:
        """Make the error that calls raise after the end; fresh each time, for its traceback."""
        how = "closed by us" if by_us else "closed by the peer"
        return ConnectionClosed(
            f"the connection to {self.peer.task} at {self.peer_address} was {how}"
            + (f": {detail}" if detail else ""),
            address=self.peer_address,
            by_us=by_us,
        )

    async def __aenter__(self) -> Self:
        """Return the connection."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()

    def __repr__(self) -> str:
        """Return who is there, where, and how far it is."""
        state = "closed" if self.closed else "open"
        seen = self.statistics()
        return (
            f"<{type(self).__name__} {state} {self.local_address} to {self.peer.task} at "
            f"{self.peer_address}, sent {seen.frames_sent}, received {seen.frames_received}>"
        )
