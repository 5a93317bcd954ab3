"""Gradients of broadcasting: which axes are summed when the gradient of a broadcast operand is computed.

Owns ``BroadcastGradientArgs`` and ``sum_to_operands``, which every op that broadcasts its inputs calls in its
gradient. The axes are constants where the static shapes determine them; otherwise each step computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, Gradient, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import require_rank

__all__ = ["broadcast_gradient_args", "sum_to_operands", "summed"]


# -- BroadcastGradientArgs -----------------------------------------------------------------------


def broadcast_gradient_args(s0: Any, s1: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the axes over which a broadcast result is summed to get each of two shapes back.

    Args:
        s0: one shape, an integer vector.
        s1: the other shape.

    Returns:
        Two integer vectors: the axes of the result to sum over for each shape.
    """
    first = convert_to_tensor(s0)
    second = convert_to_tensor(s1, first.dtype, graph=first.graph)
    left, right = raw.BroadcastGradientArgs(first, second, name=name)
    return left, right


def _infer_args(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, rank=1)
    return [TensorShape([None])] * 2


def _args_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def broadcast_gradient_args(s0: Array, s1: Array) -> tuple[Array, Array]:
        mine, theirs = s0.tolist(), s1.tolist()
        if mine == theirs:
            return np.empty(0, dtype), np.empty(0, dtype)
        rank = max(len(mine), len(theirs))
        # -1 stands for a missing dimension. A sum over length 1 changes nothing; as in TensorFlow, those axes
        # are included.
        left = [-1] * (rank - len(mine)) + mine
        right = [-1] * (rank - len(theirs)) + theirs
        for a, b in zip(left, right, strict=True):
            if a != b and a not in (1, -1) and b not in (1, -1):
                raise InvalidArgumentError(f"shapes {mine} and {theirs} cannot be broadcast")
        return (
            np.array([i for i in range(rank) if left[i] in (1, -1)], dtype),
            np.array([i for i in range(rank) if right[i] in (1, -1)], dtype),
        )

    return broadcast_gradient_args


op("BroadcastGradientArgs", _infer_args, kernel=_args_kernel, grad=NOT_DIFFERENTIABLE)


# -- gradients -----------------------------------------------------------------------------------


def sum_to_operands(
    x: Tensor, y: Tensor, grad_x: Tensor | None, grad_y: Tensor | None, trailing: int = 0
) -> list[Tensor | None]:
    """Sum gradients that have the shape of a broadcast result to the shapes of its two operands.

    Args:
        x: one operand.
        y: the other operand.
        grad_x: gradient by ``x`` before summing, in the shape of ``x`` and ``y`` broadcast.
        grad_y: the same by ``y``.
        trailing: how many dimensions at the end are not broadcast, as in products of matrices.
    """
    shapes = [t.shape[:-trailing] if trailing else t.shape for t in (x, y)]
    ways = _Way.between(*shapes), _Way.between(*reversed(shapes))
    axes: tuple[Tensor | None, Tensor | None] = (None, None)
    if any(g is not None and w is None for g, w in zip((grad_x, grad_y), ways, strict=True)):
        axes = broadcast_gradient_args(_dynamic_shape(x, trailing), _dynamic_shape(y, trailing))
    return [
        None if grad is None else _sum_to(grad, operand, way, dynamic)
        for grad, operand, way, dynamic in zip((grad_x, grad_y), (x, y), ways, axes, strict=True)
    ]


def _dynamic_shape(x: Tensor, trailing: int) -> Tensor:
    shape = shape_tensor(x)
    return shape[:-trailing] if trailing else shape


def summed(partial: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor | None, Tensor | None]]) -> Gradient:
    """Return the gradient function of an op with two broadcast inputs, summed to their shapes.

    Args:
        partial: a function of the two operands, the result and the incoming gradient that returns the
            gradients with respect to the operands, in the shape of the result.
    """

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        x, y = op.inputs
        return sum_to_operands(x, y, *partial(x, y, op.outputs[0], grad))

    return gradient


class _Way(NamedTuple):
    """The axes to sum over for one operand, derived from static shapes.

    Attributes:
        missing: leading axes, which the operand has not.
        repeated: later axes, in which it has length 1.
    """

    missing: list[int]
    repeated: list[int]

    @classmethod
    def between(cls, mine: TensorShape, theirs: TensorShape) -> _Way | None:
        """Return the axes for ``mine`` broadcast with ``theirs``; ``None`` if only a step can decide."""
        if mine.sizes is None or theirs.sizes is None:
            return None
        missing = max(0, len(theirs) - len(mine))
        others = ((1,) * (len(mine) + missing - len(theirs)) + theirs.sizes)[missing:]
        repeated = []
        for axis, (dim, other) in enumerate(zip(mine.sizes, others, strict=True), missing):
            if dim is None and other != 1:
                return None
            if dim == 1 and other != 1:
                repeated.append(axis)
        return cls(list(range(missing)), repeated)


def _sum_to(grad: Tensor, operand: Tensor, way: _Way | None, axes: Tensor | None) -> Tensor:
    """Return a sum in the shape of an operand: ``Sum`` and ``Reshape``, which readers of graphs look for."""
    if way is not None:
        known = [*way.missing, *way.repeated]
        if not known:
            return grad
        axes = convert_to_tensor(np.array(known, np.int32), graph=grad.graph)
    assert axes is not None
    return reshape(raw.Sum(grad, axes, keep_dims=False), shape_tensor(operand))
