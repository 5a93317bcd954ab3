"""Feeds: keys, conversion, shapes, and where feeding cuts the graph."""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections import namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import actorsession as acts
from actorsession import ops, opsets
from actorsession.errors import InaccessibleTensorError, InvalidArgumentError, RequestError, ResourceExhaustedError
from actorsession.session.feeds import converter
from tests.nodes import make_one, op_type
from tests.rows import for_each

Pair = namedtuple("Pair", ["first", "second"])

# What ``TestWitness`` was given, by reference.
_SEEN: list[Any] = []


def _witness(value: Any) -> Any:
    _SEEN.append(value)
    return np.float32(0)


def _scalar(context: Any) -> list[Any]:
    return [ops.constant(0.0, graph=acts.Graph()).spec]


op_type("TestWitness", lambda context: _witness, infer=_scalar, stateful=True)
op_type("TestReference", lambda context: _witness, infer=_scalar, stateful=True, cost=lambda inputs, outputs: 1.0)


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    yield _SEEN
    _SEEN.clear()


async def test_keys_are_tensors_names_or_tuples_of_them(session: Any) -> None:
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    total = a + b
    assert await session.run(total, {a: 1, "b:0": 2}) == 3
    assert await session.run(total, {(a, b): (1, 2)}) == 3


async def test_keys_may_be_nested_tuples_and_names_in_bytes(session: Any) -> None:
    a, b, c = (ops.placeholder("float32", [], name=n) for n in "abc")
    total = a + b * 10.0 + c * 100.0
    assert await session.run(total, {(a, (b, "c:0")): (1, (2, 3))}) == 321
    assert await session.run(total, {(a, (b, c)): [1, [2, 3]]}) == 321
    assert await session.run(total, {Pair(a, b): (1, 2), b"c:0": 3}) == 321
    assert await session.run(total, {(): (), a: 1, b: 2, c: 3}) == 321


@for_each("value", [(1,), (1, 2, 3), 1, np.array([1, 2]), (1, (2, 3)), None])
async def test_a_tuple_key_needs_a_value_of_the_same_structure(session: Any, value: Any) -> None:
    a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
    with pytest.raises(ValueError, match=r"needs a value of 2 parts|shape"):
        await session.run(a + b, {(a, b): value})


async def test_a_key_that_occurs_twice_by_way_of_tuples_is_refused(session: Any) -> None:
    a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
    for feeds in ({(a, a): (1, 2), b: 0}, {a: 1, (a, b): (1, 2)}, {(a, b): (1, 2), a: 1}):
        with pytest.raises(ValueError, match="occurs twice"):
            await session.run(a + b, feeds)


async def test_a_variable_is_a_key_as_object_and_by_the_name_of_its_handle(session: Any) -> None:
    v = ops.Variable(1.0, name="v")
    await session.run(v.initializer)
    assert await session.run(v, {v: 9}) == 9
    assert await session.run([v, v._as_graph_element() * 2.0], {"v:0": 9}) == [9, 18]
    assert await session.run(v) == 1


async def test_a_handle_without_reading_is_no_key(session: Any) -> None:
    handle = make_one("VarHandleOp", (), {"dtype": ops.constant(1.0).dtype, "shape": []})
    with pytest.raises(TypeError, match="resource handle"):
        await session.run(ops.constant(1.0), {handle: 1})


async def test_of_two_keys_for_one_tensor_the_later_wins(session: Any) -> None:
    a = ops.placeholder("float32", [], name="a")
    assert await session.run(a + 0.0, {a: 1, "a:0": 2}) == 2
    assert await session.run(a + 0.0, {"a:0": 2, a: 1}) == 1
    assert await session.run(a, {(a,): (1,), "a:0": 2}) == 2


@for_each("bad", ["nowhere:0", "nowhere", "a", "a:7", "a:", 7, 1.5, None, b"a", b"\xff", frozenset(), Pair])
async def test_every_bad_key_is_a_type_error(session: Any, bad: Any) -> None:
    a = ops.placeholder("float32", [], name="a")
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        await session.run(a + 1.0, {bad: 1})
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        await session.run(a + 1.0, {(bad,): (1,)})


async def test_an_operation_is_no_key(session: Any) -> None:
    a = ops.placeholder("float32", [], name="a")
    with pytest.raises(TypeError, match="Can not convert a Operation into a Tensor"):
        await session.run(a + 1.0, {a.op: 1})


async def test_a_tensor_of_another_graph_is_no_key(session: Any) -> None:
    a = ops.placeholder("float32", [])
    with acts.Graph().as_default():
        stranger = ops.placeholder("float32", [])
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
        await session.run(a + 1.0, {stranger: 1})


async def test_a_feed_dict_that_is_no_mapping_is_refused(session: Any) -> None:
    a = ops.placeholder("float32", [])
    for wrong in ([(a, 1)], "text", 5):
        with pytest.raises(TypeError, match="feed_dict is a mapping"):
            await session.run(a + 1.0, wrong)
    assert await session.run(a + 1.0, MappingProxyType({a: 1})) == 2


