"""Reduction of rows by segment ids: sums, means, products and extrema.

In the sorted ops the ids are non-decreasing, and the last id determines the number of rows of the result. The
unsorted ops accept ids in any order and are given the number of segments. The unsorted sum is in ``scatter``,
because gathers need it. Segments without rows yield 0, or 1 for products, or the type's lowest or highest
value for unsorted extrema. NaN is an extremum only if there is nothing else, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.scatter import segments_shape, unsorted_segment_sum
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal, greater, greater_equal, logical_and
from actorsession.ops.elements.elementwise import sqrt
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.segment_kernels import highest, lowest, sorted_kernel, unsorted_kernel
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import require_rank

__all__ = [
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
]


# -- public functions ----------------------------------------------------------------------------


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Return the sums of the rows of ``data`` with equal ids.

    Args:
        data: numbers of rank at least 1.
        segment_ids: int32 or int64 vector with an id of at least 0 for each row, in rising order.

    Returns:
        A tensor with a row for each id up to the last one. Ids that decrease, are negative or are too few
        raise an InvalidArgumentError in the step.
    """
    return raw.SegmentSum(data, segment_ids, name=name)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Return the means of the rows of ``data`` with equal ids; arguments as for ``segment_sum``."""
    return raw.SegmentMean(data, segment_ids, name=name)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Return the products of the rows of ``data`` with equal ids; arguments as for ``segment_sum``."""
    return raw.SegmentProd(data, segment_ids, name=name)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Return the minima of the rows of ``data`` with equal ids; arguments as for ``segment_sum``."""
    return raw.SegmentMin(data, segment_ids, name=name)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Return the maxima of the rows of ``data`` with equal ids; arguments as for ``segment_sum``."""
    return raw.SegmentMax(data, segment_ids, name=name)


def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return the products of rows with equal ids; arguments as for ``unsorted_segment_sum``."""
    return raw.UnsortedSegmentProd(data, segment_ids, num_segments, name=name)


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return the minima of rows with equal ids; arguments as for ``unsorted_segment_sum``."""
    return raw.UnsortedSegmentMin(data, segment_ids, num_segments, name=name)


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return the maxima of rows with equal ids; arguments as for ``unsorted_segment_sum``."""
    return raw.UnsortedSegmentMax(data, segment_ids, num_segments, name=name)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return the means of rows with equal ids; arguments as for ``unsorted_segment_sum``."""
    return _unsorted_share(data, segment_ids, num_segments, name or "UnsortedSegmentMean", None)


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return sums of rows over the root of their number; arguments as for ``unsorted_segment_sum``."""
    return _unsorted_share(data, segment_ids, num_segments, name or "UnsortedSegmentSqrtN", sqrt)


def _unsorted_share(data: Any, ids: Any, count: Any, name: str, root: Callable[[Tensor], Tensor] | None) -> Tensor:
    values = convert_to_tensor(data)
    with values.graph.name_scope(name):
        places = convert_to_tensor(ids, graph=values.graph)
        one = ones(shape(places), values.dtype)
        number = maximum(unsorted_segment_sum(one, places, count), 1)
        divisor = number if root is None else root(number)
        total = unsorted_segment_sum(values, places, count)
        behind = ones(expand_dims(rank(values) - rank(places), 0), int32)
        out = total / reshape(divisor, concat([shape(number), behind], 0))
        out.set_shape(total.shape)
        return out


def _sorted_segments(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    data, ids = (spec.shape for spec in ctx.inputs)
    if data.rank == 0:
        raise ValueError(f"{ctx.op} takes data of rank at least 1, got a scalar")
    if not ids.is_compatible_with(data[:1]):
        raise ValueError(f"{ctx.op} takes an id for each row of {data}; got ids of shape {ids}")
    return [unknown_shape if data.rank is None else TensorShape([None]).concatenate(data[1:])]


# -- gradients -----------------------------------------------------------------------------------


def _total(op: Operation, rows: Tensor) -> Tensor:
    """Return the sums of rows by the ids of ``op``."""
    if len(op.inputs) == 2:
        return segment_sum(rows, op.inputs[1])
    return unsorted_segment_sum(rows, op.inputs[1], op.inputs[2])


def _gathered(op: Operation, rows: Tensor) -> Tensor:
    """Return for each row of data the row of its id, or that of id 0 for rows that were left out."""
    ids = op.inputs[1]
    return gather(rows, ids if len(op.inputs) == 2 else maximum(ids, scalar_like(0, ids)))


def _counted(op: Operation, rows: Tensor) -> Tensor:
    """Return ``rows`` with zeros where the id is negative."""
    if len(op.inputs) == 2:
        return rows
    ids = op.inputs[1]
    behind = ones(expand_dims(rank(rows) - rank(ids), 0), int32)
    kept = reshape(greater_equal(ids, scalar_like(0, ids)), concat([shape(ids), behind], 0))
    return where_v2(kept, rows, scalar_like(0, rows))


def _padded(op: Operation, *grads: Tensor | None) -> list[Tensor | None]:
    return [*grads, *[None] * (len(op.inputs) - len(grads))]


def _sum_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return _padded(op, _gathered(op, grad))


def _mean_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    ids = op.inputs[1]
    behind = ones(expand_dims(rank(op.inputs[0]) - 1, 0), int32)
    one = ones(concat([shape(ids), behind], 0), grad.dtype)
    return _padded(op, _gathered(op, grad / segment_sum(one, ids)))


def _extremum_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient in equal shares for all elements that attain the extremum."""
    data = op.inputs[0]
    attained = equal(data, _gathered(op, op.outputs[0]))
    share = grad / _total(op, cast(attained, grad.dtype))
    zero = scalar_like(0, grad)
    return _padded(op, _counted(op, where_v2(attained, _gathered(op, share), zero)))


