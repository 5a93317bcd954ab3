"""Frames and the pieces that they are written as."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from transports import Frame, ProtocolError, encode_frame
from transports.frame import (
    HANDSHAKE_VERSION,
    JOIN_BELOW,
    MAGIC,
    MAX_HEADER,
    MAX_SEGMENTS,
    PREFIX,
    WIRE_VERSION,
    flat,
    measure_frame,
    parse_prefix,
)


def test_the_layout_is_prefix_lengths_header_segments() -> None:
    (piece,) = encode_frame(Frame(b"head", (b"one", b"", b"three")))
    assert piece == (
        b"\xabF\x02\x00" + struct.pack("!II", 4, 3) + struct.pack("!3Q", 3, 0, 5) + b"head" + b"one" + b"three"
    )


def test_a_small_frame_is_one_piece_and_none_is_empty() -> None:
    assert [bytes(piece) for piece in encode_frame(Frame(b""))] == [PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 0)]
    assert len(encode_frame(Frame(b"x" * 100, (b"y" * 100,) * 10))) == 1
    assert all(encode_frame(Frame(b"x" * JOIN_BELOW, (b"", b""))))


def test_a_large_segment_is_passed_on_and_not_copied() -> None:
    large = np.zeros(JOIN_BELOW, np.float64)
    pieces = encode_frame(Frame(b"head", (memoryview(b"small"), large.data, b"tail")))
    assert len(pieces) == 3
    assert np.shares_memory(np.frombuffer(pieces[1], np.uint8), large)
    assert bytes(pieces[0]).endswith(b"headsmall")
    assert pieces[2] == b"tail"


def test_a_large_header_is_not_copied_either() -> None:
    header = bytes(JOIN_BELOW)
    assert any(piece is header for piece in encode_frame(Frame(header)))


def test_many_small_segments_become_few_pieces() -> None:
    pieces = encode_frame(Frame(b"", (bytes(1000),) * 100))
    assert sum(len(piece) for piece in pieces) == measure_frame(Frame(b"", (bytes(1000),) * 100))
    assert all(len(piece) < JOIN_BELOW for piece in pieces)
    assert len(pieces) <= 2 * 100_000 // JOIN_BELOW


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array(1.5),
        np.zeros((0, 3)),
        np.zeros((3, 0, 2), np.int8),
        np.arange(5, dtype=np.int8),
    ],
    ids=["matrix", "scalar", "no rows", "no columns", "bytes"],
)
def test_a_view_of_any_shape_counts_in_bytes(array: np.ndarray) -> None:
    frame = Frame(array.data, (array.data,))
    assert len(flat(array.data)) == array.nbytes
    assert measure_frame(frame) == PREFIX.size + 8 + 2 * array.nbytes
    wire = b"".join(encode_frame(frame))
    assert wire.endswith(array.tobytes() * 2)
    assert len(wire) == measure_frame(frame)


def test_a_view_with_gaps_is_refused_where_the_frame_is_written() -> None:
    gaps = np.arange(10)[::2].data
    with pytest.raises(ValueError, match=r"not C-contiguous"):
        encode_frame(Frame(b"", (gaps,)))


def test_a_frame_that_every_receiver_would_refuse_is_refused_by_the_sender() -> None:
    with pytest.raises(ValueError, match=r"header bytes cannot be sent; the limit is"):
        encode_frame(Frame(_zeros(MAX_HEADER + 1)))
    with pytest.raises(ValueError, match=r"segments cannot be sent; the limit is"):
        measure_frame(Frame(b"", (b"",) * (MAX_SEGMENTS + 1)))


def test_a_frame_shows_sizes_and_not_contents() -> None:
    assert repr(Frame(b"secret", (b"tok", bytes(10)))) == ("Frame(header of 6 bytes, segments of [3, 10] bytes)")


def test_frames_are_equal_when_their_bytes_are() -> None:
    ours = Frame(b"h", (b"xyz", memoryview(b"abc")))
    theirs = Frame(bytearray(b"h"), (bytearray(b"xyz"), b"abc"))
    assert ours == theirs
    assert ours != Frame(b"h", (b"xyz",))


@pytest.mark.parametrize(
    ("prefix", "complaint"),
    [
        (b"GET / HTTP/1.1\r\n", "received b'GET / HTTP/1' where a frame must begin with"),
        (PREFIX.pack(MAGIC, 9, 0, 0, 0), f"wire version 9 with flags 0; the peers agreed on version {WIRE_VERSION}"),
        (PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, 0, 0), "wire version 0"),
        (PREFIX.pack(MAGIC, WIRE_VERSION, 4, 0, 0), "with flags 4"),
        (PREFIX.pack(MAGIC, WIRE_VERSION, 0, 11, 0), "header of 11 bytes is announced; the limit is 10"),
        (PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 3), "3 segments are announced; the limit is 2"),
    ],
)
def test_a_bad_prefix_is_refused_with_what_was_found(prefix: bytes, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=r"^") as caught:
        parse_prefix(prefix, max_header=10, max_segments=2)
    assert complaint in str(caught.value)


def test_a_prefix_within_the_limits_parses() -> None:
    data = b"before" + PREFIX.pack(MAGIC, WIRE_VERSION, 0, 10, 2)
    assert parse_prefix(data, 6, max_header=10, max_segments=2) == (10, 2)


def _zeros(size: int) -> memoryview:
    """Return many bytes that take no memory until somebody reads them."""
    return np.zeros(size, np.uint8).data
