"""The bulk lane of a stream: large frames on their way out, in chunks that let small ones pass.

`stream` puts the pieces of a large frame here; they go to the transport chunk by chunk, as it takes them.
What is written to the transport meanwhile stands behind no more than its high-water mark, however much
waits here. What goes through shared memory is copied here, so that what was put later does not pass it. It
imports `bytestream`, `connection` for the marks, `frame` for the chunks, and `shared`.

Invariants: pieces go out in the order in which they were put, each once; the child that writes them lives
only while some are left, and ends when the stream does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from transports.connection import HIGH_WATER
from transports.frame import CHUNK_SIZE, Buffer, encode_chunk_prefix
from transports.shm.lane import Copy
from transports.stream.bytestream import ByteWriter

# Chunks that are written in one turn of the loop. A transport that passes everything on at once, as over
# loopback, would else hold the loop until the last.
_PER_TURN = 4
# Bytes that are copied into shared memory in one turn: a millisecond, if the memory is new.
_COPIED_PER_TURN = 2 * 2**20


class BulkLane:
    """Pieces of frames that wait to be sent."""

    __slots__ = ("_child", "_pieces", "_room", "_version", "_writer", "nbytes", "overhead")

    def __init__(self, writer: ByteWriter, version: int) -> None:
        """Make an empty lane.

        Args:
            writer: Where chunks are written.
            version: The wire version that both sides agreed upon.
        """
        self._writer = writer
        self._version = version
        self._pieces: deque[memoryview | Copy] = deque()
        self._child: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self.nbytes = 0  # that wait here
        self.overhead = 0  # bytes in front of the chunks so far

    def put(self, pieces: Sequence[Buffer], copies: Sequence[Copy] = ()) -> None:
        """Queue a frame; some of it may be written at once.

        Args:
            pieces: The bytes of the frame.
            copies: What must be done before the first of them is written.
        """
        for copy in copies:
            self._pieces.append(copy)
            self.nbytes += len(copy)
        for piece in pieces:
            self._pieces.append(memoryview(piece))
            self.nbytes += len(piece)
        if self._child is None:
            self._write_some()
            if self.nbytes:
                self._child = asyncio.get_running_loop().create_task(
                    self._write_all(), name="write large frames"
                )

    async def wait_for_room(self, above: int) -> None:
        """Wait while more bytes than that are unsent and some of them here."""
        while self.nbytes and self.nbytes + self._writer.transport.get_write_buffer_size() > above:
            self._room.clear()
            await self._room.wait()

    async def flush(self) -> None:
        """Wait until everything is handed over; cancelling it leaves the rest to go on."""
        if self._child is not None:
            await asyncio.wait({self._child})

    def drop(self) -> None:
        """Forget what waits, because the stream is over."""
        self._pieces.clear()
        self.nbytes = 0
        self._room.set()
        if self._child is not None:
            self._child.cancel()

    async def _write_all(self) -> None:
        try:
            while self.nbytes and not self._writer.transport.is_closing():
                await self._writer.drain()
                if not self._writer.transport.is_closing():
                    self._write_some()
                await asyncio.sleep(0)
        except OSError:
            pass  # the receiving side says how the stream has ended
        finally:
            self._child = None
            if self.nbytes:  # nobody is left to write it
                self.drop()

    def _write_some(self) -> None:
        """Write chunks while the transport takes them, for one turn of the loop."""
        transport = self._writer.transport
        copied = 0
        for _ in range(_PER_TURN):
            copied += self._copy_some(_COPIED_PER_TURN - copied)
            if not self._pieces or transport.get_write_buffer_size() > HIGH_WATER:
                break
            piece = self._pieces[0]
            if isinstance(piece, Copy):
                break
            chunk = piece[:CHUNK_SIZE]
            if len(chunk) == len(piece):
                self._pieces.popleft()
            else:
                self._pieces[0] = piece[CHUNK_SIZE:]
            prefix = encode_chunk_prefix(len(chunk), self._version)
            transport.write(prefix)
            transport.write(chunk)
            self.nbytes -= len(chunk)
            self.overhead += len(prefix)
        self._room.set()  # those who wait look for themselves

    def _copy_some(self, most: int) -> int:
        """Do the copies that come next, up to so many bytes, and return how many were done."""
        done = 0
        while done < most and self._pieces and isinstance(copy := self._pieces[0], Copy):
            done += copy.advance(most - done)
            if not len(copy):
                self._pieces.popleft()
        self.nbytes -= done
        return done
