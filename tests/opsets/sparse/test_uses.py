"""Sparse tensors made, joined, cut, reduced, crossed and looked up: what rows of their operation types do not say."""

from __future__ import annotations

import inspect
import operator
from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession import SparseTensor, constant, gradients, int32, nn, sets, sparse
from actorsession.ops.indexed_slices import to_dense
from actorsession.opsets.sparse.basics import sparse_to_dense
from tests.ops.cases import f32, i32, i64
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import Use, dims, each_use, equals, fails, gives
from tests.rows import for_each

FLOATS: Any = [[1.0]]
ANYTHING: Any = 1


def made(build: Any, wanted: list[Any]) -> Use:
    """A function makes a sparse tensor of these indices, values and shape."""

    def ask() -> Any:
        tensor = build()
        found = evaluate([tensor.indices, tensor.values, tensor.dense_shape])
        assert tensor.shape.is_compatible_with(found[2].tolist())
        return [part.tolist() for part in found]

    return equals(ask, wanted)


def full(build: Any, wanted: Any) -> Use:
    """A function makes a dense tensor whose shape is known."""

    def ask() -> Any:
        tensor = build()
        assert tensor.shape.is_fully_defined()
        return evaluate([tensor])[0].tolist()

    return equals(ask, wanted)


# -- made, joined, cut, reduced: as TensorFlow 2.21 does it ----------------------------------------


def a() -> SparseTensor:
    return SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])


def b() -> SparseTensor:
    return SparseTensor([[0, 0], [1, 1]], [3.0, 4.0], [2, 2])


def numbers() -> SparseTensor:
    return SparseTensor([[0, 0], [0, 1], [1, 0]], constant([2, 1, 0], acts.int64), [2, 2])


def shares() -> SparseTensor:
    return SparseTensor([[0, 0], [0, 1], [1, 0]], [0.25, 0.5, 0.75], [2, 2])


def gaps() -> SparseTensor:
    return SparseTensor([[2, 1], [0, 0]], [1.0, 2.0], [4, 3])


FUNCTIONS: list[Any] = [
    made(lambda: sparse.concat(1, [a(), b()]), [[[0, 1], [0, 3], [1, 0], [1, 4]], [1, 3, 2, 4], [2, 5]]),
    made(lambda: sparse.concat(-1, [a(), b()]), [[[0, 1], [0, 3], [1, 0], [1, 4]], [1, 3, 2, 4], [2, 5]]),
    made(
        lambda: sparse.concat(0, [a(), b()], expand_nonconcat_dims=True),
        [[[0, 1], [1, 0], [2, 0], [3, 1]], [1, 2, 3, 4], [4, 3]],
    ),
    made(lambda: sparse.concat(0, [a()]), [[[0, 1], [1, 0]], [1, 2], [2, 3]]),
    made(lambda: sparse.reshape(a(), [3, -1]), [[[0, 1], [1, 1]], [1, 2], [3, 2]]),
    made(lambda: sparse.slice(a(), [0, 1], [2, 5]), [[[0, 0]], [1], [2, 2]]),
    made(lambda: sparse.retain(a(), [True, False]), [[[0, 1]], [1], [2, 3]]),
    made(lambda: sparse.transpose(a()), [[[0, 1], [1, 0]], [2, 1], [3, 2]]),
    made(lambda: sparse.transpose(a(), [0, 1]), [[[0, 1], [1, 0]], [1, 2], [2, 3]]),
    made(lambda: sparse.reset_shape(SparseTensor([[0, 0]], [1.0], [5, 5])), [[[0, 0]], [1], [1, 1]]),
    made(lambda: sparse.reset_shape(b(), [3, 3]), [[[0, 0], [1, 1]], [3, 4], [3, 3]]),
    made(lambda: sparse.from_dense([[0, 1], [2, 0]]), [[[0, 1], [1, 0]], [1, 2], [2, 2]]),
    made(lambda: sparse.from_dense(["", "x"]), [[[1]], [b"x"], [2]]),
    made(lambda: sparse.eye(2, 3), [[[0, 0], [1, 1]], [1, 1], [2, 3]]),
    made(lambda: sparse.eye(2), [[[0, 0], [1, 1]], [1, 1], [2, 2]]),
    made(lambda: sparse.merge(numbers(), shares(), 4), [[[0, 1], [0, 2], [1, 0]], [0.5, 0.25, 0.75], [2, 4]]),
    made(lambda: sparse.fill_empty_rows(gaps(), -1.0)[0], [[[0, 0], [1, 0], [2, 1], [3, 0]], [2, -1, 1, -1], [4, 3]]),
    full(lambda: sparse.fill_empty_rows(gaps(), -1.0)[1], [False, True, False, True]),
    full(lambda: sparse.reduce_sum(a(), 1), [1, 2]),
    full(lambda: sparse.reduce_sum(a(), 1, keepdims=True), [[1], [2]]),
    full(lambda: sparse.reduce_sum(a()), 3),
    full(lambda: sparse.reduce_sum(a(), axis=[0, 1]), 3),
    full(lambda: sparse.reduce_sum(acts.sparse.SparseTensorValue(i64([[0, 1]]), f32([1]), i64([2, 3])), 1), [1, 0]),
    full(lambda: sparse.reduce_max(gaps(), 1), [2, 0, 1, 0]),
    full(lambda: sparse.to_indicator(numbers(), 4), [[False, True, True, False], [True, False, False, False]]),
    (lambda: sparse.concat(2, [a(), a()]), ValueError, "axis 2 is not in"),
    (lambda: sparse.concat(0, [a(), ANYTHING]), TypeError, "SparseTensor is wanted"),
    (lambda: sparse.reshape(a(), [4, 2]), ValueError, "6 elements to shape"),
    (lambda: sparse.reshape(a(), [4, -1]), ValueError, "6 elements to shape"),
    (lambda: sparse.retain(a(), [True]), ValueError, "not compatible"),
    (lambda: sparse.reset_shape(a(), [1, 3]), ValueError, "at least as large"),
    (lambda: sparse.reset_shape(a(), [9]), ValueError, "at least as large"),
    (lambda: sparse.reduce_sum(a(), 2), ValueError, "axis 2 is not in"),
    (lambda: sparse.softmax(SparseTensor([[0]], [1.0], [2])), ValueError, "rank is 2"),
    (lambda: sparse.transpose(a(), [0, 5]), ValueError, "order of 2 axes"),
    (lambda: sparse.split(a(), 2, 1), ValueError, "Keyword arguments are required"),
    (lambda: sparse.split(sp_input=a(), num_split=2), ValueError, "axis is required"),
    (lambda: sparse.split(sp_input=a(), num_split=0, axis=1), ValueError, "num_split is at least 1"),
]


