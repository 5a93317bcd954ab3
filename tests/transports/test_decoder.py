"""The decoder: any chopping of the same bytes gives the same frames and the same error."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.allocation_failures import Shortage
from tests.rows import for_each
from transports import Frame, FrameDecoder, LostFrame, ProtocolError, encode_frame
from transports.decoder import DIRECT_FROM, FIRST_ROOM, READ_SIZE
from transports.frame import (
    CHUNK_FLAG,
    KEPT_OF_LOST,
    MAGIC,
    MAX_CHUNK,
    PREFIX,
    SHARED_FLAG,
    WIRE_VERSION,
    SharedFrame,
    encode_chunk_prefix,
)

frames = st.lists(
    st.builds(Frame, st.binary(max_size=40), st.lists(st.binary(max_size=60), max_size=4).map(tuple)), max_size=5
)


def wire(*several: Frame) -> bytes:
    return b"".join(bytes(piece) for frame in several for piece in encode_frame(frame))


def feed_chopped(decoder: FrameDecoder, data: bytes, cuts: list[int], found: list[Frame] | None = None) -> list[Frame]:
    """Feed data in pieces that end at the cuts, and return all frames."""
    found = [] if found is None else found
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in pairwise(edges):
        found += decoder.feed(data[begin:end])
    return found


@given(sent=frames, cuts=st.lists(st.integers(0, 800), max_size=12))
@example(sent=[Frame(b"", (b"", b""))], cuts=[])
def test_frames_chopped_anywhere_decode_to_themselves(sent: list[Frame], cuts: list[int]) -> None:
    decoder = FrameDecoder()
    assert feed_chopped(decoder, wire(*sent), cuts) == sent
    decoder.finish()


@given(sent=frames)
def test_frames_that_come_byte_by_byte_decode_to_themselves(sent: list[Frame]) -> None:
    data = wire(*sent)
    assert feed_chopped(FrameDecoder(), data, list(range(len(data)))) == sent


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_bytes_may_come_in_any_buffer(kind: type) -> None:
    sent = [Frame(b"head", (b"segment",)), Frame(b"x")]
    assert FrameDecoder().feed(kind(wire(*sent))) == sent


def test_headers_are_bytes_and_segments_writable_buffers_of_their_own() -> None:
    chunk = bytearray(wire(Frame(b"head", (b"one", b"", b"three"))))
    (frame,) = FrameDecoder().feed(chunk)
    chunk[:] = bytes(len(chunk))
    assert type(frame.header) is bytes
    assert frame == Frame(b"head", (b"one", b"", b"three"))
    for segment in frame.segments:
        assert isinstance(segment, memoryview)
        segment[:] = bytes(len(segment))
    assert [len(segment) for segment in frame.segments] == [3, 0, 5]


def test_a_large_segment_fills_a_buffer_that_is_allocated_once() -> None:
    data = wire(Frame(b"head", (bytes(range(256)) * 4096,)))
    decoder = FrameDecoder()
    decoder.feed(data[:1000])
    (filling,) = decoder._segments
    assert len(filling) == 2**20
    assert decoder.feed(data[1000:-1]) == []
    (frame,) = decoder.feed(data[-1:])
    assert frame.segments[0] is filling
    assert filling == bytes(range(256)) * 4096


# -- bytes that are written where the decoder says -------------------------------------------------
def read_into(decoder: FrameDecoder, data: bytes, most: int = READ_SIZE) -> list[Frame]:
    """Write data to the decoder's buffers as a kernel does, at most so much at a time; return all frames."""
    found: list[Frame] = []
    at = 0
    while at < len(data):
        buffer = decoder.get_buffer()
        count = min(len(buffer), len(data) - at, most)
        assert count > 0
        buffer[:count] = data[at : at + count]
        found += decoder.received(count)
        at += count
    return found


