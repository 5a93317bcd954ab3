"""Values become bytes and come back the same; other bytes are a ProtocolError and nothing else."""

from __future__ import annotations

import contextlib
import enum
import gc
import struct
import threading
import weakref
from collections import OrderedDict, namedtuple
from typing import Any

import ml_dtypes
import msgpack
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from actorsession import DType, TensorShape, as_dtype
from actorsession.errors import InvalidArgumentError, ProtocolError, ResourceExhaustedError
from actorsession.graph import dtypes
from actorsession.graph.codec import INLINE_LIMIT, Buffer, Packed, opened, pack, packed, tensor_bytes, unpack
from actorsession.testing.strategies import shapes
from tests.rows import for_each, refusing

TENSOR, DTYPE, SHAPE, STRINGS, BIGINT = 1, 2, 3, 4, 5  # the extension types on the wire
PACKED = 8

NUMBERS = [
    found
    for name in dtypes.__all__
    if isinstance(found := getattr(dtypes, name), DType) and found.kind not in "srv" and name != "bool_"
] + [dtypes.bool_]


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """An array of any type that travels, of any memory layout."""
    dtype, shape = draw(st.sampled_from(NUMBERS)), draw(shapes())
    size = int(np.prod(shape)) * dtype.itemsize
    content = bytearray(draw(st.binary(min_size=size, max_size=size)))
    if dtype is dtypes.bool_:
        content = bytearray(b & 1 for b in content)
    array = np.frombuffer(content, np.uint8).view(dtype.np_dtype).reshape(shape)
    return draw(st.sampled_from([array, array.T, array[::-1] if array.ndim else array]))


