"""Sparse tensors made from dense ones or ids, sparse unit matrices, and the indicator of ids.

Composed of other ops; the names are TensorFlow 1's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import float32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import ones, ones_like
from actorsession.ops.arrays.gather import gather_nd
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import not_equal
from actorsession.ops.elements.selection import where
from actorsession.opsets.sparse.basics import SparseTensor, checked_sparse, sparse_reorder, sparse_tensor_to_dense

__all__ = ["sparse_eye", "sparse_from_dense", "sparse_merge", "sparse_to_indicator"]


def sparse_from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor of the elements of a dense one that are not zero (or empty strings)."""
    value = convert_to_tensor(tensor)
    with value.graph.as_default(), value.graph.name_scope(name or "dense_to_sparse"):
        zero = b"" if value.dtype.kind == "s" else np.zeros((), value.dtype.np_dtype)
        places = where(not_equal(value, convert_to_tensor(zero, value.dtype)))
        sparse = SparseTensor(places, gather_nd(value, places), shape_tensor(value, int64))
        sparse.set_shape(value.shape)
        return sparse


def sparse_eye(
    num_rows: int, num_columns: int | None = None, dtype: Any = float32, name: str | None = None
) -> SparseTensor:
    """Return the unit matrix as a sparse tensor.

    Args:
        num_rows: number of rows.
        num_columns: number of columns; ``num_rows`` if left out.
        dtype: dtype of the ones.
    """
    columns = num_rows if num_columns is None else num_columns
    count = min(num_rows, columns)
    places = np.stack([np.arange(count)] * 2, 1)
    return SparseTensor(places, ones([count], dtype, name), [num_rows, columns])


def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: int, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Return values whose last coordinate is given by another sparse tensor with the same positions.

    Args:
        sp_ids: integers below ``vocab_size``.
        sp_values: values at the same positions.
        vocab_size: extent of the new last axis.
        already_sorted: whether ids are sorted within rows; otherwise the result is reordered.
    """
    ids, values = checked_sparse(sp_ids), checked_sparse(sp_values)
    graph = ids.indices.graph
    with graph.as_default(), graph.name_scope(name or "SparseMerge"):
        column = ids.values if ids.values.dtype is int64 else cast(ids.values, int64)
        places = concat([ids.indices[:, :-1], expand_dims(column, 1)], 1)
        size = convert_to_tensor([vocab_size], int64)
        merged = SparseTensor(places, values.values, concat([ids.dense_shape[:-1], size], 0))
        if ids.shape.sizes is not None:
            merged.set_shape([*ids.shape.sizes[:-1], vocab_size])
        return merged if already_sorted else sparse_reorder(merged)


def sparse_to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """Return for each row and id, as bools, whether the row contains the id.

    Args:
        sp_input: integers below ``vocab_size``, without repetitions within a row.
        vocab_size: number of ids.
    """
    sparse = checked_sparse(sp_input)
    graph = sparse.indices.graph
    with graph.as_default(), graph.name_scope(name or "SparseToIndicator") as scope:
        there = ones_like(sparse.values, "bool")
        values = SparseTensor(sparse.indices, there, sparse.dense_shape)
        merged = sparse_merge(sparse, values, vocab_size)
        return sparse_tensor_to_dense(merged, False, name=scope)