@given(
    lengths=st.lists(st.integers(0, 3 * DIRECT_FROM), max_size=3),
    size=st.sampled_from([0, 100, DIRECT_FROM - 1, DIRECT_FROM, 2 * DIRECT_FROM]),
    most=st.sampled_from([7, 1000, DIRECT_FROM, READ_SIZE]),
)
def test_it_makes_no_difference_whether_bytes_are_written_or_passed(lengths: list[int], size: int, most: int) -> None:
    """Segments around the size from which they are read directly, in chunks of all sizes and without."""
    sent = Frame(b"head", tuple(random.Random(n).randbytes(n) for n in lengths))
    small = Frame(b"small")
    stream = b"".join(piece + wire(small) for piece in (chunked(wire(sent), size) if size else [wire(sent)]))
    passed, written = FrameDecoder(), FrameDecoder()
    expected = feed_chopped(passed, stream, [])
    assert read_into(written, stream, most) == expected
    assert sent in expected
    written.finish()


def test_decoders_that_are_read_into_in_turn_share_a_buffer_for_small_frames() -> None:
    """Nothing of a frame stays in it: each read of one decoder overwrites what the other one read."""
    sent = [[Frame(b"%d" % k * n, (b"segment" * n,)) for n in range(1, 40)] for k in range(2)]
    streams = [b"".join(map(wire, frames)) for frames in sent]
    room = memoryview(bytearray(READ_SIZE))
    decoders = [FrameDecoder(room=room) for _ in streams]
    found: list[list[Frame]] = [[], []]
    for at in range(0, max(map(len, streams)), 11):
        for decoder, stream, frames in zip(decoders, streams, found, strict=True):
            piece = stream[at : at + 11]
            decoder.get_buffer()[: len(piece)] = piece
            frames += decoder.received(len(piece))
    assert found == sent
    assert all(decoder.get_buffer() is room for decoder in decoders)


@pytest.mark.parametrize("size", [0, 2 * DIRECT_FROM])
def test_a_large_segment_is_read_into_its_own_memory_and_the_next_prefix_with_it(size: int) -> None:
    content = random.Random(1).randbytes(6 * DIRECT_FROM)
    whole = wire(Frame(b"head", (content,)))
    stream = b"".join(chunked(whole, size)) if size else whole
    decoder = FrameDecoder()
    at = 100
    assert decoder.feed(stream[:at]) == []
    inner = decoder._chunked if size else decoder
    assert inner is not None
    (segment,) = inner._segments
    direct: list[bool] = []
    found: list[Frame] = []
    while at < len(stream):
        buffer = decoder.get_buffer()
        direct.append(buffer.obj is segment.obj)
        count = min(len(buffer), len(stream) - at)
        buffer[:count] = stream[at : at + count]
        found += decoder.received(count)
        at += count
    assert [frame.segments for frame in found] == [(content,)]
    # One read, or one for each chunk; the last chunk has so little that others may come with it.
    assert direct == ([True, True, True, False] if size else [True])


def test_small_frames_share_a_read() -> None:
    sent = [Frame(b"%d" % number, (bytes(number),)) for number in range(100)]
    data = wire(*sent)
    assert len(data) < READ_SIZE
    decoder = FrameDecoder()
    decoder.get_buffer()[: len(data)] = data
    assert decoder.received(len(data)) == sent


@pytest.mark.parametrize("size", [0, DIRECT_FROM])
def test_an_error_behind_a_segment_that_was_read_directly_is_found(size: int) -> None:
    frame = Frame(b"head", (bytes(3 * DIRECT_FROM),))
    stream = b"".join(chunked(wire(frame), size)) if size else wire(frame)
    decoder = FrameDecoder()
    assert read_into(decoder, stream) == [frame]
    with pytest.raises(ProtocolError, match="must begin with"):
        read_into(decoder, b"no frame ...")
    with pytest.raises(ProtocolError):
        decoder.received(1)


