"""What one message may make its receiver hold: lists and maps, nesting, and how errors speak of it."""

from __future__ import annotations

import tracemalloc
from dataclasses import FrozenInstanceError
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import GraphDef, NodeDef
from actorsession.errors import InvalidArgumentError, ProtocolError, WorkerRestartedError, error_to_wire
from actorsession.extend import Partition
from actorsession.graph import codec
from actorsession.graph.codec import INLINE_LIMIT, pack
from actorsession.messages import (
    VOCABULARY,
    Beat,
    Call,
    Cancel,
    DeviceList,
    Done,
    Envelope,
    Failure,
    Goodbye,
    Reply,
    Spec,
    Tell,
    UnreadableMessage,
    decode,
    encode,
)
from actorsession.messages.worker import AskOwed, ValuesLost
from tests.messages.strategies import anything, envelopes, messages_of, same
from tests.rows import for_each

SPECS = list(VOCABULARY.specs.values())
ASK_OWED = AskOwed(steps=[1], keys=["k"], reply_to="t", session_handle="s")
BODY = ["ask_owed", [1], ["k"], "t", "s"]


def reply_with(*values: Any) -> Reply:
    return Reply(1, DeviceList(devices=list(values)))


def round_trip(envelope: Envelope) -> Envelope:
    """Through bytes, with segments in writable buffers, as a transport delivers them."""
    header, segments = encode(envelope)
    return decode(header, tuple(bytearray(segment) for segment in segments))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.tag)
@given(data=st.data())
def test_every_message_arrives_as_it_was_sent(spec: Spec, data: st.DataObject) -> None:
    message = data.draw(messages_of(spec))
    assert same(Tell("t", message), round_trip(Tell("t", message)))


@given(envelopes)
def test_every_envelope_arrives_as_it_was_sent(envelope: Envelope) -> None:
    assert same(envelope, round_trip(envelope))


def test_a_large_tensor_travels_beside_the_message_and_is_not_copied() -> None:
    large = np.zeros(INLINE_LIMIT + 1, np.uint8)
    small = np.zeros(INLINE_LIMIT, np.uint8)
    header, segments = encode(reply_with(small, large))
    assert len(segments) == 1
    assert np.shares_memory(np.frombuffer(segments[0], np.uint8), large)
    assert len(header) < 2 * INLINE_LIMIT


def test_received_tensors_are_writable_views_of_their_segments() -> None:
    header, segments = encode(reply_with(np.zeros(100_000)))
    buffer = bytearray(segments[0])
    (value,) = decode(header, (buffer,)).message.devices  # type: ignore[union-attr]
    value[0] = 7.0
    assert np.frombuffer(buffer)[0] == 7.0


def test_an_error_keeps_its_class_and_its_origin() -> None:
    error = WorkerRestartedError("gone", node="n", task="/job:ps/task:0", derived=True)
    got = round_trip(Failure(3, error))
    assert isinstance(got, Failure)
    assert type(got.error) is WorkerRestartedError
    assert error_to_wire(got.error) == error_to_wire(error)


@for_each("value", [object(), {1, 2}, 1j, "\ud800"], ids=lambda v: type(v).__name__)
def test_what_does_not_travel_is_the_senders_error(value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        encode(reply_with(value))


def test_what_is_no_message_is_the_senders_error() -> None:
    with pytest.raises(InvalidArgumentError, match="dict is not a message"):
        encode(Tell("t", {}))


def test_a_value_that_holds_itself_is_the_senders_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidArgumentError):
        encode(reply_with(endless))


# --- hostile input -----------------------------------------------------------------------------
BAD_ENVELOPES: list[tuple[Any, str]] = [
    (None, "an envelope must be a list"),
    ({}, "an envelope must be a list"),
    ([], "an envelope must be a list"),
    (["call"], "the kind of an envelope must be 0 to 5 or 19, found 'call'"),
    ([6], "found 6"),
    ([-1], "found -1"),
    ([True], "found True"),
    ([1.0], "found 1.0"),
    ([[]], r"found \[\]"),
    ([0, 0], "a beat must be empty"),
    ([1, 5, "t", None], "a call must have an id"),
    ([1, "5", "t", None, BODY], "a call id must be an int"),
    ([1, -1, "t", None, BODY], "a call id must be an int"),
    ([1, 2**63, "t", None, BODY], "a call id must be an int"),
    ([1, None, "t", None, BODY], "a call id must be an int"),
    ([2, "t"], "a tell must have"),
    ([2, 5, BODY], "a target must be the name"),
    ([2, "t", None], "a message must be a list"),
    ([2, "t", ["nope"]], "unknown message tag 'nope'"),
    ([3, 5], "a reply must have"),
    ([3, [], ["done"]], "a call id must be an int"),
    ([4, 5], "a failure must have"),
    ([4, 1.5, []], "a call id must be an int"),
    ([5], "a cancel must have"),
    ([5, "x"], "a call id must be an int"),
    ([5, 1, 2], "a cancel must have"),
]


