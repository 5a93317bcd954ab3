from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any
from unittest import mock

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.errors import InvalidArgumentError, NotFoundError, ProtocolError, error_to_wire
from actorsession.graph.codec import INLINE_LIMIT, pack
from actorsession.messages import Beat, encode, step_frames
from actorsession.messages.step_frames import (
    CANCEL,
    DONE,
    FAIL,
    PARTIAL_RUN,
    PUSH,
    RECEIVED,
    REFUSED,
    RUN_GRAPH,
    RUN_STEP,
    TRACED_PUSH,
    CallRequest,
    GraphRequest,
    StepRequest,
    WireValues,
    extra_from_wire,
    extra_to_wire,
    is_step_frame,
    read_ahead,
    read_error,
    read_header,
    write_header,
)
from tests.messages.strategies import envelopes, same, tensors
from tests.rows import for_each

FLOAT32, FLOAT64 = 1, 2  # TensorFlow's numbers


def form_of(number: int, *sizes: int) -> bytes:
    return bytes([number]) + np.array(sizes, "<u8").tobytes()


def arrived(values: WireValues) -> WireValues:
    """Values through bytes, with segments in writable buffers, as a transport delivers them."""
    wire = read_header(write_header([RUN_STEP, 1, 2, None, None, *values.items]))
    return WireValues.received(wire[5:], [bytearray(segment) for segment in values.segments])


def as_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


@given(st.lists(tensors, max_size=4))
def test_values_arrive_as_they_were_sent(sent: list[Any]) -> None:
    got = arrived(WireValues.of(sent)).read_all()
    assert len(got) == len(sent)
    assert all(same(value, as_array(found)) for value, found in zip(sent, got, strict=True))


@given(st.lists(tensors, min_size=1, max_size=3), st.lists(tensors, max_size=3))
def test_values_may_be_passed_on_as_they_came(first: list[Any], second: list[Any]) -> None:
    """A master passes the values of a task on behind its own, in the same frame."""
    out = WireValues.of(second)
    received = arrived(WireValues.of(first))
    for number in reversed(range(len(first))):
        received.pass_on(number, out)
    got = arrived(out).read_all()
    sent = [*second, *reversed(first)]
    assert all(same(v, as_array(g)) for v, g in zip(sent, got, strict=True))


@for_each("kind", [np.float32, np.float64, np.int8, np.uint64, np.bool_, np.complex64])
def test_a_tensor_of_rank_0_is_a_scalar_as_in_a_step_of_one_process(kind: Any) -> None:
    for sent in (kind(1), np.array(kind(1))):
        (got,) = arrived(WireValues.of([sent])).read_all()
        assert type(got) is kind
        assert got == sent


def test_the_bits_of_a_scalar_stay() -> None:
    """Those of a signalling NaN would not, as a number of Python's."""
    sent = np.array([0x7F800001], np.uint32).view(np.float32)[0]
    (got,) = arrived(WireValues.of([sent])).read_all()
    assert got.tobytes() == sent.tobytes()


@for_each("array", [np.arange(3.0), np.zeros(INLINE_LIMIT, np.int8), np.zeros(INLINE_LIMIT + 1, np.int8)])
def test_what_arrives_is_writable_and_the_receivers_own(array: np.ndarray) -> None:
    values = arrived(WireValues.of([array]))
    (got,) = values.read_all()
    assert got.flags.writeable
    assert bool(values.segments) == (array.nbytes > INLINE_LIMIT)


def test_an_array_in_a_segment_keeps_the_segment_itself() -> None:
    """A transport knows that a place in shared memory is free when the array that it lent has ended."""
    lent = np.zeros(16, np.uint8)[4:12]
    ended = weakref.ref(lent)
    values = WireValues.received([form_of(FLOAT32, 2), 0], [lent.data])
    (got,) = values.read_all()
    del lent, values
    assert ended() is not None
    assert got.tolist() == [0.0, 0.0]
    del got
    assert ended() is None


@for_each(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(4, dtype=">i4"),
        np.zeros((3, 0, 2), np.float64),
        np.array(["text", b"bytes"], object),
        np.float16(2.5),
    ],
)
def test_arrays_of_any_layout_arrive_with_their_values(array: Any) -> None:
    (got,) = arrived(WireValues.of([array])).read_all()
    expected = np.asarray(array)
    assert got.shape == expected.shape
    if expected.dtype == object:
        assert got.tolist() == [b"text", b"bytes"]
    else:
        np.testing.assert_array_equal(got, expected)