async def test_an_empty_feed_dict_feeds_nothing(session: Any) -> None:
    x = ops.constant(1.0)
    cases: list[Any] = [{}, None, [], 0]
    for nothing in cases:
        assert await session.run(x, nothing) == 1


@for_each(
    "dtype, value, expected",
    [
        ("int32", 2.9, np.int32(2)),  # floats are truncated, as numpy does
        ("float32", 3, np.float32(3)),
        ("int32", -2.9, np.int32(-2)),
        ("int32", np.float64(2.9), np.int32(2)),
        ("int32", [1.9], np.array([1], np.int32)),
        ("int32", "3", np.int32(3)),
        ("int32", np.array(["3"]), np.array([3], np.int32)),
        ("int32", True, np.int32(1)),
        ("int32", np.array([-0.9, 2147483647.9]), np.array([0, 2147483647], np.int32)),
        ("int64", np.array([-(2.0**63)]), np.array([-(2**63)])),
        ("uint8", np.array([-0.5, 255], np.float16), np.array([0, 255], np.uint8)),
        ("int8", np.array([127, -128], np.int64), np.array([127, -128], np.int8)),
        ("int64", 2**62, np.int64(2**62)),
        ("uint64", 2**64 - 1, np.uint64(2**64 - 1)),
        ("float32", "2.5", np.float32(2.5)),
        ("float32", b"2.5", np.float32(2.5)),
        ("float32", ["1", "2"], np.array([1, 2], np.float32)),
        ("float32", 2**24 + 1, np.float32(2**24)),
        ("float32", 16777217.0, np.float32(16777216)),
        ("float32", range(3), np.array([0, 1, 2], np.float32)),
        ("float32", np.array([1, 2], ">f4"), np.array([1, 2], np.float32)),
        ("bfloat16", 257, ml_dtypes.bfloat16(256)),
        ("float16", 3, np.float16(3)),
        ("complex64", "1+2j", np.complex64(1 + 2j)),
        ("bool", "a", np.bool_(True)),
        ("bool", [0, 2], np.array([False, True])),
        ("float32", [True, False], np.array([1, 0], np.float32)),
        ("float64", np.float32(0.1), np.float64(np.float32(0.1))),
        ("bool", 1, np.bool_(True)),
        ("complex64", 1 + 2j, np.complex64(1 + 2j)),
        ("bfloat16", 1.5, ml_dtypes.bfloat16(1.5)),
        ("uint8", [255], np.array([255], np.uint8)),
    ],
)
async def test_values_are_converted_as_numpy_does(session: Any, dtype: str, value: Any, expected: Any) -> None:
    x = ops.placeholder(dtype)
    fetched = await session.run(ops.identity(x), {x: value})
    assert fetched.dtype == expected.dtype
    np.testing.assert_array_equal(fetched, expected)


@for_each("dtype", ["float32", "float64", "bfloat16", "int32", "bool", "complex64", "string"])
@for_each(
    "value",
    [None, [None], [1, None, 2], [[1], (None,)], np.array([1, None], object), [np.array([1.0, None], object), [1, 2]]],
)
async def test_none_is_no_value_of_a_tensor_of_any_type(session: Any, dtype: str, value: Any) -> None:
    x = ops.placeholder(dtype)
    with pytest.raises(TypeError, match=r"None is no number|'?NoneType'?|string tensors hold"):
        await session.run(ops.identity(x), {x: value})


@for_each(
    "dtype, value, expected",
    [
        ("int32", 7, np.int32(7)),
        ("int64", -(2**63), np.int64(-(2**63))),
        ("uint8", 255, np.uint8(255)),
        ("float32", 7, np.float32(7)),
        ("float64", 2**30, np.float64(2**30)),
        ("float32", 2**24 + 1, np.float32(2**24)),
        ("float16", 7, np.float16(7)),
        ("bfloat16", 0.1, ml_dtypes.bfloat16(0.1)),
        ("float32", True, np.float32(1)),
        ("bool", False, np.bool_(False)),
        ("complex64", 7, np.complex64(7)),
    ],
)
async def test_scalars_of_known_shape_are_converted_alike(session: Any, dtype: str, value: Any, expected: Any) -> None:
    x = ops.placeholder(dtype, [])
    fetched = await session.run(ops.identity(x), {x: value})
    assert fetched.dtype == expected.dtype
    assert fetched == expected


async def test_strings_are_fed_as_text_or_bytes(session: Any) -> None:
    x = ops.placeholder("string")
    same = ops.identity(x)
    for fed in ("text", b"text", np.str_("text"), np.bytes_(b"text")):
        assert await session.run(same, {x: fed}) == b"text"
    for several in (["a", b"b"], np.array(["a", "b"]), np.array(["a", b"b"], object)):
        assert (await session.run(same, {x: several})).tolist() == [b"a", b"b"]
    assert (await session.run(same, {x: []})).shape == (0,)


def nested_in_itself() -> list[Any]:
    """A list that has no end."""
    made: list[Any] = []
    made.append(made)
    return made


class OddText(str):
    """Text whose methods are not those of text."""

    def encode(self, *_: Any) -> Any:
        return 5


class OddBytes(bytes):
    """Bytes of which Python makes others."""

    def __bytes__(self) -> bytes:
        return b"others"


