"""Cumulative sums, products and log-sum-exps along an axis.

``exclusive`` excludes an element from its own total, ``reverse`` starts at the end. Totals are kept in the
dtype of the tensor from element to element, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.comparison import greater, less
from actorsession.ops.elements.elementwise import exp, log
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.segment_kernels import lowest as lowest_value
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, normal_axis, require_rank

__all__ = ["cumprod", "cumsum", "cumulative_logsumexp"]


def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Return the sums of all elements up to each one, along an axis.

    Args:
        x: numbers of rank at least 1.
        axis: the axis, an int32 or int64 scalar; may be negative.
        exclusive: whether an element is excluded from its own sum, so that the first sum is 0.
        reverse: whether sums start at the end.
    """
    return _cumulative(raw.Cumsum, x, axis, exclusive, reverse, name)


def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Return the products of all elements up to each one; arguments as for ``cumsum``."""
    return _cumulative(raw.Cumprod, x, axis, exclusive, reverse, name)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return ``log(sum(exp(...)))`` of all elements up to each one, without overflow.

    The value of an empty sum is minus infinity. The arguments are those of ``cumsum``; ``x`` has a floating
    type.
    """
    return _cumulative(raw.CumulativeLogsumexp, x, axis, exclusive, reverse, name)


def _cumulative(
    build: Callable[..., Tensor], x: Any, axis: Any, exclusive: bool, reverse: bool, name: str | None
) -> Tensor:
    tensor = convert_to_tensor(x)
    return build(tensor, axis, exclusive=bool(exclusive), reverse=bool(reverse), name=name)


def _infer(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=0)
    shape, axis = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if axis is not None and shape.rank is not None:
        normal_axis(axis[0], shape.rank, ctx.op)
    return [shape]


def _log_sums(x: Array, axis: int, dtype: Any, out: Array) -> None:
    """Accumulate logarithms of sums along the first axis.

    Where an element is NaN, the logarithm so far is counted twice, as in TensorFlow's kernel, which compares
    the two; a NaN at the start is the logarithm of nothing.
    """
    if not np.isnan(x).any():
        np.logaddexp.accumulate(x, axis, dtype, out)
        return
    so_far: Any = np.full(x.shape[1:], -np.inf, dtype)
    for place, row in enumerate(x):
        other = np.where(np.isnan(row), so_far, row)
        so_far = np.logaddexp(so_far, other)
        out[place] = so_far


def _kernel(accumulate: Kernel, identity: float) -> Any:

    def kernel(ctx: KernelContext) -> Kernel:
        exclusive, reverse, op = ctx.attrs["exclusive"], ctx.attrs["reverse"], ctx.op

        def cumulative(x: Array, axis: Any) -> Array:
            if np.ndim(axis):
                raise InvalidArgumentError(f"{op}: axis is a scalar, got shape {axis.shape}")
            at = normal_axis(int(axis), x.ndim, op, InvalidArgumentError)
            out = np.empty(x.shape, x.dtype)
            terms, totals = np.moveaxis(x, at, 0), np.moveaxis(out, at, 0)
            if reverse:
                terms, totals = terms[::-1], totals[::-1]
            if exclusive:
                totals[:1] = identity
                terms, totals = terms[:-1], totals[1:]
            if terms.size:
                accumulate(terms, 0, x.dtype, totals)
            return out

        return cumulative

    return kernel


def _back(op: Operation, value: Tensor, reverse: bool) -> Tensor:
    attrs = {"exclusive": op.attrs["exclusive"], "reverse": reverse}
    return make_one(op.type, [value, op.inputs[1]], attrs)


def _cumprod_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient; as in TensorFlow, that of elements equal to 0 is 0."""
    x, axis = op.inputs
    total = raw.Cumsum(op.outputs[0] * grad, axis, exclusive=op.attrs["exclusive"], reverse=not op.attrs["reverse"])
    return [div_no_nan(total, x), None]


def _logsumexp_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient; positive and negative parts are separate, to have logarithms of both."""
    x, result = op.inputs[0], op.outputs[0]
    lowest = scalar_like(float(lowest_value(grad.dtype)), grad)
    one, zero = scalar_like(1, grad), scalar_like(0, grad)

    def share(chosen: Tensor, size: Tensor) -> Tensor:
        logarithm = where_v2(chosen, log(where_v2(chosen, size, one)), lowest)
        return exp(_back(op, logarithm - result, not op.attrs["reverse"]) + x)

    return [share(greater(grad, zero), grad) - share(less(grad, zero), -grad), None]


op(
    "Cumsum",
    _infer,
    kernel=_kernel(np.add.accumulate, 0),
    grad=lambda op, grad: [_back(op, grad, not op.attrs["reverse"]), None],
)
op("Cumprod", _infer, kernel=_kernel(np.multiply.accumulate, 1), grad=_cumprod_gradient)
op("CumulativeLogsumexp", _infer, kernel=_kernel(_log_sums, -np.inf), grad=_logsumexp_gradient)