good = wire(Frame(b"good", (b"one",)))
bad_starts = {
    "bad magic": b"\xab\xab" + bytes(10),
    "another version": PREFIX.pack(MAGIC, WIRE_VERSION + 1, 0, 0, 0),
    "unknown flags": PREFIX.pack(MAGIC, WIRE_VERSION, 1, 0, 0),
    "header too long": PREFIX.pack(MAGIC, WIRE_VERSION, 0, 33, 0),
    "too many segments": PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 5),
    "segment too long": PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (65).to_bytes(8),
    "frame too long": PREFIX.pack(MAGIC, WIRE_VERSION, 0, 1, 2) + (50).to_bytes(8) * 2 + b"h",
    "segment that no memory holds": PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + b"\xff" * 8,
}


def limited() -> FrameDecoder:
    return FrameDecoder(max_header=32, max_segment=64, max_segments=4, max_frame=100)


@for_each("bad", bad_starts.values(), ids=list(bad_starts))
@for_each("step", [1, 3, 1000])
def test_frames_before_a_bad_byte_are_delivered_and_then_the_error(bad: bytes, step: int) -> None:
    decoder = limited()
    data = good + good + bad + good
    found: list[Frame] = []
    cuts = [*range(0, len(data), step), len(data)]
    with pytest.raises(ProtocolError):
        feed_chopped(decoder, data + good, cuts, found)
    assert found == [Frame(b"good", (b"one",))] * 2
    assert decoder.error is not None
    with pytest.raises(ProtocolError):
        decoder.feed(good)
    with pytest.raises(ProtocolError):
        decoder.finish()


def test_the_limits_themselves_are_within_the_limits() -> None:
    largest = Frame(bytes(32), (bytes(64), b"", bytes(4), b""))
    assert limited().feed(wire(largest)) == [largest]


def test_a_length_over_the_limit_allocates_nothing() -> None:
    decoder = FrameDecoder()
    with pytest.raises(ProtocolError, match=r"segment of .* bytes is announced; the limit is"):
        decoder.feed(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (2**63).to_bytes(8))
    assert decoder._segments == []


def test_a_length_alone_makes_nobody_hold_as_much() -> None:
    """Neither address space, above the first room, nor any memory before bytes have come. What is resident is what the
    kernel gave: pages that nobody has written show in no statistic of Python's. The limit is an eighth of the room, so
    that what else grows meanwhile does not count."""
    before = resident_bytes()
    decoder = FrameDecoder()
    assert decoder.feed(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (2**33).to_bytes(8)) == []
    assert [len(s) for s in decoder._segments] == [FIRST_ROOM]
    assert resident_bytes() - before < FIRST_ROOM / 8


