"""Pieces and sets of sparse tensors, and tables looked up by ids that may be missing: beyond the table."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import actorsession as acts
from actorsession import SparseTensor, constant, gradients, int32, nn, sets
from actorsession.ops.indexed_slices import to_dense
from tests.ops.interpreter import evaluate
from tests.rows import refusing

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def ids() -> SparseTensor:
    """Two ids of which one is invalid, none, one, one, none."""
    places = np.array([[0, 0], [0, 1], [2, 0], [3, 0]], np.int64)
    return SparseTensor(places, np.array([1, -1, 2, 3], np.int64), [5, 2])


# -- pieces ----------------------------------------------------------------------------------------


# -- sets ------------------------------------------------------------------------------------------


def test_elements_out_of_order_are_let_through_on_request() -> None:
    jumbled = SparseTensor(np.array([[0, 1], [0, 0]], np.int64), np.array([4, 3]), [1, 2])
    assert evaluate([sets.size(jumbled, validate_indices=False)])[0].tolist() == [2]


# -- tables ----------------------------------------------------------------------------------------


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


FLOATS: Any = [[1.0]]
test_what_is_no_piece_set_or_table_is_refused = refusing(
    (lambda: acts.sparse.split(ids(), 2, 1), ValueError, "Keyword arguments are required"),
    (lambda: acts.sparse.split(sp_input=ids(), num_split=2), ValueError, "axis is required"),
    (lambda: acts.sparse.split(sp_input=ids(), num_split=0, axis=1), ValueError, "num_split is at least 1"),
    (lambda: sets.union(FLOATS, FLOATS), TypeError, "uint16, string as set1; got float32"),
    (lambda: sets.union(constant([[1]], int32), np.array([[1]])), TypeError, "Types don't match, int32 vs int64"),
    (lambda: sets.size(constant([[1]])), TypeError, "Expected `SparseTensor`"),
    (lambda: nn.safe_embedding_lookup_sparse(cast("Any", None), ids()), ValueError, "Missing embedding_weights"),
    (lambda: nn.safe_embedding_lookup_sparse([], ids()), ValueError, "Missing embedding_weights"),
    (lambda: nn.safe_embedding_lookup_sparse(TABLE, ids(), combiner="most"), ValueError, "combiner must be one of"),
)
