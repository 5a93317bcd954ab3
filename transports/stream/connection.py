"""A connection over a byte stream whose handshake is complete.

``listener.become_connection`` makes these for tcp, unix and TLS. Parsing is done in ``decoder``; this
module reads, writes, waits and hangs up. It imports ``decoder``, ``bytestream``, ``bulk``, ``shm.lane``,
``connection``, ``frame``, ``hello`` and ``errors``.

Reading: one ``read`` of all available bytes feeds the decoder, and decoded frames are returned without
awaiting, so that a burst of small frames costs one wake-up. Writing: pieces go to the transport as they
are, large ones uncopied (the transport keeps them until they are sent).

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
from collections import deque
from contextlib import suppress

from transports.connection import (
    CLOSE_GRACE,
    HIGH_WATER,
    LOW_WATER,
    MAX_BURST,
    Connection,
    ConnectionStatistics,
)
from transports.decoder import FrameDecoder
from transports.errors import ConnectionClosed, ProtocolError
from transports.frame import (
    CHUNK_SIZE,
    SHARED_FLAG,
    Frame,
    SharedFrame,
    encode_frame,
    measure_frame,
)
from transports.hello import Hello
from transports.shm.lane import decline, open_lane
from transports.stream.bulk import BulkLane
from transports.stream.bytestream import ByteReader, ByteWriter

# How much a stream reader buffers before the peer is paused (twice this): a large array keeps flowing while
# the event loop is busy elsewhere for a millisecond.
STREAM_LIMIT = 2**20
# How much one read returns at most. 64 MiB over loopback tcp take 61 ms at 256 KiB and below, 105 ms at 512
# KiB and 130 ms at 2 MiB (uvloop 0.23): larger chunks leave the cache before they are copied on, and are
# allocated by mmap, whose pages have to be faulted in each time.
READ_SIZE = 2**18

# How long aclose() waits for the peer's end when no local bytes are queued, in seconds. A peer on the same
# continent that reads answers within this time, and a peer that does not read should not delay a close
# further.
LINGER = 0.25


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
            wire_version: The frame layout that both sides agreed upon.
            shares: Whether segments may go through shared memory.
        """
        self.local_address = local_address
        self.peer_address = peer_address
        self.peer = peer
        self.wire_version = wire_version
        self._reader = reader
        self._writer = writer
        self._transport = writer.transport
        self._transport.set_write_buffer_limits(high=HIGH_WATER, low=LOW_WATER)
        self._bulk = BulkLane(writer, wire_version)
        self._decoder = FrameDecoder(version=wire_version)
        self._ready: deque[Frame] = deque()
        self._burst = 0
        self._receiver: asyncio.Task[object] | None = None
        self._ended: ConnectionClosed | None = None
        self._closing: asyncio.Task[None] | None = None
        self._frames_sent = self._bytes_sent = 0
        self._frames_received = self._bytes_received = 0
        self._shared = open_lane(peer.pid, self._write_shared) if shares else None

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; False while frames that the peer wrote before are unread."""
        return not self._ready and (self._ended is not None or self._transport.is_closing())

    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Pass a frame to the transport, to the bulk lane or to the shared-memory lane."""
        if self._ended is not None or self._transport.is_closing():
            raise self._closed_error()
        if bulk and frame.segments and self._shared is not None:
            whole = measure_frame(frame)  # before any of its segments is placed in shared memory
            if (placed := self._shared.share(frame)) is not None:
                small, copies = placed
                self._frames_sent += 1
                self._bytes_sent += whole
                self._bulk.put(encode_frame(small, self.wire_version, SHARED_FLAG), copies)
                return
        pieces = encode_frame(frame, self.wire_version)
        self._frames_sent += 1
        if bulk and self._takes_time(size := sum(map(len, pieces))):
            self._bytes_sent += size
            self._bulk.put(pieces)
            return
        # Not writelines(): on the standard event loop of Python 3.11 it joins the pieces, however large
        # they are.
        for piece in pieces:
            self._transport.write(piece)
            self._bytes_sent += len(piece)

    def _write_shared(self, header: bytes) -> None:
        """Write a message of the shared-memory lane, or drop it if the connection has ended."""
        if self._ended is None and not self._transport.is_closing():
            for piece in encode_frame(Frame(header), self.wire_version, SHARED_FLAG):
                self._transport.write(piece)

    def _takes_time(self, size: int) -> bool:
        """Return whether a bulk frame that is written as it is could delay other frames."""
        return (
            size > CHUNK_SIZE
            or self._bulk.nbytes > 0
            or self._transport.get_write_buffer_size() > LOW_WATER
        )

    @property
    def unsent(self) -> int:
        """The number of bytes in the bulk lane and the transport, and of unread shared bytes."""
        unread = 0 if self._shared is None else self._shared.unread
        return self._bulk.nbytes + self._transport.get_write_buffer_size() + unread

    @property
    def ahead(self) -> int:
        """The number of bytes in the transport, where no frame overtakes another."""
        return self._transport.get_write_buffer_size()

    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while the bulk lane, the shared-memory lane or the transport applies backpressure."""
        if self._ended is None:
            await self._bulk.wait_until_below(above)
        if self._ended is None and self._shared is not None:
            await self._shared.wait_for_reader(above)
        if self._ended is None and (above <= HIGH_WATER or self.unsent > above):
            try:
                await self._writer.drain()
            except OSError as error:
                raise self._closed_error(str(error)) from error
        if self._ended is not None or self._transport.is_closing():
            raise self._closed_error()

    async def recv(self) -> Frame:
        """Return the next decoded frame, reading until there is one."""
        if self._ready and self._burst < MAX_BURST:
            self._burst += 1
            return self._ready.popleft()
        if self._ready:
            await asyncio.sleep(0)
        self._burst = 0
        while not self._ready:
            await self._receive_more()
        return self._ready.popleft()

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

    def _drop(self) -> None:
        """Drop unsent bytes and the stream, and close the shared-memory lane."""
        self._bulk.drop()
        self._transport.abort()
        if self._shared is not None:
            self._shared.close()

    def statistics(self) -> ConnectionStatistics:
        """Return the current counters."""
        return ConnectionStatistics(
            frames_sent=self._frames_sent,
            frames_received=self._frames_received,
            bytes_sent=self._bytes_sent + self._bulk.overhead,
            bytes_received=self._bytes_received,
            send_buffer=self.unsent,
        )

    async def _receive_more(self) -> None:
        """Read once and decode the bytes."""
        if self._ended is not None:
            raise self._closed_error()
        if self._decoder.error is not None:
            raise self._broken(self._decoder.error)
        try:
            data = await self._read()
        except OSError as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._at_eof()
        self._bytes_received += len(data)
        try:
            for frame in self._decoder.feed(data):
                self._accept(frame)
        except ProtocolError as error:
            raise self._broken(error) from error

    def _accept(self, frame: Frame) -> None:
        """Queue a frame for ``recv``, after the shared-memory lane has processed it if it is a shared one.

        Raises:
            ProtocolError: The frame is invalid for the lane.
        """
        if isinstance(frame, SharedFrame):
            taken = self._take_shared(frame)
            if taken is None:
                return
            frame = taken
        self._frames_received += 1
        self._ready.append(frame)

    def _take_shared(self, frame: SharedFrame) -> Frame | None:
        taken = None
        if self._shared is None:
            decline(frame, self._write_shared)
        else:
            taken = self._shared.receive(frame)
        self._bytes_received -= measure_frame(frame)
        if taken is not None:
            self._bytes_received += measure_frame(taken)
        return taken

    async def _read(self) -> bytes:
        """Read available bytes, in a way that ``_note_end`` can interrupt.

        A stream has no call that wakes its reader and lets another caller continue reading. Therefore the
        end cancels the receiver, and the receiver takes that cancellation back, as ``asyncio.timeout``
        does. A cancellation from elsewhere propagates.
        """
        task = asyncio.current_task()
        if self._receiver is not None or task is None:
            raise RuntimeError(
                f"recv() of {self!r} must be called by an asyncio.Task, and by one at a time"
            )
        self._receiver = task
        cancelled_before = task.cancelling()
        try:
            return await self._reader.read(READ_SIZE)
        except asyncio.CancelledError:
            if self._ended is not None and task.uncancel() <= cancelled_before:
                raise self._closed_error() from None
            raise
        finally:
            self._receiver = None

    def _note_end(self, *, by_us: bool, detail: str = "") -> None:
        """Record the end and wake a pending recv; only the first end is recorded."""
        if self._ended is not None:
            return
        self._ended = self._end(by_us=by_us, detail=detail)
        if by_us:
            self._ready.clear()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.cancel()

    def _closed_error(self, detail: str = "") -> ConnectionClosed:
        """Return the error that reports how the connection ended.

        The transport may have ended before this object noticed. That is not recorded here: ``recv`` may
        still have frames to return, and detects the end itself.
        """
        if self._ended is None:
            return self._end(by_us=False, detail=detail)
        return ConnectionClosed(
            str(self._ended), address=self.peer_address, by_us=self._ended.by_us
        )

    def _lost(self, detail: str) -> ConnectionClosed:
        """Record that the peer is gone, and drop what can no longer be sent."""
        self._note_end(by_us=False, detail=detail)
        self._drop()
        return self._closed_error()

    def _at_eof(self) -> ConnectionClosed:
        """End because the peer did; the error reports it if that was inside a frame."""
        try:
            self._decoder.finish()
        except ProtocolError as error:
            lost = self._lost(str(error))
            lost.__cause__ = error
            return lost
        return self._lost("")

    def _broken(self, error: ProtocolError) -> ProtocolError:
        """End because the peer's bytes are invalid."""
        self._note_end(by_us=True, detail=f"it sent data that is not a frame: {error}")
        self._drop()
        return ProtocolError(
            f"{self.peer.task} at {self.peer_address}: {error}", address=self.peer_address
        )

    async def _close(self, grace: float) -> None:
        """Send queued bytes, wait for the peer's end, and close; at most ``grace`` seconds."""
        try:
            await asyncio.sleep(0)  # the cancelled receiver leaves the reader first
            if not self._transport.is_closing():
                await self._linger(grace)
        finally:
            self._drop()
        await self._bulk.flush()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _linger(self, grace: float) -> None:
        """End the sending direction, and read on until the peer has ended its own."""
        queued = self.unsent
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(grace if queued else min(grace, LINGER)):
                await self._bulk.flush()
                self._transport.write_eof()
                while await self._reader.read(READ_SIZE):
                    pass
