"""The bulk lane of a stream: large frames are sent in chunks, between which small frames are sent.

``connection`` queues the pieces of a large frame here. They go to the transport chunk by chunk, as it
accepts them. A frame that is written to the transport meanwhile waits for no more than its high-water mark,
however many bytes are queued here. Segments that go through shared memory are copied here too, so that
later frames do not overtake them. The module imports ``bytestream``, ``connection`` for the marks, ``event``,
``frame`` for the chunks, ``outbox``, through which chunks are written, and ``shm.lane``.

Invariants: pieces are sent in the order in which they were queued, each once. The child that writes them
exists only while pieces are queued, and ends when the stream does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from transports.connection import HIGH_WATER
from transports.event import Event
from transports.frame import CHUNK_SIZE, Buffer, encode_chunk_prefix
from transports.outbox import Outbox, logger
from transports.shm.lane import Copy
from transports.stream.bytestream import ByteTransport

# Chunks that are written in one iteration of the event loop. A transport that passes everything on at once,
# as over loopback, would otherwise occupy the loop until the last chunk.
_PER_TURN = 4
# Bytes that are copied into shared memory in one iteration: a millisecond, if the memory is new.
_COPIED_PER_TURN = 2 * 2**20


_NOTHING = cast("deque[memoryview | Copy]", ())


class BulkLane:
    """The queue of pieces of bulk frames.

    Attributes:
        nbytes: The number of bytes that are queued here.
        overhead: The number of bytes of chunk prefixes written so far.
        taken: The number of bytes of frames queued here so far.
    """

    __slots__ = (
        "_child",
        "_drain",
        "_drained",
        "_outbox",
        "_pieces",
        "_transport",
        "_version",
        "nbytes",
        "overhead",
        "taken",
    )

    def __init__(
        self, outbox: Outbox, transport: ByteTransport, drain: Callable[[], Awaitable[None]], version: int
    ) -> None:
        """Make an empty lane.

        Args:
            outbox: Where chunks are written.
            transport: What the outbox writes to.
            drain: Waits while the transport has too much queued.
            version: The wire version that both sides agreed upon.
        """
        self._outbox = outbox
        self._transport = transport
        self._drain = drain
        self._version = version
        self._pieces = _NOTHING  # a deque takes 760 bytes, and most connections need none
        self._child: asyncio.Task[None] | None = None
        self._drained = Event()
        self.nbytes = 0
        self.overhead = self.taken = 0

    def put(self, pieces: Sequence[Buffer], copies: Sequence[Copy] = ()) -> None:
        """Queue a frame; some of it may be written at once.

        Args:
            pieces: The bytes of the frame.
            copies: The copies that must be done before the first piece is written.
        """
        if not self._pieces:
            self._pieces = deque()
        for copy in copies:
            self._pieces.append(copy)
            self.nbytes += len(copy)
        for piece in pieces:
            self._pieces.append(memoryview(piece))
            self.nbytes += len(piece)
            self.taken += len(piece)
        if self._child is None:
            self._write_some()
            if self.nbytes:
                self._child = asyncio.get_running_loop().create_task(self._write_all(), name="write large frames")

    async def wait_until_below(self, above: int) -> None:
        """Wait while more than ``above`` bytes are unsent and some of them are queued here."""
        while self.nbytes and self.nbytes + self._transport.get_write_buffer_size() > above:
            self._drained.clear()
            await self._drained.wait()

    async def flush(self) -> None:
        """Wait until everything is passed to the transport; cancelling the call does not stop the writing."""
        if self._child is not None:
            await asyncio.wait({self._child})

    def drop(self) -> None:
        """Drop queued pieces, because the stream has ended."""
        self._pieces = _NOTHING
        self.nbytes = 0
        self._drained.set()
        if self._child is not None:
            self._child.cancel()

    async def _write_all(self) -> None:
        try:
            while self.nbytes and not self._transport.is_closing():
                await self._drain()
                if not self._transport.is_closing():
                    self._write_some()
                await asyncio.sleep(0)
        except Exception as error:  # such as no memory; the peer would wait for the rest of a frame
            logger.error("a connection is given up: writing to it has failed", exc_info=error)
            self._transport.abort()
        finally:
            self._child = None
            if self.nbytes:  # no child is left to write it
                self.drop()

    def _write_some(self) -> None:
        """Write chunks while the transport accepts them, for one iteration of the event loop."""
        transport = self._transport
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
            self._outbox.write_now((prefix, chunk), len(prefix) + len(chunk))
            self.nbytes -= len(chunk)
            self.overhead += len(prefix)
        self._drained.set()  # waiters check their condition themselves

    def _copy_some(self, most: int) -> int:
        """Do the copies at the front of the queue, up to ``most`` bytes, and return how many were copied."""
        done = 0
        while done < most and self._pieces and isinstance(copy := self._pieces[0], Copy):
            done += copy.advance(most - done)
            if not len(copy):
                self._pieces.popleft()
        self.nbytes -= done
        return done
