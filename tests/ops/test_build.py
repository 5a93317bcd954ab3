"""Python values as tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, constant, convert_to_tensor, fill, float32, float64, int32, int64, math, nn, ops, uint64
from actorsession import range as range_
from actorsession.errors import WrongDtypeError
from actorsession.ops.build import to_array
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each


@for_each(
    "value, dtype",
    [
        (1, int32),
        (-(2**31), int32),
        (2**31, int64),
        ([1, 2**40], int64),
        (2**63, uint64),
        ([np.int64(1)], int32),
        (np.int64(1), int64),
        (1.5, float32),
        ([2**40, 1.5], float32),
        (np.float64(1.5), float64),
    ],
    ids=str,
)
def test_numbers_of_python_take_the_narrow_type_unless_they_need_the_wide_one(value: Any, dtype: Any) -> None:
    made = constant(value)
    assert made.dtype is dtype
    [found] = evaluate([made])
    np.testing.assert_array_equal(found, np.array(value, dtype.np_dtype))


@pytest.mark.parametrize("value", [2**64, [1, 2**70], -(2**64)], ids=str)
def test_a_number_that_no_type_holds_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot make a tensor of"):
        constant(value)


def test_integers_of_which_some_are_large_are_unsigned() -> None:
    found = to_array([0, 2**64 - 1], uint64)
    assert (found.dtype, found.tolist()) == (np.uint64, [0, 2**64 - 1])
    for value in ([-1, 2**63], [0.5, 1.0], [0, 2**64]):
        with pytest.raises(TypeError, match="Expected uint64, but got"):
            to_array(value, uint64)


def test_large_numbers_beside_other_operands() -> None:
    assert fill([2], 2**40).dtype is int64
    assert range_(0, 2**40, 2**38).dtype is int64
    assert (source(float32) + 2**40).dtype is float32
    with pytest.raises(TypeError, match="does not fit int32"):
        _ = source(int32) + 2**40
    with pytest.raises(TypeError, match="does not fit int32"):
        convert_to_tensor(2**40, int32)


def test_none_is_no_value() -> None:
    with pytest.raises(ValueError, match="None values not supported"):
        constant(None)


def test_texts_keep_zero_bytes_at_their_end() -> None:
    [found] = evaluate([constant(["\x01\x00", b"ab\x00\x00"])])
    assert found.tolist() == [b"\x01\x00", b"ab\x00\x00"]


def test_texts_and_numbers_make_no_tensor() -> None:
    with pytest.raises(TypeError, match="cannot make a tensor of list"):
        constant(["a", 1])


@pytest.mark.parametrize("dtype", [float32, int32])
def test_bools_fit_numbers_and_numbers_no_bools(dtype: Any) -> None:
    [found] = evaluate([convert_to_tensor([True, False], dtype) + True])
    np.testing.assert_array_equal(found, np.array([2, 1], dtype.np_dtype))
    with pytest.raises(TypeError, match="Expected bool, but got"):
        constant(1, "bool")


def test_an_integer_of_any_size_fits_a_float() -> None:
    [found] = evaluate([constant(2**70, float32)])
    assert found == np.float32(2.0**70)


# -- constants of a shape --------------------------------------------------------------------------


@for_each(
    "value, shape, result",
    [
        ([1, 2, 3], [2, 2], [[1, 2], [3, 3]]),
        ([[1, 2], [3, 4]], [5], [1, 2, 3, 4, 4]),
        (7, [2, 2], [[7, 7], [7, 7]]),
        ([7], [], 7),
        ([], [2], [0.0, 0.0]),
        ([], [0, 3], np.empty([0, 3]).tolist()),
        ([True, False], [3], [True, False, False]),
        (["a", "b"], [3], [b"a", b"b", b"b"]),
        (np.arange(6), [3, 2], [[0, 1], [2, 3], [4, 5]]),
        (5, [0], []),
    ],
    ids=str,
)
def test_the_last_element_fills_what_is_left_of_a_shape(value: Any, shape: Any, result: Any) -> None:
    made = constant(value, shape=shape)
    assert made.shape == shape
    assert evaluate([made])[0].tolist() == result


@pytest.mark.parametrize("shape", [[2], []], ids=str)
def test_more_elements_than_a_shape_has_are_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"Too many elements provided: .* got 3"):
        constant([1, 2, 3], shape=shape)


def test_a_value_of_another_shape_is_refused_if_that_is_to_be_verified() -> None:
    assert constant([[1, 2]], shape=[1, 2], verify_shape=True).shape == [1, 2]
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), but got \(3,\)"):
        constant([1, 2, 3], shape=[2, 2], verify_shape=True)


# -- tensors of another dtype ----------------------------------------------------------------------


def test_a_tensor_of_another_dtype_is_both_errors_that_tensorflow_raises() -> None:
    with pytest.raises(WrongDtypeError, match="int32; float32 is wanted") as caught:
        convert_to_tensor(constant(1), float32)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


# -- names of constants ----------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [False, True], ids=["tensor", "list"])
def test_a_constant_is_made_of_values_and_not_of_tensors(listed: bool) -> None:
    tensor = ops.placeholder("int32", [])
    with pytest.raises(TypeError, match=r"takes values, got a tensor"):
        ops.constant([tensor, 2] if listed else tensor)


@for_each(
    "build, names",
    [
        (lambda x: ops.reduce_sum(x, 1), ["Sum/reduction_indices", "Sum"]),
        (lambda x: ops.reduce_mean(x, 0, name="m"), ["m/reduction_indices", "m"]),
        (lambda x: ops.reduce_max(x), ["Const", "Max"]),
        (lambda x: ops.argmax(x), ["ArgMax/dimension", "ArgMax"]),
        (lambda x: ops.square([1.0]), ["Square/x", "Square"]),
        (lambda x: nn.relu([1.0]), ["Relu/features", "Relu"]),
        (lambda x: ops.gather_nd(x, [[0, 0]]), ["GatherNd/indices", "GatherNd"]),
        (lambda x: ops.one_hot(x, 3, 1.0), ["one_hot/on_value", "one_hot/off_value", "one_hot/depth", "one_hot"]),
        (lambda x: ops.segment_sum(x, [0, 1]), ["SegmentSum/segment_ids", "SegmentSum"]),
        (lambda x: ops.floor_div(1, 2), ["FloorDiv/x", "FloorDiv/y", "FloorDiv"]),
        (lambda x: math.xdivy(1.0, 2.0), ["xdivy/Xdivy/x", "xdivy/Xdivy/y", "xdivy/Xdivy"]),
    ],
)
def test_a_constant_is_named_after_the_operand_that_it_is(
    build: Callable[[Any], Any], names: list[str], graph: Graph
) -> None:
    x = source(int32, [2, 2])
    before = len(graph.get_operations())
    build(x)
    assert [op.name for op in graph.get_operations()[before:]] == names
