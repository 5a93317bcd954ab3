"""Rows of a tensor looked up by index and summed by segment, in one op: embeddings of bags of words.

Segment ids are non-decreasing, as in ``segments`` of ``reductions``; the ops ``...WithNumSegments`` are given
the number of segments. Gradients are TensorFlow's: ops that scatter into a dense tensor, or ``IndexedSlices``
if ``sparse_gradient`` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import cast as typed

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.dimensions import rank, shape, shape_tensor
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.scatter import sum_rows
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.elementwise import rsqrt
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.reductions.segment_kernels import check_sorted, reduced_rows, row_counts
from actorsession.ops.reductions.segments import segment_sum
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, require_index

__all__ = ["sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum"]


def sparse_segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Return sums of rows of ``data``, selected by index, over equal segment ids.

    Args:
        data: numbers of rank at least 1.
        indices: int32 or int64 vector of row indices.
        segment_ids: int32 or int64 vector of the same length, in rising order.
        num_segments: number of rows of the result; one more than the last id if left out.
        sparse_gradient: whether the gradient by ``data`` is ``IndexedSlices``.
    """
    return _sparse("Sum", data, indices, segment_ids, name, num_segments, sparse_gradient)


def sparse_segment_mean(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Return means of rows selected by index; arguments as for ``sparse_segment_sum``, ``data`` floating."""
    return _sparse("Mean", data, indices, segment_ids, name, num_segments, sparse_gradient)


def sparse_segment_sqrt_n(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Return sums of rows over the root of their number; arguments as for ``sparse_segment_mean``."""
    return _sparse("SqrtN", data, indices, segment_ids, name, num_segments, sparse_gradient)


def _sparse(kind: str, data: Any, indices: Any, ids: Any, name: str | None, count: Any, sparse: bool) -> Tensor:
    values = convert_to_tensor(data)
    op_type = f"SparseSegment{kind}" if count is None else f"SparseSegment{kind}WithNumSegments"
    others = [convert_to_tensor(v, graph=values.graph) for v in (indices, ids, count) if v is not None]
    return make_one(op_type, [values, *others], {"sparse_gradient": bool(sparse)}, name)


# -- shapes --------------------------------------------------------------------------------------


def _shape(ctx: InferContext) -> list[TensorShape]:
    """The first axis is the number of segments or of rows, the last operand where it is given."""
    data = ctx.inputs[0].shape
    _check_vectors(ctx)
    if data.rank == 0:
        raise ValueError(f"{ctx.op} takes data of rank at least 1, got a scalar")
    rows = None
    if len(ctx.inputs) == 4:
        require_index(ctx, 3, rank=0)
        known = constant_ints(ctx, 3)
        rows = None if known is None else known[0]
    return [unknown_shape if data.rank is None else TensorShape([rows]).concatenate(data[1:])]


def _check_vectors(ctx: InferContext) -> None:
    require_index(ctx, 1, 2, rank=1)
    indices, ids = ctx.inputs[1].shape, ctx.inputs[2].shape
    if not indices.is_compatible_with(ids):
        raise ValueError(f"{ctx.op} takes an id for each index; got shapes {ids} and {indices}")


# -- kernels -------------------------------------------------------------------------------------

# The divisor of a sum of n rows.
_DIVISORS: dict[str, Callable[[Array], Array] | None] = {"Sum": None, "Mean": lambda n: n, "SqrtN": np.sqrt}


def _check_indices(op: str, indices: Any, rows: int) -> None:
    if indices.ndim != 1 or (indices.size and (indices.min() < 0 or indices.max() >= rows)):
        raise InvalidArgumentError(f"{op}: indices are a vector of rows in [0, {rows}); got {indices!r:.200}")


def _kernel(kind: str) -> Callable[[KernelContext], Kernel]:
    divisor = _DIVISORS[kind]

    def kernel(ctx: KernelContext) -> Kernel:
        op, dtype = ctx.op, ctx.outputs[0].dtype.np_dtype

        def segments(data: Any, indices: Any, ids: Any, num_segments: Any = None) -> Array:
            if not data.ndim:
                raise InvalidArgumentError(f"{op} takes data of rank at least 1, got a scalar")
            _check_indices(op, indices, len(data))
            check_sorted(op, ids, len(indices))
            count = int(ids[-1]) + 1 if ids.size else 0
            if num_segments is not None:
                if np.ndim(num_segments) or int(num_segments) < count:
                    raise InvalidArgumentError(
                        f"{op}: num_segments is a scalar of at least {count}; got {num_segments}"
                    )
                count = int(num_segments)
            out = reduced_rows(data[indices], ids, count, np.add, 0)
            if divisor is None:
                return out
            return (out / divisor(row_counts(ids, count, data.ndim - 1))).astype(dtype, copy=False)

        return segments

    return kernel


def _grad_kernel(kind: str) -> Callable[[KernelContext], Kernel]:
    divisor = _DIVISORS[kind]

    def kernel(ctx: KernelContext) -> Kernel:
        op, dtype = ctx.op, ctx.outputs[0].dtype.np_dtype

        def scattered(grad: Any, indices: Any, ids: Any, rows: Any) -> Array:
            if not grad.ndim or np.ndim(rows) or int(rows) < 0:
                raise InvalidArgumentError(
                    f"{op}: a gradient of rank at least 1 and a number of rows; got shape {list(grad.shape)} and {rows}"
                )
            _check_indices(op, indices, int(rows))
            _check_indices(op, ids, len(grad))
            if ids.shape != indices.shape:
                raise InvalidArgumentError(f"{op} takes an id for each index")
            share = grad
            if divisor is not None:
                share = (grad / divisor(row_counts(ids, len(grad), grad.ndim - 1))).astype(dtype)
            return sum_rows((int(rows),), indices, share[ids])

        return scattered

    return kernel


def _rows_kernel(kind: str) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of a gradient that has the rows alone that were looked up."""
    whole = _grad_kernel(kind)

    def kernel(ctx: KernelContext) -> Kernel:
        scattered, op = whole(ctx), ctx.op

        def rows(grad: Any, indices: Any, ids: Any, count: Any) -> Any:
            _check_indices(op, indices, int(count))
            distinct, places = np.unique(indices, return_inverse=True)
            return scattered(grad, places.reshape(indices.shape), ids, len(distinct)), distinct

        return rows

    return kernel


def _rows_shapes(ctx: InferContext) -> list[TensorShape]:
    _check_vectors(ctx)
    require_index(ctx, 3, rank=0)
    grad = ctx.inputs[0].shape
    rows = [unknown_shape if grad.rank is None else TensorShape([None]).concatenate(grad[1:])]
    return [*rows, TensorShape([None])]


# -- gradients -----------------------------------------------------------------------------------


def _gradient(kind: str) -> Any:
    def gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
        data, indices, ids = op.inputs[:3]
        nothing: list[Tensor | None] = [None] * (len(op.inputs) - 1)
        if op.attrs["sparse_gradient"]:
            slices = IndexedSlices(_shares(kind, grad, ids), indices, shape_tensor(data))
            # Gradient functions are typed for tensors; ``gradients`` accepts slices.
            return [typed(Tensor, slices), *nothing]
        rows = shape(data)[0]
        return [make_one(f"SparseSegment{kind}Grad", [grad, indices, ids, rows]), *nothing]

    return gradient


def _shares(kind: str, grad: Tensor, ids: Tensor) -> Tensor:
    """Return the gradient by each row that was looked up."""
    shares = gather(grad, ids)
    if kind == "Sum":
        return shares
    behind = ones(expand_dims(rank(grad) - 1, 0), int32)
    number = gather(segment_sum(ones(concat([shape(ids), behind], 0), grad.dtype), ids), ids)
    return shares / number if kind == "Mean" else shares * rsqrt(number)


for _kind in _DIVISORS:
    for _suffix in ("", "WithNumSegments"):
        op(f"SparseSegment{_kind}{_suffix}", _shape, kernel=_kernel(_kind), grad=_gradient(_kind), sized_by=(2, 3))
    # TensorFlow has no gradient of these ops.
    op(f"SparseSegment{_kind}Grad", _shape, kernel=_grad_kernel(_kind), sized_by=(3,))
    op(f"SparseSegment{_kind}GradV2", _rows_shapes, kernel=_rows_kernel(_kind))
