"""Parts of tensors by index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.gather import gather, gather_nd
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.indexed_slices import IndexedSlices, to_dense
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)


# -- gather ----------------------------------------------------------------------------------------


@for_each("indices", [[0, 2, 0], [[1], [2]], 1, [], [[0, 1, 2], [2, 1, 0]]], ids=str)
@for_each("index_type", [np.int32, np.int64])
@for_each("axis", [0, 1, 2, -1])
def test_gather_takes_what_numpy_takes(indices: Any, index_type: Any, axis: Any) -> None:
    index = np.array(indices, index_type)
    wanted = np.take(A, index.astype(np.intp), axis)
    expect(lambda x, i: gather(x, i, axis=axis), wanted, A, index)
    expect(lambda x, i, a: gather(x, i, axis=a), wanted, A, index, i32(axis))
    expect(lambda x: gather(x, index, axis=axis), wanted, A)


def test_gather_takes_rows_if_no_axis_is_given() -> None:
    expect(lambda x, i: gather(x, i), A[[2, 0]], A, i32([2, 0]))


def test_an_axis_whose_value_is_known_can_no_longer_be_fed() -> None:
    with Graph().as_default() as graph:
        known, fed = constant(1), source("int32", [])
        gather(constant(A), [0], axis=known)
        gather(constant(A), [0], axis=fed)
        assert not graph.is_feedable(known)
        assert graph.is_feedable(fed)


def test_gather_of_one_element_is_a_scalar() -> None:
    expect(lambda x, i: gather(x, i), f32(7), f32([5, 6, 7]), i32(2))


def test_gather_from_a_view_in_another_layout() -> None:
    expect(lambda x, i: gather(transpose(x), i, axis=1), A.T[:, [2, 0]], A, i32([2, 0]))


def test_gather_of_strings() -> None:
    expect(lambda x, i: gather(x, i), WORDS[[1, 0]], WORDS, i32([1, 0]))


def test_gather_in_a_batch_takes_from_the_part_of_its_own() -> None:
    indices = i32([[0, 2], [1, 1], [3, 0]])
    wanted = np.stack([A[i][indices[i]] for i in range(3)])
    expect(lambda x, i: gather(x, i, batch_dims=1), wanted, A, indices)
    expect(lambda x, i: gather(x, i, axis=1, batch_dims=-1), wanted, A, indices)
    wanted = np.stack([A[i][:, indices[i]] for i in range(3)])
    expect(lambda x, i: gather(x, i, axis=2, batch_dims=1), wanted, A, indices)


@for_each("index_type", [np.int32, np.int64])
@for_each("indices, bad", [([0, -1], -1), ([0, 3], 3)])
def test_an_index_outside_the_axis_fails_with_its_place(
    indices: Any, bad: Any, index_type: Any
) -> None:
    message = rf"indices\[1\] = {bad} is not in \[0, 3\)"
    for known in (True, False):
        with pytest.raises(InvalidArgumentError, match=message):
            computed(gather, A, np.array(indices, index_type), known=known)
    with pytest.raises(InvalidArgumentError, match=message):
        computed(lambda x: gather(x, np.array(indices, index_type)), A)
    with pytest.raises(InvalidArgumentError, match=rf"indices\[0, 1\] = {bad}"):
        computed(
            lambda x, i: gather(x, i, axis=1, batch_dims=1),
            A[None],
            np.array([indices], index_type),
        )


def test_nothing_can_be_taken_from_an_empty_axis() -> None:
    with pytest.raises(InvalidArgumentError, match=r"not in \[0, 0\)"):
        computed(gather, A[:0], i32([0]))


@pytest.mark.parametrize(
    ("given", "indices", "axis", "expected"),
    [
        ([None, 4], [2, 3], 0, [2, 3, 4]),
        ([None, 4], [2, None], 1, [None, 2, None]),
        (None, [2], 0, None),
    ],
)
def test_the_static_shape_of_a_gather(given: Any, indices: Any, axis: Any, expected: Any) -> None:
    with Graph().as_default():
        found = gather(source("float32", given), source("int32", indices), axis=axis)
    assert found.shape == expected


def test_a_gather_along_an_unknown_axis_has_a_known_rank() -> None:
    with Graph().as_default():
        x, i, axis = source("float32", [3, 4]), source("int32", [2, 2]), source("int32", [])
        assert gather(x, i, axis=axis).shape.rank == 3


def test_a_gather_that_can_never_work_is_refused() -> None:
    with Graph().as_default():
        x = source("float32", [3, 4])
        with pytest.raises(ValueError, match=r"axis 2 is not in \[-2, 2\)"):
            gather(x, [0], axis=2)
        with pytest.raises(ValueError, match="batch_dims 1 is at most axis 0"):
            gather(x, [[0]], axis=0, batch_dims=1)
        with pytest.raises(TypeError, match="int32, int64 as indices; got float32"):
            gather(x, [0.5])


def test_the_gradient_of_a_gather_of_rows_is_the_rows_alone() -> None:
    with Graph().as_default():
        x, i = source("float32", [3, 2]), source("int32", [None])
        (grad,) = gradients(gather(x, i) * 2.0, [x])
        assert isinstance(grad, IndexedSlices)
        assert grad.shape == [3, 2]
        feeds = {x: A[:, 0, :2], i: [2, 0, 2]}
        rows, places, dense = evaluate([grad.values, grad.indices, to_dense(grad)], feeds)
    np.testing.assert_array_equal(rows, np.full((3, 2), 2, np.float32))
    np.testing.assert_array_equal(places, [2, 0, 2])
    np.testing.assert_array_equal(dense, [[2, 2], [0, 0], [4, 4]])


@pytest.mark.parametrize("known", [True, False])
def test_the_gradient_of_a_gather_of_rows_takes_indices_of_any_rank(known: Any) -> None:
    with Graph().as_default():
        x = source("float32", [3, 2] if known else None)
        i = source("int64", [2, 2] if known else None)
        (grad,) = gradients(gather(x, i), [x])
        dense = to_dense(grad)
        (found,) = evaluate([dense], {x: A[:, 0, :2], i: [[2, 0], [2, 2]]})
    np.testing.assert_array_equal(found, [[1, 1], [0, 0], [3, 3]])


@for_each("axis", [1, 2, -1, -3])
def test_the_gradient_of_a_gather_along_another_axis_is_summed_back(axis: Any) -> None:
    check_gradient(lambda x, i: gather(x, i, axis=axis), A[:, :3, :3], i32([[2, 0], [2, 2]]))


def test_the_gradient_of_a_gather_along_a_fed_axis() -> None:
    check_gradient(lambda x, i, a: gather(x, i, axis=a), A[:, :3, :3], i64([2, 0, 2]), i32(1))


@pytest.mark.parametrize("axis", [1, 2])
def test_the_gradient_of_a_gather_in_a_batch(axis: Any) -> None:
    indices = i32([[0, 2], [1, 1], [2, 0]])
    check_gradient(lambda x, i: gather(x, i, axis=axis, batch_dims=1), A[:, :3, :3], indices)


# -- gather_nd -------------------------------------------------------------------------------------


@for_each(
    "indices",
    [[[0, 1], [2, 3]], [[[0, 1, 2]], [[2, 3, 4]]], [2], [[1], [1]], [[[]], [[]]]],
    ids=str,
)
@for_each("index_type", [np.int32, np.int64])
def test_gather_nd_takes_by_several_coordinates(indices: Any, index_type: Any) -> None:
    index = np.array(indices, index_type)
    wanted = A[tuple(np.moveaxis(index, -1, 0))] if index.size else np.stack([A[None]] * 2)
    expect(gather_nd, wanted, A, index)


def test_gather_nd_by_no_index_is_empty() -> None:
    expect(gather_nd, np.zeros((0, 5), np.float32), A, np.zeros((0, 2), np.int32))


def test_gather_nd_of_strings() -> None:
    expect(gather_nd, np.array([b"bc", b""], object), WORDS, i32([[0, 1], [1, 0]]))


@pytest.mark.parametrize("bad", [[0, 4], [0, -1], [3, 0]], ids=str)
def test_coordinates_outside_fail_with_their_place(bad: Any) -> None:
    message = rf"indices\[1\] = \[{bad[0]}, {bad[1]}\] does not index into shape \[3, 4, 5\]"
    with pytest.raises(InvalidArgumentError, match=message):
        computed(gather_nd, A, i32([[0, 0], bad]))


def test_too_many_coordinates_are_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="2 coordinates for the shape"):
        gather_nd(constant([1, 2]), [[0, 0]])
    with pytest.raises(InvalidArgumentError, match="2 coordinates"):
        computed(gather_nd, f32([1, 2]), i32([[0, 0]]), known=False)
    with Graph().as_default(), pytest.raises(ValueError, match="rank at least 1"):
        gather_nd(constant([1, 2]), 0)


def test_the_static_shape_of_gather_nd() -> None:
    index = [[0, 1], [2, 3]]
    assert static_shape(lambda x: gather_nd(x, index), [None, 4, 5]) == [2, 5]
    assert static_shape(lambda x: gather_nd(x, [shape(x)[:2]]), [None, 4, 5]) == [1, 5]
    assert static_shape(lambda x: gather_nd(x, index), None) is None


def test_the_gradient_of_gather_nd_is_scattered_back() -> None:
    check_gradient(gather_nd, A, i32([[0, 1], [2, 3], [0, 1]]))
    check_gradient(gather_nd, A, i64([[0, 1, 2], [0, 1, 2]]))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_gather_nd_in_a_batch_takes_from_each_entry_its_own(index_type: Any) -> None:
    indices = np.array([[[0], [2]], [[1], [1]], [[3], [0]]], index_type)
    wanted = np.stack([a[i[:, 0]] for a, i in zip(A, indices, strict=True)])
    with Graph().as_default():
        x, found = source("float32", [None, 4, 5]), source("float32")
        for params in (x, found):
            result = gather_nd(params, indices, batch_dims=1)
            [got] = evaluate([result], {params: A})
            np.testing.assert_array_equal(got, wanted)
        assert gather_nd(x, indices, batch_dims=1).shape.as_list() == [3, 2, 5]
        assert gather_nd(x, indices, name="mine", batch_dims=1).op.name == "mine"


@for_each(
    "shape_of_params, shape_of_indices, batch",
    [
        ([3, 4], [3, 1], 2),
        ([3], [3, 1, 1], 1),
        ([3, 4], None, 1),
        ([3, 4], [2, 1], 1),
        ([3], [3, 1], -1),
    ],
    ids=str,
)
def test_a_batch_of_gather_nd_that_cannot_be_is_refused(
    shape_of_params: Any, shape_of_indices: Any, batch: int
) -> None:
    with Graph().as_default():
        params, indices = source("float32", shape_of_params), source("int32", shape_of_indices)
        with pytest.raises(ValueError, match="gather_nd"):
            gather_nd(params, indices, batch_dims=batch)