@for_each("wire, words", BAD_ENVELOPES, ids=[repr(w) for w, _ in BAD_ENVELOPES])
def test_a_bad_envelope_is_a_protocol_error(wire: Any, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as caught:
        decode(pack(wire))
    assert not isinstance(caught.value, UnreadableMessage)


BAD_MESSAGES: list[tuple[Any, bool, str]] = [
    ([1, 5, 7, None, BODY], False, "a target must be the name"),
    ([1, 5, "t", "soon", BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", -1.0, BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", float("nan"), BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", float("inf"), BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", 1e300, BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", 2**63, BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", True, BODY], False, "a time left must be a number of seconds"),
    ([1, 5, "t", None, None], False, "a message must be a list"),
    ([1, 5, "t", None, []], False, "a message must be a list"),
    ([1, 5, "t", None, ["nope"]], False, "unknown message tag"),
    ([1, 5, "t", None, BODY[:-1]], False, "'ask_owed' has 4 fields"),
    ([1, 5, "t", None, [*BODY, 1]], False, "'ask_owed' has 4 fields"),
    ([1, 5, "t", None, [*BODY[:3], 1, "s"]], False, "field 'reply_to'"),
    ([3, 5, None], True, "a message must be a list"),
    ([3, 5, ["done", 1]], True, "'done' has no fields"),
    ([4, 5, None], True, "a wire error is a list"),
    ([4, 5, [["x"], "m", None, None, None, None, False]], True, "a wire error holds"),
    ([4, 5, ["CancelledError", 3, None, None, None, None, False]], True, "a wire error holds"),
]


@for_each("wire, answer, words", BAD_MESSAGES, ids=[repr(w) for w, _, _ in BAD_MESSAGES])
def test_a_bad_message_of_a_known_call_names_the_call(wire: Any, answer: bool, words: str) -> None:
    with pytest.raises(UnreadableMessage, match=words) as caught:
        decode(pack(wire))
    assert (caught.value.call_id, caught.value.answer) == (5, answer)


EXAMPLES: list[Envelope] = [
    Beat(),
    Beat(asks=3),
    Call(1, "worker", 2.5, ASK_OWED),
    Tell("worker", ValuesLost(step_id=1, task="t")),
    reply_with(np.zeros(3), np.zeros(INLINE_LIMIT)),
    Failure(1, ProtocolError("x", task="t")),
    Cancel(300),
    Goodbye("the server was stopped"),
]


@for_each("envelope", EXAMPLES, ids=lambda envelope: type(envelope).__name__)
def test_a_truncated_envelope_is_a_protocol_error_wherever_it_is_cut(envelope: Envelope) -> None:
    header, segments = encode(envelope)
    for length in range(len(header)):
        with pytest.raises(ProtocolError):
            decode(header[:length], segments)


def test_missing_and_short_segments_are_protocol_errors() -> None:
    header, (segment,) = encode(EXAMPLES[4])
    for segments in [(), (bytes(segment)[:-1],), (b"",)]:
        with pytest.raises(ProtocolError):
            decode(header, segments)


@given(st.sampled_from(EXAMPLES), st.data())
def test_flipped_bytes_yield_an_envelope_or_a_protocol_error(envelope: Envelope, data: st.DataObject) -> None:
    header, segments = encode(envelope)
    damaged = bytearray(header)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(header) - 1))] = data.draw(st.integers(0, 255))
    assert_bounded(bytes(damaged), segments)


@given(st.binary(max_size=64))
def test_any_bytes_yield_an_envelope_or_a_protocol_error(data: bytes) -> None:
    assert_bounded(data, ())


@given(st.lists(anything, max_size=6), st.integers(0, 5))
def test_any_values_in_an_envelope_yield_an_envelope_or_a_protocol_error(values: list[Any], kind: int) -> None:
    assert_bounded(pack([kind, *values]), ())


@given(st.sampled_from(SPECS), st.lists(anything, max_size=6))
def test_any_values_in_a_message_yield_an_envelope_or_a_protocol_error(spec: Spec, values: list[Any]) -> None:
    assert_bounded(pack([1, 1, "t", None, [spec.tag, *values]]), ())


def assert_bounded(header: bytes, segments: tuple[Any, ...]) -> None:
    try:
        got = decode(header, segments)
    except ProtocolError:
        return
    assert isinstance(got, (Beat, Call, Tell, Reply, Failure, Cancel, Goodbye))


