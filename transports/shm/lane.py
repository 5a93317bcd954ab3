"""The shared-memory lane of a stream: large segments pass between processes of one host without being sent.

A ``StreamConnection`` has a ``SharedLane`` where both ends can reach each other's memory. A process has an
arena for what it writes (``arena``), which its lanes share. A segment that lies in the arena is *lent*: its
place is sent, and the lane refers to it until the reader has released it. Any other segment is copied into a
free place first. The reader's buffer is the place itself, mapped for reading only. When the last reference to
the buffer is gone, the reader returns the part's number, and the lane drops its reference; the place is used
again when nothing else refers to it. First touching new pages costs ten times what copying into old ones
does.

    offer      a descriptor, a token and the reader's number: where the arena is, for a process on this host
    ready      it was found: you may share               refused   it was not: send everything
    data       a header, the places of the segments that are shared, and the other segments as usual
    taken      numbers of parts that the reader has received; until then they count as unsent
    returned   numbers of parts that the reader has released, whether it has reported them as taken or not

These messages travel in frames with flags 2, after the handshake. The last two go along with the next frame
that the reader writes, so that they wake nobody. They wait for that a few milliseconds at most, and not at
all if they are about many bytes. The first large segment triggers the offer and is itself sent over the
stream; so a connection without large segments costs no descriptors. An arena is opened through its owner's
table of descriptors (``/proc/<pid>/fd``), so it has no name that could outlive it: when a process is killed,
its memory is freed. An opened file must have the offered token in its name and be sealed against shrinking,
whatever descriptor was sent. So a peer can neither make this process read another file nor remove pages that
are being read.

What was lent to a peer whose connection has ended is kept until the peer cannot read it any more: until its
last buffer is gone, or its process. A reader that keeps buffers of more than a quarter of an arena gets
copies of what comes after, so that it cannot take all memory of its writer.

The module imports ``arena``, ``connection`` for the mark, ``errors``, ``event``, ``frame``, ``loans`` and ``memory``.
Invariant: a place is not written to while a peer may read it. A part that is never returned costs its writer
space, not correctness: without space, segments are sent over the stream.
"""

from __future__ import annotations

import asyncio
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

from transports import memory
from transports.connection import HIGH_WATER
from transports.errors import ProtocolError
from transports.event import Event
from transports.frame import MAX_FRAME, MAX_HEADER, MAX_SEGMENTS, Buffer, Frame, LostFrame, flat
from transports.host import current_host
from transports.shm.arena import TOKEN_SIZE, Arena, Place, begin_reader, current_arena, open_arena
from transports.shm.loans import Loans

# "0" sends everything over the wire.
SHARED_VARIABLE = "ACTORSESSION_SHARED_MEMORY"

# Segments from this size on are shared. Smaller ones take a stream about as long as the messages about a
# shared one.
SHARE_FROM = 2**15
# The share of an arena that a reader may keep, as a divisor.
KEPT_SHARE = 4
# Seconds that numbers of parts wait for a frame to go along with, if they stand for few bytes.
_PATIENCE = 0.005
# Seconds between looks at whether a former peer has let go.
_LOOK_EVERY = 1.0
# Pages that were unused for this many seconds are released, at the latest after twice this.
RELEASE_AFTER = 5.0

_OFFER, _READY, _REFUSED, _DATA, _TAKEN, _RETURNED = b"o", b"r", b"n", b"d", b"t", b"b"
_COUNT = Struct("!I")
_READER = Struct("!Q")
_PLACE = Struct("!IIQQ")  # position in the frame, number, offset in the arena, length in bytes
_OFFER_SIZE = _COUNT.size + TOKEN_SIZE + _READER.size

Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"
_PlaceOf: TypeAlias = tuple[int, int, int, int]  # the numbers of ``_PLACE``


def open_lane(peer_pid: int, send: Callable[[bytes], None]) -> SharedLane | None:
    """Return a lane for a connection, or None where memory cannot be shared, or must not.

    Args:
        peer_pid: The pid that the peer reports.
        send: Writes the header of a frame with flags 2.
    """
    if sys.platform != "linux" or not current_host().network.shares_memory or os.environ.get(SHARED_VARIABLE) == "0":
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
        raise ProtocolError("received a frame about shared memory, although no memory is shared on this connection")
    send(_REFUSED)


def allocate_shared(length: int) -> Place | None:
    """Return memory that peers on this host can read where it lies, with any contents.

    Returns:
        Memory that is free again when nothing refers to it, of this many bytes. None if no peer has opened
        this process's arena, for so few bytes that they would not be shared, or if there is no space.
    """
    arena = current_arena()
    if arena is None or not arena.readers or length < SHARE_FROM or not current_host().network.shares_memory:
        return None
    return arena.allocate(length)


