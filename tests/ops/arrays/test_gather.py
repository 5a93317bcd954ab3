"""Parts of tensors by index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, constant, gather, gather_nd, gradients, shape
from actorsession.ops.indexed_slices import to_dense
from tests.ops.cases import expect, i32, static_shape
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


# -- gather ----------------------------------------------------------------------------------------


def test_gather_takes_rows_if_no_axis_is_given() -> None:
    expect(lambda x, i: gather(x, i), A[[2, 0]], A, i32([2, 0]))


def test_an_axis_whose_value_is_known_can_no_longer_be_fed() -> None:
    with Graph().as_default() as graph:
        known, fed = constant(1), source("int32", [])
        gather(constant(A), [0], axis=known)
        gather(constant(A), [0], axis=fed)
        assert not graph.is_feedable(known)
        assert graph.is_feedable(fed)


def test_gather_in_a_batch_takes_from_the_part_of_its_own() -> None:
    indices = i32([[0, 2], [1, 1], [3, 0]])
    wanted = np.stack([A[i][indices[i]] for i in range(3)])
    expect(lambda x, i: gather(x, i, batch_dims=1), wanted, A, indices)
    expect(lambda x, i: gather(x, i, axis=1, batch_dims=-1), wanted, A, indices)
    wanted = np.stack([A[i][:, indices[i]] for i in range(3)])
    expect(lambda x, i: gather(x, i, axis=2, batch_dims=1), wanted, A, indices)


def test_the_gradient_of_a_gather_of_rows_is_the_rows_alone() -> None:
    x, i = source("float32", [3, 2]), source("int32", [None])
    (grad,) = gradients(gather(x, i) * 2.0, [x])
    assert isinstance(grad, IndexedSlices)
    assert grad.shape == [3, 2]
    feeds = {x: A[:, 0, :2], i: [2, 0, 2]}
    rows, places, dense = evaluate([grad.values, grad.indices, to_dense(grad)], feeds)
    np.testing.assert_array_equal(rows, np.full((3, 2), 2, np.float32))
    np.testing.assert_array_equal(places, [2, 0, 2])
    np.testing.assert_array_equal(dense, [[2, 2], [0, 0], [4, 4]])


# -- gather_nd -------------------------------------------------------------------------------------


def test_the_static_shape_of_gather_nd() -> None:
    index = [[0, 1], [2, 3]]
    assert static_shape(lambda x: gather_nd(x, index), [None, 4, 5]) == [2, 5]
    assert static_shape(lambda x: gather_nd(x, [shape(x)[:2]]), [None, 4, 5]) == [1, 5]
    assert static_shape(lambda x: gather_nd(x, index), None) is None


@for_each(
    "shape_of_params, shape_of_indices, batch",
    [([3, 4], [3, 1], 2), ([3], [3, 1, 1], 1), ([3, 4], None, 1), ([3, 4], [2, 1], 1), ([3], [3, 1], -1)],
    ids=str,
)
def test_a_batch_of_gather_nd_that_cannot_be_is_refused(
    shape_of_params: Any, shape_of_indices: Any, batch: int
) -> None:
    params, indices = source("float32", shape_of_params), source("int32", shape_of_indices)
    with pytest.raises(ValueError, match="gather_nd"):
        gather_nd(params, indices, batch_dims=batch)