# -- dense tensors, sums and operators -------------------------------------------------------------

A = (i64([[0, 0], [1, 2]]), f32([2, 1]), i64([2, 3]))
B = (i64([[0, 0], [1, 1]]), f32([-2, 4]), i64([2, 3]))


def _sum(threshold: Any = None) -> Any:
    def add(*parts: Any) -> Any:
        total = acts.sparse.add(SparseTensor(*parts[:3]), SparseTensor(*parts[3:]), threshold)
        return [total.indices, total.values, total.dense_shape]

    return add


def pair(values: Any = (1.0, 2.0)) -> SparseTensor:
    return SparseTensor([[0, 0], [1, 2]], np.array(values), [2, 3])


def times(left: Any, right: Any) -> Any:
    """A sparse tensor of the places of the one that is multiplied."""
    product = left() * right()
    assert (product.op.type, product.shape.as_list()) == ("SparseDenseCwiseMul", [2, 3])
    return product


OPERATORS: list[Any] = [
    gives(_sum(1.0), [i64([[1, 1], [1, 2]]), f32([4, 1]), A[2]], *A, *B),
    fails(_sum(), "not the same", *A, *B[:2], i64([2, 4])),
    (lambda: acts.sparse.add(SparseTensor(*A), SparseTensor(*B[:2], i64([2, 4]))), ValueError, "not compatible"),
    (lambda: acts.sparse.add(constant([1.0]), constant([1.0])), TypeError, "a SparseTensor is wanted"),
    (lambda: acts.sparse.add(SparseTensor(*A), SparseTensor(A[0], [1, 2], A[2])), TypeError, "one dtype"),
    (lambda: acts.sparse.matmul(SparseTensor(*A), constant([[1], [2], [3]])), TypeError, "float32"),
    # Unchecked, the last of two entries for one place wins.
    full(
        lambda: acts.sparse.to_dense(SparseTensor([[0, 0]] * 2, [1.0, 2.0], [1, 2]), validate_indices=False), [[2, 0]]
    ),
    equals(lambda: dims(acts.sparse.to_dense(acts.sparse.placeholder("float32", [None, 3]))), [None, 3]),
    (lambda: acts.sparse.to_dense(cast("Any", constant([1.0]))), TypeError, "a SparseTensor is wanted"),
    gives(lambda: sparse_to_dense([1, 3], [5], 1, default_value=0), i32([0, 1, 0, 1, 0])),
    gives(lambda: sparse_to_dense(2, [5], 1.0, default_value=0), f32([0, 0, 1, 0, 0])),
    full(lambda: sparse_to_dense([[0, 1], [1, 0]], [2, 2], [3, 4], default_value=0), [[0, 3], [4, 0]]),
    (lambda: sparse_to_dense(constant([1, 3]), constant(i64([5])), [1, 2]), TypeError, "int32 is wanted here"),
    *(
        made(lambda left=left, right=right: times(left, right), [[[0, 0], [1, 2]], wanted, [2, 3]])
        for dense, wanted in ((2.0, [2, 4]), ([[1.0, 2.0, 3.0]], [1, 6]), ([[4.0], [5.0]], [4, 10]))
        for left, right in (
            (pair, lambda dense=dense: dense),
            (lambda dense=dense: constant(np.array(dense)), pair),
            (lambda dense=dense: np.array(dense), pair),
        )
    ),
    gives(lambda: (pair([1, 3]) / 2).values, np.array([0.5, 1.5])),
    (lambda: 2.0 * cast("Any", pair()), TypeError, "unsupported operand"),
    (lambda: cast("Any", pair()) + 1.0, TypeError, "unsupported operand"),
    (lambda: operator.neg(cast("Any", pair())), TypeError, "bad operand"),
    (lambda: pair() * pair(), TypeError, "Expected float64, but got <SparseTensor"),
    (lambda: constant(1.0, "float64") + cast("Any", pair()), TypeError, "Expected float64, but got <SparseTensor"),
    (lambda: constant(1.0, "float64") / cast("Any", pair()), TypeError, "Expected float64, but got <SparseTensor"),
    fails(lambda: (pair() * constant(np.ones([4, 3]))).values, r"of shape \[2, 3\]; got shape \[4, 3\]"),
]


