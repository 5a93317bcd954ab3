"""The shared-memory lane of a stream: large segments pass between processes of one host without being sent.

A ``StreamConnection`` has a ``SharedLane`` where both ends can reach each other's memory. Each end has an
arena for what it writes: an anonymous file in memory (``memfd_create``) of a fixed size, whose pages are
allocated when they are first touched. The writer copies a segment into a free part of the arena and sends
its place; the reader's buffer is that part itself. When the last reference to the buffer is gone, the
reader returns the part's number, and the part is reused: first touching new pages costs ten times what
copying into old ones does.

    offer      a descriptor and a token: where the arena is, for a process on the same host
    ready      it was found: you may share               refused   it was not: send everything
    data       a header, the places of the segments that are shared, and the other segments as usual
    taken      numbers of parts that the reader has received; until then they count as unsent
    returned   numbers of parts that the reader has released

These messages travel in frames with flags 2, after the handshake. The first large segment triggers the
offer and is itself sent over the stream; so a connection without large segments costs no descriptors. An
arena is opened through its owner's table of descriptors (``/proc/<pid>/fd``), so it has no name that could
outlive it: when a process is killed, its memory is freed. An opened file must have the offered token in its
name and be sealed against shrinking, whatever descriptor was sent. So a peer can neither make this process
read another file nor remove pages that are being read.

The module imports ``arena``, ``errors``, ``event`` and ``frame``. Invariants: a part has at most one
reader's buffer, and is not written to while the peer may read it. A part that is never returned costs its
writer space, not correctness: without space, segments are sent over the stream.
"""

from __future__ import annotations

import asyncio
import itertools
import mmap
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from struct import Struct, pack, unpack
from struct import error as StructError
from typing import TypeAlias

import numpy as np

from transports.errors import ProtocolError
from transports.event import Event
from transports.frame import CHUNK_SIZE, MAX_FRAME, MAX_HEADER, MAX_SEGMENTS, Buffer, Frame, flat
from transports.shm.arena import TOKEN_SIZE, Arena, open_arena

# "0" sends everything over the wire.
SHARED_VARIABLE = "ACTORSESSION_SHARED_MEMORY"

# Segments from this size on are shared. Smaller ones are written in one piece, which takes a stream about
# as long as the messages about a shared one.
SHARE_FROM = CHUNK_SIZE
# Pages that were unused for this many seconds are released, at the latest after twice this.
RELEASE_AFTER = 5.0

_OFFER, _READY, _REFUSED, _DATA, _TAKEN, _RETURNED = b"o", b"r", b"n", b"d", b"t", b"b"
_COUNT = Struct("!I")
_PLACE = Struct("!IIQQ")  # position in the frame, number, offset in the arena, length in bytes

Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"


def open_lane(peer_pid: int, send: Callable[[bytes], None]) -> SharedLane | None:
    """Return a lane for a connection, or None where memory cannot be shared, or must not.

    Args:
        peer_pid: The pid that the peer reports.
        send: Writes the header of a frame with flags 2.
    """
    if sys.platform != "linux" or os.environ.get(SHARED_VARIABLE) == "0":
        return None
    return SharedLane(peer_pid, send)


def decline(frame: Frame, send: Callable[[bytes], None]) -> None:
    """Refuse the peer's offer, for an end that does not share memory.

    Args:
        frame: As it was decoded, with flags 2.
        send: Writes the header of a frame with flags 2.

    Raises:
        ProtocolError: The frame is not an offer.
    """
    if bytes(frame.header[:1]) != _OFFER or frame.segments:
        raise ProtocolError(
            "received a frame about shared memory, although no memory is shared on this connection"
        )
    send(_REFUSED)


class Copy:
    """A pending copy of a segment into shared memory, which the bulk lane does in steps.

    Attributes:
        source: The segment; borrowed until the copy is done.
        target: The memory of the part, of the same length.
    """

    __slots__ = ("_at", "source", "target")

    def __init__(self, source: memoryview, target: memoryview) -> None:
        """Make a copy that has not started."""
        self.source = source
        self.target = target
        self._at = 0

    def __len__(self) -> int:
        """Return how many bytes are left."""
        return len(self.source) - self._at

    def advance(self, most: int) -> int:
        """Copy up to ``most`` bytes, and return how many were copied."""
        stop = min(self._at + most, len(self.source))
        done = stop - self._at
        self.target[self._at : stop] = self.source[self._at : stop]
        self._at = stop
        return done