@for_each("depth", [100, 510, 1020, 1025, 5_000, 1_000_000])
@for_each("opening", [b"\x91", b"\x81\x01"], ids=["lists", "maps"])
def test_deep_nesting_does_not_exhaust_the_stack(depth: int, opening: bytes) -> None:
    """The envelope ends in values that are ``depth`` containers inside each other."""
    start = b"\x93\x03\x05\x92" + msgpack.packb("device_list")
    assert_bounded(start + opening * depth + b"\xc0", ())
    if depth > 1024:  # what the decoder of the wire library bears
        with pytest.raises(ProtocolError):
            decode(start + opening * depth + b"\xc0")


@for_each(
    "announced",
    [
        b"\xdd\xff\xff\xff\xff",  # array of 2**32 - 1
        b"\xdf\xff\xff\xff\xff",  # map
        b"\xc6\xff\xff\xff\xff",  # bytes
        b"\xdb\xff\xff\xff\xff",  # text
        b"\xc9\xff\xff\xff\xff\x01",  # extension: tensor
    ],
    ids=["array", "map", "bytes", "text", "tensor"],
)
def test_huge_counts_are_refused_before_memory_is_taken(announced: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(b"\x93\x02\xa1t\x92" + msgpack.packb("list_devices") + announced + b"x")


@for_each(
    "body",
    [
        ["float32", [2**62, 4], b""],
        ["float32", [-1], b""],
        ["float32", ["3"], b"\0" * 12],
        ["float32", 3, b"\0" * 12],
        ["float32", [3], 0],
        ["float32", [3], None],
        ["float32", [0] * 100, b""],
        ["object", [1], b"\0" * 8],
        ["string", [1], b"\0" * 8],
        ["V1000000000", [1], b"\0"],
        ["i4,f8", [1], b"\0" * 12],
        ["a5", [1], b"\0" * 5],
        [{}, [1], b"\0"],
        [None, [1], b"\0"],
        "text",
        7,
    ],
    ids=repr,
)
def test_an_impossible_tensor_is_a_protocol_error(body: Any) -> None:
    tensor = msgpack.ExtType(1, msgpack.packb(body))
    with pytest.raises(ProtocolError):
        decode(msgpack.packb([3, 1, ["device_list", [tensor]]]))


def test_a_done_needs_no_room() -> None:
    header, segments = encode(Reply(1, Done()))
    assert (len(header), segments) == (9, ())


def test_envelopes_of_different_kinds_are_never_equal() -> None:
    envelopes = [Reply(1, Done()), Cancel(1), Beat(), Tell("t", Done()), Call(1, "t", None, Done())]
    assert len(set(envelopes)) == len(envelopes)
    assert Cancel(1) == Cancel(1)


def test_an_envelope_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Cancel(1).call_id = 2  # type: ignore[misc]


@pytest.mark.parametrize("byte", [b"\x90", b"\x80"], ids=["lists", "maps"])
def test_a_message_of_empty_containers_is_refused_before_they_fill_the_memory(byte: bytes) -> None:
    """One byte each on the wire and some sixty in memory: 16 MiB would become a GiB. A sixteenth of that here, with a
    sixteenth of the limit; tracing takes its time."""
    count = 2**20
    data = b"\xdd" + count.to_bytes(4, "big") + byte * count
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=r"at most \d+ lists and maps"):
            codec.unpack(data, max_containers=2**18)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**20 * 8 + 2**18 * 80


def test_a_large_graph_has_far_fewer_lists_and_maps_than_are_allowed() -> None:
    nodes = tuple(
        NodeDef(
            name=f"layer_{i // 10}/operation_with_a_usual_name_{i}",
            op="AddV2",
            inputs=((f"layer_{i // 10}/x", 0), ("y", 1)),
            control_inputs=("z",),
            attrs={"T": 1, "shape": [1, 2]},
            source=f"program.py:{i}",
        )
        for i in range(20_000)
    )
    graph = GraphDef(nodes)
    data = graph.to_bytes()
    assert len(data) > codec._COUNT_ABOVE  # or they would not be counted
    assert GraphDef.from_bytes(data) == graph


@for_each("depth", [1025, 5000, 100_000])
@for_each("opening", [b"\x91", b"\x81\xa1k"], ids=["lists", "maps"])
def test_nesting_has_a_limit(opening: bytes, depth: int) -> None:
    with pytest.raises(ProtocolError, match=r"nest|too deeply|Unpack|StackError"):
        decode(opening * depth + b"\xc0")


def test_what_nests_as_deep_as_allowed_is_told_of_in_a_few_words() -> None:
    value: object = []
    for _ in range(900):
        value = [value]
    for read in (GraphDef.from_wire, NodeDef.from_wire, Partition.from_wire):
        with pytest.raises(ProtocolError) as caught:
            read(value)
        assert len(caught.value.message) < 500


def test_what_is_long_is_told_of_in_a_few_words() -> None:
    for value in (["x" * 10**6] * 50, {"k" * 10**6: 1}, b"b" * 10**6):
        with pytest.raises(ProtocolError) as caught:
            decode(msgpack.packb(value))
        assert len(caught.value.message) < 500
