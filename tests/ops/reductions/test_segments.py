from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, ops, opsets
from tests.ops.interpreter import check_gradient, evaluate, source


def test_means_of_unsorted_segments_count_their_rows() -> None:
    data = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ids = np.array([1, 1, -1], np.int32)
    x, y = source("float64"), source("int32")
    made = [ops.unsorted_segment_mean(x, y, 3), ops.unsorted_segment_sqrt_n(x, y, 3)]
    mean, root = evaluate(made, {x: data, y: ids})
    np.testing.assert_allclose(mean, [[0, 0], [2, 3], [0, 0]])
    np.testing.assert_allclose(root, np.array([[0, 0], [4, 6], [0, 0]]) / np.sqrt(2))


def test_means_of_unsorted_segments_have_gradients() -> None:
    ids = np.array([2, 0, 2], np.int32)
    for build in (ops.unsorted_segment_mean, ops.unsorted_segment_sqrt_n):
        check_gradient(lambda x, i, f=build: f(x, i, 3), np.arange(6.0).reshape(3, 2), ids)


def test_the_mean_of_many_narrow_integers_does_not_divide_by_a_wrapped_count() -> None:
    data = ops.zeros([300], "int8")
    [found] = evaluate([ops.segment_mean(data, ops.zeros([300], "int32"))])
    assert found.tolist() == [0]


@pytest.mark.parametrize(("dtype", "whole"), [("float16", 2048), ("bfloat16", 256)])
def test_half_precision_is_summed_in_single(dtype: str, whole: int) -> None:
    """One more than the number is rounded to the number itself, four more are not."""
    data = ops.cast(ops.constant([float(whole), 1, 1, 1, 1]), dtype)
    ids = ops.constant([0] * 5)
    places = ops.constant([0, 1, 2, 3, 4])
    scattered = ops.scatter_nd(ops.expand_dims(ids, 1), data, [1])
    sums = [
        ops.segment_sum(data, ids),
        ops.unsorted_segment_sum(data, ids, 1),
        opsets.sparse_segment_sum(data, places, ids),
        scattered,
    ]
    for found in evaluate(sums):
        assert found.dtype == as_dtype(dtype).np_dtype
        assert found.astype(float).tolist() == [whole + 4]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_half_precision_are_summed_in_single(dtype: str) -> None:
    """A column, and a row of a sum, that are looked up four thousand times."""
    table = ops.cast(ops.constant([[1.0, 2.0]]), dtype)
    found = ops.gather(table, ops.zeros([4096], "int32"), axis=1)
    rows = opsets.sparse_segment_sum(table, ops.zeros([4096], "int32"), ops.range(4096))
    for [back], wanted in zip(
        [evaluate(ops.gradients(looked_up, [table])) for looked_up in (found, rows)],
        ([[4096.0, 0.0]], [[4096.0, 4096.0]]),
        strict=True,
    ):
        assert back.dtype == as_dtype(dtype).np_dtype
        assert back.astype(float).tolist() == wanted


def test_the_mean_of_many_halves_counts_all_of_them() -> None:
    data = ops.cast(ops.concat([ops.ones([512]), ops.zeros([512])], 0), "bfloat16")
    [found] = evaluate([ops.unsorted_segment_mean(data, ops.zeros([1024], "int32"), 1)])
    assert found.astype(float).tolist() == [0.5]


def test_equal_elements_share_the_gradient_of_an_extremum() -> None:
    data = ops.constant([2.0, 2.0, 1.0])
    top = ops.segment_max(data, ops.constant([0, 0, 0]))
    assert evaluate(ops.gradients(top, [data]))[0].tolist() == [0.5, 0.5, 0.0]


def test_a_row_that_is_left_out_has_no_part_in_the_gradient_of_an_extremum() -> None:
    data = ops.constant([2.0, 2.0, 1.0])
    top = ops.unsorted_segment_max(data, ops.constant([0, -1, 0]), 2)
    assert evaluate(ops.gradients(top, [data]))[0].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("op", [opsets.sparse_segment_mean, opsets.sparse_segment_sqrt_n])
def test_means_of_looked_up_rows_are_of_floats(op: Any) -> None:
    ids = ops.constant([0, 0])
    with pytest.raises(TypeError, match="int32"):
        op(ops.constant([1, 2]), ids, ids)


def test_a_sparse_gradient_is_slices_of_the_rows_that_were_looked_up() -> None:
    data = ops.ones([9, 2])
    ids = ops.constant([0, 0, 1])
    made = opsets.sparse_segment_mean(data, ops.constant([4, 5, 4]), ids, sparse_gradient=True)
    [slope] = ops.gradients(made, [data])
    assert isinstance(slope, ops.IndexedSlices)
    indices, values = evaluate([slope.indices, slope.values])
    assert indices.tolist() == [4, 5, 4]
    assert values.tolist() == [[0.5, 0.5], [0.5, 0.5], [1.0, 1.0]]


def test_means_of_unsorted_segments_have_a_static_shape() -> None:
    made = ops.unsorted_segment_mean(ops.zeros([4, 2]), [0, 1, 2, 0], 3)
    assert made.shape.as_list() == [3, 2]
