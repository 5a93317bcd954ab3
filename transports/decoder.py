"""The decoder that cuts a byte stream into frames.

``stream.connection`` has bytes written where ``get_buffer`` says, and reports their number to ``received``;
``feed`` takes bytes from elsewhere. The module does no input or output and imports ``frame``, ``memory`` and
``errors``.

Small frames share a buffer, so that one read brings many, and are decoded from it in place. The bytes of a
large segment are written into the segment's own memory by whoever reads the stream, which is the kernel;
there is no copy of them, whether they arrive in chunks or not.

Invariants. The result depends on the bytes alone, never on how they were split into calls. Frames before a
bad byte are delivered; then the error is raised, and again on every later call. The memory of a segment has
exactly its size. Nothing is allocated for a length that is over the limits. A frame for which there is no
memory is read to its end and dropped, and a ``LostFrame`` takes its place: the next one is not concerned.

Chunks form a stream within the stream, which a second decoder decodes. A frame sent in chunks is complete
when its last byte arrives, after the frames that overtook it.
"""

from __future__ import annotations

from struct import unpack_from

import numpy as np

from transports import memory
from transports.errors import ProtocolError
from transports.frame import (
    CHUNK_FLAG,
    KEPT_OF_LOST,
    MAGIC,
    MAX_CHUNK,
    MAX_FRAME,
    MAX_HEADER,
    MAX_SEGMENT,
    MAX_SEGMENTS,
    PREFIX,
    SHARED_FLAG,
    STARTED_PREFIX,
    WIRE_VERSION,
    Buffer,
    Frame,
    LostFrame,
    Prefix,
    SharedFrame,
    flat,
    parse_prefix,
)

# How much one read into the shared buffer returns at most. 64 MiB over loopback tcp took 61 ms at 256 KiB and
# below, 105 ms at 512 KiB and 130 ms at 2 MiB (uvloop 0.23): larger amounts leave the cache before they are
# copied on.
READ_SIZE = 2**18

# What is missing of a segment is read into its own memory from this many bytes on. Below that, a copy costs
# less than the system call that reads the next frame separately.
DIRECT_FROM = 2**15

# How many bytes of a segment are allocated at once. The system provides pages when bytes are first written to
# them, so an announced length takes address space, and memory only for what has been sent (and the rest of
# one huge page). The limit is for systems that count address space as memory.
FIRST_ROOM = 256 * 2**20

_PREFIX = PREFIX.size
_FLAGS_AT = 3
_unpack_prefix = STARTED_PREFIX.unpack_from

# Makes a frame without a call of Python's, which the class would make: half the time.
_new = tuple.__new__


