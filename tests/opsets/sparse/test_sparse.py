"""Sparse tensors: their parts, and the ops on them against dense numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import Graph, Session, SparseTensor, as_dtype, constant, placeholder
from actorsession import shape as shape_of
from tests.ops.cases import f32, i64
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import gives
from tests.rows import for_each, refused, refusing

PLACES = i64([[0, 0], [1, 2]])
SHAPE = i64([2, 3])


def _dense(indices: Any, values: Any, dims: Any) -> Any:
    out = np.zeros(dims, np.asarray(values).dtype)
    for place, value in zip(indices, values, strict=True):
        out[tuple(place)] += value
    return out


# -- the object ------------------------------------------------------------------------------------


def test_a_sparse_tensor_says_what_is_known_of_it() -> None:
    with Graph().as_default() as graph:
        sparse = SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    assert sparse.graph is graph
    assert sparse.dtype.name == "float32"
    assert sparse.shape == sparse.get_shape() == [2, 3]
    assert sparse.op is sparse.values.op
    assert [t.name for t in (sparse.indices, sparse.values, sparse.dense_shape)] == [
        "SparseTensor/indices:0",
        "SparseTensor/values:0",
        "SparseTensor/dense_shape:0",
    ]
    assert "shape=(2, 3) dtype=float32" in repr(sparse)


def test_it_evaluates_itself_and_knows_who_takes_its_entries() -> None:
    with Graph().as_default() as graph:
        sparse = SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
        assert sparse.consumers() == []
        dense = acts.sparse.to_dense(sparse)
    assert sparse.consumers() == [dense.op]
    refused(lambda: sparse.eval(), ValueError, "No default session is registered")
    with Session(graph=graph) as session:
        found = sparse.eval()
        fed = sparse.eval({sparse.values: [5.0, 6.0]}, session)
    assert isinstance(found, acts.sparse.SparseTensorValue)
    assert (found.values.tolist(), fed.values.tolist()) == ([1.0, 2.0], [5.0, 6.0])


def test_the_static_shape_is_refined_and_never_contradicted() -> None:
    sparse = acts.sparse.placeholder("float32")
    assert sparse.shape.rank is None
    sparse.set_shape([None, 3])
    assert sparse.shape == [None, 3]
    refused(lambda: sparse.set_shape([2, 4]), ValueError, "not compatible")


def test_other_values_stand_at_the_same_places() -> None:
    sparse = SparseTensor(PLACES, [1.0, 2.0], SHAPE)
    other = sparse.with_values([5, 6])
    assert other.indices is sparse.indices
    assert other.dtype.name == "int32"


def test_a_fetched_value_becomes_a_sparse_tensor_again() -> None:
    value = acts.sparse.SparseTensorValue(PLACES, f32([1, 2]), SHAPE)
    sparse = SparseTensor.from_value(value)
    found = evaluate([sparse.indices, sparse.values, sparse.dense_shape])
    refused(lambda: SparseTensor.from_value((PLACES, f32([1, 2]), SHAPE)), TypeError, "SparseTensorValue")  # type: ignore[arg-type]
    for got, want in zip(found, value, strict=True):
        np.testing.assert_array_equal(got, want)


@for_each("shape, known", [([2, 3], [2, 3]), ([None, 3], [None, 3]), ([-1, 3], [None, 3]), ((2, None), [2, None])])
def test_a_sparse_placeholder_has_the_shape_that_was_asked_for(shape: Any, known: Any) -> None:
    with Graph().as_default() as graph:
        sparse = acts.sparse.placeholder("float32", shape, name="q")
    assert (sparse.shape, sparse.indices.shape.as_list()) == (known, [None, 2])
    assert (sparse.indices.name, sparse.values.name) == ("q/indices:0", "q/values:0")
    assert sparse.dense_shape.name == "q/shape:0"
    assert graph.is_feedable(sparse.dense_shape)
    assert sparse.dense_shape.op.type == "PlaceholderWithDefault"


def test_a_sparse_placeholder_takes_its_shape_from_a_tensor() -> None:
    sparse = acts.sparse.placeholder("float32", constant(i64([4, 5])))
    anything = acts.sparse.placeholder("string")
    assert sparse.shape == [4, 5]
    assert anything.shape.rank is None
    assert anything.dense_shape.op.type == "Placeholder"


# -- products --------------------------------------------------------------------------------------


@for_each("by", ["scipy", "numpy"])
@for_each("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "complex64"])
def test_a_large_product_is_that_of_the_dense_matrix(by: str, dtype: str, uninstall: Callable[[str], None]) -> None:
    """Entries may stand in any order and more than once; a row may go on where the next part begins."""
    if by != "scipy":
        uninstall("scipy")
    random = np.random.default_rng(0)
    places = random.integers(0, [9, 7], (300, 2))
    places = np.concatenate([places, np.repeat(i64([[3, 3]]), 30, 0)])
    values = random.integers(-2, 3, len(places)).astype(as_dtype(dtype).np_dtype)
    b = random.integers(-2, 3, (7, 900)).astype(values.dtype)  # more than one part has room for
    dense = _dense(places, values.astype(complex), (9, 7))

    def product(values: Any, b: Any) -> Any:
        return acts.sparse.matmul(SparseTensor(places, values, i64([9, 7])), b)

    wanted = dense @ b.astype(complex)
    is_complex = values.dtype.kind == "c"
    gives(product, (wanted if is_complex else wanted.real).astype(values.dtype), values, b).check()
    gives(product, np.zeros((9, 0), values.dtype), values, b[:, :0]).check()


# -- what can still be fed -------------------------------------------------------------------------


def test_a_dense_shape_whose_value_was_read_can_no_longer_be_fed() -> None:
    with Graph().as_default() as graph:
        given = constant(i64([2, 3]))
        sparse = SparseTensor([[0, 0]], [1.0], given)
        unknown = placeholder("int64", [2])
        open_shape = SparseTensor([[0, 0]], [1.0], unknown)
        of_tensor = shape_of(source("float32", (2, 3)), out_type="int64")
        SparseTensor([[0, 0]], [1.0], of_tensor)
    assert not graph.is_feedable(given)
    assert graph.is_feedable(sparse.indices)
    assert graph.is_feedable(sparse.values)
    assert graph.is_feedable(unknown)
    assert open_shape.shape == [None, None]
    assert graph.is_feedable(of_tensor)


test_parts_that_do_not_fit_are_refused = refusing(
    (lambda: SparseTensor([[0.5, 0]], [1.0], [2, 3]), TypeError, "Expected int64"),
    (lambda: SparseTensor([0, 0], [1.0], [2, 3]), ValueError, "indices of a SparseTensor have rank 2"),
    (lambda: SparseTensor([[0, 0]], [1.0, 2.0], [2, 3]), ValueError, "1 rows against 2"),
    (lambda: SparseTensor([[0, 0]], [1.0], [2, 3, 4]), ValueError, "2 columns against 3"),
    (lambda: SparseTensor([[0, 0]], [[1.0]], [2, 3]), ValueError, "values of a SparseTensor have rank 1"),
)