def _find_place(arena: Arena, segment: Buffer) -> tuple[int, Buffer | Place] | None:
    """Return the offset of a segment in an arena and the segment, or those of a new place for a copy of it.

    None if there is no space.
    """
    offset = arena.find(segment)
    if offset is not None:
        return offset, segment
    place = arena.allocate(len(segment))
    return None if place is None else (place.offset, place)


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
        has_news: Whether there may be something to tell the peer with the next frame.
    """

    def __init__(self, peer_pid: int, send: Callable[[bytes], None]) -> None:
        """Make a lane that the peer has not agreed to; the arguments are those of ``open_lane``."""
        self._arena: Arena | None = None
        self._number = -1  # of the peer among the readers of the arena
        self._has_offered = False
        self._peer_pid = peer_pid
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._peer_ready = False  # the peer has reported that it can open our arena
        self._sent = 0  # how many segments were placed
        # The segments that the peer has, or will have once it reads what was sent.
        self._outstanding: dict[int, Buffer | Place] = {}
        self._unread: dict[int, int] = {}  # the lengths of those that the peer has not received
        self.unread = 0
        self._read = Event()
        self._offered = False  # the peer has offered its arena
        self._mapped: Bytes | None = None  # the peer's arena
        self._lent: dict[int, weakref.ref[Bytes]] = {}
        self._kept = 0  # bytes of the peer's arena that are referred to here
        # What the peer has not been told: parts that were received, and released ones, with their lengths.
        self._taken: dict[int, int] = {}
        self._released: list[tuple[int, int]] = []
        self.has_news = False
        self._waits = False  # whether a call that tells it is scheduled
        self._closed = False
        self._loans: Loans | None = None

    async def wait_for_reader(self, above: int) -> None:
        """Wait while more than ``above`` shared bytes have not been received."""
        while self.unread > above:
            self._read.clear()
            await self._read.wait()

    def _offer(self) -> None:
        """Offer the arena of this process to the peer, if the system supports arenas."""
        self._has_offered = True
        with suppress(OSError, AttributeError):  # no descriptors left; a kernel without such files
            arena, number = self._arena, self._number = begin_reader(self._trim_later)
            place = _COUNT.pack(arena.descriptor) + arena.token
            self._send(_OFFER + place + _READER.pack(number))

    @property
    def lent(self) -> dict[int, object] | None:
        """See ``Connection.lent``; the first look at it triggers the offer."""
        if not self._has_offered and not self._closed:
            self._offer()
        arena = self._arena
        if self._loans is None and self._peer_ready and arena is not None and not arena.belongs_to(self._peer_pid):
            with suppress(OSError):  # no descriptors left
                self._loans = Loans(arena.descriptor, self._number)
        return None if self._loans is None else self._loans.lent

    @property
    def reads_peer(self) -> bool:
        """See ``Connection.reads_peer``."""
        return self._mapped is not None

    # -- sending -----------------------------------------------------------------------------------

    def share(self, frame: Frame) -> tuple[Frame, list[Copy]] | None:
        """Find places in the arena for the large segments of a frame: their own, or new ones.

        Args:
            frame: A frame that may be sent; borrowed until the copies are done.

        Returns:
            A frame to be sent with flags 2 when the copies are done, and the copies. None if the frame is
            to be sent as it is: it has no large segment, the peer cannot reach our memory, or there is no
            space.
        """
        if not self._has_offered and any(len(flat(s)) >= SHARE_FROM for s in frame.segments):
            self._offer()
        arena = self._arena
        if not self._peer_ready or arena is None:
            return None
        table = _COUNT.size + _PLACE.size * len(frame.segments)
        if len(_DATA) + table + len(flat(frame.header)) > MAX_HEADER:
            return None
        begin, places, copies, rest = self._sent, list[bytes](), list[Copy](), list[Buffer]()
        lent: list[tuple[Buffer | Place, int]] = []
        for position, segment in enumerate(map(flat, frame.segments)):
            length = len(segment)
            place = _find_place(arena, segment) if length >= SHARE_FROM else None
            if place is None:
                rest.append(segment)
                continue
            offset, held = place
            if isinstance(held, Place):
                copies.append(Copy(memoryview(segment), held.data))
            places.append(_PLACE.pack(position, (begin + len(lent)) % 2**32, offset, length))
            lent.append((held, length))
        if not places:
            return None
        header = b"".join((_DATA, _COUNT.pack(len(places)), *places, flat(frame.header)))
        small = Frame(header, tuple(rest))
        # From here on the peer is expected to read them: nothing above counts if there was no memory for it.
        for held, length in lent:
            number = self._sent
            self._sent = (number + 1) % 2**32
            self._outstanding[number] = held
            self._unread[number] = length
            self.unread += length
        return small, copies

    def _on_read(self, numbers: Sequence[int]) -> None:
        """Record that the peer has received parts."""
        for number in numbers:
            if number not in self._unread:
                raise ProtocolError(
                    f"the peer reports that it has read part {number}, which is not in use or was reported before"
                )
            self.unread -= self._unread.pop(number)
        self._read.set()  # waiters check their condition themselves

    def _on_returned(self, numbers: Sequence[int]) -> None:
        """Drop the references to parts that the peer has released."""
        for number in numbers:
            if self._outstanding.pop(number, None) is None:
                raise ProtocolError(f"the peer released part {number}, which is not in use")
            self.unread -= self._unread.pop(number, 0)
        self._read.set()

    def _trim_later(self) -> None:
        """Have unused pages released some time later; called in any thread."""
        self._loop.call_soon_threadsafe(self._loop.call_later, RELEASE_AFTER, self._trim)

    def _trim(self) -> None:
        arena = self._arena
        if arena is not None and arena.trim():
            self._loop.call_later(RELEASE_AFTER, self._trim)

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
        if isinstance(frame, LostFrame):
            return self._on_lost(frame)
        kind, body = bytes(frame.header[:1]), memoryview(frame.header)[1:]
        if kind == _DATA and self._mapped is not None:
            return self._on_data(body, frame.segments)
        if frame.segments:
            kind = b""
        if kind == _OFFER and len(body) == _OFFER_SIZE and not self._offered:
            self._on_offer(body)
        elif kind == _READY and not body and self._arena is not None:
            self._set_ready()
        elif kind == _REFUSED and not body and not self._outstanding:
            self._close_arena()
        elif kind in (_TAKEN, _RETURNED) and len(body) % _COUNT.size == 0:
            numbers = unpack(f"!{len(body) // _COUNT.size}I", body)
            (self._on_read if kind == _TAKEN else self._on_returned)(numbers)
        else:
            raise ProtocolError(f"a frame of {len(frame.header)} bytes about shared memory is malformed")
        return None

    def _set_ready(self) -> None:
        if not self._peer_ready and self._arena is not None:
            self._peer_ready = True
            self._arena.readers += 1

    def _on_offer(self, body: memoryview) -> None:
        """Open the peer's arena, and report to the peer whether it was found."""
        self._offered = True
        token = bytes(body[_COUNT.size : -_READER.size])
        (descriptor,), (number,) = _COUNT.unpack_from(body), _READER.unpack(body[-_READER.size :])
        # Another host, another container, a process of another user, or a number that no lock can have; or
        # no descriptors or address space are left here.
        with suppress(OSError, ValueError, MemoryError, StructError):
            self._map(open_arena(self._peer_pid, descriptor, token, number))
        self._send(_REFUSED if self._mapped is None else _READY)

    def _on_data(self, body: memoryview, rest: Sequence[Buffer]) -> Frame:
        places, inner = _read_places(body)
        total = len(inner) + sum(place[3] for place in places) + sum(map(len, rest))
        if len(places) + len(rest) > MAX_SEGMENTS or total > MAX_FRAME:
            raise ProtocolError(
                f"a frame of {len(places) + len(rest)} segments and {total} bytes was shared; "
                f"the limits are {MAX_SEGMENTS} segments and {MAX_FRAME} bytes"
            )
        whole = [*rest]
        try:
            header = memory.copied(inner)
            for position, number, offset, length in places:
                if position > len(whole) or number in self._lent:
                    raise ProtocolError(
                        f"part {number} is shared as segment {position} of {len(places) + len(rest)}: "
                        "that position does not exist, or the part was not released"
                    )
                whole.insert(position, self._lend(number, offset, length))
                self._taken[number] = length
                self.has_news = True
        except MemoryError:
            whole.clear()
            self._return_unread(places)
            return LostFrame.of(inner, total)
        if places:
            self._tell_later(sum(self._taken.values()))
        return Frame(header, tuple(whole))

    def _on_lost(self, frame: LostFrame) -> Frame:
        """Return the parts of a frame for which there is no memory to the peer."""
        if frame.start[:1] != _DATA or self._mapped is None:
            raise ProtocolError("there is no memory for a message about shared memory")
        places, inner = _read_places(memoryview(frame.start)[1:])
        self._return_unread(places)
        return LostFrame.of(inner, frame.nbytes)

    def _return_unread(self, places: Sequence[_PlaceOf]) -> None:
        """Have parts returned that are not used here; those that are lent return by themselves."""
        for _, number, _, length in places:
            if number not in self._lent:
                self._kept += length
                self._released.append((number, length))
        self.has_news = True
        self._tell_later(sum(place[3] for place in places))

    def _lend(self, number: int, offset: int, length: int) -> memoryview:
        """Return a buffer over a part of the peer's arena; its release sends the number back."""
        whole = self._mapped
        assert whole is not None  # data are only accepted then
        if not 0 < length <= len(whole) - offset:
            raise ProtocolError(f"{length} bytes are announced at offset {offset} of an arena of {len(whole)} bytes")
        part = whole[offset : offset + length]
        lane = weakref.ref(self)

        # Called by the thread that drops the last reference, which may be in the garbage collector.
        def over(_: object) -> None:
            self_ = lane()
            if self_ is not None and not self_._closed:
                self_._released.append((number, length))
                self_.has_news = True
                if length >= HIGH_WATER or not self_._waits:
                    with suppress(RuntimeError):  # the loop is closed, and all connections with it
                        self_._loop.call_soon_threadsafe(self_._tell_later, length)

        self._lent[number] = weakref.ref(part, over)
        self._kept += length
        if self._kept > (most := len(whole) // KEPT_SHARE):
            self.tell()  # counts what was released meanwhile
            if self._kept > most:
                copy = memory.allocate(length)
                copy[:] = part.data
                return copy
        return part.data

    def _map(self, descriptor: int) -> None:
        """Map the peer's arena for reading, and close its descriptor.

        Raises:
            OSError: There is no address space for it, or no descriptor.
        """
        try:
            self._mapped = np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ), np.uint8)
        finally:
            os.close(descriptor)

    def tell(self) -> None:
        """Tell the peer which parts were received and released."""
        self._waits = self.has_news = False  # before the list is read: what is released now counts
        returned = self._forget_released()
        taken, self._taken = self._taken, {}
        for notice, numbers in ((_TAKEN, taken), (_RETURNED, returned)):
            if numbers and not self._closed:
                self._send(notice + pack(f"!{len(numbers)}I", *numbers))

    def _forget_released(self) -> list[int]:
        """Forget parts that were released, and return their numbers, for the peer."""
        numbers = []
        # Other threads may add to the list at any time: it is never replaced.
        count = len(self._released)
        released, self._released[:count] = self._released[:count], ()
        for number, length in released:
            numbers.append(number)
            self._taken.pop(number, None)
            self._lent.pop(number, None)
            self._kept -= length
        return numbers

    def _tell_later(self, nbytes: int) -> None:
        """Tell the peer at the end of this iteration of the loop, or soon, if it is about few bytes."""
        if nbytes >= HIGH_WATER:
            self._loop.call_soon(self.tell)
        elif not self._waits:
            self._waits = True
            self._loop.call_later(_PATIENCE, self._tell_now)

    def _tell_now(self) -> None:
        if self._waits:
            self.tell()

    # -- closing -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Release all resources of this end; buffers that were returned stay valid."""
        self._closed = True
        loans, self._loans = self._loans, None
        if loans is not None:
            loans.end(_LOOK_EVERY)
        self._unread.clear()
        self.unread = 0
        self._read.set()
        self._mapped = None
        self._lent.clear()
        self._taken.clear()
        self._released.clear()
        self._close_arena()

    def _close_arena(self) -> None:
        arena, self._arena = self._arena, None
        if arena is None:
            return
        arena.readers -= self._peer_ready
        self._peer_ready = False
        buffers = tuple(self._outstanding.values())
        self._outstanding.clear()
        arena.end_reader(self._number, self._trim_later, buffers)
        if buffers:
            del buffers
            self._look(arena)

    def _look(self, arena: Arena) -> None:
        """Look from time to time whether the former peer has released what was lent to it."""
        if arena.sweep():
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_later(_LOOK_EVERY, self._look, arena)


def _read_places(body: memoryview) -> tuple[list[_PlaceOf], memoryview]:
    """Return the places of the shared segments of a frame, and its own header behind them.

    Raises:
        ProtocolError: They are not all there.
    """
    try:
        (count,) = _COUNT.unpack_from(body)
        places = [_PLACE.unpack_from(body, _COUNT.size + _PLACE.size * n) for n in range(min(count, MAX_SEGMENTS + 1))]
    except StructError:
        raise ProtocolError("the positions of shared segments are truncated") from None
    return places, body[_COUNT.size + _PLACE.size * count :]
