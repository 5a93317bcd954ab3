"""Sparse tensors joined, cut, reshaped, reduced: run in sessions, as TensorFlow 2.21 does it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, gradients, sparse
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each, refusing


@pytest.fixture
def session() -> Iterator[acts.Session]:
    with Graph().as_default(), acts.Session() as made:
        yield made


def _a() -> acts.SparseTensor:
    return acts.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])


def _b() -> acts.SparseTensor:
    return acts.SparseTensor([[0, 0], [1, 1]], [3.0, 4.0], [2, 2])


def _open() -> acts.SparseTensor:
    """The first one again, with nothing known of its shape but the rank."""
    return acts.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], acts.placeholder(acts.int64, [2]))


def _found(session: acts.Session, made: acts.SparseTensor) -> list[Any]:
    value = session.run(made)
    assert made.shape.is_compatible_with(value.dense_shape.tolist())
    return [value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()]


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (lambda: acts.sparse.concat(1, [_a(), _b()]), [[[0, 1], [0, 3], [1, 0], [1, 4]], [1, 3, 2, 4], [2, 5]]),
        (lambda: acts.sparse.concat(-1, [_a(), _b()]), [[[0, 1], [0, 3], [1, 0], [1, 4]], [1, 3, 2, 4], [2, 5]]),
        (
            lambda: acts.sparse.concat(0, [_a(), _b()], expand_nonconcat_dims=True),
            [[[0, 1], [1, 0], [2, 0], [3, 1]], [1, 2, 3, 4], [4, 3]],
        ),
        (lambda: acts.sparse.concat(0, [_a()]), [[[0, 1], [1, 0]], [1, 2], [2, 3]]),
        (lambda: acts.sparse.reshape(_a(), [3, -1]), [[[0, 1], [1, 1]], [1, 2], [3, 2]]),
        (lambda: acts.sparse.slice(_a(), [0, 1], [2, 5]), [[[0, 0]], [1], [2, 2]]),
        (lambda: acts.sparse.retain(_a(), [True, False]), [[[0, 1]], [1], [2, 3]]),
        (lambda: acts.sparse.transpose(_a()), [[[0, 1], [1, 0]], [2, 1], [3, 2]]),
        (lambda: acts.sparse.transpose(_a(), [0, 1]), [[[0, 1], [1, 0]], [1, 2], [2, 3]]),
        (lambda: acts.sparse.reset_shape(acts.SparseTensor([[0, 0]], [1.0], [5, 5])), [[[0, 0]], [1], [1, 1]]),
        (lambda: acts.sparse.reset_shape(_b(), [3, 3]), [[[0, 0], [1, 1]], [3, 4], [3, 3]]),
        (lambda: sparse.from_dense([[0, 1], [2, 0]]), [[[0, 1], [1, 0]], [1, 2], [2, 2]]),
        (lambda: sparse.from_dense(["", "x"]), [[[1]], [b"x"], [2]]),
        (lambda: sparse.eye(2, 3), [[[0, 0], [1, 1]], [1, 1], [2, 3]]),
        (lambda: sparse.eye(2), [[[0, 0], [1, 1]], [1, 1], [2, 2]]),
        (lambda: acts.sparse.merge(_ids(), _a_values(), 4), [[[0, 1], [0, 2], [1, 0]], [0.5, 0.25, 0.75], [2, 4]]),
        (
            lambda: acts.sparse.fill_empty_rows(_gaps(), -1.0)[0],
            [[[0, 0], [1, 0], [2, 1], [3, 0]], [2, -1, 1, -1], [4, 3]],
        ),
    ],
)
def test_a_sparse_tensor_is_made_as_in_tensorflow(build: Any, wanted: list[Any], session: acts.Session) -> None:
    assert _found(session, build()) == wanted


def _ids() -> acts.SparseTensor:
    return acts.SparseTensor([[0, 0], [0, 1], [1, 0]], acts.constant([2, 1, 0], acts.int64), [2, 2])


def _a_values() -> acts.SparseTensor:
    return acts.SparseTensor([[0, 0], [0, 1], [1, 0]], [0.25, 0.5, 0.75], [2, 2])


def _gaps() -> acts.SparseTensor:
    return acts.SparseTensor([[2, 1], [0, 0]], [1.0, 2.0], [4, 3])


@for_each(
    "build, wanted",
    [
        (lambda: acts.sparse.reduce_sum(_a(), 1), [1, 2]),
        (lambda: acts.sparse.reduce_sum(_a(), 1, keepdims=True), [[1], [2]]),
        (lambda: acts.sparse.reduce_sum(_a()), 3),
        (lambda: acts.sparse.reduce_sum(_a(), axis=[0, 1]), 3),
        (lambda: acts.sparse.reduce_max(_gaps(), 1), [2, 0, 1, 0]),
        (lambda: acts.sparse.fill_empty_rows(_gaps(), -1.0)[1], [False, True, False, True]),
        (lambda: acts.sparse.to_indicator(_ids(), 4), [[False, True, True, False], [True, False, False, False]]),
    ],
)
def test_a_dense_tensor_is_made_as_in_tensorflow(build: Any, wanted: Any, session: acts.Session) -> None:
    made = build()
    found = session.run(made)
    assert found.tolist() == wanted
    assert made.shape.is_fully_defined()


def test_shapes_may_be_known_late(session: acts.Session) -> None:
    given = _open()
    feeds = {given.dense_shape: [2, 3]}
    reshaped = acts.sparse.reshape(given, acts.constant([3, -1], acts.int64))
    assert session.run(reshaped, feeds).dense_shape.tolist() == [3, 2]
    joined = acts.sparse.concat(1, [given, given])
    assert joined.shape.rank in (None, 2)
    assert session.run(joined, feeds).indices.tolist() == [[0, 1], [0, 4], [1, 0], [1, 3]]
    assert session.run(acts.sparse.reduce_sum(given), feeds) == 3
    with pytest.raises(InvalidArgumentError, match="Cannot reshape"):
        session.run(reshaped, {given.dense_shape: [2, 4]})


@for_each("name", sparse.__all__)
def test_names_of_the_namespace_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(sparse, name))


def test_tensors_of_unknown_rank_are_joined_and_have_the_gradient_of_their_softmax(session: acts.Session) -> None:
    """As a placeholder is that is made without a shape."""
    indices = [[0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 1, 0]]
    given = sparse.SparseTensorValue(np.array(indices), np.array([1, 2, 3, 4], np.float32), np.array([2, 2, 3]))
    tensor = sparse.placeholder(acts.float32)
    softmax = sparse.softmax(tensor)
    weights = acts.constant([1.0, 3.0, 5.0, 7.0])
    (grad,) = gradients(acts.reduce_sum(softmax.values * weights), [tensor.values])
    joined = [sparse.concat(axis, [tensor, tensor], expand_nonconcat_dims=True) for axis in (0, 1, -1)]
    found, *shapes = session.run([grad, *(each.dense_shape for each in joined)], {tensor: given})
    # Of two entries in a row, with p = 1 / (1 + e): p * (1 - p) times the difference of the weights.
    both = np.e / (1 + np.e) ** 2 * 2
    np.testing.assert_allclose(found, [-both, both, 0, 0], rtol=1e-5, atol=1e-6)
    assert [shape.tolist() for shape in shapes] == [[4, 2, 3], [2, 4, 3], [2, 2, 6]]


ANYTHING: Any = 1
test_what_cannot_be_is_refused_by_the_line_that_builds = refusing(
    (lambda: acts.sparse.concat(2, [_a(), _a()]), ValueError, "axis 2 is not in"),
    (lambda: acts.sparse.concat(0, [_a(), ANYTHING]), TypeError, "SparseTensor is wanted"),
    (lambda: acts.sparse.reshape(_a(), [4, 2]), ValueError, "6 elements to shape"),
    (lambda: acts.sparse.reshape(_a(), [4, -1]), ValueError, "6 elements to shape"),
    (lambda: acts.sparse.retain(_a(), [True]), ValueError, "not compatible"),
    (lambda: acts.sparse.reset_shape(_a(), [1, 3]), ValueError, "at least as large"),
    (lambda: acts.sparse.reset_shape(_a(), [9]), ValueError, "at least as large"),
    (lambda: acts.sparse.reduce_sum(_a(), 2), ValueError, "axis 2 is not in"),
    (lambda: acts.sparse.softmax(acts.SparseTensor([[0]], [1.0], [2])), ValueError, "rank is 2"),
    (lambda: acts.sparse.transpose(_a(), [0, 5]), ValueError, "order of 2 axes"),
)