# -- crosses, distances, sets and tables -----------------------------------------------------------

WORDS = np.array([[b"a", b"bb"], [b"c", b""]], object)
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def keys() -> SparseTensor:
    return SparseTensor([[0, 0], [0, 1], [1, 0]], i64([3, -4, 5]), [2, 2])


def ids() -> SparseTensor:
    """Two ids of which one is invalid, none, one, one, none."""
    return SparseTensor([[0, 0], [0, 1], [2, 0], [3, 0]], i64([1, -1, 2, 3]), [5, 2])


def word(text: str) -> acts.sparse.SparseTensorValue:
    """The letters of a word as a row of one."""
    letters = np.array([letter.encode() for letter in text], object)
    return acts.sparse.SparseTensorValue(
        i64([[0, i] for i in range(len(text))]).reshape(-1, 2), letters, i64([1, len(text)])
    )


def one(*place: int, value: Any = 1, shape: Any = None) -> SparseTensor:
    return SparseTensor(i64([place]), [value], i64(shape or [1] * len(place)))


def _hidden() -> SparseTensor:
    return SparseTensor(source("int64", [None, 3]), source("int32", [None]), source("int64", [3]))


def _deep() -> Any:
    deep = SparseTensor(i64([[0, 0, 0], [1, 1, 1]]), i64([1, 2]), [2, 2, 2])
    return nn.safe_embedding_lookup_sparse([TABLE[:2], TABLE[2:]], deep)


def _slope() -> Any:
    table = constant(TABLE)
    [slope] = gradients(nn.safe_embedding_lookup_sparse(table, ids(), combiner="sum"), [table])
    assert slope is not None
    return to_dense(slope)[:, 0]