def resident_bytes() -> int:
    """How much memory this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_segment_grows_when_the_room_before_is_full() -> None:
    decoder = FrameDecoder(first_room=2**20)
    assert decoder.feed(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (2**33).to_bytes(8)) == []
    decoder.feed(bytes(2**20 - 1))
    assert [len(s) for s in decoder._segments] == [2**20]
    decoder.feed(bytes(1))
    assert [len(s) for s in decoder._segments] == [4 * 2**20]


@pytest.mark.parametrize("reads", [True, False], ids=["written", "passed"])
@pytest.mark.parametrize("more", [-1, 0, 1, 2**20, 2**23])
def test_a_segment_that_outgrows_its_first_room_is_whole(more: int, reads: bool) -> None:
    sent = Frame(b"head", (random.Random(more).randbytes(2**20 + more), b"tail"))
    data = b"".join(bytes(piece) for piece in encode_frame(sent))
    decoder = FrameDecoder(first_room=2**20)
    if reads:
        found = read_into(decoder, data)
    else:
        found = feed_chopped(decoder, data, list(range(0, len(data), 2**18 - 7)))
    assert found == [sent]
    assert len(found[0].segments[0]) == 2**20 + more


# -- frames for which there is no memory -----------------------------------------------------------
_BYTES = random.Random(0).randbytes(READ_SIZE + 9_000)
FRAMES_WITHOUT_MEMORY = {
    "a segment": Frame(b"about", (_BYTES[:40],)),
    "segments that grow": Frame(b"about", (_BYTES, b"five ", _BYTES[: 2**17], b"")),
    "a long header": Frame(_BYTES, (_BYTES[:70_000],)),
    "a header alone": Frame(_BYTES[:30_000]),
    "a header alone that is long": Frame(_BYTES),
    "empty segments": Frame(b"about", (b"", _BYTES[:99], b"", b"", _BYTES[:70_000], b"")),
    "many segments": Frame(_BYTES[:9], tuple(_BYTES[k : k + 20] for k in range(12))),
}


@for_each("flags", [0, SHARED_FLAG], ids=["sent", "shared"])
@for_each("size", [0, 50_021], ids=["whole", "in chunks"])
@for_each("most", [READ_SIZE, 20_011])
@for_each("name", FRAMES_WITHOUT_MEMORY)
def test_whichever_allocation_fails_one_frame_alone_is_lost(name: str, most: int, size: int, flags: int) -> None:
    lost, kind = FRAMES_WITHOUT_MEMORY[name], SharedFrame if flags else Frame
    around = [Frame(b"before"), Frame(b"after" * 99, (b"and its segment",))]
    middle = b"".join(map(bytes, encode_frame(lost, flags=flags)))
    pieces = chunked(middle, size) if size else [middle]
    stream = b"".join([wire(around[0]), *pieces, wire(around[1])])
    nth = failed = 1
    losses: list[int] = []
    while failed:
        with pytest.MonkeyPatch.context() as patched:
            shortage = Shortage(patched, nth)
            decoder = FrameDecoder(first_room=2**16)
            found = read_into(decoder, stream, most)
        decoder.finish()
        failed, nth = shortage.failed, nth + 1
        # A head that has begun to arrive is completed if the next attempt does not fail.
        losses.append([type(frame) for frame in found].count(LostFrame))
        assert losses[-1] <= failed
        for frame, whole in zip(found, [around[0], lost, around[1]], strict=True):
            if isinstance(frame, LostFrame):
                assert frame.start == whole.header[:KEPT_OF_LOST]
                assert frame.nbytes == len(whole.header) + sum(map(len, whole.segments))
                assert frame.is_shared == (whole is lost and kind is SharedFrame)
                assert frame == Frame(b"")
            else:
                assert frame == whole
                assert type(frame) is (kind if whole is lost else Frame)
        assert decoder.has_shared == bool(size or flags)
    assert any(losses)


def test_an_announced_length_that_memory_does_not_hold_is_skipped() -> None:
    decoder = FrameDecoder(max_segment=2**64, max_frame=2**64, first_room=2**62)
    decoder.feed(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (2**62).to_bytes(8))
    assert decoder.feed(bytes(READ_SIZE)) == []
    with pytest.raises(ProtocolError, match=rf"{2**62 - READ_SIZE} bytes before the end of a frame"):
        decoder.finish()


def test_what_had_arrived_of_a_frame_without_memory_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, data = FrameDecoder(first_room=2**16), wire(Frame(b"about", (_BYTES, _BYTES)))
    shortage = Shortage(monkeypatch, above=2**17)
    assert read_into(decoder, data[:-1]) == []
    assert shortage.failed == 1
    assert decoder._segments == []
    assert decoder._target is None
    assert not decoder._head
    (lost,) = read_into(decoder, data[-1:])
    assert isinstance(lost, LostFrame)


@given(sent=frames.filter(bool), data=st.data())
def test_a_stream_that_ends_inside_a_frame_is_truncated(sent: list[Frame], data: st.DataObject) -> None:
    whole = wire(*sent)
    last = len(wire(sent[-1]))
    cut = data.draw(st.integers(len(whole) - last + 1, len(whole) - 1))
    decoder = FrameDecoder()
    found = feed_chopped(decoder, whole[:cut], [])
    assert found == sent[:-1]
    with pytest.raises(ProtocolError, match=r"truncated: the stream ended after"):
        decoder.finish()


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_arbitrary_bytes_give_frames_or_a_protocol_error_and_nothing_else(chunks: list[bytes]) -> None:
    decoder = limited()
    data = b"".join(chunks)
    try:
        found = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    except ProtocolError:
        assert decoder.error is not None
    else:
        assert wire(*found) == data[: len(wire(*found))]


# -- frames in chunks ------------------------------------------------------------------------------
def chunked(data: bytes, size: int) -> list[bytes]:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [encode_chunk_prefix(len(piece)) + piece for piece in pieces]


@given(large=frames, small=frames, size=st.integers(1, 90), cuts=st.lists(st.integers(0, 900), max_size=12))
def test_frames_in_chunks_decode_to_themselves_and_others_pass_them(
    large: list[Frame], small: list[Frame], size: int, cuts: list[int]
) -> None:
    """Each small frame stands behind one chunk, so all are there before the last chunk is."""
    data = b""
    small = [Frame(b"small" + frame.header, frame.segments) for frame in small]
    large = [Frame(b"large" + frame.header, frame.segments) for frame in large]
    waiting = list(small)
    for chunk in chunked(wire(*large), size):
        data += chunk + (wire(waiting.pop(0)) if waiting else b"")
    data += wire(*waiting)
    decoder = FrameDecoder()
    found = feed_chopped(decoder, data, cuts)
    decoder.finish()
    assert [frame for frame in found if frame in small] == small
    assert [frame for frame in found if frame in large] == large
    assert len(found) == len(small) + len(large)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_frames_of_the_shared_memory_lane_are_told_from_others_however_they_come(step: int) -> None:
    word, data = Frame(b"word"), Frame(b"data", (b"", bytes(50)))
    stream = b"".join(encode_frame(word, flags=SHARED_FLAG)) + wire(word)
    stream += b"".join(chunked(b"".join(encode_frame(data, flags=SHARED_FLAG)) + wire(data), 30))
    found: list[Frame] = []
    feed_chopped(FrameDecoder(), stream, [*range(0, len(stream), step), len(stream)], found)
    assert [type(frame) for frame in found] == [SharedFrame, Frame, SharedFrame, Frame]
    assert [(frame.header, frame.segments) for frame in found] == [
        (frame.header, frame.segments) for frame in (word, word, data, data)
    ]


def test_a_small_frame_between_two_chunks_comes_before_the_frame_that_they_make() -> None:
    large, small = Frame(b"large", (bytes(100),)), Frame(b"small")
    first, second = chunked(wire(large), 80)
    assert FrameDecoder().feed(first + wire(small) + second) == [small, large]


@pytest.mark.parametrize(
    "bad",
    [
        encode_chunk_prefix(0),
        encode_chunk_prefix(MAX_CHUNK + 1),
        PREFIX.pack(MAGIC, WIRE_VERSION, CHUNK_FLAG, 8, 1),
        PREFIX.pack(MAGIC, WIRE_VERSION, CHUNK_FLAG | SHARED_FLAG, 8, 0),
        encode_chunk_prefix(12) + encode_chunk_prefix(5),  # a chunk inside a chunk
        encode_chunk_prefix(12) + b"no frame ...",
        encode_chunk_prefix(20) + PREFIX.pack(MAGIC, WIRE_VERSION, 0, 0, 1) + (65).to_bytes(8),
    ],
    ids=["empty", "too long", "segments", "flags", "nested", "no frame", "over the limits"],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_chunks_that_break_the_rules_are_an_error(bad: bytes, step: int) -> None:
    decoder = limited()
    found: list[Frame] = []
    # Frames before a bad byte are handed out first: the error may come with the next bytes, or none.
    cuts = [*range(0, 200, step), 10_000]
    with pytest.raises(ProtocolError):
        feed_chopped(decoder, good + bad + good, cuts, found)
    with pytest.raises(ProtocolError):
        decoder.feed(good)
    assert found == [Frame(b"good", (b"one",))]


@pytest.mark.parametrize("left", [1, 30])
def test_a_stream_that_ends_inside_a_chunk_or_between_two_is_truncated(left: int) -> None:
    chunks = b"".join(chunked(wire(Frame(b"large", (bytes(60),))), 30))
    decoder = FrameDecoder()
    assert decoder.feed(chunks[:-left]) == []
    with pytest.raises(ProtocolError, match="truncated"):
        decoder.finish()
