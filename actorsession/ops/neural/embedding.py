"""Embeddings: rows of large tables, looked up by id.

Owns ``nn.embedding_lookup``. Only composes ops. A table may be split into
several variables on several devices: each device looks up its own rows, and only these are transferred. The
gradient of a lookup consists of the rows that were looked up, so the cost of a step depends on these rows
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import int32
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
from actorsession.ops.elements import arithmetic, comparison
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.clip import clip_by_norm
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.variables.partitioned import PartitionedVariable

__all__ = ["embedding_lookup", "table_parts"]


# -- lookups ---------------------------------------------------------------------------------------


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None, max_norm: Any = None
) -> Tensor:
    """Return the rows of a table with the given ids.

    Args:
        params: a tensor, a variable, or a list of them that form the table together.
        ids: int32 or int64 of any shape.
        partition_strategy: how ids are distributed over several parts. ``mod`` assigns id ``i`` to part
            ``i % parts``; ``div`` assigns equally long ranges of consecutive ids, one longer for the first
            parts if the division leaves a remainder.
        max_norm: rows of a larger norm are scaled down to this one.

    Returns:
        A tensor of shape ``ids.shape + params.shape[1:]``.

    Raises:
        ValueError: without a table, or for another strategy.
    """
    parts = table_parts(params)
    graph = graph_of(*parts, ids)
    with graph.as_default(), graph.name_scope(name or "embedding_lookup") as scope:
        numbers = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with graph.colocate_with(_place(parts[0])):
                rows = _clipped(gather(parts[0], numbers, name=scope), numbers, max_norm)
            # The ops that follow need not be on the device of the table.
            return identity(rows)
        return _clipped(_looked_up(parts, numbers, partition_strategy), numbers, max_norm)


def table_parts(params: Any) -> list[Any]:
    """Return the parts of a table: tensors and variables.

    Raises:
        ValueError: without a table.
    """
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
    by_part = dynamic_partition(inside, assigned, count)
    places = dynamic_partition(fills.range_(size(flat)), assigned, count)
    gathered = []
    for part, numbers in zip(parts, by_part, strict=True):
        with ids.graph.colocate_with(_place(part)):
            gathered.append(gather(part, numbers))
    rows = parallel_dynamic_stitch(places, gathered)
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
    inside = comparison.where_v2(comparison.less(assigned, extra), flat % (each + 1), (flat - extra) % some)
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