def _prod_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return each element's gradient, the product of the others: by division, except for zeros."""
    data = op.inputs[0]
    is_zero = equal(data, scalar_like(0, data))
    zeros = _total(op, cast(is_zero, int32))
    useful = where_v2(greater(zeros, 1), scalar_like(0, grad), grad)
    nonzero = where_v2(is_zero, scalar_like(1, data), data)
    product = make_one(op.type, [nonzero, *op.inputs[1:]])
    quotient = _gathered(op, product) / nonzero
    alone = logical_and(greater(_gathered(op, zeros), 0), is_zero)
    none = equal(_gathered(op, zeros), 0)
    kept = where_v2(none, quotient, scalar_like(0, data))
    others = where_v2(alone, _gathered(op, product), kept)
    return _padded(op, _counted(op, _gathered(op, useful) * others))


# -- ops -----------------------------------------------------------------------------------------


_PRODUCT = unsorted_kernel(np.multiply, lambda dtype: 1)
_LEAST, _GREATEST = unsorted_kernel(np.fmin, highest), unsorted_kernel(np.fmax, lowest)

for _name, _kernel, _gradient in (
    ("SegmentSum", sorted_kernel(np.add), _sum_gradient),
    ("SegmentMean", sorted_kernel(np.add, mean=True), _mean_gradient),
    ("SegmentProd", sorted_kernel(np.multiply, 1), _prod_gradient),
    ("SegmentMin", sorted_kernel(np.fmin), _extremum_gradient),
    ("SegmentMax", sorted_kernel(np.fmax), _extremum_gradient),
):
    # The number of rows depends on the last id.
    op(_name, _sorted_segments, kernel=_kernel, grad=_gradient, sized_by=(1,))

op("UnsortedSegmentProd", segments_shape, kernel=_PRODUCT, grad=_prod_gradient, sized_by=(2,))
op("UnsortedSegmentMin", segments_shape, kernel=_LEAST, grad=_extremum_gradient, sized_by=(2,))
op("UnsortedSegmentMax", segments_shape, kernel=_GREATEST, grad=_extremum_gradient, sized_by=(2,))