class SharedLane:
    """The arena that one end of a connection shares, and its view of the other end's arena.

    A lane is made with the connection, and closed with it. It is not thread-safe, except for the release of
    the buffers that it has returned.

    Attributes:
        unread: The number of shared bytes that the peer has not received.
    """

    def __init__(self, peer_pid: int, send: Callable[[bytes], None]) -> None:
        """Make a lane that the peer has not agreed to; the arguments are those of ``open_lane``."""
        self._arena: Arena | None = None
        self._has_offered = False
        self._peer_pid = peer_pid
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._peer_ready = False  # the peer has reported that it can open our arena
        self._numbers = itertools.count()
        # Offset and length of the parts that the peer has, or will have once it reads what was sent.
        self._outstanding: dict[int, tuple[int, int]] = {}
        self._unread: dict[int, int] = {}  # the lengths of those that the peer has not received
        self.unread = 0
        self._read = Event()
        self._trimming: asyncio.TimerHandle | None = None
        self._used = False  # since _trim last ran
        self._offered = False  # the peer has offered its arena
        self._peer_descriptor = -1  # the descriptor of the peer's arena, until it is mapped
        self._mapped: Bytes | None = None
        self._lent: dict[int, weakref.ref[Bytes]] = {}
        self._notices: dict[bytes, list[int]] = {_TAKEN: [], _RETURNED: []}  # numbers to be sent
        self._closed = False

    async def wait_for_reader(self, above: int) -> None:
        """Wait while more than ``above`` shared bytes have not been received."""
        while self.unread > above:
            self._read.clear()
            await self._read.wait()

    def _offer(self) -> None:
        """Make an arena, if the system supports it, and offer it to the peer."""
        self._has_offered = True
        with suppress(OSError, AttributeError):  # no descriptors left; a kernel without such files
            self._arena = Arena()
            self._send(_OFFER + _COUNT.pack(self._arena.descriptor) + self._arena.token)

    # -- sending -----------------------------------------------------------------------------------

    def share(self, frame: Frame) -> tuple[Frame, list[Copy]] | None:
        """Assign places in the arena to the large segments of a frame.

        Args:
            frame: A frame that may be sent; borrowed until the copies are done.

        Returns:
            A frame to be sent with flags 2 when the copies are done, and the copies. None if the frame is
            to be sent as it is: it has no large segment, the peer cannot reach our memory, or there is no
            space.
        """
        if not self._has_offered and any(len(flat(s)) >= SHARE_FROM for s in frame.segments):
            self._offer()
        if not self._peer_ready or self._arena is None:
            return None
        table = _COUNT.size + _PLACE.size * len(frame.segments)
        if len(_DATA) + table + len(flat(frame.header)) > MAX_HEADER:
            return None
        places: list[bytes] = []
        copies: list[Copy] = []
        rest: list[Buffer] = []
        for position, segment in enumerate(map(flat, frame.segments)):
            length = len(segment)
            taken = self._arena.take(length) if length >= SHARE_FROM else None
            if taken is None:
                rest.append(segment)
                continue
            number = next(self._numbers) % 2**32
            self._outstanding[number] = taken[0], length
            self._unread[number] = length
            self.unread += length
            places.append(_PLACE.pack(position, number, taken[0], length))
            copies.append(Copy(memoryview(segment), taken[1]))
        if not copies:
            return None
        self._used = True
        header = b"".join((_DATA, _COUNT.pack(len(places)), *places, flat(frame.header)))
        return Frame(header, tuple(rest)), copies

    def _on_read(self, numbers: Sequence[int]) -> None:
        """Record that the peer has received parts."""
        for number in numbers:
            length = self._unread.pop(number, None)
            if length is None:
                raise ProtocolError(
                    f"the peer reports that it has read part {number}, which is not in use or was "
                    "reported before"
                )
            self.unread -= length
        self._read.set()  # waiters check their condition themselves

    def _on_returned(self, numbers: Sequence[int]) -> None:
        """Free parts that the peer has released."""
        for number in numbers:
            part = self._outstanding.pop(number, None)
            if part is None or number in self._unread or self._arena is None:
                raise ProtocolError(f"the peer released part {number}, which is not in use")
            self._arena.free(*part)
        if self._trimming is None:
            self._trimming = self._loop.call_later(RELEASE_AFTER, self._trim)

    def _trim(self) -> None:
        """Release unused pages, unless some were used recently and will be again."""
        self._trimming = None
        if self._used:
            self._used = False
            self._trimming = self._loop.call_later(RELEASE_AFTER, self._trim)
        elif self._arena is not None:
            self._arena.release_pages()

    # -- receiving ---------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> Frame | None:
        """Process a frame with flags 2.

        Args:
            frame: As it was decoded.

        Returns:
            The frame that it represents, whose shared segments are views of the peer's arena; or None if it
            was a message between the lanes.

        Raises:
            ProtocolError: The frame is malformed, or nothing was agreed.
        """
        kind, body = bytes(frame.header[:1]), memoryview(frame.header)[1:]
        if kind == _DATA and (self._peer_descriptor >= 0 or self._mapped is not None):
            return self._on_data(body, frame.segments)
        if frame.segments:
            kind = b""
        if kind == _OFFER and len(body) == _COUNT.size + TOKEN_SIZE and not self._offered:
            self._on_offer(_COUNT.unpack_from(body)[0], bytes(body[_COUNT.size :]))
        elif kind == _READY and not body and self._arena is not None:
            self._peer_ready = True
        elif kind == _REFUSED and not body and not self._outstanding:
            self._close_arena()
        elif kind in self._notices and len(body) % _COUNT.size == 0:
            numbers = unpack(f"!{len(body) // _COUNT.size}I", body)
            (self._on_read if kind == _TAKEN else self._on_returned)(numbers)
        else:
            raise ProtocolError(
                f"a frame of {len(frame.header)} bytes about shared memory is malformed"
            )
        return None

    def _on_offer(self, descriptor: int, token: bytes) -> None:
        """Open the peer's arena, and report to the peer whether it was found."""
        self._offered = True
        with suppress(OSError):  # another host, another container, or a process of another user
            self._peer_descriptor = open_arena(self._peer_pid, descriptor, token)
        self._send(_REFUSED if self._peer_descriptor < 0 else _READY)

    def _on_data(self, body: memoryview, rest: Sequence[Buffer]) -> Frame:
        try:
            (count,) = _COUNT.unpack_from(body)
            places = [
                _PLACE.unpack_from(body, _COUNT.size + _PLACE.size * n)
                for n in range(min(count, MAX_SEGMENTS + 1))
            ]
        except StructError:
            raise ProtocolError("the positions of shared segments are truncated") from None
        header = bytes(body[_COUNT.size + _PLACE.size * count :])
        total = len(header) + sum(place[3] for place in places) + sum(map(len, rest))
        if len(places) + len(rest) > MAX_SEGMENTS or total > MAX_FRAME:
            raise ProtocolError(
                f"a frame of {len(places) + len(rest)} segments and {total} bytes was shared; "
                f"the limits are {MAX_SEGMENTS} segments and {MAX_FRAME} bytes"
            )
        whole = [*rest]
        for position, number, offset, length in places:
            if position > len(whole) or number in self._lent:
                raise ProtocolError(
                    f"part {number} is shared as segment {position} of {len(places) + len(rest)}: "
                    "that position does not exist, or the part was not released"
                )
            whole.insert(position, self._lend(number, offset, length))
            self._queue_notice(_TAKEN, number)
        return Frame(header, tuple(whole))

    def _lend(self, number: int, offset: int, length: int) -> memoryview:
        """Return a buffer over a part of the peer's arena; its release sends the number back."""
        whole = self._map()
        if not 0 < length <= len(whole) - offset:
            raise ProtocolError(
                f"{length} bytes are announced at offset {offset} of an arena of {len(whole)} bytes"
            )
        part = whole[offset : offset + length]
        lane = weakref.ref(self)

        # Called by the thread that drops the last reference, which may be in the garbage collector.
        def over(_: object) -> None:
            self_ = lane()
            if self_ is not None and not self_._closed:
                with suppress(RuntimeError):  # the loop is closed, and all connections with it
                    self_._loop.call_soon_threadsafe(self_._return_part, number)

        self._lent[number] = weakref.ref(part, over)
        return part.data

    def _map(self) -> Bytes:
        """Return the peer's arena, mapped when it is first needed."""
        if self._mapped is None:
            try:
                memory = mmap.mmap(self._peer_descriptor, 0)
            except (OSError, ValueError) as error:
                raise ProtocolError(f"the shared memory cannot be mapped: {error}") from None
            self._mapped = np.frombuffer(memory, np.uint8)
            self._close_peer_descriptor()
        return self._mapped

    def _return_part(self, number: int) -> None:
        """Record that a part is no longer referenced."""
        if not self._closed:
            del self._lent[number]
            self._queue_notice(_RETURNED, number)

    def _queue_notice(self, notice: bytes, number: int) -> None:
        """Send a number to the peer; numbers of one iteration of the event loop are sent together."""
        if not any(self._notices.values()):
            self._loop.call_soon(self._send_notices)
        self._notices[notice].append(number)

    def _send_notices(self) -> None:
        for notice, numbers in self._notices.items():
            if numbers and not self._closed:
                self._send(notice + pack(f"!{len(numbers)}I", *numbers))
            numbers.clear()

    # -- closing -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Release all resources of this end; buffers that were returned stay valid."""
        self._closed = True
        self._unread.clear()
        self.unread = 0
        self._read.set()
        self._close_peer_descriptor()
        self._mapped = None
        self._lent.clear()
        self._close_arena()

    def _close_arena(self) -> None:
        if self._trimming is not None:
            self._trimming.cancel()
        arena, self._arena, self._peer_ready = self._arena, None, False
        if arena is not None:
            arena.close()

    def _close_peer_descriptor(self) -> None:
        descriptor, self._peer_descriptor = self._peer_descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
