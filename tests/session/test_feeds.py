"""Feeds: keys, conversion, shapes, and where feeding cuts the graph."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import actorsession.ops as ops
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph


async def test_keys_are_tensors_names_or_tuples_of_them(session: Any) -> None:
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    total = a + b
    assert await session.run(total, {a: 1, "b:0": 2}) == 3
    assert await session.run(total, {(a, b): (1, 2)}) == 3


async def test_of_two_keys_for_one_tensor_the_later_wins(session: Any) -> None:
    a = ops.placeholder("float32", [], name="a")
    assert await session.run(a + 0.0, {a: 1, "a:0": 2}) == 2


@pytest.mark.parametrize("bad", ["nowhere:0", "a", 7, None])
async def test_every_bad_key_is_a_type_error(session: Any, bad: Any) -> None:
    a = ops.placeholder("float32", [], name="a")
    with pytest.raises(TypeError, match="cannot interpret feed_dict key as Tensor"):
        await session.run(a + 1.0, {bad: 1})


async def test_a_tensor_of_another_graph_is_no_key(session: Any) -> None:
    a = ops.placeholder("float32", [])
    with Graph().as_default():
        stranger = ops.placeholder("float32", [])
    with pytest.raises(TypeError, match="cannot interpret feed_dict key"):
        await session.run(a + 1.0, {stranger: 1})


async def test_a_feed_dict_that_is_no_mapping_is_refused(session: Any) -> None:
    a = ops.placeholder("float32", [])
    with pytest.raises(TypeError, match="feed_dict is a mapping"):
        await session.run(a + 1.0, [(a, 1)])


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int32", 2.9, np.int32(2)),  # floats are truncated, as numpy does
        ("float32", 3, np.float32(3)),
        ("float32", "2.5", np.float32(2.5)),
        ("float32", [True, False], np.array([1, 0], np.float32)),
        ("float64", np.float32(0.1), np.float64(np.float32(0.1))),
        ("bool", 1, np.bool_(True)),
        ("complex64", 1 + 2j, np.complex64(1 + 2j)),
        ("bfloat16", 1.5, ml_dtypes.bfloat16(1.5)),
        ("uint8", [255], np.array([255], np.uint8)),
    ],
)
async def test_values_are_converted_as_numpy_does(
    session: Any, dtype: str, value: Any, expected: Any
) -> None:
    x = ops.placeholder(dtype)
    fetched = await session.run(ops.identity(x), {x: value})
    assert fetched.dtype == expected.dtype
    np.testing.assert_array_equal(fetched, expected)


async def test_none_fed_to_a_float_becomes_nan(session: Any) -> None:
    x = ops.placeholder("float32")
    assert np.isnan(await session.run(ops.identity(x), {x: None}))


@pytest.mark.parametrize(
    ("dtype", "value", "kind"),
    [
        ("int32", 2**40, TypeError),
        ("uint8", -1, TypeError),
        ("float32", [[1, 2], [3]], ValueError),
        ("float32", "abc", ValueError),
    ],
)
async def test_values_that_do_not_fit_are_refused(
    session: Any, dtype: str, value: Any, kind: type[Exception]
) -> None:
    x = ops.placeholder(dtype, name="x")
    with pytest.raises(kind, match="'x:0'"):
        await session.run(ops.identity(x), {x: value})


async def test_a_tensor_is_no_value(session: Any) -> None:
    x = ops.placeholder("float32", name="x")
    with pytest.raises(TypeError, match="run the tensor first"):
        await session.run(x + 1.0, {x: ops.constant(1.0)})


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((3, 1)), 1.0])
async def test_a_shape_that_does_not_fit_is_refused_before_any_step(
    session: Any, value: Any
) -> None:
    x = ops.placeholder("float32", [None, 2], name="x")
    v = ops.Variable(0.0)
    await session.run(v.initializer)
    with pytest.raises(ValueError, match=r"shape .* for tensor 'x:0', which has shape \(\?, 2\)"):
        await session.run([x + 1.0, v.assign_add(1.0)], {x: value})
    assert await session.run(v) == 0


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


@pytest.mark.parametrize("order", ["C", "F"])
async def test_any_memory_layout_may_be_fed(session: Any, order: Any) -> None:
    x = ops.placeholder("float32", [2, 3])
    fed = np.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), order=order)
    np.testing.assert_array_equal(await session.run(x * 2.0, {x: fed}), fed * 2)
    np.testing.assert_array_equal(await session.run(x * 2.0, {x: fed[:, ::-1]}), fed[:, ::-1] * 2)