def test_a_dead_tensor_is_told_from_a_value() -> None:
    received = arrived(WireValues([*WireValues.of([np.float32(1)]).items, None, None]))
    assert received.items[2:] == [None, None]
    assert received.read(1) is None


def test_a_value_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot send a object"):
        WireValues.of([object()])


# -- hostile bytes ---------------------------------------------------------------------------------
@for_each(
    "items, segments, words",
    [
        ([form_of(FLOAT32, 2)], [], "pairs of items, found 1"),
        ([form_of(FLOAT32, 2), b"1234567"], [], "takes 8 bytes, got 7"),
        ([form_of(FLOAT32, 2), b"123456789"], [], "takes 8 bytes, got 9"),
        ([form_of(FLOAT32, 2), 0], [], "bytes or one of 0 segments, found 0"),
        ([form_of(FLOAT32, 2), 1], [bytearray(8)], "bytes or one of 1 segments, found 1"),
        ([form_of(FLOAT32, 2), -1], [bytearray(8)], "bytes or one of 1 segments, found -1"),
        ([form_of(FLOAT32, 2), True], [bytearray(8)] * 2, "bytes or one of 2 segments, found True"),
        ([form_of(FLOAT32, 2), 0], [bytearray(7)], "takes 8 bytes, got 7"),
        ([form_of(FLOAT32, 2), None], [], "segments, found None"),
        ([form_of(FLOAT32, 2), "12345678"], [], "segments, found '12345678'"),
        ([b"", b""], [], "has a dtype and up to 64 sizes"),
        ([form_of(200), b""], [], "has a dtype and up to 64 sizes"),
        ([form_of(7), b""], [], "has a dtype and up to 64 sizes"),  # strings have no form
        ([form_of(FLOAT32, 2) + b"x", b""], [], "has a dtype and up to 64 sizes"),
        ([form_of(FLOAT32, *[1] * 65), b"1234"], [], "has a dtype and up to 64 sizes"),
        ([form_of(FLOAT64, 2**62, 2**62), b""], [], "cannot be held"),
        ([form_of(FLOAT64, 2**63, 0), b""], [], "cannot be held"),
        ([None, 5], [], "a form and a content"),
        (["x", b""], [], "a form and a content"),
        ([1.5, b""], [], "a form and a content"),
    ],
)
def test_malformed_values_are_refused_before_anything_refers_to_them(
    items: list[Any], segments: Sequence[bytearray], words: str
) -> None:
    with pytest.raises(ProtocolError) as info:
        WireValues.received(items, segments)
    assert words in str(info.value)


def test_a_value_that_the_codec_cannot_read_is_a_protocol_error() -> None:
    values = WireValues.received([None, b"\xc1"], [])
    with pytest.raises(ProtocolError, match="cannot decode"):
        values.read_all()


