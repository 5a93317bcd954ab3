"""A connection over a byte stream whose handshake is complete.

``listener.become_connection`` makes these for tcp, unix and TLS. Parsing is done in ``decoder``; this
module reads, writes, waits and hangs up. It imports ``decoder``, ``delivery``, ``outbox``, ``bytestream``,
``bulk``, ``protocol``, ``thread_writer``, ``shm.lane``, ``connection``, ``frame``, ``hello`` and ``errors``.

Reading: ``protocol`` has the transport write into the decoder's buffer, and the frames are delivered in the
call that read them. Writing: frames go through ``outbox``; their pieces go to the transport as they are,
large ones uncopied (the transport keeps them until they are sent).

Large frames that are written as bulk go through ``bulk``, in chunks, and other frames overtake them.

Closing takes more than ``close()``. If a socket is closed while the peer still sends, the kernel answers
with a reset. A reset discards the bytes queued for the peer, including the error message that explains the
hang-up. So ``aclose`` ends its own direction, then reads and discards until the peer has ended its
direction or a timeout expires, and closes then.

Invariants: after the end is recorded (``_ended``), no call uses the stream except the closing child, which
every ``aclose`` awaits, and the child of the bulk lane, which ends before that or is dropped.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamWriter
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, cast
from weakref import WeakKeyDictionary

import numpy as np

from transports.connection import CLOSE_GRACE, HIGH_WATER, LOW_WATER, Connection, ConnectionStatistics
from transports.decoder import READ_SIZE, FrameDecoder
from transports.delivery import Delivery
from transports.errors import ConnectionClosed, ProtocolError
from transports.forks import keep_from_children
from transports.frame import (
    CHUNK_SIZE,
    JOIN_BELOW,
    MAGIC,
    PREFIX,
    SHARED_FLAG,
    STARTED_PREFIX,
    Frame,
    LostFrame,
    SharedFrame,
    encode_frame,
    measure_frame,
)
from transports.hello import Hello
from transports.outbox import Outbox
from transports.shm.lane import decline, open_lane
from transports.stream.bulk import BulkLane
from transports.stream.bytestream import ByteReader, ByteWriter, DuplexTransport
from transports.stream.protocol import StreamProtocol, take_over
from transports.stream.thread_writer import ThreadWriter

_PREFIX = PREFIX.size
_pack_prefix = STARTED_PREFIX.pack

# How much a stream reader buffers during the handshake before the peer is paused (twice this).
STREAM_LIMIT = 2**20

# How long aclose() waits for the peer's end when no local bytes are queued, in seconds. A peer on the same
# continent that reads answers within this time, and a peer that does not read should not delay a close
# further.
LINGER = 0.25

# Seconds between two looks at whether enough was sent, where nothing reports that: a small part of the time
# that the high-water mark takes on any network but the fastest.
_LOOK_AGAIN = 0.001

# The buffer for small frames of all connections of an event loop, which reads one of them at a time. With one
# each, the thousand connections of a server would have 256 MiB of address space.
_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def _shared_room() -> memoryview:
    loop = asyncio.get_running_loop()
    room = _rooms.get(loop)
    if room is None:
        room = _rooms[loop] = np.empty(READ_SIZE, np.uint8).data
    return room


class _FormerWriter(StreamWriter):
    """A writer of a transport that goes on without it; with reader and protocol it had 1.3 KB."""

    def __del__(self, *_: object) -> None:
        """Leave the transport open, which other writers close from Python 3.11.4 on."""


class StreamConnection(Connection):
    """A connection over one byte reader and writer."""

    def __init__(
        self,
        reader: ByteReader,
        writer: ByteWriter,
        *,
        local_address: str,
        peer_address: str,
        peer: Hello,
        wire_version: int,
        shares: bool = False,
    ) -> None:
        """Take over a stream whose handshake is complete.

        Args:
            reader: Of the stream.
            writer: Of the stream.
            local_address: The address of this end.
            peer_address: The address of the other end.
            peer: The identity of the peer.
            wire_version: The version of frames that both sides agreed upon.
            shares: Whether segments may go through shared memory.
        """
        self.local_address = local_address
        self.peer_address = peer_address
        self.peer = peer
        self.wire_version = wire_version
        self._transport = cast(DuplexTransport, writer.transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER, low=LOW_WATER)
        self._start = PREFIX.pack(MAGIC, wire_version, 0, 0, 0)[:4]
        self._decoder = FrameDecoder(version=wire_version, room=_shared_room())
        self.get_buffer = self._decoder.get_buffer
        self._protocol = StreamProtocol(self._transport, self)
        self._delivery = Delivery(hold=self._protocol.pause, abort=self.abort, closed_error=self._closed_error)
        self._outbox = Outbox(self._transport, self._delivery.turn)
        self._bulk = BulkLane(self._outbox, self._transport, self._protocol.drain, wire_version)
        self._ended: ConnectionClosed | None = None
        self._closing: asyncio.Task[None] | None = None
        self._frames_sent = self._bytes_sent = 0
        self._frames_received = self._bytes_received = 0
        self._shared_sent = self._shared_received = 0
        self._sharing = self._shared = open_lane(peer.pid, self._write_shared) if shares else None
        self._threads: ThreadWriter | None = None
        self._is_plain = isinstance(writer, StreamWriter)
        if isinstance(writer, StreamWriter):
            writer.__class__ = _FormerWriter
        take_over(reader, self._transport, self._protocol)
        keep_from_children(self)

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; False while frames that the peer wrote before are unread."""
        return not self._delivery.waiting and (self._ended is not None or self._transport.is_closing())

    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Pass a frame to the transport, to the bulk lane or to the shared-memory lane."""
        header, segments = frame
        if not (segments or bulk) and type(header) is bytes and self.write_short(header):
            return
        if self._ended is not None or self._transport.is_closing():
            raise self._closed_error()
        if self._shared is not None and self._shared.has_news:
            self._shared.tell()
        if bulk and segments and self._share(frame):
            return
        pieces = encode_frame(frame, self.wire_version)
        size = sum(map(len, pieces))
        self._frames_sent += 1
        self._bytes_sent += size
        try:
            if bulk and self._takes_time(size):
                self._bulk.put(pieces)
            else:
                self._outbox.write(pieces, size)
        except MemoryError as error:
            raise RuntimeError("no memory for the rest of a frame") from error

    def write_short(self, header: bytes) -> bool:
        """Pass a short frame to the outbox: what ``encode_frame`` and the outbox do, without their calls."""
        length, shared, outbox, turn = len(header), self._shared, self._outbox, self._delivery.turn
        if (
            length >= JOIN_BELOW
            or self._ended is not None
            or (shared is not None and shared.has_news)
            or self._transport.is_closing()
        ):
            return False
        try:
            piece = _pack_prefix(self._start, length, 0) + header
        except MemoryError:
            return False
        size = _PREFIX + length
        self._frames_sent += 1
        self._bytes_sent += size
        if turn.depth and outbox.nbytes < LOW_WATER:
            if not outbox.pieces:
                turn.waiting.append(outbox)
            outbox.pieces.append(piece)
            outbox.nbytes += size
        else:
            outbox.write((piece,), size)
        return True

    def descriptor(self) -> int:
        """Return the descriptor of the socket; -1 if it is closed, or is about to be."""
        if self._transport.is_closing():
            return -1
        sock = cast(asyncio.BaseTransport, self._transport).get_extra_info("socket")
        return -1 if sock is None else int(sock.fileno())

    def open_to_threads(self) -> None:
        """Have outbox and other threads share a ``ThreadWriter``, unless bytes are encrypted on their way."""
        if self._threads is None and self._is_plain and self._ended is None:
            number = self.descriptor()
            if number >= 0:
                with suppress(OSError):  # no descriptors are left
                    self._threads = ThreadWriter(self._transport, number)
                    self._outbox.divert(self._threads)

    @property
    def threads_may_write(self) -> bool:
        """Whether the stream was opened to threads, and nothing has to go before what they write."""
        threads, shared = self._threads, self._shared
        return (
            threads is not None
            and threads.is_clear
            and not self._bulk.nbytes
            and (shared is None or not shared.has_news)
        )

    def write_from_thread(self, header: bytes) -> bool:
        """Write a small frame that nothing has to go before."""
        threads, length = self._threads, len(header)
        if threads is None or length >= JOIN_BELOW or not self.threads_may_write:
            return False
        return threads.send(_pack_prefix(self._start, length, 0) + header)

    def _share(self, frame: Frame) -> bool:
        """Write a frame through shared memory; return False if there is none for it."""
        if self._shared is None:
            return False
        whole = measure_frame(frame)  # before any of its segments is placed in shared memory
        placed = self._shared.share(frame)
        if placed is None:
            return False
        small, copies = placed
        self._frames_sent += 1
        self._bytes_sent += whole
        pieces = encode_frame(small, self.wire_version, SHARED_FLAG)
        size = sum(map(len, pieces))
        self._shared_sent += whole - size
        if copies or self._takes_time(size):
            self._bulk.put(pieces, copies)
        else:
            self._outbox.write(pieces, size)
        return True

    def _write_shared(self, header: bytes) -> None:
        """Write a message of the shared-memory lane, or drop it if the connection has ended."""
        if self._ended is None and not self._transport.is_closing():
            pieces = encode_frame(Frame(header), self.wire_version, SHARED_FLAG)
            self._outbox.write(pieces, sum(map(len, pieces)))

    def _takes_time(self, size: int) -> bool:
        """Return whether a bulk frame that is written as it is could delay other frames."""
        return size > CHUNK_SIZE or self._bulk.nbytes > 0 or self.ahead > LOW_WATER

    @property
    def unsent(self) -> int:
        """The number of bytes in outbox, bulk lane and transport, and of unread shared bytes."""
        written = self._outbox.nbytes + self._transport.get_write_buffer_size() + self._bulk.nbytes
        return written if self._shared is None else written + self._shared.unread

    def unsent_exceeds(self, nbytes: int) -> bool:
        """Return whether more than so many bytes are unsent."""
        # What ``unsent`` adds up, without a call: each step asks.
        written = self._outbox.nbytes + self._transport.get_write_buffer_size() + self._bulk.nbytes
        shared = self._shared
        return (written if shared is None else written + shared.unread) > nbytes

    @property
    def ahead(self) -> int:
        """The number of bytes in outbox and transport, where no frame overtakes another."""
        return self._outbox.nbytes + self._transport.get_write_buffer_size()

    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while the bulk lane, the shared-memory lane or the transport applies backpressure."""
        while self._ended is None and not self._transport.is_closing():
            await self._bulk.wait_until_below(above)
            if self._ended is None and self._shared is not None:
                await self._shared.wait_for_reader(above)
            if self._ended is None and (above <= HIGH_WATER or self.unsent > above):
                await self._protocol.drain()
            if self.unsent <= above:
                break
            await asyncio.sleep(_LOOK_AGAIN)  # each of the three is below the mark, but not their sum
        if self._ended is not None or self._transport.is_closing():
            raise self._closed_error()

    async def aclose(self, *, grace: float = CLOSE_GRACE) -> None:
        """Close the connection in a separate child, so that every caller can wait for the same end."""
        if self._closing is None:
            self._note_end(by_us=True)
            self._closing = asyncio.get_running_loop().create_task(
                self._close(grace), name=f"close the connection to {self.peer_address}"
            )
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self.abort()
            raise

    def abort(self) -> None:
        """Drop the connection; a closing child notices this and ends."""
        self._note_end(by_us=True)
        self._drop()

    def abandon(self) -> None:
        """Close the socket that a closed loop has left open; uvloop leaves none."""
        transport = self._transport
        sock = getattr(getattr(transport, "_plain_transport", transport), "_sock", None)
        if sock is not None:
            sock.close()

    def _drop(self) -> None:
        """Drop unsent bytes and the stream, and close the shared-memory lane.

        What was written in the current turn is passed to the kernel first, as it would have been outside one:
        it may be the reason for the end.
        """
        self._outbox.flush()
        self._bulk.drop()
        self._transport.abort()
        if self._shared is not None:
            self._shared.close()

    def statistics(self) -> ConnectionStatistics:
        """Return the current counters."""
        threads = self._threads
        return ConnectionStatistics(
            frames_sent=self._frames_sent + (threads.frames if threads else 0),
            frames_received=self._frames_received,
            bytes_sent=self._bytes_sent + self._bulk.overhead + (threads.nbytes if threads else 0),
            bytes_received=self._bytes_received,
            send_buffer=self.unsent,
            bulk_bytes_sent=self._bulk.taken + self._bulk.overhead,
            bulk_bytes_received=self._decoder.chunk_bytes,
            shared_bytes_sent=self._shared_sent,
            shared_bytes_received=self._shared_received,
        )

    # -- the sink of the protocol ------------------------------------------------------------------

    def received(self, count: int) -> None:
        """Decode bytes that were read, and deliver the frames."""
        try:
            if self._ended is not None:
                return
            self._bytes_received += count
            threads = self._threads
            if threads is not None and not threads.is_clear:
                threads.look()
            decoder = self._decoder
            try:
                frames, broken = decoder.received(count), decoder.error
            except ProtocolError as error:
                frames, broken = [], error
            except MemoryError:
                frames, broken = [], ProtocolError("there is no memory to see what it sends")
            if decoder.has_shared:
                frames, broken = self._pass_through_lane(frames, broken)
            self._frames_received += len(frames)
            self._delivery.put(frames)
            if broken is not None:
                self._delivery.end(lambda: self._broken(broken))
        except Exception:
            raise
        except BaseException as interrupt:  # see ByteSink
            asyncio.get_running_loop().call_soon(_raise, interrupt)

    def ended(self, error: Exception | None) -> None:
        """End behind the frames that have arrived, because the stream has ended or is broken."""
        if error is None:
            self._delivery.end(self._at_eof)
        else:
            self._delivery.end(lambda: self._lost(str(error), error))

    def _pass_through_lane(
        self, frames: Sequence[Frame], broken: ProtocolError | None
    ) -> tuple[list[Frame], ProtocolError | None]:
        """Replace shared frames by those that they represent.

        Returns:
            The frames up to one that is invalid for the lane, and the error of that one or else ``broken``.
        """
        taken: list[Frame] = []
        for frame in frames:
            represented: Frame | None = frame
            if isinstance(frame, SharedFrame) or (isinstance(frame, LostFrame) and frame.is_shared):
                sent = measure_frame(frame)
                self._bytes_received -= sent
                try:
                    if self._shared is None:
                        decline(frame, self._write_shared)
                        represented = None
                    else:
                        represented = self._shared.receive(frame)
                except ProtocolError as error:
                    return taken, error
                if represented is not None:
                    whole = measure_frame(represented)
                    self._bytes_received += whole
                    self._shared_received += whole - sent
            if represented is not None:
                taken.append(represented)
        return taken, broken

    # -- the end -----------------------------------------------------------------------------------

    def _note_end(self, *, by_us: bool, detail: str = "") -> None:
        """Record the end, and read nothing more; only the first end is recorded."""
        if self._ended is not None:
            return
        self._ended = self._end(by_us=by_us, detail=detail)
        if self._threads is not None:
            self._threads.end()
        self._protocol.discard()
        if by_us:
            self._delivery.close(self._closed_error())

    def _closed_error(self, detail: str = "") -> ConnectionClosed:
        """Return the error that reports how the connection ended.

        The transport may have ended before this object noticed. That is not recorded here: frames may wait
        to be delivered, and the end comes behind them.
        """
        if self._ended is None:
            return self._end(by_us=False, detail=detail)
        return ConnectionClosed(str(self._ended), address=self.peer_address, by_us=self._ended.by_us)

    def _lost(self, detail: str = "", cause: Exception | None = None) -> ConnectionClosed:
        """Record that the peer is gone, and drop what can no longer be sent."""
        self._note_end(by_us=False, detail=detail)
        self._drop()
        error = self._closed_error()
        error.__cause__ = cause
        return error

    def _at_eof(self) -> ConnectionClosed:
        """End because the peer did; the error reports it if that was inside a frame."""
        try:
            self._decoder.finish()
        except ProtocolError as error:
            return self._lost(str(error), error)
        return self._lost()

    def _broken(self, error: ProtocolError) -> ProtocolError:
        """End because the peer's bytes are invalid."""
        self._note_end(by_us=True, detail=f"it sent data that is not a frame: {error}")
        self._drop()
        reason = f"{self.peer.task} at {self.peer_address}: {error}"
        broken = ProtocolError(reason, address=self.peer_address)
        broken.__cause__ = error
        return broken

    async def _close(self, grace: float) -> None:
        """Send queued bytes, wait for the peer's end, and close; at most ``grace`` seconds."""
        try:
            if not self._transport.is_closing():
                await self._linger(grace)
        finally:
            self._drop()
        await self._bulk.flush()
        await self._protocol.wait_closed()

    async def _linger(self, grace: float) -> None:
        """End the sending direction, and read on until the peer has ended its own."""
        queued = self.unsent
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(grace if queued else min(grace, LINGER)):
                await self._bulk.flush()
                self._transport.write_eof()
                await self._protocol.wait_for_end()


def _raise(error: BaseException) -> NoReturn:
    raise error