async def test_classes_below_text_and_bytes_are_fed_as_what_they_hold(session: Any) -> None:
    x = ops.placeholder("string")
    fed = [OddText("ü"), OddBytes(b"\xff"), "plain"]
    assert (await session.run(ops.identity(x), {x: fed})).tolist() == ["ü".encode(), b"\xff", b"plain"]


@for_each(
    "value",
    [
        5.5,
        None,
        [["a"], ["b", "c"]],
        [1, "a"],
        [None, "a"],
        np.array([1, 2]),
        bytearray(b"a"),
        [bytearray(b"a")],
        memoryview(b"a"),
        {"a"},
        np.array(["2020"], "M8[D]"),
        np.zeros(2, "f4,f4"),
    ],
)
async def test_a_string_tensor_takes_nothing_else(session: Any, value: Any) -> None:
    x = ops.placeholder("string", name="x")
    with pytest.raises(RequestError, match="'x:0' holds an object of type") as caught:
        await session.run(ops.identity(x), {x: value})
    assert isinstance(caught.value, TypeError)


@for_each("value", ["\ud800", ["a", "\udc80"], np.array(["\ud800"]), OddText("\udfff")])
async def test_half_of_a_surrogate_pair_is_no_text(session: Any, value: Any) -> None:
    x = ops.placeholder("string", name="x")
    with pytest.raises(RequestError, match=r"'x:0' holds '\\ud.*, which is no text") as caught:
        await session.run(ops.identity(x), {x: value})
    assert isinstance(caught.value, ValueError)


async def test_the_shape_of_strings_is_checked_before_what_they_are(session: Any) -> None:
    x = ops.placeholder("string", [2], name="x")
    odd: list[Any] = [[1, 2, 3], None, "text", [["a"], ["b"]]]
    for value in odd:
        with pytest.raises(ValueError, match=r"Cannot feed value of shape .* x:0"):
            await session.run(ops.identity(x), {x: value})
    no_text: list[Any] = [[1, 2], ["a", None], ["a", "\ud800"]]
    for value in no_text:
        with pytest.raises(RequestError, match="the value fed for 'x:0' holds"):
            await session.run(ops.identity(x), {x: value})
    assert (await session.run(ops.identity(x), {x: ["a", "b"]})).tolist() == [b"a", b"b"]


@for_each("value", [1 + 2j, np.complex64(1j), np.array(1j), [1j], [[1, 1j]]])
async def test_complex_numbers_are_refused_where_their_imaginary_part_would_be_lost(session: Any, value: Any) -> None:
    for dtype in ("float32", "int32"):
        x = ops.placeholder(dtype, name="x")
        with pytest.raises(TypeError, match=f"cannot feed .* for 'x.*:0' of {dtype}: "):
            await session.run(ops.identity(x), {x: value})
    x = ops.placeholder("complex64")
    assert (await session.run(ops.identity(x), {x: value})).dtype == np.complex64


@for_each(
    "dtype, value, kind",
    [
        ("int32", 2**40, TypeError),
        ("int64", 2**63, TypeError),
        ("uint8", -1, TypeError),
        ("uint8", 256, TypeError),
        ("bool", 2, TypeError),
        ("bool", -1, TypeError),
        ("string", 5, TypeError),
        ("string", True, TypeError),
        ("int32", None, TypeError),
        ("int32", [None], TypeError),
        ("bfloat16", "1.5", TypeError),
        ("float32", {}, TypeError),
        ("float32", object(), TypeError),
        ("float32", iter([1]), TypeError),
        ("float32", 10**400, OverflowError),
        # What fits no integer type at all has another class in TensorFlow than what fits a larger one.
        ("int32", 2**64 - 1, TypeError),
        ("int32", 2**64, OverflowError),
        ("int64", -(2**63) - 1, OverflowError),
        ("uint64", 2**64, OverflowError),
        ("bool", 2**70, OverflowError),
        ("string", 2**70, TypeError),
        ("int32", float("nan"), ValueError),  # TensorFlow feeds the least int32, with a warning
        # numpy would make other numbers of these, most of them without a word.
        ("int32", np.array([2**40]), TypeError),
        ("int32", np.int64(2**40 + 5), TypeError),
        ("int32", [np.array([2**40])], TypeError),
        ("int32", [[np.int64(1)], [np.int64(2**40)]], TypeError),
        ("int32", [2**40 + 5], OverflowError),
        ("uint8", [256, -1], OverflowError),
        ("uint8", np.array([-1]), TypeError),
        ("int64", np.array([2**63], np.uint64), TypeError),
        ("uint64", np.array([-1]), TypeError),
        ("int8", np.array([300.7]), TypeError),
        ("int32", np.array([2147483648.0]), TypeError),
        ("int64", np.array([2.0**63]), TypeError),
        ("int32", np.array([1.0, np.nan]), TypeError),
        ("int32", np.array([np.inf], np.float16), TypeError),
        ("int32", np.array(["2262-01-01"], "M8[ns]"), TypeError),
        ("int32", np.array([2**40], object), OverflowError),
        ("int32", np.ma.array([2**40]), TypeError),
        # A tensor has no mask.
        ("float32", np.ma.array([1, 2], mask=[False, True]), TypeError),
        ("string", np.ma.array(["a", "b"], mask=[False, True]), TypeError),
        ("int32", [[1, 2], np.ma.array([1, 2], mask=[False, True])], TypeError),
        ("float32", [np.ma.masked], TypeError),
        ("float32", np.zeros(2, [("a", "f4"), ("b", "i4")]), TypeError),
        ("int32", "a", ValueError),
        ("float32", [[1, 2], [3]], ValueError),
        ("float32", "abc", ValueError),
    ],
)
async def test_values_that_do_not_fit_are_refused(session: Any, dtype: str, value: Any, kind: type[Exception]) -> None:
    x = ops.placeholder(dtype, name="x")
    with pytest.raises(kind, match="'x:0'") as caught:
        await session.run(ops.identity(x), {x: value})
    assert isinstance(caught.value, RequestError)