@for_each(
    "header",
    [
        b"",
        b"\xc1",
        msgpack.packb({}),
        msgpack.packb([RUN_STEP]),
        msgpack.packb([RUN_STEP, "1"]),
        msgpack.packb([RUN_STEP, -1]),
        msgpack.packb([RUN_STEP, True]),
        msgpack.packb([RUN_STEP, 1])[:-1],
        b"\xdd\xff\xff\xff\xff\x06",
    ],
    ids=repr,
)
def test_a_header_is_a_list_with_a_number(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_header(header)


@given(st.binary(max_size=40))
def test_any_bytes_are_values_or_a_protocol_error(data: bytes) -> None:
    is_step_frame(data)
    try:
        wire = read_header(data)
        WireValues.received(wire[2:], []).read_all()
    except ProtocolError:
        pass


def test_many_lists_in_a_large_header_are_refused_without_being_made() -> None:
    with pytest.raises(ProtocolError, match=r"lists and maps|max_array_len"):
        read_header(b"\xdd" + (2**23).to_bytes(4, "big") + bytes([RUN_STEP]) + b"\x90" * (2**23 - 1))


@for_each("wire", [[FAIL, 1], [FAIL, 1, None], [FAIL, 1, [], 2], [FAIL, 1, ["nope"]]], ids=repr)
def test_a_failure_has_one_error(wire: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        read_error(wire)


def test_an_error_keeps_its_class_and_its_origin() -> None:
    error = NotFoundError("no such thing").locate(node="n", device="d", task="t", source="f.py:1")
    assert same(read_error(read_header(write_header([FAIL, 3, error_to_wire(error)]))), error)


NO_MOMENTS = [None, 1, -1.0, float("nan"), float("inf"), 1e11, "now"]


# -- what is asked for and said beside values --------------------------------------------------------
def fields_of(request: Any) -> dict[str, Any]:
    """What is asked for, without the moment at which it was encoded."""
    return {name: getattr(request, name) for name in type(request).__dataclass_fields__ if name != "sent"}


@for_each(
    "request",
    [
        StepRequest(),
        StepRequest(["plan", [1]], {"trace_level": 3}, ["run", 2], "key", 0.5),
        CallRequest((), ()),
        CallRequest(("a:0", "b:0"), ("c:0",)),
        GraphRequest(True, None),
        GraphRequest(False, ["run", 2], "00-a-b-01"),
    ],
    ids=repr,
)
def test_a_request_arrives_as_it_was_made(request: Any) -> None:
    for _ in range(2):  # those of calls are kept
        assert fields_of(type(request).from_wire(request.to_wire())) == fields_of(request)


@for_each(
    "kind, found",
    [
        (StepRequest, [None, {}, None, ""]),
        (StepRequest, ["plan", {}, None, "", 0.0, 1.0]),
        (StepRequest, [None, [], None, "", 0.0, 1.0]),
        (StepRequest, [None, {}, "run", "", 0.0, 1.0]),
        (StepRequest, [None, {}, None, b"", 0.0, 1.0]),
        (StepRequest, [None, {}, None, "", -1.0, 1.0]),
        (StepRequest, [None, {}, None, "", None, 1.0]),
        *[(StepRequest, [None, {}, None, "", 0.0, moment]) for moment in NO_MOMENTS],
        (CallRequest, [["a"]]),
        (CallRequest, [["a"], "b"]),
        (CallRequest, [["a"], [b"b"]]),
        (GraphRequest, [True]),
        (GraphRequest, [1, None, "", 1.0]),
        (GraphRequest, [True, "run", "", 1.0]),
        (GraphRequest, [True, None, b"", 1.0]),
        *[(GraphRequest, [True, None, "", moment]) for moment in NO_MOMENTS],
        *[(kind, found) for kind in (StepRequest, CallRequest, GraphRequest) for found in (0, None)],
    ],
    ids=repr,
)
def test_a_malformed_request_is_a_protocol_error(kind: Any, found: Any) -> None:
    with pytest.raises(ProtocolError):
        kind.from_wire(pack(found))


@for_each("wire", [None, 5, "text", [], b"", b"\xc1"], ids=repr)
def test_what_is_not_the_bytes_of_a_request_is_a_protocol_error(wire: Any) -> None:
    for kind in (StepRequest, CallRequest, GraphRequest):
        with pytest.raises(ProtocolError):
            kind.from_wire(wire)


def test_requests_of_calls_do_not_fill_the_memory() -> None:
    """A peer may send as many as it likes; they are read all the same."""
    for number in range(1000):
        request = CallRequest((f"a:{number}",), ())
        assert CallRequest.from_wire(request.to_wire()).feeds == (f"a:{number}",)
    assert max(len(step_frames._calls_sent), len(step_frames._calls_read)) <= step_frames._CALLS


def test_what_an_answer_says_has_a_number_of_parts() -> None:
    assert extra_from_wire(extra_to_wire({"a": 1}, True), 2) == [{"a": 1}, True]
    for wire, count in [(extra_to_wire(1), 2), (None, 1), (b"\xc1", 1)]:
        with pytest.raises(ProtocolError):
            extra_from_wire(wire, count)


# -- reading ahead ---------------------------------------------------------------------------------
TEXT = np.array([b"one", b"two"], object)
REQUEST = StepRequest(key="run").to_wire()
EXTRA = extra_to_wire(None, False)


@for_each(
    "start, key",
    [
        ([RUN_STEP, 1, 2, None, REQUEST], []),
        ([RUN_STEP, 1, 2, 1.5, None], []),
        ([PARTIAL_RUN, 1, 2, None, REQUEST], []),
        ([RUN_GRAPH, 1, 2, None, None], []),
        ([DONE, 1, None], []),
        ([DONE, 1, EXTRA], []),
        ([PUSH, 1], ["key"]),
        ([PUSH, 1], [5]),
        ([TRACED_PUSH, 1, 2.5, 0], ["key"]),
    ],
    ids=repr,
)
def test_reading_ahead_decodes_the_values_without_a_form_and_nothing_else(
    start: list[Any], key: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request after a nil limit, and a form after a nil content, are no contents."""
    values = WireValues.of([TEXT, np.float32(1), "text", TEXT]).items
    values += [None, None, *WireValues.of([np.arange(3)]).items]  # a dead tensor, and another
    items: list[Any] = []
    for at in range(0, len(values), 2):
        items += [*key, *values[at : at + 2]]
    header = write_header([*start, *items])
    ahead = read_ahead(header)
    assert ahead == read_header(header)
    monkeypatch.setattr(step_frames, "unpack", mock.Mock(side_effect=AssertionError))
    assert [type(item) for item in ahead[: len(start)]] == [type(item) for item in start]
    pairs = [item for at, item in enumerate(ahead[len(start) :]) if not key or at % 3]
    text, one, word, again, dead, numbers = WireValues.received(pairs, ()).read_all()
    assert (text.tolist(), again.tolist(), one, word) == ([b"one", b"two"], text.tolist(), 1, "text")
    assert (dead, numbers.tolist()) == (None, [0, 1, 2])


@for_each(
    "wire",
    [
        [FAIL, 1, [None, b"x"]],
        [CANCEL, 1],
        [RECEIVED, 1],
        [RUN_STEP, 1],
        [99, 1, None, b"\xc0"],
        ["run", 1, None, b"\xc0"],
        [None, 1, None, b"\xc0"],
    ],
    ids=repr,
)
def test_of_frames_without_values_nothing_is_decoded_ahead(wire: list[Any]) -> None:
    ahead = read_ahead(write_header(wire))
    assert ahead == wire
    assert [type(item) for item in ahead] == [type(item) for item in wire]


def test_a_value_that_cannot_be_decoded_ahead_fails_whoever_reads_it() -> None:
    wire = read_ahead(write_header([DONE, 1, None, None, b"\xc1", None, pack("text")]))
    values = WireValues.received(wire[3:], ())
    assert values.read(1) == "text"
    with pytest.raises(ProtocolError, match="cannot decode"):
        values.read(0)


def test_a_value_that_was_decoded_ahead_belongs_to_each_who_reads_it() -> None:
    """One that is passed on as it came, and one that is read twice."""
    wire = read_ahead(write_header([DONE, 1, None, None, pack(TEXT)]))
    values = WireValues.received(wire[3:], ())
    first, second = values.read(0), values.read(0)
    first[0] = b"changed"
    out = WireValues([])
    values.pass_on(0, out)
    for got in (second, arrived(out).read(0)):
        assert got.tolist() == [b"one", b"two"]


# -- beside envelopes ------------------------------------------------------------------------------
@given(envelopes)
def test_no_envelope_is_taken_for_a_step_frame(envelope: Any) -> None:
    assert not is_step_frame(encode(envelope)[0])


@for_each("items", [0, 1, 13, 14, 20, 70_000])
def test_a_step_frame_is_known_by_its_kind_however_long_its_list_is(items: int) -> None:
    for kind in range(RUN_STEP, REFUSED + 1):
        assert is_step_frame(write_header([kind, 1, *[None] * items]))
    assert not is_step_frame(write_header([REFUSED + 1, 1, *[None] * items]))
    assert not is_step_frame(write_header([RUN_STEP - 1, 1, *[None] * items]))


def test_what_is_no_list_is_no_step_frame() -> None:
    assert not any(map(is_step_frame, (b"", b"\xdc", b"\xdc\x00\x10", b"\xdd\x00\x00", b"\x06")))
    assert not is_step_frame(encode(Beat())[0])
    assert is_step_frame(write_header([CANCEL, 1]))
