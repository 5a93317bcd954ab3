"""A connection over an asyncio stream, and the handshake that it begins with.

`stream_transport` makes these for tcp and unix, and over TLS. All decisions are taken by `decoder`
and `handshake`; this file reads, writes, waits and hangs up. It imports those, `bytestream`,
`connection`, `frame`, `hello` and `errors`.

Reading: one `read` of whatever has come feeds the decoder, and frames that are decoded are returned
without awaiting, so that a burst of small frames costs one wake-up. Writing: pieces go to the
transport as they are, large ones uncopied (the transport keeps them until they are sent).

Large frames that are written as bulk go through `bulk`, in chunks, and others pass them.

Closing is more than `close()`. A socket that is closed while the peer still sends makes the kernel
answer with a reset, which throws away what was queued for the peer: the very error message that
explains why we hang up. So `aclose` ends its own direction, reads on and discards until the peer
has ended its own or patience does, and closes then.

Invariants: after the end is noted (`_ended`), no call touches the stream but the closing child,
which is awaited by every `aclose`, and the bulk lane's, which ends before that or is dropped.
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

# How much a stream reader holds before it makes the peer wait (twice this): a large array keeps
# flowing while the loop is busy elsewhere for a millisecond.
STREAM_LIMIT = 2**20
# How much one read takes at most. 64 MiB over loopback tcp take 61 ms at 256 KiB and below, 105 ms
# at 512 KiB and 130 ms at 2 MiB (uvloop 0.23): larger chunks leave the cache before they are copied
# on, and fall to mmap, whose pages have to be faulted in each time.
READ_SIZE = 2**18

# How long aclose() waits for the peer's own end when nothing of ours is queued: a peer on the same
# continent that reads answers within this, and one that does not read at all should not cost a
# close more.
LINGER = 0.25


class StreamConnection(Connection):
    """A connection over one reader and writer."""

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
        """Take over a stream whose handshake is done; `shares` is whether memory may be shared."""
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
        """Whether it has ended; not while frames wait that the peer wrote before its end."""
        return not self._ready and (self._ended is not None or self._transport.is_closing())

    def write(self, frame: Frame, *, bulk: bool = False) -> None:
        """Hand a frame to the transport, or to the bulk lane."""
        if self._ended is not None or self._transport.is_closing():
            raise self._closed_error()
        if bulk and frame.segments and self._shared is not None:
            whole = measure_frame(frame)  # before any of it is given a place
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
        # Not writelines(): on the stock loop of Python 3.11 it joins the pieces, however large they
        # are. uvloop sends separate writes of one iteration together anyway.
        for piece in pieces:
            self._transport.write(piece)
            self._bytes_sent += len(piece)

    def _write_shared(self, header: bytes) -> None:
        """Write a word of the shared-memory lane, which nobody waits for once the end has come."""
        if self._ended is None and not self._transport.is_closing():
            for piece in encode_frame(Frame(header), self.wire_version, SHARED_FLAG):
                self._transport.write(piece)

    def _takes_time(self, size: int) -> bool:
        """Say whether others could be held up by a bulk frame that is written as it is."""
        return (
            size > CHUNK_SIZE
            or self._bulk.nbytes > 0
            or self._transport.get_write_buffer_size() > LOW_WATER
        )

    @property
    def unsent(self) -> int:
        """How many bytes wait in the bulk lane and the transport, or for the peer to look at them."""
        unread = 0 if self._shared is None else self._shared.unread
        return self._bulk.nbytes + self._transport.get_write_buffer_size() + unread

    @property
    def ahead(self) -> int:
        """How many bytes wait in the transport, where nothing passes them."""
        return self._transport.get_write_buffer_size()

    async def drain(self, above: int = HIGH_WATER) -> None:
        """Wait while the bulk lane or the transport asks for it."""
        if self._ended is None:
            await self._bulk.wait_for_room(above)
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
        """Return the next frame that is decoded, or read on until there is one."""
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
        """Close in a child of its own, so that every caller can wait for the one end."""
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
        """Drop the connection; a closing child notices and ends."""
        self._note_end(by_us=True)
        self._drop()

    def _drop(self) -> None:
        """Let what is not sent go, and the stream."""
        self._bulk.drop()
        self._transport.abort()
        if self._shared is not None:
            self._shared.close()

    def statistics(self) -> ConnectionStatistics:
        """Return the counters as they are now."""
        return ConnectionStatistics(
            frames_sent=self._frames_sent,
            frames_received=self._frames_received,
            bytes_sent=self._bytes_sent + self._bulk.overhead,
            bytes_received=self._bytes_received,
            send_buffer=self.unsent,
        )

    async def _receive_more(self) -> None:
        """Read once and decode what came."""
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
        """Make a frame ready for `recv`; what is for the shared-memory lane goes there first.

        Raises:
            ProtocolError: It makes no sense there.
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
        """Read what has come, in a way that `_note_end` can interrupt.

        A stream has no call that wakes its reader and lets another go on reading. So the end
        cancels the receiver, and the receiver takes that cancellation back, as `asyncio.timeout`
        does; one from elsewhere passes.
        """
        task = asyncio.current_task()
        if self._receiver is not None or task is None:
            raise RuntimeError(
                f"recv() of {self!r} takes one child at a time, and a child it must be"
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
        """Note the end and wake a pending recv; the first end stays."""
        if self._ended is not None:
            return
        self._ended = self._end(by_us=by_us, detail=detail)
        if by_us:
            self._ready.clear()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.cancel()

    def _closed_error(self, detail: str = "") -> ConnectionClosed:
        """Return the error that says how it ended.

        The transport may have known before us. That is not noted here: `recv` may still have frames
        to return, and finds out by itself.
        """
        if self._ended is None:
            return self._end(by_us=False, detail=detail)
        return ConnectionClosed(
            str(self._ended), address=self.peer_address, by_us=self._ended.by_us
        )

    def _lost(self, detail: str) -> ConnectionClosed:
        """Note that the peer is gone, and drop what nobody will read."""
        self._note_end(by_us=False, detail=detail)
        self._drop()
        return self._closed_error()

    def _at_eof(self) -> ConnectionClosed:
        """End because the peer did; the error says so where that was inside a frame."""
        try:
            self._decoder.finish()
        except ProtocolError as error:
            lost = self._lost(str(error))
            lost.__cause__ = error
            return lost
        return self._lost("")

    def _broken(self, error: ProtocolError) -> ProtocolError:
        """End because the peer's bytes make no sense."""
        self._note_end(by_us=True, detail=f"it sent what is no frame: {error}")
        self._drop()
        return ProtocolError(
            f"{self.peer.task} at {self.peer_address}: {error}", address=self.peer_address
        )

    async def _close(self, grace: float) -> None:
        """Let queued bytes out, hear the peer's end, and close; at most `grace` seconds."""
        try:
            await asyncio.sleep(0)  # the receiver that was cancelled leaves the reader first
            if not self._transport.is_closing():
                await self._linger(grace)
        finally:
            self._drop()
        await self._bulk.flush()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _linger(self, grace: float) -> None:
        """End our direction, and read on until the peer has ended its own."""
        queued = self.unsent
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(grace if queued else min(grace, LINGER)):
                await self._bulk.flush()
                self._transport.write_eof()
                while await self._reader.read(READ_SIZE):
                    pass
