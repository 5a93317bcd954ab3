"""Values put to places by index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.scatter import one_hot, scatter_nd, unsorted_segment_sum
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from tests.ops.cases import computed, expect, f32, i32
from tests.ops.interpreter import check_gradient, source
from tests.rows import for_each

A = np.arange(6, dtype=np.float32).reshape(3, 2)


# -- one_hot ---------------------------------------------------------------------------------------


def _one_hot(
    indices: Any, depth: int, axis: int = -1, on: Any = 1, off: Any = 0, dtype: Any = np.float32
) -> Any:
    """One comparison per position: the closed form."""
    places = np.arange(depth).reshape([-1] + [1] * np.ndim(indices))
    hot = np.moveaxis(np.asarray(indices).astype(np.int64) == places, 0, -1)
    return np.moveaxis(np.where(hot, on, off).astype(dtype), -1, axis)


@for_each("indices", [[0, 2, 1], [[3], [0]], 2, [], [-1, 4, 100, -100]], ids=str)
@for_each("depth", [4, 0, 1, 200, 300])
@for_each("index_type", [np.int32, np.int64, np.int8, np.uint8])
def test_one_hot_marks_the_index_and_nothing_for_one_out_of_range(
    indices: Any, depth: Any, index_type: Any
) -> None:
    index = np.array(indices).astype(index_type)
    wanted = _one_hot(index, depth)
    expect(lambda i: one_hot(i, depth), wanted, index)
    expect(lambda i, d: one_hot(i, d), wanted, index, i32(depth))


@for_each("axis", [0, 1, 2, -1])
def test_one_hot_puts_the_new_axis_anywhere(axis: Any) -> None:
    index = i32([[0, 2], [1, -1]])
    expect(lambda i: one_hot(i, 3, axis=axis), _one_hot(index, 3, axis), index)


def test_one_hot_takes_other_values_and_their_type() -> None:
    index = i32([0, 1])
    expect(lambda i: one_hot(i, 2, 5, -1), _one_hot(index, 2, on=5, off=-1, dtype=np.int32), index)
    expect(lambda i: one_hot(i, 2, 0.5), _one_hot(index, 2, on=0.5), index)
    expect(lambda i: one_hot(i, 2, dtype="bool"), _one_hot(index, 2, dtype=np.bool_), index)
    expect(
        lambda i, on: one_hot(i, 2, on),
        _one_hot(index, 2, on=7, dtype=np.float64), index, np.float64(7),
    )  # fmt: skip


def test_the_static_shape_of_one_hot() -> None:
    with Graph().as_default():
        index, depth = source("int32", [None, 2]), source("int32", [])
        assert one_hot(index, 5).shape.as_list() == [None, 2, 5]
        assert one_hot(index, 5, axis=0).shape.as_list() == [5, None, 2]
        assert one_hot(index, depth).shape.as_list() == [None, 2, None]
        assert one_hot(source("int32"), 5).shape.rank is None


def test_a_one_hot_that_can_never_work_is_refused() -> None:
    with Graph().as_default():
        with pytest.raises(TypeError, match="integers as indices; got float32"):
            one_hot([0.5], 2)
        with pytest.raises(ValueError, match="at least 0, got -1"):
            one_hot([0], -1)
        with pytest.raises(TypeError):
            one_hot([0], 2, constant(1), constant(1.0))
        with pytest.raises(ValueError, match="axis 3"):
            one_hot([0], 2, axis=3)
        with pytest.raises(ValueError, match="input 1 has rank 0, got shape"):
            one_hot([0], [2])
        with pytest.raises(ValueError, match="input 3 has rank 0, got shape"):
            one_hot([0], 2, off_value=[0.0])
    with pytest.raises(InvalidArgumentError, match="at least 0, got -1"):
        computed(one_hot, i32([0]), i32(-1))
    with pytest.raises(InvalidArgumentError, match=r"depth is a scalar, got shape \[1\]"):
        computed(one_hot, i32([0]), i32([3]), known=False)
    with pytest.raises(InvalidArgumentError, match=r"on_value is a scalar, got shape \[1\]"):
        computed(one_hot, i32([0]), i32(3), i32([1]), i32(0), known=False)


def test_nothing_flows_back_through_one_hot() -> None:
    with Graph().as_default():
        on = source("float32", [])
        assert gradients(one_hot([0], 2, on), [on]) == [None]


# -- scatter_nd ------------------------------------------------------------------------------------


def _scattered(indices: Any, updates: Any, dims: Any) -> Any:
    out = np.zeros(dims, updates.dtype)
    np.add.at(out, tuple(np.moveaxis(np.asarray(indices), -1, 0)), updates)
    return out


@for_each(
    "indices, width, dims",
    [
        ([[1], [3], [1]], (2,), (4, 2)),
        ([[1, 0], [3, 1], [1, 0]], (), (4, 2)),
        ([[[1], [3]], [[1], [0]]], (3,), (4, 3)),
        ([2], (3,), (4, 3)),
        ([[0], [1], [0]], (600,), (2, 600)),
        ([[0, 1], [1, 1], [0, 1]], (2, 3), (2, 2, 2, 3)),
    ],
)
@for_each("index_type", [np.int32, np.int64])
def test_scatter_nd_adds_what_meets_at_one_place(
    indices: Any, width: Any, dims: Any, index_type: Any
) -> None:
    index = np.array(indices, index_type)
    updates = np.random.default_rng(0).integers(-9, 9, (*index.shape[:-1], *width))
    wanted = _scattered(index, updates, dims)
    expect(lambda i, u: scatter_nd(i, u, dims), wanted, index, updates)
    expect(scatter_nd, wanted, index, updates, np.array(dims, index_type))


def test_scatter_nd_of_nothing_is_zero() -> None:
    empty = np.zeros((0, 1), np.int32)
    expect(scatter_nd, np.zeros((3,)), empty, np.zeros(0), i32([3]))


def test_a_place_outside_fails() -> None:
    for bad in (4, -1):
        with pytest.raises(InvalidArgumentError, match=rf"\[{bad}\] does not index .* \[4\]"):
            computed(scatter_nd, i32([[1], [bad]]), f32([1, 2]), i32([4]))


def test_updates_of_another_shape_are_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=r"updates of shape \(2, 5\)"):
        scatter_nd([[0], [1]], source("float32", [2, 4]), [3, 5])
    with pytest.raises(InvalidArgumentError, match=r"updates of shape \[2, 5\], got \[2, 4\]"):
        computed(scatter_nd, i32([[0], [1]]), np.zeros((2, 4)), i32([3, 5]), known=False)


def test_the_static_shape_of_scatter_nd_is_the_shape_asked_for() -> None:
    with Graph().as_default():
        updates = source("float32", [None])
        assert scatter_nd(source("int32", [None, 1]), updates, [4]).shape == [4]
        dims = source("int32", [2])
        assert scatter_nd(source("int32", [None, 2]), updates, dims).shape.rank == 2


def test_the_gradient_of_scatter_nd_is_gathered() -> None:
    check_gradient(lambda i, u: scatter_nd(i, u, [4, 2]), i32([[1], [3], [1]]), A)


# -- unsorted_segment_sum --------------------------------------------------------------------------


@for_each("ids", [[1, 0, 1], [3, -1, 3], [[0, 1], [1, 1], [2, -5]]], ids=str)
@for_each("index_type", [np.int32, np.int64])
def test_segments_are_summed_and_negative_ids_left_out(ids: Any, index_type: Any) -> None:
    index = np.array(ids, index_type)
    data = np.random.default_rng(0).integers(-9, 9, (3, 2, 4))
    wanted = np.zeros((4, *data.shape[index.ndim :]), data.dtype)
    for place in np.ndindex(*index.shape):
        if index[place] >= 0:
            wanted[index[place]] += data[place]
    expect(lambda x, i: unsorted_segment_sum(x, i, 4), wanted, data, index)
    expect(unsorted_segment_sum, wanted, data, index, i32(4))


@for_each("width", [1, 3, 64, 512, 513, 2000])
def test_rows_of_any_length_are_summed(width: Any) -> None:
    rng = np.random.default_rng(width)
    data, ids = rng.integers(-9, 9, (40, width)), rng.integers(0, 7, 40)
    wanted = np.stack([data[ids == i].sum(axis=0) for i in range(7)])
    expect(lambda x, i: unsorted_segment_sum(x, i, 7), wanted, data, ids)


def test_a_sum_of_no_rows_is_zero() -> None:
    expect(
        lambda x, i: unsorted_segment_sum(x, i, 2),
        np.zeros((2, 3)), np.zeros((0, 3)), np.zeros(0, np.int32),
    )  # fmt: skip


def test_an_id_that_is_too_large_fails() -> None:
    with pytest.raises(InvalidArgumentError, match="segment id 4 is not below 4"):
        computed(lambda x, i: unsorted_segment_sum(x, i, 4), A, i32([0, 4, 1]))


def test_ids_that_do_not_begin_the_shape_of_the_data_are_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=r"ids \(2,\) begins .* \(3, 2\)"):
        unsorted_segment_sum(source("float32", [3, 2]), [0, 1], 2)
    with pytest.raises(InvalidArgumentError, match=r"ids of shape \[2\]"):
        computed(lambda x, i: unsorted_segment_sum(x, i, 2), A, i32([0, 1]), known=False)
    with Graph().as_default(), pytest.raises(TypeError, match="as data; got bool"):
        unsorted_segment_sum(constant([True]), [0], 1)


def test_the_static_shape_of_segment_sums() -> None:
    with Graph().as_default():
        data, ids = source("float32", [None, 5]), source("int32", [None])
        assert unsorted_segment_sum(data, ids, 3).shape.as_list() == [3, 5]
        assert unsorted_segment_sum(data, ids, source("int32", [])).shape.as_list() == [None, 5]
        assert unsorted_segment_sum(data, source("int32"), 3).shape.rank is None


@pytest.mark.parametrize("ids", [[1, 0, 1], [3, -1, 3], [[0, 1], [1, 1], [2, -5]]], ids=str)
def test_the_gradient_of_segment_sums_is_gathered_and_zero_for_rows_left_out(ids: Any) -> None:
    check_gradient(lambda x, i: unsorted_segment_sum(x, i, 4), A, i32(ids))
