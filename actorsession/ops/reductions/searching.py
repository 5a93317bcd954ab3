"""Order: positions of values in sorted sequences, and tensors sorted along an axis.

Owns ``LowerBound``, ``UpperBound`` and ``Bucketize``. Sorting is composed of ``top_k``, as in TensorFlow,
which determines the order of ties (the lower index first) and of NaN (last, in either direction).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, merge_all
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape_tensor
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_all, convert_to_tensor
from actorsession.ops.elements.arithmetic import subtract
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal, where_v2
from actorsession.ops.elements.elementwise import negative
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.topk import top_k
from actorsession.ops.rows import op, same
from actorsession.ops.shape_operands import constant_ints_of, normal_axis, require_rank

__all__ = ["argsort", "searchsorted", "sort"]


# -- LowerBound, UpperBound ------------------------------------------------------------------------


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = int32, name: str | None = None
) -> Tensor:
    """Return the positions at which values would be inserted into sorted sequences.

    Args:
        sorted_sequence: ``[..., n]``, ascending along the last axis.
        values: ``[..., m]`` of the same dtype; all axes but the last are those of the sequences.
        side: ``left`` for the first suitable position, ``right`` for the last.
        out_type: dtype of the result, int32 or int64.

    Returns:
        A position in [0, n] for each value.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', got {side!r}")
    sequences, sought = convert_all([sorted_sequence, values])
    dims = shape_tensor(sought)
    flat = [reshape(t, stack([-1, shape_tensor(t)[-1]])) for t in (sequences, sought)]
    bound = raw.LowerBound if side == "left" else raw.UpperBound
    return reshape(bound(*flat, out_type=out_type, name=name), dims)


def _infer_bound(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, rank=2)
    sequences, values = (spec.shape for spec in ctx.inputs)
    if sequences.rank is not None and values.rank is not None:
        try:
            merge_all([sequences[:1], values[:1]])
        except ValueError:
            raise ValueError(
                f"{ctx.op}: as many rows of values as sequences are taken, got {values} and {sequences}"
            ) from None
    return [values.with_rank(2)]


def _bound_kernel(ctx: KernelContext) -> Kernel:
    op, dtype = ctx.op, ctx.outputs[0].dtype.np_dtype
    side: Any = "left" if op == "LowerBound" else "right"

    def bounds(sequences: Any, values: Any) -> Any:
        if sequences.ndim != 2 or values.ndim != 2 or len(sequences) != len(values):
            raise InvalidArgumentError(
                f"{op}: sequences and values have rank 2 and as many rows, got shapes "
                f"{list(sequences.shape)} and {list(values.shape)}"
            )
        out = np.empty(values.shape, dtype)
        for row, (sequence, sought) in enumerate(zip(sequences, values, strict=True)):
            out[row] = np.searchsorted(sequence, sought, side)
        return out

    return bounds


op("LowerBound", _infer_bound, kernel=_bound_kernel)
op("UpperBound", _infer_bound, kernel=_bound_kernel)


# -- Bucketize -------------------------------------------------------------------------------------


def _bucketize(ctx: KernelContext) -> Kernel:
    boundaries = np.array(ctx.attrs["boundaries"], np.float32)
    if (boundaries[1:] < boundaries[:-1]).any():
        raise InvalidArgumentError(f"{ctx.op} takes boundaries in order, got {boundaries.tolist()}")

    def buckets(values: Any) -> Any:
        values = values.astype(np.float32) if values.dtype.kind == "i" else values
        return np.searchsorted(boundaries, values, "right").astype(np.int32)

    return buckets


op("Bucketize", same, kernel=_bucketize)


# -- sort, argsort ---------------------------------------------------------------------------------


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Return the tensor sorted along an axis.

    Args:
        values: real numbers, of rank at least 1.
        axis: the axis to sort along; negative counts from the end.
        direction: ``ASCENDING`` or ``DESCENDING``.
    """
    return _sorted(values, axis, direction, name or "sort", indices=False)


def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Return the int32 indices that sort a tensor along an axis; arguments as for ``sort``.

    Args:
        values: real numbers, of rank at least 1.
        axis: the axis to sort along.
        direction: ``ASCENDING`` or ``DESCENDING``.
    """
    return _sorted(values, axis, direction, name or "argsort", indices=True)


def _sorted(values: Any, axis: Any, direction: str, name: str, *, indices: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{name}: direction is ASCENDING or DESCENDING, got {direction!r}")
    value = convert_to_tensor(values)
    with value.graph.as_default(), value.graph.name_scope(name):
        keys = value if direction == "DESCENDING" else _reversed_order(value)
        order = _swap_with_last(value, axis, name)
        keys = keys if order is None else transpose(keys, order)
        best = top_k(keys, shape_tensor(keys)[-1])
        out = best.indices if indices else best.values
        out = out if order is None else transpose(out, order)
        return out if indices or direction == "DESCENDING" else _reversed_order(out)


def _reversed_order(value: Tensor) -> Tensor:
    """Return numbers whose order is reversed; applying the function twice restores the numbers."""
    if value.dtype.is_integer:
        # Unlike the negation, this never overflows.
        limits = np.iinfo(value.dtype.np_dtype)
        return subtract(scalar_like(int(limits.max) + int(limits.min), value), value)
    return negative(value)


def _swap_with_last(value: Tensor, axis: Any, name: str) -> Tensor | None:
    """Return the permutation that exchanges ``axis`` with the last one, ``None`` if it is the last."""
    known = axis
    if hasattr(axis, "_as_graph_element"):
        number = constant_ints_of(convert_to_tensor(axis))
        known = None if number is None else number[0]
    dims = value.shape.rank
    if known is not None and dims is not None:
        where = normal_axis(int(known), dims, name)
        order = np.arange(dims, dtype=np.int32)
        order[[where, dims - 1]] = order[[dims - 1, where]]
        return None if where == dims - 1 else constant(order, graph=value.graph)
    if known == -1:
        return None
    position = cast(convert_to_tensor(axis, graph=value.graph), int32)
    count = rank(value)
    place, last, axes = (position + count) % count, count - 1, range_(count)
    swapped = where_v2(equal(axes, last), place, axes)
    return where_v2(equal(axes, place), last, swapped)