class FrameDecoder:
    """Cuts a byte stream into frames, independently of how the stream was split.

    Attributes:
        has_shared: Whether a shared frame may have been returned since the beginning.
        chunk_bytes: The number of bytes of the chunks that have begun, with their prefixes.
        error: The error found in the bytes, if any. ``feed`` raises it once no frame precedes it.
    """

    __slots__ = (
        "_chunk", "_chunk_left", "_chunk_start", "_chunked", "_direct", "_filled", "_first_room",
        "_has_chunks", "_head", "_header", "_is_inside", "_lengths", "_lost", "_make", "_need", "_room",
        "_segments", "_skip", "_start", "_target", "_version", "chunk_bytes", "error", "has_shared",
        "max_frame", "max_header", "max_segment", "max_segments",
    )  # fmt: skip

    def __init__(
        self,
        *,
        version: int = WIRE_VERSION,
        max_header: int = MAX_HEADER,
        max_segment: int = MAX_SEGMENT,
        max_segments: int = MAX_SEGMENTS,
        max_frame: int = MAX_FRAME,
        first_room: int = FIRST_ROOM,
        chunks: bool = True,
        room: memoryview | None = None,
    ) -> None:
        """Make a decoder that is positioned before the first byte of a frame.

        Args:
            version: The only wire version accepted.
            max_header: The longest header accepted, in bytes.
            max_segment: The longest segment accepted, in bytes.
            max_segments: The most segments accepted in one frame.
            max_frame: The most bytes of header and segments together.
            first_room: The most bytes of a segment that are allocated before any of them arrive.
            chunks: Whether frames may arrive in chunks.
            room: The buffer for small frames, of ``READ_SIZE`` bytes; made on first use without one. Nothing
                stays in it between two reads, so decoders that are read into in turn may share one.
        """
        self._version = version
        self._start = PREFIX.pack(MAGIC, version, 0, 0, 0)[:4]
        self.max_header = max_header
        self.max_segment = max_segment
        self.max_segments = max_segments
        self.max_frame = max_frame
        self._first_room = first_room
        self.error: ProtocolError | None = None
        self.has_shared = False
        self.chunk_bytes = 0
        self._chunk_start = PREFIX.pack(MAGIC, version, CHUNK_FLAG, 0, 0)[:4]
        self._has_chunks = chunks
        self._chunked: FrameDecoder | None = None  # made for the first chunk
        self._chunk = self._chunk_left = 0  # the length of the current chunk, and how much of it is missing
        self._room = room
        self._direct = False  # whether the last get_buffer() was of the open segment
        # There are five states: a segment is being filled (_target is set), a lost frame is being skipped
        # (_skip), a chunk is being filled (_chunk_left), a head is incomplete (_head is not empty), or the
        # next byte starts a frame or chunk (none of these).
        self._target: memoryview | None = None
        self._is_inside = False  # whether it is any but the last
        self._filled = 0
        self._skip = 0
        self._lost: LostFrame
        self._header = b""
        self._make: type[Frame] = Frame  # the class of the current frame
        self._lengths: tuple[int, ...] = ()
        self._segments: list[memoryview] = []  # of the current frame, the one being filled last
        self._head = bytearray()
        self._need = 0  # the length of _head at which parsing can continue

    def feed(self, data: Buffer) -> list[Frame]:
        """Process bytes and return the frames that they complete.

        Args:
            data: Any number of bytes; borrowed during the call only.

        Returns:
            Frames in order, possibly none. Headers are ``bytes``; segments are writable buffers that belong
            to the caller.

        Raises:
            ProtocolError: The bytes at the front are not a frame within the limits.
        """
        view = memoryview(flat(data))
        return self.received(len(view), view)

    def get_buffer(self, _: int = -1) -> memoryview:
        """Return where the next bytes of the stream are to be written, at least one and from the start on.

        It is the rest of the open segment, if much of it is missing. If the segment arrives in chunks, the
        buffer ends behind the prefix that follows the chunk, which is overwritten later: so one read brings
        both. Whatever else is written to the buffer is not looked at. The argument is asyncio's hint, which
        is ignored.
        """
        inner, stop = self, READ_SIZE
        if self._chunk_left and self._chunked is not None:
            inner, stop = self._chunked, self._chunk
        target = inner._target
        self._direct = target is not None and min(len(target) - inner._filled, stop) >= DIRECT_FROM
        if target is not None and self._direct:
            if inner is self:
                return target[self._filled :]
            return target[inner._filled : inner._filled + self._chunk_left + PREFIX.size]
        if self._room is None:
            self._room = np.empty(READ_SIZE, np.uint8).data
        return self._room

    def received(self, count: int, data: memoryview | None = None) -> list[Frame]:
        """Process ``count`` bytes of the last ``get_buffer``, or else of ``data``; see ``feed``."""
        if self.error is not None:
            raise self.error
        frames: list[Frame] = []
        try:
            if data is None:
                if self._direct:
                    self._take_direct(count, frames)
                    self._note_state()
                    return frames
                data = self._room
                assert data is not None  # get_buffer() has returned it
            at = 0
            while at < count:
                if not self._is_inside and (body := at + _PREFIX) <= count:
                    start, length, segments = _unpack_prefix(data, at)
                    stop = body + length
                    ours = start == self._start and not segments
                    if ours and stop <= count and length <= self.max_header:  # most frames
                        try:
                            frames.append(_new(Frame, (data[body:stop].tobytes(), ())))
                        except MemoryError:
                            frames.append(LostFrame.of(data[body:stop], length))
                        at = stop
                        continue
                at = self._take_part(data, at, count, frames)
                self._note_state()
        except ProtocolError as error:
            self.error = error
            if not frames:
                raise
        return frames

    def _take_part(self, data: memoryview, at: int, count: int, frames: list[Frame]) -> int:
        """Process the next bytes of data in the state that the decoder is in; return where they end."""
        if self._target is not None:
            return self._fill_segment(self._target, data, at, count, frames)
        if self._skip:
            return self._skip_some(at, count, frames)
        if self._chunk_left:
            return self._take_chunk(data, at, count, frames)
        if self._head:
            return self._extend_head(data, at, count, frames)
        return self._take_head(data, at, count, frames)

    def _note_state(self) -> None:
        self._is_inside = self._target is not None or bool(self._skip or self._chunk_left or self._head)

    def finish(self) -> None:
        """Check that the stream may end here, because no more bytes will arrive.

        Raises:
            ProtocolError: The stream ended inside a frame, or was bad before.
        """
        if self.error is None and self._target is not None:
            self.error = ProtocolError(
                f"truncated: the stream ended after {self._filled} of "
                f"{self._lengths[len(self._segments) - 1]} bytes of segment {len(self._segments)} of "
                f"{len(self._lengths)}"
            )
        elif self.error is None and self._skip:
            self.error = ProtocolError(f"truncated: the stream ended {self._skip} bytes before the end of a frame")
        elif self.error is None and self._chunk_left:
            self.error = ProtocolError(
                f"truncated: the stream ended {self._chunk_left} bytes before the end of a chunk"
            )
        elif self.error is None and self._head:
            self.error = ProtocolError(
                f"truncated: the stream ended after {len(self._head)} of at least {self._need} bytes of a frame's head"
            )
        elif self.error is None and self._chunked is not None:
            self._chunked.finish()
        if self.error is not None:
            raise self.error

    def _take_head(self, data: Buffer, at: int, end: int, frames: list[Frame]) -> int:
        """Parse a head of any kind directly from data, or keep an incomplete one."""
        need = PREFIX.size
        if end - at >= need:
            start, length, count = STARTED_PREFIX.unpack_from(data, at)
            if start == self._chunk_start and self._has_chunks:
                self._begin_chunk(length, count)
                return at + need
            make: type[Frame] = Frame
            if start != self._start or length > self.max_header or count > self.max_segments:
                self._parse_prefix(data, at)  # raises unless the frame is a shared one
                make = SharedFrame
                self.has_shared = True
            need += 8 * count + length
            stop: int = at + need
            if stop <= end:
                lengths = unpack_from(f"!{count}Q", data, at + PREFIX.size)
                self._begin_segments(make, memoryview(data)[stop - length : stop], lengths, frames)
                return stop
        self._need = need
        return self._extend_head(data, at, end, frames)

    def _extend_head(self, data: Buffer, at: int, end: int, frames: list[Frame]) -> int:
        """Complete a partial head from data, and process the head once it is whole."""
        stop = min(at + self._need - len(self._head), end)
        try:
            memory.extend(self._head, memoryview(data)[at:stop])
        except MemoryError:
            return self._lose_head(data, at, end, frames)
        if len(self._head) == self._need:
            head, self._head = self._head, bytearray()
            self._take_head(head, 0, len(head), frames)
        return stop

    def _lose_head(self, data: Buffer, at: int, end: int, frames: list[Frame]) -> int:
        """Keep of a head for which there is no memory what says how much follows, and begin to skip it.

        Raises:
            MemoryError: There is no memory for that part, either, which is small but for a frame of thousands
                of segments.
        """
        begin = length = 0
        kept = PREFIX.size
        if self._need > kept:  # the prefix was looked at
            if not self._head:
                self._head += memoryview(data)[at : at + kept]
                at += kept
            _, length, count = STARTED_PREFIX.unpack_from(self._head)
            begin = PREFIX.size + 8 * count
            kept = begin + min(length, KEPT_OF_LOST)
        stop = min(at + max(kept - len(self._head), 0), end)
        self._head += memoryview(data)[at:stop]
        if len(self._head) < kept:
            return stop
        head, self._head = self._head, bytearray()
        if not begin:
            self._take_head(head, 0, len(head), frames)
            return stop
        self._header, self._lengths = (bytes(head[begin:kept]), unpack_from(f"!{count}Q", head, PREFIX.size))
        self._make = SharedFrame if head[_FLAGS_AT] == SHARED_FLAG else Frame
        self.has_shared |= self._make is SharedFrame
        self._check_lengths(length, self._lengths)
        self._lose(length, begin + length - len(head), frames)
        return stop

    def _begin_chunk(self, length: int, count: int) -> None:
        """Check the numbers of a chunk, and expect its bytes next."""
        if not 0 < length <= MAX_CHUNK or count:
            raise ProtocolError(
                f"chunk of {length} bytes and {count} segments announced; a chunk has 1 to "
                f"{MAX_CHUNK} bytes and no segments"
            )
        if self._chunked is None:
            self._chunked = FrameDecoder(
                version=self._version,
                max_header=self.max_header,
                max_segment=self.max_segment,
                max_segments=self.max_segments,
                max_frame=self.max_frame,
                first_room=self._first_room,
                chunks=False,
            )
        self._chunk = self._chunk_left = length
        self.chunk_bytes += _PREFIX + length
        self.has_shared = True  # the second stream may have some

    def _take_chunk(self, data: Buffer, at: int, end: int, frames: list[Frame]) -> int:
        """Pass the bytes of a chunk in data to the decoder of the second stream, which copies them."""
        assert self._chunked is not None
        stop = min(at + self._chunk_left, end)
        self._chunk_left -= stop - at
        frames += self._chunked.received(stop - at, memoryview(data)[at:stop])
        if self._chunked.error is not None:
            raise self._chunked.error
        return stop

    def _parse_prefix(self, data: Buffer, at: int) -> Prefix:
        """Parse a prefix under the limits of this decoder."""
        return parse_prefix(
            data, at, version=self._version, max_header=self.max_header, max_segments=self.max_segments, shared=True
        )

    def _begin_segments(
        self, make: type[Frame], header: memoryview, lengths: tuple[int, ...], frames: list[Frame]
    ) -> None:
        """Check the length table before anything is allocated, and open the first segment."""
        self._check_lengths(len(header), lengths)
        self._make, self._lengths = make, lengths
        try:
            self._header = memory.copied(header)
        except MemoryError:
            self._header = bytes(header[:KEPT_OF_LOST])
            if len(self._header) < len(header):
                self._lose(len(header), 0, frames)
                return
        self._open_segment(frames)

    def _check_lengths(self, header: int, lengths: tuple[int, ...]) -> None:
        longest = max(lengths, default=0)
        if longest > self.max_segment:
            raise ProtocolError(f"a segment of {longest} bytes is announced; the limit is {self.max_segment}")
        total = header + sum(lengths)
        if total > self.max_frame:
            raise ProtocolError(f"a frame of {total} bytes is announced; the limit is {self.max_frame}")

    def _open_segment(self, frames: list[Frame]) -> None:
        """Allocate the next segment that is not empty; without one the frame is complete.

        Segments are allocated one after the other, and one above ``first_room`` in steps as its bytes
        arrive. So a peer has to send nearly all bytes that it makes this process hold, and a quarter of the
        address space, except for the first ``first_room`` bytes of it.
        """
        self._target = None
        for length in self._lengths[len(self._segments) :]:
            try:
                segment = memory.allocate(min(length, self._first_room))
            except MemoryError:
                self._lose(len(self._header), 0, frames)
                return
            self._segments.append(segment)
            if length:
                self._target, self._filled = segment, 0
                return
        frames.append(self._make(self._header, tuple(self._segments)))
        self._segments = []

    def _fill_segment(self, target: memoryview, data: Buffer, at: int, end: int, frames: list[Frame]) -> int:
        """Copy the bytes of the open segment from data."""
        take = min(len(target) - self._filled, end - at)
        target[self._filled : self._filled + take] = memoryview(data)[at : at + take]
        self._advance(target, take, frames)
        return at + take

    def _take_direct(self, count: int, frames: list[Frame]) -> None:
        """Process bytes that were written to the open segment, and those of a prefix behind its chunk."""
        inner = self._chunked if self._chunk_left else self
        assert inner is not None
        assert inner._target is not None  # get_buffer() has returned a part of it
        target, start, inside = inner._target, inner._filled, count
        if inner is not self:
            inside = min(count, self._chunk_left)
            self._chunk_left -= inside
        behind = bytes(target[start + inside : start + count])
        inner._advance(target, inside, frames)
        inner._note_state()
        if behind:
            self._take_head(behind, 0, len(behind), frames)

    def _advance(self, target: memoryview, count: int, frames: list[Frame]) -> None:
        """Count bytes that are now in the open segment; extend it or open the next one if it is full."""
        self._filled += count
        if self._filled == len(target):
            length = self._lengths[len(self._segments) - 1]
            if self._filled == length:
                self._open_segment(frames)
                return
            try:
                larger = memory.allocate(min(length, 4 * len(target)))
            except MemoryError:
                self._lose(len(self._header), 0, frames)
                return
            larger[: len(target)] = target
            self._target = self._segments[-1] = larger

    def _lose(self, header: int, missing: int, frames: list[Frame]) -> None:
        """Drop the current frame, for which there is no memory, and begin to skip what is missing of it.

        Args:
            header: The length of its header.
            missing: How many bytes of that have not arrived.
            frames: Gets what stands for the frame, once all of it has arrived.
        """
        arrived = sum(self._lengths[: len(self._segments)])
        if self._target is not None:  # the last one is not full
            arrived += self._filled - self._lengths[len(self._segments) - 1]
        total = sum(self._lengths)
        self._skip = missing + total - arrived
        self._lost = LostFrame.of(self._header, header + total, is_shared=self._make is SharedFrame)
        self._target, self._segments, self._header = None, [], b""
        if not self._skip:
            frames.append(self._lost)

    def _skip_some(self, at: int, end: int, frames: list[Frame]) -> int:
        """Skip bytes of a lost frame."""
        stop = min(at + self._skip, end)
        self._skip -= stop - at
        if not self._skip:
            frames.append(self._lost)
        return stop