LOOKUPS: list[Any] = [
    made(
        lambda: sparse.cross([WORDS, keys()]),
        [
            [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]],
            [b"3_X_a", b"3_X_bb", b"-4_X_a", b"-4_X_bb", b"5_X_c", b"5_X_"],
            [2, 4],
        ],
    ),
    # Buckets are TensorFlow's.
    gives(
        lambda: sparse.cross_hashed([WORDS, keys(), np.array([[7], [8]])], 100).values, i64([86, 24, 83, 51, 13, 42])
    ),
    gives(
        lambda: sparse.cross_hashed([WORDS, keys()], hash_key=12).values[:2],
        i64([8962303157893995366, 8940916926205232132]),
    ),
    fails(lambda: sparse.cross([WORDS, WORDS[:1]]).values, "as many rows"),
    (lambda: sparse.cross([]), TypeError, "list of matrices"),
    equals(
        lambda: dims(acts.sparse.edit_distance(word("a"), word("b")), acts.sparse.edit_distance(_hidden(), _hidden())),
        [[1], [None, None]],
    ),
    # A sequence may be longer than the shape says.
    gives(
        lambda: acts.sparse.edit_distance(
            SparseTensor(i64([[0, 0], [0, 1], [0, 2]]), ["a", "b", "c"], i64([1, 1])), word("abd"), normalize=False
        ),
        f32([1]),
    ),
    fails(
        lambda: acts.sparse.edit_distance(one(0, 0, shape=[1, 2]), one(4, 0, shape=[1, 2])),
        r"truth: \[4, 0\] does not index",
    ),
    (lambda: acts.sparse.edit_distance([1], word("a")), TypeError, "hypothesis is a SparseTensor"),
    (lambda: acts.sparse.edit_distance(one(0, 0), word("a")), TypeError, "one dtype"),
    (lambda: acts.sparse.edit_distance(one(0, 0), one(0, 0, 0)), ValueError, "one rank"),
    # Elements out of order are let through on request.
    gives(
        lambda: sets.size(SparseTensor(i64([[0, 1], [0, 0]]), i64([4, 3]), [1, 2]), validate_indices=False), i32([2])
    ),
    (lambda: sets.union(FLOATS, FLOATS), TypeError, "uint16, string as set1; got float32"),
    (lambda: sets.union(constant([[1]], int32), np.array([[1]])), TypeError, "Types don't match, int32 vs int64"),
    (lambda: sets.size(constant([[1]])), TypeError, "Expected `SparseTensor`"),
    full(_deep, [[TABLE[1].tolist(), [0] * 3], [[0] * 3, TABLE[2].tolist()]]),
    gives(_slope, f32([0, 1, 1, 1])),
    (lambda: nn.safe_embedding_lookup_sparse(cast("Any", None), ids()), ValueError, "Missing embedding_weights"),
    (lambda: nn.safe_embedding_lookup_sparse([], ids()), ValueError, "Missing embedding_weights"),
    (lambda: nn.safe_embedding_lookup_sparse(TABLE, ids(), combiner="most"), ValueError, "combiner must be one"),
]


test_functions_of_sparse_tensors_do_what_their_rows_say = each_use([*FUNCTIONS, *OPERATORS, *LOOKUPS])


# -- what no row says ------------------------------------------------------------------------------


def test_shapes_may_be_known_late() -> None:
    given = SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], acts.placeholder(acts.int64, [2]))
    feeds = {given.dense_shape: [2, 3]}
    reshaped = sparse.reshape(given, constant([3, -1], acts.int64))
    joined = sparse.concat(1, [given, given])
    assert joined.shape.rank in (None, 2)
    with acts.Session() as session:
        assert session.run(reshaped, feeds).dense_shape.tolist() == [3, 2]
        assert session.run(joined, feeds).indices.tolist() == [[0, 1], [0, 4], [1, 0], [1, 3]]
        assert session.run(sparse.reduce_sum(given), feeds) == 3
        with pytest.raises(acts.errors.InvalidArgumentError, match="Cannot reshape"):
            session.run(reshaped, {given.dense_shape: [2, 4]})


def test_tensors_of_unknown_rank_are_joined_and_have_the_gradient_of_their_softmax() -> None:
    """As a placeholder is that is made without a shape."""
    indices = [[0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 1, 0]]
    given = sparse.SparseTensorValue(np.array(indices), np.array([1, 2, 3, 4], np.float32), np.array([2, 2, 3]))
    tensor = sparse.placeholder(acts.float32)
    softmax = sparse.softmax(tensor)
    weights = acts.constant([1.0, 3.0, 5.0, 7.0])
    (grad,) = gradients(acts.reduce_sum(softmax.values * weights), [tensor.values])
    joined = [sparse.concat(axis, [tensor, tensor], expand_nonconcat_dims=True) for axis in (0, 1, -1)]
    with acts.Session() as session:
        found, *shapes = session.run([grad, *(each.dense_shape for each in joined)], {tensor: given})
    # Of two entries in a row, with p = 1 / (1 + e): p * (1 - p) times the difference of the weights.
    both = np.e / (1 + np.e) ** 2 * 2
    np.testing.assert_allclose(found, [-both, both, 0, 0], rtol=1e-5, atol=1e-6)
    assert [shape.tolist() for shape in shapes] == [[4, 2, 3], [2, 4, 3], [2, 2, 6]]


@for_each("name", sparse.__all__)
def test_names_of_the_namespace_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(sparse, name))
