"""Grids, repetition, the shapes of broadcasting, and stacking of known shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import TensorShape, constant
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import constant_value
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

M = np.arange(6, dtype=np.float32).reshape(2, 3)


# -- meshgrid --------------------------------------------------------------------------------------


@for_each("indexing", ["xy", "ij"])
@for_each("lengths", [[3], [3, 2], [3, 2, 4]], ids=str)
def test_meshgrid_gives_what_numpy_does(indexing: Any, lengths: Any) -> None:
    axes = [np.arange(n, dtype=np.float32) + 10 * n for n in lengths]
    found = computed(lambda *xs: acts.arrays.meshgrid(*xs, indexing=indexing), *axes)
    found = found if isinstance(found, list) else [found]
    for got, want in zip(found, np.meshgrid(*axes, indexing=indexing), strict=True):
        np.testing.assert_array_equal(got, want)


def test_meshgrid_takes_truth_values_scalars_and_nothing() -> None:
    expect(lambda x: acts.arrays.meshgrid(x, x)[0], np.array([[True, False]] * 2), np.array([True, False]))
    expect(lambda x: acts.arrays.meshgrid(x)[0], f32([5]), f32(5))
    assert acts.arrays.meshgrid() == []


def test_meshgrid_knows_the_shape_of_the_grid() -> None:
    assert static_shape(lambda x: acts.arrays.meshgrid(x, f32([1, 2]))[0], [3]) == [2, 3]


def test_meshgrid_refuses_other_orders_and_mixed_dtypes() -> None:
    with pytest.raises(ValueError, match="'xy' or 'ij', got 'zz'"):
        acts.arrays.meshgrid([1], [2], indexing="zz")
    with pytest.raises(TypeError):
        acts.arrays.meshgrid(constant([1]), constant([2.0]))
    with pytest.raises(TypeError, match="foo"):
        acts.arrays.meshgrid([1], foo=2)  # type: ignore[call-arg]


def test_the_gradient_of_meshgrid_sums_over_the_grid() -> None:
    check_gradient(lambda x, y: acts.arrays.meshgrid(x, y), f32([1, 2]), f32([3, 4, 5]))


# -- repeat ----------------------------------------------------------------------------------------


@for_each(
    "repeats, axis", [(2, None), (2, 0), (0, 1), ([1, 3], 0), ([1, 0, 2], -1), ([3], 1), ([0, 0], 0), (1, -2)], ids=str
)
def test_repeat_gives_what_numpy_does(repeats: Any, axis: Any) -> None:
    expect(lambda x: acts.arrays.repeat(_of_rank_2(x), repeats, axis), np.repeat(M, repeats, axis), M)


def _of_rank_2(x: Any) -> Any:
    x.set_shape([None, None])
    return x


def test_repeat_takes_each_element_of_a_flattened_tensor_another_time() -> None:
    expect(lambda x: acts.arrays.repeat(x, [1, 0, 2]), i32([1, 3, 3]), i32([1, 2, 3]))
    expect(lambda x: acts.arrays.repeat(x, i64([2])), i32([7, 7]), i32(7))
    expect(lambda x: acts.arrays.repeat(x, 2), np.array([b"a", b"a"], object), np.array([b"a"], object))


def test_repeat_knows_the_shape_that_numbers_tell() -> None:
    assert static_shape(lambda x: acts.arrays.repeat(x, 2, axis=1), [None, 3]) == [None, 6]
    assert static_shape(lambda x: acts.arrays.repeat(x, [2, 0, 1], axis=1), [4, 3]) == [4, None]


def test_repeat_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="3 repeats for axis 0"):
        acts.arrays.repeat(M, [1, 2, 3], axis=0)
    with pytest.raises(ValueError, match="scalar or a vector"):
        acts.arrays.repeat(M, [[1]], axis=0)
    with pytest.raises(ValueError, match="axis 2 is not in"):
        acts.arrays.repeat(M, 2, axis=2)
    with pytest.raises(ValueError, match="known rank"):
        acts.arrays.repeat(source("float32"), 2, axis=0)
    with pytest.raises(TypeError, match="integers"):
        acts.arrays.repeat(M, 2.0, axis=0)


def test_the_gradient_of_repeat_sums_what_was_repeated() -> None:
    check_gradient(lambda x: acts.arrays.repeat(_of_rank_2(x), [2, 1], axis=0), M)
    check_gradient(lambda x: acts.arrays.repeat(_of_rank_2(x), 3, axis=1), M)


# -- the shapes of broadcasting --------------------------------------------------------------------


def test_static_shapes_broadcast_to_what_is_known() -> None:
    assert acts.arrays.broadcast_static_shape([1, 2], [3, 1]) == [3, 2]
    assert acts.arrays.broadcast_static_shape(TensorShape([None]), TensorShape([4, 5])) == [4, 5]
    assert acts.arrays.broadcast_static_shape(TensorShape(None), TensorShape([1])).rank is None
    with pytest.raises(ValueError, match=r"\(4, 2\) and \(3, 1\)"):
        acts.arrays.broadcast_static_shape([4, 2], [3, 1])


def test_the_dynamic_shape_of_known_shapes_is_known() -> None:
    found = constant_value(acts.arrays.broadcast_dynamic_shape([1, 2], [3, 1]))
    assert found is not None
    assert found.tolist() == [3, 2]


def test_shapes_that_do_not_broadcast_are_refused_by_the_step() -> None:
    out = acts.arrays.broadcast_dynamic_shape([4, 2], [3, 1])
    with pytest.raises(InvalidArgumentError, match="cannot be broadcast"):
        evaluate([out])


# -- parallel_stack --------------------------------------------------------------------------------


def test_parallel_stack_joins_tensors_of_one_known_shape() -> None:
    out = acts.arrays.parallel_stack([M, M + 1])
    [found] = evaluate([out])
    assert out.op.type == "ParallelConcat"
    np.testing.assert_array_equal(found, [M, M + 1])
    with pytest.raises(ValueError, match="fully known"):
        acts.arrays.parallel_stack([source("float32", [None])])
    with pytest.raises(ValueError, match="at least one"):
        acts.arrays.parallel_stack([])