class Column:
    """A column of somebody's table, which numpy asks for its values."""

    def __init__(self, give: Callable[[], Any]) -> None:
        self.give = give
        self.__name__ = "column"  # of the row

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        given = self.give()
        return given if dtype is None else given.astype(dtype)

    def __repr__(self) -> str:
        raise RuntimeError("a column that cannot be shown")


def raise_error(kind: type[BaseException]) -> Any:
    """Raise an error that numpy does not expect."""
    raise kind("from the column")


READ_ONLY = np.arange(3.0)
READ_ONLY.flags.writeable = False


@for_each(
    "value, expected",
    [
        (Column(lambda: np.array([1.5, 2])), [1.5, 2]),
        (np.array([1, 2], object), [1, 2]),
        (np.array([1, 2], ">f8"), [1, 2]),
        (np.array([1.5], np.longdouble), [1.5]),
        (np.array(2.5), 2.5),
        (np.float64(1.5), 1.5),
        (np.array([[1, 2]]).view(np.matrix), [[1, 2]]),
        (np.rec.array([(1,)], dtype=[("a", "i4")]), [1]),
        (np.ma.array([1, 2], mask=[False, False]), [1, 2]),
        (np.arange(6.0)[::2], [0, 2, 4]),
        (np.arange(4.0, dtype=np.float32).reshape(2, 2).T, [[0, 2], [1, 3]]),
        (READ_ONLY, [0, 1, 2]),
        (memoryview(b"ab"), [97, 98]),
        (bytearray(b"ab"), [97, 98]),
        (array("d", [1.5]), [1.5]),
        (Fraction(1, 2), 0.5),
        (Decimal("1.5"), 1.5),
        (OddText("2.5"), 2.5),
        (np.array(["1", "2"], np.dtypes.StringDType()), [1, 2]),
        (np.array([3], "m8[s]"), [3]),
        ([np.array([1]), (2,)], [[1], [2]]),
    ],
)
async def test_whatever_numpy_reads_is_fed_as_what_it_holds(session: Any, value: Any, expected: Any) -> None:
    x = ops.placeholder("float32")
    found = await session.run(x + 0.0, {x: value})
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


@for_each(
    "value, kind",
    [
        (Column(lambda: raise_error(RuntimeError)), RequestError),
        (Column(lambda: raise_error(ZeroDivisionError)), RequestError),
        (Column(lambda: raise_error(RecursionError)), RequestError),
        (Column(lambda: raise_error(MemoryError)), ResourceExhaustedError),
        (Column(lambda: 5), RequestError),
        (Column(lambda: np.array([1, None], object)), RequestError),
        (nested_in_itself(), RequestError),
        (range(10**14), ResourceExhaustedError),
    ],
)
async def test_what_cannot_be_read_is_one_class_with_the_name_of_the_tensor(
    session: Any, value: Any, kind: type[Exception]
) -> None:
    x = ops.placeholder("float32", name="x")
    with pytest.raises(kind, match=r"cannot feed .* for 'x:0' of float32"):
        await session.run(ops.identity(x), {x: value})


async def test_a_tensor_is_no_value(session: Any) -> None:
    x = ops.placeholder("float32", name="x")
    for value in (ops.constant(1.0), x, x.op, ops.Variable(1.0)):
        with pytest.raises(TypeError, match=r"cannot be a Tensor object"):
            await session.run(x + 1.0, {x: value})
    with pytest.raises(TypeError, match="annot feed"):
        await session.run(x + 1.0, {x: [ops.constant(1.0)]})


