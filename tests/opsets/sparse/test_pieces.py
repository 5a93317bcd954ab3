"""Pieces and sets of sparse tensors, and tables looked up by ids that may be missing: beyond the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import SparseTensor, constant, gradients, int32, nn, sets
from actorsession.ops.indexed_slices import to_dense
from tests.ops.interpreter import evaluate

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def ids() -> SparseTensor:
    """Two ids of which one is invalid, none, one, one, none."""
    places = np.array([[0, 0], [0, 1], [2, 0], [3, 0]], np.int64)
    return SparseTensor(places, np.array([1, -1, 2, 3], np.int64), [5, 2])


def weights(values: Any) -> SparseTensor:
    return SparseTensor(ids().indices, np.array(values, np.float32), [5, 2])


# -- pieces ----------------------------------------------------------------------------------------


def test_pieces_are_asked_for_by_name() -> None:
    sparse = ids()
    with pytest.raises(ValueError, match="Keyword arguments are required"):
        acts.sparse.split(sparse, 2, 1)
    with pytest.raises(ValueError, match="axis is required"):
        acts.sparse.split(sp_input=sparse, num_split=2)
    with pytest.raises(ValueError, match="num_split is at least 1"):
        acts.sparse.split(sp_input=sparse, num_split=0, axis=1)
    older = acts.sparse.split(sp_input=sparse, num_split=2, axis=0)
    assert [piece.dense_shape.shape.as_list() for piece in older] == [[2], [2]]
    assert acts.sparse.split is acts.sparse.split


def test_reductions_stay_sparse() -> None:
    found = acts.sparse.reduce_sum_sparse(weights([1, 2, 3, 4]), axis=1, keepdims=True)
    indices, values, shape = evaluate([found.indices, found.values, found.dense_shape])
    assert indices.tolist() == [[0, 0], [2, 0], [3, 0]]
    assert values.tolist() == [3, 3, 4]
    assert shape.tolist() == [5, 1]


# -- sets ------------------------------------------------------------------------------------------


def test_sets_are_of_integers_or_strings_of_one_dtype() -> None:
    with pytest.raises(TypeError, match="uint16, string as set1; got float32"):
        sets.union([[1.0]], [[2.0]])
    with pytest.raises(TypeError, match="Types don't match, int32 vs int64"):
        sets.union(constant([[1]], int32), np.array([[1]]))
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        sets.size(constant([[1]]))


def test_a_difference_goes_either_way_whichever_is_sparse() -> None:
    dense = np.array([[1, 2]])
    sparse = acts.sparse.SparseTensorValue(np.array([[0, 0], [0, 1]]), np.array([2, 5]), np.array([1, 2]))
    made = [
        sets.difference(dense, sparse),
        sets.difference(dense, sparse, aminusb=False),
        sets.difference(sparse, dense),
        sets.difference(sparse, dense, aminusb=False),
    ]
    found = evaluate([each.values for each in made])
    assert [values.tolist() for values in found] == [[1], [5], [5], [1]]


def test_elements_out_of_order_are_let_through_on_request() -> None:
    jumbled = SparseTensor(np.array([[0, 1], [0, 0]], np.int64), np.array([4, 3]), [1, 2])
    assert evaluate([sets.size(jumbled, validate_indices=False)])[0].tolist() == [2]


# -- tables ----------------------------------------------------------------------------------------


def test_rows_without_a_valid_id_are_zero_or_a_default() -> None:
    first = nn.safe_embedding_lookup_sparse(TABLE, ids())
    other = nn.safe_embedding_lookup_sparse(TABLE, ids(), default_id=3)
    assert first.shape.as_list() == [5, 3]
    found = evaluate([first, other])
    zero = np.zeros(3)
    np.testing.assert_array_equal(found[0], [TABLE[1], zero, TABLE[2], TABLE[3], zero])
    np.testing.assert_array_equal(found[1], TABLE[[1, 3, 2, 3, 3]])


def test_weights_that_are_not_above_zero_do_not_count_but_in_sums() -> None:
    given = weights([1, 2, 0, 0.5])
    mean = nn.safe_embedding_lookup_sparse(TABLE, ids(), given)
    total = nn.safe_embedding_lookup_sparse(TABLE, ids(), given, "sum")
    found = evaluate([mean, total])
    zero = np.zeros(3)
    np.testing.assert_allclose(found[0], [TABLE[1], zero, zero, TABLE[3], zero])
    np.testing.assert_allclose(found[1], [TABLE[1], zero, zero, TABLE[3] / 2, zero])


def test_ids_may_have_more_axes_and_a_table_parts() -> None:
    deep = SparseTensor(np.array([[0, 0, 0], [1, 1, 1]], np.int64), np.array([1, 2]), [2, 2, 2])
    found = nn.safe_embedding_lookup_sparse([TABLE[:2], TABLE[2:]], deep)
    assert found.shape.as_list() == [2, 2, 3]
    wanted = np.zeros((2, 2, 3))
    wanted[0, 0], wanted[1, 1] = TABLE[1], TABLE[2]
    np.testing.assert_array_equal(evaluate([found])[0], wanted)


def test_a_table_has_a_gradient_where_it_is_looked_at() -> None:
    table = constant(TABLE)
    [slope] = gradients(nn.safe_embedding_lookup_sparse(table, ids(), combiner="sum"), [table])
    assert slope is not None
    np.testing.assert_array_equal(evaluate([to_dense(slope)])[0][:, 0], [0, 1, 1, 1])


def test_there_is_a_table_and_a_way_to_combine() -> None:
    nothing: Any
    for nothing in (None, []):
        with pytest.raises(ValueError, match="Missing embedding_weights"):
            nn.safe_embedding_lookup_sparse(nothing, ids())
    with pytest.raises(ValueError, match="combiner must be one of"):
        nn.safe_embedding_lookup_sparse(TABLE, ids(), combiner="most")