plain = (
    st.none()
    | st.booleans()
    | st.integers(-(10**62), 10**62)
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.binary(max_size=9)
)
special = st.sampled_from([*NUMBERS, dtypes.string, dtypes.resource]) | st.builds(
    TensorShape, st.none() | st.lists(st.none() | st.integers(0, 2**62), max_size=4)
)
keys = st.text(max_size=5) | st.integers(0, 9)
values = st.recursive(
    plain | special | arrays(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal in every bit and type."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            type(a) is type(b)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
        )
    if isinstance(a, (list, tuple)):
        return type(b) is list and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and bool(a == b)


def extension(code: int, *parts: Any) -> bytes:
    """A message that is one extension value, as a peer may make it up."""
    return bytes(msgpack.packb(msgpack.ExtType(code, msgpack.packb(parts[0] if len(parts) == 1 else list(parts)))))


# -- there and back --------------------------------------------------------------------------------


@given(values)
@example([10**63, -(10**62), 2**64, 2**64 - 1, -(2**63)])
def test_every_value_comes_back_the_same(value: Any) -> None:
    assert same(value, unpack(pack(value)))


@given(st.lists(arrays(), max_size=4), st.lists(st.sampled_from([-1, 0, 1]), max_size=3))
def test_arrays_come_back_the_same_whether_in_band_or_beside(items: list[Any], beyond: list[int]) -> None:
    items += [np.arange(INLINE_LIMIT + more, dtype=np.uint8) for more in beyond]
    segments: list[Buffer] = []
    data = pack(items, segments)
    assert len(segments) == sum(array.nbytes > INLINE_LIMIT for array in items) == beyond.count(1)
    assert same(items, unpack(data, [bytearray(s) for s in segments]))


@given(hnp.arrays(object, shapes(), elements=st.binary(max_size=5) | st.text(max_size=5), fill=st.nothing()))
def test_string_tensors_come_back_as_bytes(array: Any) -> None:
    back = unpack(pack(array))
    assert back.dtype == object
    assert back.shape == array.shape
    wanted = [x.encode() if isinstance(x, str) else x for x in array.flat]
    assert list(back.flat) == wanted


@pytest.mark.parametrize("array", [np.array(["é", "bc"]), np.array([b"\xc3\xa9", b"bc"])])
def test_numpys_own_text_types_travel_as_string_tensors(array: Any) -> None:
    assert unpack(pack(array)).tolist() == ["é".encode(), b"bc"]


@for_each("kind", [np.float64, np.float32, np.int64, np.complex128, np.bool_])
def test_a_numpy_scalar_keeps_its_type_as_an_array_of_rank_0(kind: Any) -> None:
    """``np.float64`` is a Python float as well, and must not travel as one."""
    back = unpack(pack([kind(1)]))[0]
    assert isinstance(back, np.ndarray)
    assert (back.dtype, back.shape, back.item()) == (np.dtype(kind), (), kind(1).item())


def test_what_has_no_literal_comes_back_too() -> None:
    back = unpack(pack([float("inf"), float("-inf"), float("nan")]))
    assert back[:2] == [float("inf"), float("-inf")]
    assert back[2] != back[2]
    # Dtypes come back as the one instance.
    back = unpack(pack(list(NUMBERS)))
    assert all(a is b for a, b in zip(back, NUMBERS, strict=True))
    assert all(isinstance(d, DType) for d in back)
    # Msgpacks own timestamps become plain numbers.
    assert unpack(msgpack.packb(msgpack.Timestamp(5, 500_000_000))) == 5.5


def test_tuples_and_subclasses_of_plain_types_come_back_plain() -> None:
    class Color(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    Point = namedtuple("Point", "x y")
    back = unpack(pack([(1, (2, 3)), Point(1, 2), Color.RED, Level.HIGH, OrderedDict(a=1)]))
    assert back == [[1, [2, 3]], [1, 2], "red", 3, {"a": 1}]
    assert [type(v) for v in back] == [list, list, str, int, dict]


def test_an_array_of_another_byte_order_comes_back_in_ours() -> None:
    array = np.array([1.5, -2.0], ">f4")
    for back in (unpack(pack(array)), unpack(pack(np.resize(array, INLINE_LIMIT)))[:2]):
        assert back.dtype == np.dtype(np.float32)
        assert back.tolist() == [1.5, -2.0]


def test_bfloat16_travels_in_band_and_beside() -> None:
    array = np.arange(INLINE_LIMIT).astype(ml_dtypes.bfloat16)
    segments: list[Buffer] = []
    small, large = unpack(pack([array[:3], array], segments), segments)
    assert len(segments) == 1
    assert small.dtype == large.dtype == array.dtype
    assert small.tolist() == [0, 1, 2]
    assert large.tobytes() == array.tobytes()


# -- memory ----------------------------------------------------------------------------------------


def test_a_large_array_is_lent_to_the_segments_and_not_copied() -> None:
    array = np.arange(INLINE_LIMIT, dtype=np.uint8).repeat(2)
    segments: list[Buffer] = []
    data = pack({"x": array}, segments)
    (segment,) = segments
    assert len(data) < 100
    assert np.shares_memory(np.frombuffer(segment, np.uint8), array)
    # An array that is not in c order goes beside as a copy.
    turned = np.arange(2 * INLINE_LIMIT, dtype=np.uint8).reshape(2, -1).T
    segments = []
    back = unpack(pack(turned, segments), segments)
    assert not np.shares_memory(np.frombuffer(segments[0], np.uint8), turned)
    assert np.array_equal(back, turned)
    # An array at the limit stays in band and one byte more goes beside.
    for size, beside in ((INLINE_LIMIT, 0), (INLINE_LIMIT + 1, 1)):
        segments = []
        pack(np.zeros(size, np.uint8), segments)
        assert len(segments) == beside
    # Without a segment list everything is inside.
    array = np.zeros(2 * INLINE_LIMIT, np.uint8)
    assert np.array_equal(unpack(pack(array)), array)


def test_unpacked_arrays_are_writable_and_views_of_their_segment() -> None:
    large = np.ones(INLINE_LIMIT, np.float32)
    segments: list[Buffer] = []
    data = pack([np.ones(3), large], segments)
    received = bytearray(segments[0])
    small, back = unpack(data, [received])
    small[0] = 5
    back[0] = 7
    assert struct.unpack_from("f", received)[0] == 7
    assert large[0] == 1
    # An array in a segment that cannot be written cannot be written either.
    segments = []
    data = pack(np.ones(INLINE_LIMIT), segments)
    assert not unpack(data, [bytes(segments[0])]).flags.writeable


def test_what_was_received_goes_with_its_last_reference_and_waits_for_no_collection() -> None:
    segments: list[Buffer] = []
    data = pack([np.ones(INLINE_LIMIT)], segments)
    memory = np.frombuffer(bytearray(segments[0]), np.uint8)
    alive = weakref.ref(memory)
    gc.disable()
    try:
        (back,) = unpack(data, [memory.data])
        del memory
        assert back[0] == 1
        assert alive() is not None
        del back
        assert alive() is None
    finally:
        gc.enable()


def test_the_bytes_of_a_tensor_are_counted() -> None:
    assert tensor_bytes(np.zeros((3, 4), np.float32)) == 48
    assert tensor_bytes(np.float64(1)) == 8
    assert tensor_bytes(b"text") == 0


# -- what does not travel --------------------------------------------------------------------------


@for_each(
    "value",
    [object(), {1, 2}, 1j, np.zeros(2, "M8[s]"), np.zeros(1, [("a", "f4")]),
     np.array([1, None], object), np.array([[b"a"], 3], object), 10**64, -(10**64), "\ud800",
     TensorShape([2**64]), lambda: 0, [[object()]], {"k": object()}, range(3)],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_by_the_sender(value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        pack(value)


def test_a_refused_value_leaves_nothing_in_the_next_message() -> None:
    """The packer is kept from message to message, with its buffer."""
    segments: list[Buffer] = []
    with pytest.raises(InvalidArgumentError):
        pack(["begun", np.zeros(INLINE_LIMIT), np.array([None]), object()], segments)
    assert pack([1, 2]) == msgpack.packb([1, 2])
    assert unpack(pack(np.ones(2))).tolist() == [1, 1]
    # A list that holds itself is refused.
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidArgumentError):
        pack(loop)


def test_threads_pack_side_by_side() -> None:
    results: dict[int, bool] = {}
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        value = [number, np.full(500, number), TensorShape([number])]
        results[number] = all(same(value, unpack(pack(value))) for _ in range(200))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


# -- hostile bytes ---------------------------------------------------------------------------------


def unpacks_or_refuses(data: bytes, segments: list[bytes] | None = None) -> None:
    with contextlib.suppress(ProtocolError):
        unpack(data, segments or [])


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_protocol_error(data: bytes) -> None:
    unpacks_or_refuses(data)


@given(values, st.data())
def test_a_damaged_message_is_a_value_or_a_protocol_error(value: Any, data: st.DataObject) -> None:
    message = bytearray(pack(value))
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, len(message) - 1))
        message[where] = data.draw(st.integers(0, 255))
    unpacks_or_refuses(bytes(message))


@given(values, st.data())
def test_a_message_cut_short_or_with_a_tail_is_a_protocol_error(value: Any, data: st.DataObject) -> None:
    message = pack(value)
    with pytest.raises(ProtocolError):
        unpack(message[: data.draw(st.integers(0, len(message) - 1))])
    with pytest.raises(ProtocolError):
        unpack(message + b"\xc0")


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=16)
    | st.sampled_from([d.name for d in NUMBERS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=6,
)


@given(st.integers(-128, 127), st.lists(junk, max_size=4) | junk)
def test_made_up_extensions_are_a_value_or_a_protocol_error(code: int, body: Any) -> None:
    data = (
        msgpack.packb([msgpack.ExtType(code, msgpack.packb(body))])
        if code >= 0
        else (b"\x91" + b"\xc7" + bytes([min(len(msgpack.packb(body)), 255), code & 0xFF]) + msgpack.packb(body)[:255])
    )
    unpacks_or_refuses(data, [b"12345678"])


@given(
    st.sampled_from([d.name for d in NUMBERS]) | junk,
    st.lists(st.integers(0, 3) | junk, max_size=4) | junk,
    st.binary(max_size=16) | st.integers(-2, 3) | junk,
)
def test_made_up_tensors_are_an_array_of_their_shape_or_a_protocol_error(name: Any, shape: Any, content: Any) -> None:
    try:
        array = unpack(extension(TENSOR, name, shape, content), [b"1234", b""])
    except ProtocolError:
        return
    assert array.shape == tuple(shape)
    assert array.dtype == as_dtype(name).np_dtype


test_a_tensor_that_is_none_is_refused_with_the_reason = refusing(
    (("float32", [2], b"1234567"), "takes 8 bytes, got 7"),
    (("float32", [2**62, 4], b""), "takes 73786976294838206464 bytes, got 0"),
    (("float32", [-1], b"1234"), "a tensor's shape holds sizes"),
    (("float32", [-1, -1], b"1234"), "a tensor's shape holds sizes"),
    (("float32", [True], b"1234"), "a tensor's shape holds sizes"),
    (("float32", 1, b"1234"), "a tensor's shape is a list of at most 64 sizes, got 1"),
    (("float32", [1], 0), "refers to its segment 0 and has 0"),
    (("float32", [1], -1), "refers to its segment -1 and has 0"),
    (("string", [1], b"12345678"), "is not encoded as raw bytes"),
    (("resource", [1], b"12345678"), "is not encoded as raw bytes"),
    (("float31", [1], b"1234"), "cannot convert 'float31' to a dtype"),
    (("f4", [1], b"1234"), "cannot convert 'f4' to a dtype"),
    ((None, [1], b"12345678"), "cannot convert None to a dtype"),
    (("float32", [0, 2**63], b""), "OverflowError|ValueError"),
    (("float32", [0] * 70, b""), "a list of at most 64 sizes"),
    of=lambda parts: unpack(extension(TENSOR, *parts)),
    error=ProtocolError,
)


@for_each(
    "parts",
    [
        ([2], [b"a"]),
        ([-1], [b"a"]),
        ([1], ["text"]),
        ([1], [5]),
        ([1], [[b"a"]]),
        ([1], {0: b"a"}),
        ([1], b"a"),
        ([0], None),
        (1, [b"a"]),
    ],
)
def test_a_string_tensor_holds_bytes_and_as_many_as_its_shape_says(parts: Any) -> None:
    """Text or numbers in it could reach the code that plans generate."""
    with pytest.raises(ProtocolError):
        unpack(extension(STRINGS, *parts))


def test_claims_that_are_too_large_are_refused_before_memory_is_taken() -> None:
    """The product of its dimensions alone would take minutes."""
    with pytest.raises(ProtocolError, match="at most 64 dimensions, got 1000000"):
        unpack(msgpack.packb(msgpack.ExtType(SHAPE, msgpack.packb([2**40] * 1_000_000))))
    with pytest.raises(ProtocolError, match="unknown extension type 99"):
        unpack(extension(99, 1))
    # A number of a thousand digits is not even read.
    with pytest.raises(ProtocolError, match="unknown extension type 5"):
        unpack(msgpack.packb(msgpack.ExtType(BIGINT, b"9" * 1000)))
    with pytest.raises(ProtocolError):
        unpack(b"\x91" * 100_000 + b"\xc0")
    # A length that is only claimed takes no memory.
    for claim in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"):
        with pytest.raises(ProtocolError):
            unpack(claim)
    # No list of a long message is longer than is made at once.
    with pytest.raises(ProtocolError, match="max_array_len"):
        unpack(msgpack.packb([_LONG, [1] * (2**20 + 1)]))


# -- values that are packed before -----------------------------------------------------------------


def test_a_packed_value_is_decoded_by_whoever_opens_it() -> None:
    large, counts = np.arange(INLINE_LIMIT, dtype=np.int32), list[int]()
    segments: list[Buffer] = []
    made = packed([[1, "two"], large, {}], lambda item: item)
    header = pack(["before", made, large, packed("abc", str.upper)], segments)
    assert len(header) < 100  # what was packed stands beside it, and so do its tensors
    before, found, array, last = unpack(header, segments)
    assert before == "before"
    assert isinstance(found, Packed)
    small, one, empty = opened(found, counts.append)
    assert (small, empty) == ([1, "two"], {})
    np.testing.assert_array_equal(one, large)
    np.testing.assert_array_equal(array, large)
    assert list(opened(last, counts.append)) == ["A", "B", "C"]
    assert counts == [3, 3]
    with pytest.raises(InvalidArgumentError, match="is encoded as segments"):
        pack(packed([1], int))


@for_each("place", [[-1, 0], [0, 1], [1, 0], [0, -1], [0], 0, ["0", 0], [0, 0, 0], None, [2**40, 0]])
def test_a_packed_value_has_a_place_among_the_segments(place: Any) -> None:
    with pytest.raises(ProtocolError, match="a place among the 1 segments"):
        unpack(extension(PACKED, place), [b"\x01"])


@for_each("data", [b"", b"\xc1", b"\x92\x01", msgpack.packb([1]) + b"\x01"])
def test_bytes_that_hold_no_value_are_found_when_they_are_opened(data: bytes) -> None:
    found = unpack(extension(PACKED, [0, 0]), [data])
    with pytest.raises(ProtocolError):
        list(opened(found, lambda count: None))


# -- bounds on work ----------------------------------------------------------------------------------

_LONG = b"x" * 2**18  # a value beside it is counted


@for_each(
    "value",
    [[[]] * 200, {"a": {}, "b": [[]] * 200}, [dtypes.int32] * 200, [0] * 2000, [list(range(100))] * 20],
    ids=["lists", "maps", "extension types", "a long list", "lists of items"],
)
def test_a_long_message_holds_a_limited_number_of_things(value: Any) -> None:
    data = pack([_LONG, value])
    unpack(data)
    with pytest.raises(ProtocolError):
        unpack(data, max_containers=100)


def test_functions_inside_each_other_take_a_limited_number_of_bytes() -> None:
    data = msgpack.packb("x" * 100)
    for _ in range(5):
        data = msgpack.packb(msgpack.ExtType(6, data))
    with pytest.raises(ResourceExhaustedError, match=r"functions inside each other, 4 deep"):
        unpack(data, max_nested_bytes=400)


def test_many_strings_come_back_and_are_counted() -> None:
    strings = np.array([b"%d" % k for k in range(60_000)], object).reshape(300, 200)
    np.testing.assert_array_equal(unpack(pack(strings)), strings)
    with pytest.raises(ProtocolError, match="does not have 60000 elements"):
        unpack(extension(4, [[1], list(strings.flat)]))
    with pytest.raises(ProtocolError):
        unpack(extension(4, [[1], list(strings.flat), 1]))


def test_a_packed_graph_holds_a_limited_number_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORSESSION_MAX_GRAPH_NODES", "10")
    most = 16 * 10
    items: list[Any] = [[[], [[]]]] * (most // 3 + 1)
    with pytest.raises(ResourceExhaustedError, match="ACTORSESSION_MAX_GRAPH_NODES"):
        packed(items, lambda item: item)
    with pytest.raises(ResourceExhaustedError, match="ACTORSESSION_MAX_GRAPH_NODES"):
        list(opened(Packed(msgpack.packb(items), ()), lambda count: None))
