"""Places among sorted values, and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, as_dtype
from actorsession.errors import InvalidArgumentError
from actorsession.ops import raw
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

CUBE = np.random.default_rng(3).permutation(24).reshape(2, 3, 4).astype(np.float32)


@for_each("axis", [-1, 0, 1, 2, -3])
def test_sort_orders_along_an_axis(axis: int) -> None:
    expect(lambda x: acts.arrays.sort(x, axis), np.sort(CUBE, axis), CUBE)
    expect(lambda x: acts.arrays.sort(x, axis, "DESCENDING"), -np.sort(-CUBE, axis), CUBE)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_argsort_gives_the_indices_of_the_order(axis: int) -> None:
    wanted = np.argsort(CUBE, axis).astype(np.int32)
    expect(lambda x: acts.arrays.argsort(x, axis), wanted, CUBE)
    expect(lambda x: acts.arrays.argsort(x, axis, "DESCENDING"), np.flip(wanted, axis), CUBE)


def test_an_axis_may_be_a_tensor() -> None:
    for place in (0, 1, -1, 2):
        with Graph().as_default():
            x, axis = source("float32", [2, 3, 4]), source("int32", [])
            [found] = evaluate([acts.arrays.sort(x, axis)], {x: CUBE, axis: np.int32(place)})
        np.testing.assert_array_equal(found, np.sort(CUBE, place))


@for_each("dtype", ["int8", "uint8", "int64", "uint32", "float16", "bfloat16"])
@for_each("direction", ["ASCENDING", "DESCENDING"])
def test_sort_keeps_the_least_and_greatest_of_each_type(dtype: Any, direction: Any) -> None:
    np_dtype = as_dtype(dtype).np_dtype
    ends = [-np.inf, np.inf]
    if np_dtype.kind in "iu":
        limits = np.iinfo(np_dtype)
        ends = [limits.min, limits.max]
    values = np.array([3, ends[1], ends[0], 1], np_dtype)
    wanted = np.array([ends[0], 1, 3, ends[1]], np_dtype)
    found = computed(lambda x: acts.arrays.sort(x, direction=direction), values)
    assert found.dtype == np_dtype
    assert found.tolist() == (wanted if direction == "ASCENDING" else wanted[::-1]).tolist()


def test_equal_elements_keep_their_order_and_nan_comes_last() -> None:
    expect(acts.arrays.argsort, i32([1, 3, 2, 0]), f32([3, 1, 2, 1]))
    expect(lambda x: acts.arrays.argsort(x, direction="DESCENDING"), i32([0, 2, 1, 3]), f32([3, 1, 2, 1]))
    expect(acts.arrays.argsort, i32([3, 2, 0, 1]), f32([3, np.nan, 2, 1]))
    expect(acts.arrays.sort, f32([1, 2, 3, np.nan]), f32([3, np.nan, 2, 1]))


def test_sort_keeps_the_static_shape() -> None:
    assert static_shape(lambda x: acts.arrays.sort(x, 0), [None, 3]) == [None, 3]
    assert static_shape(lambda x: acts.arrays.argsort(x), [2, None]) == [2, None]


def test_sort_refuses_other_directions_axes_and_scalars() -> None:
    with pytest.raises(ValueError, match="ASCENDING or DESCENDING, got 'up'"):
        acts.arrays.sort([1], direction="up")
    with pytest.raises(ValueError, match="axis 2 is not in"):
        acts.arrays.sort([[1]], axis=2)
    with pytest.raises(ValueError, match="axis -1 is not in"):
        acts.arrays.sort(1)


def test_the_gradient_of_sort_goes_back_to_where_elements_came_from() -> None:
    check_gradient(acts.arrays.sort, CUBE)
    check_gradient(lambda x: acts.arrays.sort(x, 0, "DESCENDING"), CUBE)


def test_searchsorted_gives_either_end_of_equal_values() -> None:
    sequence = i32([1, 3, 3, 5])
    expect(lambda v: acts.arrays.searchsorted(sequence, v), i32([0, 1, 4]), i32([0, 3, 9]))
    expect(lambda v: acts.arrays.searchsorted(sequence, v, "right", "int64"), i64([0, 3, 4]), i32([0, 3, 9]))


def test_searchsorted_refuses_another_side() -> None:
    with pytest.raises(ValueError, match="'left' or 'right', got 'up'"):
        acts.arrays.searchsorted([1], [1], side="up")


def test_boundaries_of_buckets_are_in_order() -> None:
    with pytest.raises(InvalidArgumentError, match="boundaries in order"):
        evaluate([raw.Bucketize([1.0], boundaries=[2.0, 1.0])])
