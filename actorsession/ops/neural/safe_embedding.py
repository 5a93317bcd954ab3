"""``safe_embedding_lookup_sparse``: rows of a table for ids that may be missing or invalid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import zeros_like
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, greater_equal
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.neural.embedding import embedding_lookup_sparse
from actorsession.ops.reductions.reduction import reduce_prod
from actorsession.ops.sparse_tensors.basics import SparseTensor
from actorsession.ops.sparse_tensors.functions import (
    sparse_fill_empty_rows,
    sparse_reshape,
    sparse_retain,
)

__all__ = ["safe_embedding_lookup_sparse"]


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: Any = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Look up and combine rows, ignoring ids below 0 and allowing rows without any id.

    Args:
        embedding_weights: a table, or a list of its parts.
        sparse_ids: ids of shape ``[..., most ids]``.
        sparse_weights: weights at the same places; those that are not positive are ignored, unless the
            combiner is ``sum``.
        combiner: ``mean``, ``sqrtn`` or ``sum``.
        default_id: the id used for a row without valid ids; such a row is 0 if left out.
        partition_strategy: ``div`` or ``mod``: how ids are distributed over the parts.
        max_norm: rows of the table with a larger norm are scaled down to it.
        allow_fast_lookup: accepted for compatibility with TensorFlow.

    Returns:
        A tensor of shape ``[..., size of a row]``.

    Raises:
        ValueError: without a table, or for another combiner.
        TypeError: for weights of another dtype than the table.
    """
    del allow_fast_lookup
    listed = isinstance(embedding_weights, (list, tuple))
    if embedding_weights is None or (listed and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    graph = sparse_ids.graph
    with graph.as_default(), graph.name_scope(name or "embedding_lookup"):
        table = _checked_table(embedding_weights, sparse_weights)
        outer = sparse_ids.dense_shape[:-1]
        known = sparse_ids.shape[:-1] if sparse_ids.shape.rank else None
        rows = concat([reshape(reduce_prod(outer), [1]), sparse_ids.dense_shape[-1:]], 0)
        ids = sparse_reshape(sparse_ids, rows)
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _pruned(ids, weights, combiner != "sum")
        ids, is_empty = sparse_fill_empty_rows(
            ids, cast(convert_to_tensor(default_id or 0), ids.dtype)
        )
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(
                weights, cast(convert_to_tensor(1.0), weights.dtype)
            )
        found = embedding_lookup_sparse(
            table, ids, weights, partition_strategy, combiner=combiner, max_norm=max_norm
        )
        if default_id is None:
            column = reshape(is_empty, [-1, *[1] * ((found.shape.rank or 2) - 1)])
            found = where_v2(column, zeros_like(found), found)
        whole = reshape(found, concat([cast(outer, int32), shape(found)[1:]], 0))
        if known is not None:
            whole.set_shape(known.concatenate(found.shape[1:]))
        return whole


def _checked_table(table: Any, weights: SparseTensor | None) -> Any:
    """Return the parts of a table, converted to the dtype of the weights if there are any."""
    parts: Sequence[Any] = table if isinstance(table, (list, tuple)) else [table]
    dtype = None if weights is None else weights.dtype
    return [convert_to_tensor(part, dtype) if dtype is not None else part for part in parts]


def _pruned(
    ids: SparseTensor, weights: SparseTensor | None, by_weight: bool
) -> tuple[SparseTensor, SparseTensor | None]:
    """Return the entries with an id of at least 0 and, if ``by_weight``, a positive weight."""
    valid = greater_equal(ids.values, cast(convert_to_tensor(0, int64), ids.dtype))
    if weights is None:
        return sparse_retain(ids, valid), None
    ids, weights = sparse_retain(ids, valid), sparse_retain(weights, valid)
    if by_weight:
        positive = greater(weights.values, cast(convert_to_tensor(0.0), weights.dtype))
        ids, weights = sparse_retain(ids, positive), sparse_retain(weights, positive)
    return ids, weights
