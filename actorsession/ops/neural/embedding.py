"""Embeddings: rows of large tables, looked up by id, and combinations of several rows into one.

Owns ``nn.embedding_lookup`` and ``nn.embedding_lookup_sparse``. Only composes ops. A table may be split into
several variables on several devices: each device looks up its own rows, and only these are transferred. The
gradient of a lookup consists of the rows that were looked up, so the cost of a step depends on these rows
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import bfloat16, float16, float32, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import rank, shape, size
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.partitions import dynamic_partition, parallel_dynamic_stitch
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements import arithmetic, comparison, elementwise
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.clip import clip_by_norm
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.reductions.segments import segment_sum
from actorsession.ops.reductions.unique import unique
from actorsession.ops.sparse_tensors.basics import SparseTensor
from actorsession.ops.sparse_tensors.segments import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from actorsession.ops.variables.partitioned import PartitionedVariable

__all__ = ["embedding_lookup", "embedding_lookup_sparse"]


# -- lookups ---------------------------------------------------------------------------------------


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Return the rows of a table with the given ids.

    Args:
        params: a tensor, a variable, or a list of them that form the table together.
        ids: int32 or int64 of any shape.
        partition_strategy: how ids are distributed over several parts. ``mod`` assigns id ``i`` to part
            ``i % parts``; ``div`` assigns equally long ranges of consecutive ids, one longer for the first
            parts if the division leaves a remainder.
        validate_indices: accepted for compatibility with TensorFlow; ids are always checked.
        max_norm: rows of a larger norm are scaled down to this one.

    Returns:
        A tensor of shape ``ids.shape + params.shape[1:]``.

    Raises:
        ValueError: without a table, or for another strategy.
    """
    parts = _parts(params)
    graph = graph_of(*parts, ids)
    with graph.as_default(), graph.name_scope(name or "embedding_lookup") as scope:
        numbers = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with graph.colocate_with(_place(parts[0])):
                rows = _clipped(gather(parts[0], numbers, name=scope), numbers, max_norm)
            # The ops that follow need not be on the device of the table.
            return identity(rows)
        return _clipped(_looked_up(parts, numbers, partition_strategy), numbers, max_norm)


def _parts(params: Any) -> list[Any]:
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be given: a table, or a list of its parts")
    if isinstance(params, PartitionedVariable):
        return list(params)
    if isinstance(params, (list, tuple)):
        return [p if hasattr(p, "_as_graph_element") else convert_to_tensor(p) for p in params]
    return [params if hasattr(params, "_as_graph_element") else convert_to_tensor(params)]


def _place(part: Any) -> Any:
    """Return the operation that a lookup is colocated with."""
    return part.op


def _looked_up(parts: Sequence[Any], ids: Tensor, strategy: str) -> Tensor:
    """Return rows of several parts in the order of the ids, each looked up on the device of its part."""
    flat = reshape(ids, [-1])
    assigned, inside = _dealt(parts, flat, strategy)
    count = len(parts)
    wanted = dynamic_partition(inside, assigned, count)
    places = dynamic_partition(fills.range_(size(flat)), assigned, count)
    found = []
    for part, numbers in zip(parts, wanted, strict=True):
        with ids.graph.colocate_with(_place(part)):
            found.append(gather(part, numbers))
    rows = parallel_dynamic_stitch(places, found)
    row = _row_shape(parts)
    behind: Any = row.as_list() if row.is_fully_defined() else shape(parts[0])[1:]
    rows = reshape(rows, concat([shape(ids), behind], 0))
    rows.set_shape(ids.shape.concatenate(row))
    return rows


def _row_shape(parts: Sequence[Any]) -> TensorShape:
    row = TensorShape(None)
    for part in parts:
        row = row.merge_with(part.shape[1:])
    return row


def _dealt(parts: Sequence[Any], flat: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """Return the part that each id belongs to, and its row number there."""
    count = len(parts)
    if strategy == "mod":
        return cast(flat % count, int32), flat // count
    if strategy != "div":
        raise ValueError(f"a partition strategy is 'mod' or 'div', got {strategy!r}")
    total = _total_rows(parts, flat)
    each, extra = total // count, total % count
    # The first parts hold one row more. With at most as many ids as parts, ``each`` is 0 and is never used as
    # a divisor.
    some = arithmetic.maximum(each, 1)
    assigned = arithmetic.maximum(flat // (each + 1), (flat - extra) // some)
    inside = comparison.where_v2(
        comparison.less(assigned, extra), flat % (each + 1), (flat - extra) % some
    )
    return cast(assigned, int32), inside


def _total_rows(parts: Sequence[Any], flat: Tensor) -> Tensor:
    known = [part.shape[0] if part.shape.rank else None for part in parts]
    if all(rows is not None for rows in known):
        return constant(sum(known), flat.dtype, graph=flat.graph)
    sizes = []
    for part in parts:
        with flat.graph.colocate_with(_place(part)):
            sizes.append(shape(part)[0])
    return reduce_sum(cast(stack(sizes), flat.dtype))


def _clipped(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    """Scale rows down to a maximal norm, taken over the axes behind those of the ids."""
    if max_norm is None:
        return rows
    if ids.shape.rank is not None and rows.shape.rank is not None:
        axes: Any = list(range(ids.shape.rank, rows.shape.rank))
    else:
        axes = fills.range_(rank(ids), rank(rows))
    clipped: Tensor = clip_by_norm(rows, max_norm, axes=axes)
    return clipped


# -- several ids made one --------------------------------------------------------------------------


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
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
        allow_fast_lookup: accepted for compatibility with TensorFlow.

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
    if sp_weights is not None and not sp_weights.values.shape.is_compatible_with(
        sp_ids.values.shape
    ):
        raise ValueError(
            f"there is a weight for each id, got {sp_weights.values.shape} for {sp_ids.values.shape}"
        )
    parts = _parts(params)
    with (
        sp_ids.graph.as_default(),
        sp_ids.graph.name_scope(name or "embedding_lookup_sparse") as scope,
    ):
        rows = sp_ids.indices[:, 0]
        ids, places = unique(sp_ids.values)
        table = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
        if sp_weights is not None:
            return _weighted(gather(table, places), sp_weights.values, rows, how, scope)
        fold = {
            "sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n,
        }[how]  # fmt: skip
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
