"""Frames and their encoding: one header and any number of segments.

``decoder`` cuts frames from a byte stream, and ``encode_frame`` makes the pieces that are written to one.
``inproc`` passes ``Frame`` objects and needs no bytes. The module does no input or output and imports only
``errors``.

A frame on the wire, integers in network order:

    magic 2 bytes | wire version u8 | flags u8 (0) | header length u32 | number of segments u32
    segment lengths, u64 each | header | segments

Large frames may be sent in chunks, between which small frames are sent, so that urgent frames do not wait
behind an array. A chunk has flags 1, its length in place of the header's, and 0 segments. The concatenated
bytes of all chunks form a second stream of frames like the first, without chunks in it. Flags 2 mark a
frame between the shared-memory lanes of both ends (``shm``), which is otherwise like any other.

Invariants. A large segment is never copied when it is sent. A frame that no receiver would accept is
refused by its sender. The wire version changes with the layout of frames and with what users put in them, so
that peers that would misread each other do not connect. Wire version 0 is reserved for handshake frames.
Their layout never changes, so that peers of any version can report to each other why they are incompatible.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack
from typing import NamedTuple, Self, TypeAlias

from transports.errors import ProtocolError

Buffer: TypeAlias = bytes | bytearray | memoryview

# The first byte is not ASCII, so that text protocols and TLS (0x16) are distinguished by one byte.
MAGIC = b"\xabF"
# Version 2: every step travels as frames, whose contents peers of version 1 do not know.
WIRE_VERSION = 2
HANDSHAKE_VERSION = 0
PREFIX = Struct("!2sBBII")
# The prefix again, with the part that is the same in all frames of a stream as one field: 60 % of the time.
STARTED_PREFIX = Struct("!4sII")

# A header holds a message without its arrays. The largest is a graph: 20,000 nodes of 200 bytes are 4 MB.
# The limit is sixteen times the largest seen, and small enough for any process to hold.
MAX_HEADER = 64 * 2**20
# The most arrays of one message: 65,536 need a table of half a MiB, and no step has so many feeds.
MAX_SEGMENTS = 2**16
# The size of one array. It is above 2 GiB because embedding tables are; a random 64-bit length exceeds it
# with probability 1 - 2^-31.
MAX_SEGMENT = 8 * 2**30
# The most bytes that one frame makes the receiver hold.
MAX_FRAME = 16 * 2**30

# The flags of a chunk. A chunk is as large as one read: smaller ones cost more calls, and larger ones delay
# urgent frames for longer. MAX_CHUNK is for peers that choose another size.
CHUNK_FLAG = 1
CHUNK_SIZE = 2**18
MAX_CHUNK = 2**20
SHARED_FLAG = 2

# What is kept of the header of a frame for which there is no memory: it begins with what the frame is about.
KEPT_OF_LOST = 4 * 2**10

# Smaller pieces are joined: copying 8 KiB takes under a microsecond, another system call takes several.
JOIN_BELOW = 8 * 2**10


class Frame(NamedTuple):
    """One unit of transfer: a header and the arrays that belong to it.

    Attributes:
        header: The message; ``bytes`` in decoded frames.
        segments: C-contiguous buffers beside the header. In decoded frames they are memoryviews of bytes:
            writable ones, whose memory belongs to the receiver, or read-only ones of memory that the
            sender has shared. A frame passed to ``Connection.write`` is borrowed until it is sent: its
            buffers must not change. Nor must those that lie in shared memory, as long as a peer reads them;
            a reference to them is kept meanwhile.
    """

    header: Buffer
    segments: tuple[Buffer, ...] = ()

    def __repr__(self) -> str:
        """Return sizes, not contents: a frame may hold gigabytes and secrets."""
        sizes = ", ".join(str(memoryview(segment).nbytes) for segment in self.segments)
        return f"Frame(header of {memoryview(self.header).nbytes} bytes, segments of [{sizes}] bytes)"


class SharedFrame(Frame):
    """A frame with flags 2, for the shared-memory lane."""

    __slots__ = ()


class LostFrame(Frame):
    """What stands for a frame that has arrived, and for which this process had no memory.

    Its header and its segments are empty, so that nobody takes it for another one.

    Attributes:
        start: The first ``KEPT_OF_LOST`` bytes of its header, or the whole of it.
        nbytes: The bytes of its header and its segments.
        is_shared: Whether it is one of the shared-memory lane.
    """

    start: bytes
    nbytes: int
    is_shared: bool

    @classmethod
    def of(cls, start: Buffer, nbytes: int, *, is_shared: bool = False) -> Self:
        """Return the frame that stands for a lost one."""
        lost = cls(b"")
        lost.start, lost.nbytes, lost.is_shared = bytes(start[:KEPT_OF_LOST]), nbytes, is_shared
        return lost


class Prefix(NamedTuple):
    """The checked numbers at the start of a frame."""

    header_length: int
    segment_count: int


def flat(buffer: Buffer) -> Buffer:
    """Return a buffer whose len() counts its bytes, without copying.

    Args:
        buffer: Bytes of any item size and shape.

    Returns:
        The buffer itself, or a view of it.

    Raises:
        ValueError: The buffer is not C-contiguous.
    """
    if not isinstance(buffer, memoryview):
        return buffer
    if not buffer.c_contiguous:
        raise ValueError(f"a buffer of shape {buffer.shape} is not C-contiguous; send a contiguous copy of it")
    if buffer.ndim == 1 and buffer.format == "B":
        return buffer
    return buffer.cast("B") if buffer.nbytes else b""  # cast refuses shapes with a zero


def measure_frame(frame: Frame) -> int:
    """Return how many bytes a frame takes on the wire, after checking that it may be sent.

    Args:
        frame: Any frame.

    Returns:
        The size in bytes of prefix, lengths, header and segments together.

    Raises:
        ValueError: The frame exceeds the limits of the receiver, or a buffer is not C-contiguous.
    """
    header = len(flat(frame.header))
    segments = [len(flat(segment)) for segment in frame.segments]
    _check_limits(header, segments)
    return PREFIX.size + header + 8 * len(segments) + sum(segments)


def encode_frame(frame: Frame, version: int = WIRE_VERSION, flags: int = 0) -> list[Buffer]:
    """Return the bytes of a frame as pieces to be written in order.

    Args:
        frame: The frame; its buffers are borrowed by the result.
        version: The wire version that both sides agreed upon.
        flags: ``SHARED_FLAG`` for a frame of the shared-memory lane.

    Returns:
        Pieces of one byte per item. Small neighbours are joined, a large piece never is, and there are no
        empty pieces.

    Raises:
        ValueError: The frame exceeds the limits of the receiver, or a buffer is not C-contiguous.
    """
    header = flat(frame.header)
    segments = [flat(segment) for segment in frame.segments]
    _check_limits(len(header), [len(segment) for segment in segments])
    prefix = PREFIX.pack(MAGIC, version, flags, len(header), len(segments))
    lengths = pack(f"!{len(segments)}Q", *map(len, segments))
    return _join_small([prefix, lengths, header, *segments])


def encode_chunk_prefix(length: int, version: int = WIRE_VERSION) -> bytes:
    """Return the prefix of a chunk.

    Args:
        length: How many bytes of the second stream follow, up to ``MAX_CHUNK``.
        version: The wire version that both sides agreed upon.
    """
    return PREFIX.pack(MAGIC, version, CHUNK_FLAG, length, 0)


def parse_prefix(
    data: Buffer,
    at: int = 0,
    *,
    version: int = WIRE_VERSION,
    max_header: int = MAX_HEADER,
    max_segments: int = MAX_SEGMENTS,
    shared: bool = False,
) -> Prefix:
    """Parse and check the twelve bytes at the start of a frame.

    Args:
        data: At least ``PREFIX.size`` bytes from ``at``.
        at: Where the frame starts.
        version: The only wire version accepted.
        max_header: The longest header accepted, in bytes.
        max_segments: The most segments accepted.
        shared: Whether a frame of the shared-memory lane is accepted.

    Returns:
        The length of the header in bytes and the number of segments.

    Raises:
        ProtocolError: Wrong magic, version or flags, or a number over its limit.
    """
    magic, wire_version, flags, header_length, segment_count = PREFIX.unpack_from(data, at)
    if magic != MAGIC:
        start = bytes(data[at : at + PREFIX.size])
        raise ProtocolError(f"received {start!r} where a frame must begin with {MAGIC!r}")
    if wire_version != version or (flags and not (shared and flags == SHARED_FLAG)):
        raise ProtocolError(
            f"received a frame of wire version {wire_version} with flags {flags}; the peers "
            f"agreed on version {version} and flags 0"
        )
    if header_length > max_header:
        raise ProtocolError(f"a header of {header_length} bytes is announced; the limit is {max_header}")
    if segment_count > max_segments:
        raise ProtocolError(f"{segment_count} segments are announced; the limit is {max_segments}")
    return Prefix(header_length, segment_count)


def _check_limits(header: int, segments: Sequence[int]) -> None:
    """Refuse a frame that every receiver would refuse, so that the error is raised at its sender.

    Raises:
        ValueError: A number is over its limit.
    """
    total = header + sum(segments)
    if total <= min(MAX_HEADER, MAX_SEGMENT, MAX_FRAME) and len(segments) <= MAX_SEGMENTS:
        return  # nearly always
    for what, size, limit in (
        ("header bytes", header, MAX_HEADER),
        ("segments", len(segments), MAX_SEGMENTS),
        ("bytes in one segment", max(segments, default=0), MAX_SEGMENT),
        ("bytes altogether", total, MAX_FRAME),
    ):
        if size > limit:
            raise ValueError(f"a frame of {size} {what} cannot be sent; the limit is {limit}")


def _join_small(pieces: Sequence[Buffer]) -> list[Buffer]:
    """Join neighbouring small pieces, keep large pieces as they are, and drop empty ones."""
    joined: list[Buffer] = []
    run: list[Buffer] = []
    size = 0
    for piece in pieces:
        if size + len(piece) >= JOIN_BELOW and run:
            joined.append(b"".join(run))
            run, size = [], 0
        if len(piece) >= JOIN_BELOW:
            joined.append(piece)
        elif piece:
            run.append(piece)
            size += len(piece)
    if run:
        joined.append(b"".join(run))
    return joined