class _Stored:
    """A value that is kept elsewhere, like a tensor handle."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.asked: list[acts.Tensor] = []

    def _feed_value(self, tensor: acts.Tensor, owner: Any) -> Any:
        self.asked.append(tensor)
        return self.value


async def test_a_value_may_say_what_is_fed_in_its_place(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    stored = _Stored(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(await session.run(x + 1.0, {x: stored}), [2, 3])
    assert stored.asked == [x]
    np.testing.assert_array_equal(await session.run(x, {x: _Stored([3, 4])}), [3, 4])
    with pytest.raises(ValueError, match="shape"):
        await session.run(x + 1.0, {x: _Stored([1])})
    with pytest.raises(TypeError, match=r"cannot be a Tensor object"):
        await session.run(x + 1.0, {x: _Stored(x)})


@for_each("value", [np.zeros(2), np.zeros((3, 1)), 1.0])
async def test_a_shape_that_does_not_fit_is_refused_before_any_step(session: Any, value: Any) -> None:
    x = ops.placeholder("float32", [None, 2], name="x")
    v = ops.Variable(0.0)
    await session.run(v.initializer)
    with pytest.raises(ValueError, match=r"shape .* for Tensor x:0, which has shape \(None, 2\)"):
        await session.run([x + 1.0, v.assign_add(1.0)], {x: value})
    assert await session.run(v) == 0
    for good in ([[1, 2]], np.zeros((0, 2))):
        assert (await session.run(x + 1.0, {x: good})).shape == np.shape(good)


async def test_a_feed_that_nothing_needs_is_checked_all_the_same(session: Any) -> None:
    x, y = ops.placeholder("float32", [2]), ops.constant(1.0)
    assert await session.run(y, {x: [1, 2]}) == 1
    with pytest.raises(ValueError, match="shape"):
        await session.run(y, {x: 1})


async def test_a_needed_placeholder_without_feed_is_named_with_its_line(session: Any) -> None:
    x = ops.placeholder("float32", [2], name="images")
    with pytest.raises(InvalidArgumentError, match="'images' with dtype float32") as caught:
        await session.run(x + 1.0)
    assert caught.value.node == "images"
    assert "test_feeds.py" in str(caught.value.source)


async def test_any_tensor_may_be_fed_and_its_producer_does_not_run(session: Any) -> None:
    v = ops.Variable(0.0)
    counted = v.assign_add(1.0)
    with counted.graph.control_dependencies([counted]):
        middle = ops.constant(2.0) * 3.0
    result = middle + 1.0
    await session.run(v.initializer)
    assert await session.run(result, {middle: 10.0}) == 11
    assert await session.run(v) == 0  # nor did what the producer depends on
    assert await session.run(result) == 7
    assert await session.run(v) == 1


async def test_placeholder_with_default_takes_its_default_or_the_feed(session: Any) -> None:
    x = ops.placeholder_with_default(np.array([1, 2], np.float32), [2])
    doubled = x * 2.0
    np.testing.assert_array_equal(await session.run(doubled), [2, 4])
    np.testing.assert_array_equal(await session.run(doubled, {x: [5, 6]}), [10, 12])
    with pytest.raises(ValueError, match="shape"):
        await session.run(doubled, {x: [1, 2, 3]})


async def test_an_unfeedable_tensor_is_refused(session: Any) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = x + 1.0
    assert await session.run(y, {x: 1}) == 2
    x.graph.prevent_feeding(x)
    assert not x.graph.is_feedable(x)
    assert x.graph.is_feedable(y)
    for key in (x, "x:0", (x,)):
        with pytest.raises(ValueError, match="Tensor x:0 may not be fed"):
            await session.run(y, {key: (1,) if key == (x,) else 1})
    assert await session.run(y, {y: 5}) == 5


async def test_a_tensor_whose_static_value_was_asked_for_can_no_longer_be_fed(session: Any) -> None:
    x = ops.constant([2, 2])
    y = x + 1
    np.testing.assert_array_equal(await session.run(y, {x: [5, 5]}), [6, 6])
    np.testing.assert_array_equal(acts.get_static_value(x), [2, 2])
    with pytest.raises(ValueError, match="may not be fed"):
        await session.run(y, {x: [5, 5]})


async def test_a_value_that_only_a_shape_function_saw_may_still_be_fed(session: Any) -> None:
    x = ops.placeholder("float32", [4])
    shape, axis = ops.constant([2, 2]), ops.constant(0)
    reshaped, total = ops.reshape(x, shape), ops.reduce_sum(x, axis)
    assert reshaped.shape == [2, 2]
    feeds = {x: np.ones(4), shape: [4, 1], axis: -1}
    value, summed = await session.run([reshaped, total], feeds)
    assert (value.shape, summed) == ((4, 1), 4)


def test_static_evaluation_marks_what_its_answer_was_made_of(graph: acts.Graph) -> None:
    a, b, x = ops.constant(2), ops.constant(3, "int64"), ops.placeholder("float32", [2, 3])
    cast, same, of_x = ops.cast(a, "int64"), ops.identity(b), ops.shape(x)
    fixed, part = ops.stack([cast, same]), ops.stack([b, ops.placeholder("int64", [])])
    unused = ops.constant(4)
    assert acts.get_static_value(ops.placeholder("float32")) is None
    assert acts.get_static_value(ops.Variable(1)) is None
    assert acts.get_static_value(7) == 7
    np.testing.assert_array_equal(acts.get_static_value(of_x), [2, 3])
    assert not graph.is_feedable(of_x)
    assert graph.is_feedable(x)
    assert acts.get_static_value(part) is None
    assert graph.is_feedable(b)
    np.testing.assert_array_equal(acts.get_static_value(fixed), [2, 3])
    assert [graph.is_feedable(t) for t in (a, b, cast, same, fixed)] == [False] * 5
    assert graph.is_feedable(unused)
    partly = acts.get_static_value(part, partial=True)
    assert partly.tolist() == [3, None]
    assert not graph.is_feedable(part)
    assert graph.restrictions == 7


async def test_feeding_a_variable_replaces_its_reading_and_assigns_nothing(session: Any) -> None:
    v = ops.Variable(1.0)
    await session.run(v.initializer)
    element = v._as_graph_element()
    assert await session.run(element + 1.0, {v: 10.0}) == 11
    assert await session.run(v + 1.0, {v: 10.0}) == 2  # an operand reads for itself
    assert await session.run(v) == 1


async def test_changing_a_fed_array_after_the_run_has_no_effect(session: Any) -> None:
    x = ops.placeholder("float32", [3])
    v = ops.Variable(np.zeros(3, np.float32))
    store = v.assign(x)
    fed = np.array([1, 2, 3], np.float32)
    await session.run(v.initializer)
    await session.run(store, {x: fed})
    fed[:] = -1
    np.testing.assert_array_equal(await session.run(v), [1, 2, 3])


async def test_fed_arrays_are_never_written_to(session: Any) -> None:
    x = ops.placeholder("float32", [3])
    v = ops.Variable(np.zeros(3, np.float32))
    fed = np.array([1, 2, 3], np.float32)
    fed.flags.writeable = False
    await session.run(v.initializer)
    await session.run(v.assign(x), {x: fed})
    await session.run(v.assign_add(x), {x: fed})
    np.testing.assert_array_equal(await session.run(v), [2, 4, 6])
    np.testing.assert_array_equal(fed, [1, 2, 3])


@for_each("order", ["C", "F"])
async def test_any_memory_layout_may_be_fed(session: Any, order: Any) -> None:
    x = ops.placeholder("float32", [2, 3])
    fed = np.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), order=order)
    np.testing.assert_array_equal(await session.run(x * 2.0, {x: fed}), fed * 2)
    np.testing.assert_array_equal(await session.run(x * 2.0, {x: fed[:, ::-1]}), fed[:, ::-1] * 2)


# -- whose array it is -----------------------------------------------------------------------------
@for_each("dtype", ["float32", "int64", "bool", "bfloat16", "string"])
def test_an_array_of_the_right_type_is_not_copied_on_the_way_in(graph: acts.Graph, dtype: str) -> None:
    x = ops.placeholder(dtype, [2])
    fed = np.array([b"a", b"b"], object) if dtype == "string" else np.zeros(2, x.dtype.np_dtype)
    assert converter(x)(fed) is fed


def test_consumers_see_the_fed_array_itself(graph: acts.Graph, seen: list[Any]) -> None:
    x = ops.placeholder("float32", [3])
    fed = np.arange(3, dtype=np.float32)
    with acts.Session(graph=graph) as session:
        session.run(make_one("TestWitness", [ops.identity(x)]), {x: fed})
    assert np.shares_memory(seen[0], fed)


async def test_values_that_look_like_a_feed_are_the_callers_own(session: Any) -> None:
    x = ops.placeholder("float32", [2, 2])
    fed = np.arange(4, dtype=np.float32).reshape(2, 2)
    views = [
        x,
        ops.identity(x),
        ops.stop_gradient(x),
        ops.reshape(x, [4]),
        ops.transpose(x),
        x[0],
        ops.expand_dims(x, 0),
        *ops.unstack(x),
        ops.placeholder_with_default(x, [2, 2]),
    ]
    expected = [np.array(v) for v in await session.run(views, {x: fed})]
    values = await session.run(views, {x: fed})
    for value in values:
        assert value.flags.writeable
        assert not np.shares_memory(value, fed)
        value[...] = -1
    np.testing.assert_array_equal(fed, [[0, 1], [2, 3]])
    for value, want in zip(await session.run(views, {x: fed}), expected, strict=True):
        np.testing.assert_array_equal(value, want)


@for_each("way", ["itself", "identity", "reshape", "transpose", "slice"])
async def test_a_variable_that_was_assigned_a_feed_does_not_see_later_changes(session: Any, way: str) -> None:
    x = ops.placeholder("float32", [2, 2])
    through = {
        "itself": x,
        "identity": ops.identity(x),
        "reshape": ops.reshape(x, [2, 2]),
        "transpose": ops.transpose(ops.transpose(x)),
        "slice": x[:],
    }[way]
    v = ops.Variable(np.zeros((2, 2), np.float32))
    store = v.assign(through)
    await session.run(v.initializer)
    fed = np.arange(4, dtype=np.float32).reshape(2, 2)
    fetched = await session.run(store, {x: fed})
    fetched[...] = -1
    fed[...] = -2
    np.testing.assert_array_equal(await session.run(v), [[0, 1], [2, 3]])


async def test_fetched_constants_and_variables_are_the_callers_own(session: Any) -> None:
    c, v = ops.constant([1.0, 2.0]), ops.Variable([3.0, 4.0])
    await session.run(v.initializer)
    for value in await session.run([c, v, v.value(), ops.identity(c)]):
        assert value.flags.writeable
        value[...] = -1
    once, again, nested = await session.run([c, c, (v, v)])
    for value in (once, again, *nested):
        assert value.flags.writeable
    np.testing.assert_array_equal(once, [1, 2])
    np.testing.assert_array_equal(nested[0], [3, 4])


async def test_a_step_that_waits_does_not_see_later_changes_of_its_feed(graph: acts.Graph) -> None:
    """While a step is suspended, its caller's program goes on and may write to what it fed. 1. The step begins and
    waits for a function that holds a gate. 2. The program changes the fed array, and opens the gate. 3. What the step
    computes behind the gate is of the array as it was fed."""
    entered, gate = threading.Event(), threading.Event()

    def wait_at_gate(value: Any) -> Any:
        entered.set()
        assert gate.wait(30)
        return value

    x = ops.placeholder("float32", [3])
    held = ops.py_func(wait_at_gate, [ops.constant(0.0)], "float32")
    with graph.control_dependencies([held]):
        behind = x + 1.0
    v = ops.Variable(np.zeros(3, np.float32))
    with graph.control_dependencies([held]):
        stored = v.assign(x)
    fed = np.array([1, 2, 3], np.float32)
    async with acts.AsyncSession(graph=graph) as session, asyncio.TaskGroup() as group:
        await session.run(v.initializer)
        running = group.create_task(session.run([behind, stored], {x: fed}))
        assert await asyncio.to_thread(entered.wait, 30)
        fed[:] = -1
        gate.set()
        computed, assigned = await running
        np.testing.assert_array_equal(computed, [2, 3, 4])
        np.testing.assert_array_equal(assigned, [1, 2, 3])
        np.testing.assert_array_equal(await session.run(v), [1, 2, 3])


@pytest.mark.parametrize("way", ["run", "callable"])
async def test_a_kernel_gets_the_memory_that_was_fed(session: Any, seen: list[Any], way: str) -> None:
    x = ops.placeholder("float32", [3])
    fetch = make_one("TestReference", [x])
    fed = np.arange(3, dtype=np.float32)
    call = session.callable(fetch, [x])
    await (session.run(fetch, {x: fed}) if way == "run" else call(fed))
    assert len(seen) == 1
    assert np.shares_memory(seen[0], fed)


async def test_an_inner_tensor_that_is_fed_is_passed_by_reference_too(session: Any, seen: list[Any]) -> None:
    inner = ops.placeholder("float32", [3]) * 2.0
    fed = np.arange(3, dtype=np.float32)
    await session.run(make_one("TestReference", [inner]), {inner: fed})
    assert np.shares_memory(seen[0], fed)


async def test_what_has_another_type_is_converted_once_and_not_the_callers_array(session: Any, seen: list[Any]) -> None:
    x = ops.placeholder("float32", [3])
    fed = np.arange(3)
    await session.run(make_one("TestReference", [x]), {x: fed})
    assert not np.shares_memory(seen[0], fed)
    np.testing.assert_array_equal(fed, [0, 1, 2])


async def test_between_two_devices_of_a_synchronous_step_it_is_the_fed_memory_still(
    make_session: Any, seen: list[Any]
) -> None:
    """An asynchronous step may be suspended between two devices, and so keeps a copy."""
    face = make_session(acts.ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [3])
    with acts.get_default_graph().device("/cpu:1"):
        fetch = make_one("TestReference", [x])
    fed = np.arange(3, dtype=np.float32)
    await face.run([fetch, x * 1.0], {x: fed})
    assert np.shares_memory(seen[0], fed) == (face.name == "Session")


@for_each("between", ["nothing", "a run", "a partial run", "a callable"])
async def test_a_feed_that_was_forbidden_after_it_was_fed(session: Any, between: str) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    z = y * 2.0
    call = session.callable(z, [x])
    assert await session.run(z, {y: 5}) == 10
    assert await call(1) == 4
    x.graph.prevent_feeding(y)
    if between == "a run":
        await session.run(z, {x: 1})
    elif between == "a partial run":
        handle = await session.partial_run_setup(z, x)
        assert await session.partial_run(handle, z, {x: 1}) == 4
    elif between == "a callable":
        assert await call(1) == 4
    with pytest.raises(ValueError, match="may not be fed"):
        await session.run(z, {y: 5})


async def test_a_fetch_that_was_forbidden_after_it_was_fetched(session: Any) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    assert await session.run(y, {x: 1}) == 2
    handle = await session.partial_run_setup(y, x)
    y.graph.prevent_fetching(y.op)
    with pytest.raises(InaccessibleTensorError):
        await session.partial_run_setup(y, x)
    with pytest.raises(InaccessibleTensorError):
        await session.run(y, {x: 1})
    with pytest.raises(InaccessibleTensorError):
        await session.partial_run(handle, y, {x: 1})


FED = ([[1, 1]], [2.0], [2, 3])


def _same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want)


async def test_a_sparse_tensor_gives_a_sparse_tensor_value(session: Any) -> None:
    sparse = acts.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    found = await session.run(sparse)
    _same(found, acts.sparse.SparseTensorValue([[0, 0], [1, 2]], [1, 2], [2, 3]))
    assert [part.dtype.name for part in found] == ["int64", "float32", "int64"]
    assert all(part.flags.writeable for part in found)
    nested = await session.run({"s": [sparse, sparse.values]})
    _same(nested["s"][0], found)


async def test_a_value_whose_parts_are_tensors_is_an_ordinary_named_tuple(session: Any) -> None:
    x = ops.constant([1.0])
    _same(await session.run(acts.sparse.SparseTensorValue(x, x, x)), acts.sparse.SparseTensorValue([1], [1], [1]))


async def test_slices_give_their_value_and_no_shape_when_they_have_none(session: Any) -> None:
    rows, indices = ops.constant([[1.0, 2.0]]), ops.constant([0])
    found = await session.run(acts.IndexedSlices(rows, indices))
    assert found.dense_shape is None
    _same(found[:2], ([[1, 2]], [0]))
    assert type(found) is acts.sparse.IndexedSlicesValue
    whole = acts.IndexedSlices(rows, indices, ops.constant([4, 2]))
    found = await session.run(whole)
    assert type(found) is acts.sparse.IndexedSlicesValue
    _same(tuple(found), ([[1, 2]], [0], [4, 2]))


@for_each("value", [FED, list(FED), acts.sparse.SparseTensorValue(*FED)], ids=["tuple", "list", "value"])
async def test_a_sparse_placeholder_is_fed_a_tuple_or_a_value(session: Any, value: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    _same(await session.run(sparse, {sparse: value}), acts.sparse.SparseTensorValue(*FED))
    dense = opsets.sparse_tensor_to_dense(sparse)
    expected = [[0, 0, 0], [0, 2, 0]]
    np.testing.assert_array_equal(await session.run(dense, {sparse: value}), expected)


async def test_the_parts_of_a_sparse_placeholder_are_fed_one_by_one_too(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    dense = opsets.sparse_tensor_to_dense(sparse)
    feeds = {sparse.indices: FED[0], sparse.values: FED[1], "sp/shape:0": FED[2]}
    np.testing.assert_array_equal(await session.run(dense, feeds), [[0, 0, 0], [0, 2, 0]])


async def test_a_sparse_key_may_stand_in_a_tuple(session: Any) -> None:
    sparse, x = opsets.sparse_placeholder("float32"), ops.placeholder("float32", [])
    dense = opsets.sparse_tensor_to_dense(sparse) * x
    found = await session.run(dense, {(sparse, x): (FED, 3)})
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 6, 0]])


async def test_a_sparse_placeholder_with_a_shape_has_it_unless_it_is_fed(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", [2, 3])
    parts = {sparse.indices: [[0, 0]], sparse.values: [1.0]}
    _same(await session.run(sparse, parts), acts.sparse.SparseTensorValue([[0, 0]], [1], [2, 3]))
    other = acts.sparse.SparseTensorValue([[1, 1]], [2.0], [9, 9])
    _same(await session.run(sparse, {sparse: other}), other)


async def test_parts_that_are_not_fed_are_needed(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    with pytest.raises(InvalidArgumentError, match="'sp/shape'"):
        await session.run(sparse, {sparse: FED[:2]})
    with pytest.raises(InvalidArgumentError, match="must feed"):
        await session.run(sparse)


@for_each("value", [None, 5, 1.5])
async def test_a_value_without_parts_is_refused(session: Any, value: Any) -> None:
    sparse = opsets.sparse_placeholder("float32")
    with pytest.raises(TypeError, match="a tuple of 3 arrays"):
        await session.run(sparse, {sparse: value})


async def test_a_sparse_tensor_is_no_value(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32")
    with pytest.raises(TypeError):
        await session.run(sparse, {sparse: acts.SparseTensor([[0, 0]], [1.0], [2, 3])})


async def test_the_parts_of_a_sparse_feed_have_shapes_that_are_checked(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", [2, 3])
    with pytest.raises(ValueError, match="shape"):
        await session.run(sparse, {sparse: ([[1, 1, 1]], [2.0], [2, 3])})


async def test_a_sparse_tensor_with_a_constant_shape_cannot_be_fed(session: Any) -> None:
    sparse = acts.SparseTensor([[0, 0]], [1.0], [2, 3])
    with pytest.raises(ValueError, match="dense_shape:0 may not be fed"):
        await session.run(sparse, {sparse: FED})


async def test_slices_are_fed_a_tuple_or_a_value(session: Any) -> None:
    slices = acts.IndexedSlices(ops.constant([[1.0, 2.0]]), ops.constant([0]))
    whole = acts.IndexedSlices(slices.values, slices.indices, ops.constant([4, 2]))
    fed = acts.sparse.IndexedSlicesValue(np.array([[3, 4]]), np.array([1]), np.array([5, 2]))
    for key in (slices, whole):
        found = await session.run(key, {key: fed})
        _same(found[:2], fed[:2])
    _same(await session.run(whole, {whole: fed}), fed)
    left_out = await session.run(whole, {whole: fed[:2]})
    np.testing.assert_array_equal(left_out.dense_shape, [4, 2])


async def test_sparse_fetches_are_remembered_like_others(make_session: Any) -> None:
    face = make_session()
    sparse = acts.SparseTensor([[0, 0]], [1.0], [2, 3])
    slices = acts.IndexedSlices(sparse.values, sparse.indices)
    for _ in range(3):
        await face.run({"a": sparse, "b": [slices]})
    assert len(face.session._requests) == 1
