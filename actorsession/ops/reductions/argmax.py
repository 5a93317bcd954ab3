"""The position of the largest or smallest element along an axis.

Owns ``ArgMax`` and ``ArgMin``. Among equal elements the first is chosen; NaN is chosen only if there is
nothing else, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, normal_axis, require_rank, shape_of_rank

__all__ = ["argmax", "argmin"]


def argmax(input: Any, axis: Any = None, name: str | None = None, output_type: Any = int64) -> Tensor:
    """Return the index of the largest element along an axis.

    Args:
        input: numbers, rank 1 or more.
        axis: the axis to reduce, which the result lacks; 0 if left out.
        output_type: int32 or int64, for ``argmax`` also int16 or uint16.
    """
    return _along(raw.ArgMax, input, axis, output_type, name)


def argmin(input: Any, axis: Any = None, name: str | None = None, output_type: Any = int64) -> Tensor:
    """Return the index of the smallest element along an axis; arguments as for ``argmax``."""
    return _along(raw.ArgMin, input, axis, output_type, name)


def _along(build: Callable[..., Tensor], x: Any, axis: Any, output_type: Any, name: str | None) -> Tensor:
    return build(x, 0 if axis is None else axis, output_type=output_type, name=name)


def _infer(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=0)
    dims, axis = ctx.inputs[0].shape.sizes, constant_ints(ctx, 1)
    if dims is None:
        return [unknown_shape]
    if axis is None or len(dims) < 2:  # whatever the axis, which the kernel checks
        return [shape_of_rank(max(0, len(dims) - 1))]
    along = normal_axis(axis[0], len(dims), ctx.op)
    return [TensorShape(dims[:along] + dims[along + 1 :])]


def _kernel(search: Callable[[Array, int], Any], never: float) -> Callable[[KernelContext], Kernel]:
    """Return a kernel factory.

    Args:
        search: the array method, which returns the platform's index type and finds NaN first.
        never: value that is chosen only if there are no numbers.
    """

    def kernel(ctx: KernelContext) -> Kernel:
        index_type = ctx.outputs[0].dtype.np_dtype
        floating = ctx.inputs[0].dtype.is_floating

        def along(x: Array, axis: Any) -> Any:
            if np.ndim(axis):
                raise InvalidArgumentError(f"{ctx.op}: the axis is a scalar, got {axis.tolist()}")
            if not -x.ndim <= axis < x.ndim or not x.shape[axis]:
                raise InvalidArgumentError(f"{ctx.op}: no elements along axis {axis} of {x.shape}")
            if floating and np.isnan(x).any():
                positions = search(np.where(np.isnan(x), x.dtype.type(never), x), axis)
            else:
                positions = search(x, axis)
            return positions if positions.dtype == index_type else positions.astype(index_type)

        fixed = constant_ints(ctx, 1)
        if fixed is None:
            return along
        axis = fixed[0]
        return lambda x, _: along(x, axis)

    return kernel


op("ArgMax", _infer, kernel=_kernel(np.ndarray.argmax, -np.inf), grad=NOT_DIFFERENTIABLE)
op("ArgMin", _infer, kernel=_kernel(np.ndarray.argmin, np.inf), grad=NOT_DIFFERENTIABLE)
