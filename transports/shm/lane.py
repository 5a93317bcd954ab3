"""The shared-memory lane of a stream: large segments that pass between processes of one host unsent.

Beside a `StreamConnection` stands a `SharedLane`, where both ends can reach each other's memory. Each end has
an arena for what it writes: an anonymous file in memory (`memfd_create`) of a fixed size, whose pages come
into being when they are first touched. The writer copies a segment into a free part of it and sends the
place; the reader's buffer is that part itself. When the last reference to the buffer is gone, the part's
number goes back, and it is written to again: first touching new pages costs ten times what copying into old
ones does.

    offer      a descriptor and a token: where the arena is, for those on the same host
    ready      it was found: you may share               refused   it was not: send everything
    data       a header, the places of the segments that are shared, and the other segments as usual
    taken      numbers of parts that were read of: until then they count as unsent
    returned   numbers of parts that nobody here looks at any more

These travel in frames with flags 2, after the handshake. The first large segment is the occasion of the
offer, and is sent: a connection without any costs no descriptors. An arena is opened through its owner's
own table of descriptors (`/proc/<pid>/fd`), so it has no name that could outlive it: when a process is
killed, its memory goes with it. What is opened must be called by the token that was offered and be sealed
against shrinking, whatever number came: nobody makes us read another file, and nobody takes pages away from
under a reader.

Imports `arena`, `errors` and `frame`. Invariants: a part has one reader's buffer at most, and is not written
to while the peer may look at it; what is never returned costs its writer room, not correctness: without room
segments are sent.
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
from transports.frame import CHUNK_SIZE, MAX_FRAME, MAX_HEADER, MAX_SEGMENTS, Buffer, Frame, flat
from transports.shm.arena import TOKEN_SIZE, Arena, open_arena

# "0" sends everything over the wire.
SHARED_VARIABLE = "ACTORSESSION_SHARED_MEMORY"

# Segments from this size on are shared. Smaller ones are written in one piece, which takes a stream about as
# long as the words about a shared one.
SHARE_FROM = CHUNK_SIZE
# Pages that were not used for this long, in seconds, are given up; at the latest after twice this.
KEPT_FOR = 5.0

_OFFER, _READY, _REFUSED, _DATA, _TAKEN, _RETURNED = b"o", b"r", b"n", b"d", b"t", b"b"
_COUNT = Struct("!I")
_PLACE = Struct("!IIQQ")  # position among the segments, number, where in the arena, length in bytes

Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"


def open_lane(peer_pid: int, send: Callable[[bytes], None]) -> SharedLane | None:
    """Return a lane for a connection, or None where memory cannot be shared, or must not.

    Args:
        peer_pid: The process at the other end, as it says.
        send: Writes the header of a frame with flags 2.
    """
    if sys.platform != "linux" or os.environ.get(SHARED_VARIABLE) == "0":
        return None
    return SharedLane(peer_pid, send)


def decline(frame: Frame, send: Callable[[bytes], None]) -> None:
    """Refuse what the peer offers, as an end that shares nothing.

    Args:
        frame: As it was decoded, with flags 2.
        send: Writes the header of a frame with flags 2.

    Raises:
        ProtocolError: It is no offer.
    """
    if bytes(frame.header[:1]) != _OFFER or frame.segments:
        raise ProtocolError("a frame about shared memory came, and none is shared")
    send(_REFUSED)


class Copy:
    """A segment on its way into shared memory; the bulk lane does it piece by piece.

    Attributes:
        source: What is copied; borrowed until it is done.
        target: Where it goes, as long.
    """

    __slots__ = ("_at", "source", "target")

    def __init__(self, source: memoryview, target: memoryview) -> None:
        """Make a copy of which nothing is done."""
        self.source = source
        self.target = target
        self._at = 0

    def __len__(self) -> int:
        """Return how many bytes are left."""
        return len(self.source) - self._at

    def advance(self, most: int) -> int:
        """Copy up to so many bytes, and return how many."""
        stop = min(self._at + most, len(self.source))
        done = stop - self._at
        self.target[self._at : stop] = self.source[self._at : stop]
        self._at = stop
        return done


class SharedLane:
    """What one end of a connection shares, and what it looks at of the other's.

    Made with the connection, and closed with it. Not safe for threads, but for the end of the buffers that
    it hands out.
    """

    def __init__(self, peer_pid: int, send: Callable[[bytes], None]) -> None:
        """Make a lane that nobody has agreed to; arguments are those of `open_lane`."""
        self._arena: Arena | None = None
        self._has_offered = False
        self._peer_pid = peer_pid
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._writes = False  # the peer has said that it reaches our arena
        self._numbers = itertools.count()
        # Where the parts are that the peer has, or will when it reads what was sent, and how long.
        self._out: dict[int, tuple[int, int]] = {}
        self._unread: dict[int, int] = {}  # the lengths of those that it has not read of
        self._read = asyncio.Event()
        self._trimming: asyncio.TimerHandle | None = None
        self._used = False  # since the last look
        self._offered = False  # the peer's arena was
        self._theirs = -1  # the descriptor of it, until it is mapped
        self._mapped: Bytes | None = None
        self._lent: dict[int, weakref.ref[Bytes]] = {}
        self._words: dict[bytes, list[int]] = {_TAKEN: [], _RETURNED: []}  # that are to be sent
        self._closed = False

    @property
    def unread(self) -> int:
        """How many bytes were shared that the peer has not read of."""
        return sum(self._unread.values())

    async def wait_for_reader(self, above: int) -> None:
        """Wait while the peer has not read of more bytes than that."""
        while self.unread > above:
            self._read.clear()
            await self._read.wait()

    def _offer(self) -> None:
        """Make our arena, if there is memory to be shared, and tell the peer where to look for it."""
        self._has_offered = True
        with suppress(OSError, AttributeError):  # no descriptors left; a kernel without such files
            self._arena = Arena()
            self._send(_OFFER + _COUNT.pack(self._arena.descriptor) + self._arena.token)

    # -- what goes out -----------------------------------------------------------------------------

    def share(self, frame: Frame) -> tuple[Frame, list[Copy]] | None:
        """Give the large segments of a frame places in the arena.

        Args:
            frame: One that may be sent; borrowed until the copies are done.

        Returns:
            A frame to be sent with flags 2 when the copies are done, and the copies; or None if it is to
            be sent as it is: nothing in it is large, the peer does not reach us, or there is no room.
        """
        if not self._has_offered and any(len(flat(s)) >= SHARE_FROM for s in frame.segments):
            self._offer()
        if not self._writes or self._arena is None:
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
            self._out[number] = taken[0], length
            self._unread[number] = length
            places.append(_PLACE.pack(position, number, taken[0], length))
            copies.append(Copy(memoryview(segment), taken[1]))
        if not copies:
            return None
        self._used = True
        header = b"".join((_DATA, _COUNT.pack(len(places)), *places, flat(frame.header)))
        return Frame(header, tuple(rest)), copies

    def _note_read(self, numbers: Sequence[int]) -> None:
        """Count parts as sent."""
        for number in numbers:
            if self._unread.pop(number, None) is None:
                raise ProtocolError(f"part {number} was read of and is not out, or was before")
        self._read.set()  # those who wait look for themselves

    def _take_back(self, numbers: Sequence[int]) -> None:
        """Make parts free that the peer is done with."""
        for number in numbers:
            part = self._out.pop(number, None)
            if part is None or number in self._unread or self._arena is None:
                raise ProtocolError(f"part {number} was given back and is not out")
            self._arena.put_back(*part)
        if self._trimming is None:
            self._trimming = self._loop.call_later(KEPT_FOR, self._trim)

    def _trim(self) -> None:
        """Give up the pages that are not used, unless some were lately: they will be again."""
        self._trimming = None
        if self._used:
            self._used = False
            self._trimming = self._loop.call_later(KEPT_FOR, self._trim)
        elif self._arena is not None:
            self._arena.give_up_pages()

    # -- what comes in -----------------------------------------------------------------------------

    def receive(self, frame: Frame) -> Frame | None:
        """Take a frame with flags 2.

        Args:
            frame: As it was decoded.

        Returns:
            The frame that it stands for, whose shared segments are views of the peer's arena; or None if
            it was a word between the lanes.

        Raises:
            ProtocolError: It makes no sense, or nothing was agreed.
        """
        kind, body = bytes(frame.header[:1]), memoryview(frame.header)[1:]
        if kind == _DATA and (self._theirs >= 0 or self._mapped is not None):
            return self._take_data(body, frame.segments)
        if frame.segments:
            kind = b""
        if kind == _OFFER and len(body) == _COUNT.size + TOKEN_SIZE and not self._offered:
            self._take_offer(_COUNT.unpack_from(body)[0], bytes(body[_COUNT.size :]))
        elif kind == _READY and not body and self._arena is not None:
            self._writes = True
        elif kind == _REFUSED and not body and not self._out:
            self._close_arena()
        elif kind in self._words and len(body) % _COUNT.size == 0:
            numbers = unpack(f"!{len(body) // _COUNT.size}I", body)
            (self._note_read if kind == _TAKEN else self._take_back)(numbers)
        else:
            raise ProtocolError(
                f"a frame of {len(frame.header)} bytes about shared memory makes no sense"
            )
        return None

    def _take_offer(self, descriptor: int, token: bytes) -> None:
        """Look for the peer's arena, and tell it whether it is there."""
        self._offered = True
        with suppress(OSError):  # another host, another container, or somebody else's process
            self._theirs = open_arena(self._peer_pid, descriptor, token)
        self._send(_REFUSED if self._theirs < 0 else _READY)

    def _take_data(self, body: memoryview, rest: Sequence[Buffer]) -> Frame:
        try:
            (count,) = _COUNT.unpack_from(body)
            places = [
                _PLACE.unpack_from(body, _COUNT.size + _PLACE.size * n)
                for n in range(min(count, MAX_SEGMENTS + 1))
            ]
        except StructError:
            raise ProtocolError("the places of shared segments are cut off") from None
        header = bytes(body[_COUNT.size + _PLACE.size * count :])
        total = len(header) + sum(place[3] for place in places) + sum(map(len, rest))
        if len(places) + len(rest) > MAX_SEGMENTS or total > MAX_FRAME:
            raise ProtocolError(
                f"a frame of {len(places) + len(rest)} segments and {total} bytes was shared, at most "
                f"{MAX_SEGMENTS} and {MAX_FRAME} fit"
            )
        whole = [*rest]
        for position, number, offset, length in places:
            if position > len(whole) or number in self._lent:
                raise ProtocolError(
                    f"part {number} is shared as segment {position} of {len(places) + len(rest)}: that "
                    "position does not exist, or the part was not given back"
                )
            whole.insert(position, self._lend(number, offset, length))
            self._say(_TAKEN, number)
        return Frame(header, tuple(whole))

    def _lend(self, number: int, offset: int, length: int) -> memoryview:
        """Return a buffer over a part of the peer's arena, whose end sends the number back."""
        whole = self._map()
        if not 0 < length <= len(whole) - offset:
            raise ProtocolError(
                f"{length} bytes are said to be at {offset} of an arena of {len(whole)} bytes"
            )
        part = whole[offset : offset + length]
        lane = weakref.ref(self)

        # Called by whichever thread drops the last reference, the collector's too.
        def over(_: object) -> None:
            self_ = lane()
            if self_ is not None and not self_._closed:
                with suppress(RuntimeError):  # the loop is closed, and all connections with it
                    self_._loop.call_soon_threadsafe(self_._give_back, number)

        self._lent[number] = weakref.ref(part, over)
        return part.data

    def _map(self) -> Bytes:
        """Return the peer's arena, mapped when it is first needed."""
        if self._mapped is None:
            try:
                memory = mmap.mmap(self._theirs, 0)
            except (OSError, ValueError) as error:
                raise ProtocolError(
                    f"the memory that is shared cannot be mapped: {error}"
                ) from None
            self._mapped = np.frombuffer(memory, np.uint8)
            self._forget_theirs()
        return self._mapped

    def _give_back(self, number: int) -> None:
        """Note that nobody looks at a part any more."""
        if not self._closed:
            del self._lent[number]
            self._say(_RETURNED, number)

    def _say(self, word: bytes, number: int) -> None:
        """Send a number back; those of one turn of the loop go together."""
        if not any(self._words.values()):
            self._loop.call_soon(self._send_words)
        self._words[word].append(number)

    def _send_words(self) -> None:
        for word, numbers in self._words.items():
            if numbers and not self._closed:
                self._send(word + pack(f"!{len(numbers)}I", *numbers))
            numbers.clear()

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of everything of ours; buffers that were handed out stay valid."""
        self._closed = True
        self._unread.clear()
        self._read.set()
        self._forget_theirs()
        self._mapped = None
        self._lent.clear()
        self._close_arena()

    def _close_arena(self) -> None:
        if self._trimming is not None:
            self._trimming.cancel()
        arena, self._arena, self._writes = self._arena, None, False
        if arena is not None:
            arena.close()

    def _forget_theirs(self) -> None:
        theirs, self._theirs = self._theirs, -1
        if theirs >= 0:
            os.close(theirs)
