"""Embeddings for sparse ids: rows of a table, several combined into one, also for missing or invalid ids.

Owns ``nn.embedding_lookup_sparse`` and ``nn.safe_embedding_lookup_sparse``. Only composes ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import bfloat16, float16, float32, int32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.array import identity, zeros_like
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements import elementwise
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, greater_equal
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.neural.embedding import embedding_lookup, table_parts
from actorsession.ops.reductions.reduction import reduce_prod
from actorsession.ops.reductions.segments import segment_sum
from actorsession.ops.reductions.unique import unique
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.opsets.sparse.functions import sparse_fill_empty_rows, sparse_reshape, sparse_retain
from actorsession.opsets.sparse.segments import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Tensor:
    """Combine, for each row of a sparse matrix of ids, the rows of a table with these ids.

    Args:
        params: as for ``embedding_lookup``.
        sp_ids: int32 or int64, with sorted rows, each with at least one entry (an empty row yields 0).
        sp_weights: weights at the same places; all 1 if ``None``.
        partition_strategy: as for ``embedding_lookup``.
        combiner: ``sum``; ``mean``, over the sum of weights, the default; or ``sqrtn``, over the root of the
            sum of their squares.
        max_norm: as for ``embedding_lookup``.

    Returns:
        A tensor of shape ``[rows] + params.shape[1:]``, up to the last row with an entry.

    Raises:
        ValueError: without a table, for another combiner, or weights whose shape contradicts the ids.
        TypeError: if ids or weights are not sparse.
    """
    how = combiner or "mean"
    if how not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"a combiner is 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    for what, value in (("sp_ids", sp_ids), ("sp_weights", sp_weights)):
        if not isinstance(value, SparseTensor) and not (value is None and what == "sp_weights"):
            raise TypeError(f"{what} is a SparseTensor, got {type(value).__name__}")
    if sp_weights is not None and not sp_weights.values.shape.is_compatible_with(sp_ids.values.shape):
        raise ValueError(f"there is a weight for each id, got {sp_weights.values.shape} for {sp_ids.values.shape}")
    parts = table_parts(params)
    with sp_ids.graph.as_default(), sp_ids.graph.name_scope(name or "embedding_lookup_sparse") as scope:
        rows = sp_ids.indices[:, 0]
        ids, places = unique(sp_ids.values)
        table = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
        if sp_weights is not None:
            return _weighted(gather(table, places), sp_weights.values, rows, how, scope)
        fold = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}[how]
        return fold(table, places, rows, name=scope)


def _weighted(rows: Tensor, weights: Tensor, segments: Tensor, how: str, scope: str) -> Tensor:
    """Return the weighted rows, summed by segment and divided as ``how`` specifies."""
    dtype = rows.dtype
    wide = cast(rows, float32) if dtype in (float16, bfloat16) else rows
    column = _column(cast(weights, wide.dtype), wide)
    total = segment_sum(wide * column, segments)
    if how != "sum":
        powers = column if how == "mean" else elementwise.square(column)
        below = segment_sum(powers, segments)
        total = div_no_nan(total, below if how == "mean" else elementwise.sqrt(below))
    return identity(cast(total, dtype), name=scope)


def _column(weights: Tensor, rows: Tensor) -> Tensor:
    """Return the weights with further axes of extent 1, to broadcast with the rows."""
    if rows.shape.rank is not None:
        return reshape(weights, [-1, *[1] * (rows.shape.rank - 1)])
    behind = fills.ones(reshape(rank(rows) - 1, [1]), int32)
    return reshape(weights, concat([shape(weights), behind], 0))


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: Any = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
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

    Returns:
        A tensor of shape ``[..., size of a row]``.

    Raises:
        ValueError: without a table, or for another combiner.
        TypeError: for weights of another dtype than the table.
    """
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
        ids, is_empty = sparse_fill_empty_rows(ids, cast(convert_to_tensor(default_id or 0), ids.dtype))
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, cast(convert_to_tensor(1.0), weights.dtype))
        combined = embedding_lookup_sparse(
            table, ids, weights, partition_strategy, combiner=combiner, max_norm=max_norm
        )
        if default_id is None:
            column = reshape(is_empty, [-1, *[1] * ((combined.shape.rank or 2) - 1)])
            combined = where_v2(column, zeros_like(combined), combined)
        whole = reshape(combined, concat([cast(outer, int32), shape(combined)[1:]], 0))
        if known is not None:
            whole.set_shape(known.concatenate(combined.shape[1:]))
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
