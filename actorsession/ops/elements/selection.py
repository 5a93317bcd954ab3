"""Selection between two tensors by a condition, and the indices where a tensor is true.

``Select`` is TensorFlow 1's, which may select whole rows; ``SelectV2`` broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device_kernels import kernels_of
from actorsession.graph.dtypes import bool_
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, merge_all
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of
from actorsession.ops.operands import scalar_like
from actorsession.ops.rows import broadcasts, op
from actorsession.ops.shape_operands import boxed

__all__ = ["where", "where_v2"]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return elements of ``x`` where ``condition`` is true and of ``y`` elsewhere.

    As in TensorFlow 1 nothing is broadcast; ``where_v2`` does that.

    Args:
        condition: bool, of the shape of ``x`` and ``y``, or a vector that selects whole rows, or a scalar
            that selects one of the two.
        x: any dtype; without ``x`` and ``y`` the result is the indices of elements that are true or not 0,
            int64 of shape ``[n, rank]``.
        y: the same dtype and shape as ``x``.
        name: wanted name.

    Raises:
        ValueError: if only one of ``x`` and ``y`` is given, or the shapes do not fit.
    """
    graph = graph_of(condition, x, y)
    if x is None and y is None:
        return raw.Where(convert_to_tensor(condition, graph=graph), name=name)
    chooser = convert_to_tensor(condition, bool_, graph=graph)
    return raw.Select(chooser, *_branches(x, y, graph), name=name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return elements of ``x`` where ``condition`` is true and of ``y`` elsewhere, with broadcasting.

    Without ``x`` and ``y`` the result is that of ``where``.
    """
    if x is None and y is None:
        return where(condition, name=name)
    graph = graph_of(condition, x, y)
    chooser = convert_to_tensor(condition, bool_, graph=graph)
    return raw.SelectV2(chooser, *_branches(x, y, graph), name=name)


def _branches(x: Any, y: Any, graph: Graph) -> list[Tensor]:
    """Return both values as tensors of one dtype, in the graph of the condition."""
    if x is None or y is None:
        raise ValueError("where takes both x and y, or neither of them")
    if not hasattr(x, "_as_graph_element") and not hasattr(y, "_as_graph_element"):
        x = convert_to_tensor(x, graph=graph)
    return convert_all([x, y])


def _check_condition(ctx: InferContext) -> None:
    if ctx.inputs[0].dtype is not bool_:
        raise TypeError(f"the condition of {ctx.op} is bool; got {ctx.inputs[0].dtype.name}")


def _all_broadcast(ctx: InferContext) -> Sequence[TensorShape]:
    _check_condition(ctx)
    return broadcasts(ctx)


def _of_branches(ctx: InferContext) -> Sequence[TensorShape]:
    """The shape of both values; the condition has it too, or one entry per row, or is a scalar."""
    _check_condition(ctx)
    condition, x, y = (s.shape for s in ctx.inputs)
    try:
        shape = merge_all([x, y])
        if condition.rank is not None and condition.rank > 1:
            shape = shape.merge_with(condition)
        elif condition.rank == 1 and shape.rank is not None:
            condition.merge_with(shape[:1])
    except ValueError:
        raise ValueError(
            f"Select takes x and y of one shape and a condition of that shape, of its first "
            f"dimension or a scalar; got {x}, {y} and {condition}; where_v2 broadcasts"
        ) from None
    return [shape]


def _by_bits(width: np.dtype[Any]) -> Kernel:
    """Return a selection by masks instead of branches, for elements as wide as the integer ``width``.

    np.where takes 4 ns per float32 if the condition is hard to predict; this function never more than 0.6.
    """

    def select(condition: Array, x: Any, y: Any, out: Array | None = None) -> Any:
        left, right = x.view(width), y.view(width)
        # right ^ ((left ^ right) & mask)
        mask = np.negative(condition.view(np.int8)).astype(width, copy=False)
        bits = np.bitwise_and(mask, left ^ right, mask if out is None else out.view(width))
        bits ^= right
        return bits.view(x.dtype)

    return select


_MASKED = {size: _by_bits(np.dtype(f"i{size}")) for size in (1, 2, 4, 8)}
# For fewer elements, np.where takes less time than the calls.
_FEW = 1024


def _select_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[1].dtype
    if dtype.kind == "s":
        return lambda c, x, y: np.where(c, boxed(x), boxed(y))
    if all(spec.shape.rank == 0 for spec in ctx.inputs):
        return lambda c, x, y: (x if c else y)[()]
    masked = _MASKED.get(dtype.itemsize)
    if masked is None:
        return np.where

    def select(c: Any, x: Any, y: Any) -> Any:
        if c.size < _FEW or any(v.ndim and v.shape != c.shape for v in (x, y)):
            return np.where(c, x, y)
        return masked(c, x, y)

    return select


def _select_into(c: Array, x: Any, y: Any, out: Array) -> None:
    _MASKED[out.itemsize](c, x, y, out)


def _emit_select(ctx: KernelContext, args: Sequence[str]) -> str | None:
    """Return the inline form for numbers of rank 0 only; ``[()]`` converts a possible array to a scalar."""
    if kernels_of(ctx.device) is not None:  # which would have to wait for the condition
        return None
    scalars = all(s.shape.rank == 0 for s in ctx.inputs) and ctx.inputs[1].dtype.kind != "s"
    return f"({args[1]} if {args[0]} else {args[2]})[()]" if scalars else None


def _rows(xp: Any, ctx: KernelContext) -> Kernel:
    select = _select_kernel(ctx) if xp is np else xp.where

    def rows(c: Any, x: Any, y: Any) -> Any:
        if isinstance(x, bytes):  # a single string
            x, y = np.array(x, object), np.array(y, object)
        if x.shape != y.shape or (c.ndim and c.shape not in (x.shape, x.shape[:1])):
            raise InvalidArgumentError(
                f"Select takes x and y of one shape and a condition of that shape, of its first "
                f"dimension or a scalar; got {x.shape}, {y.shape} and {c.shape}"
            )
        return select(c if c.ndim in (0, x.ndim) else c.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return rows


def _select_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    condition = op.inputs[0]
    zero = raw.ZerosLike(grad)
    by_x = raw.Select(condition, grad, zero)
    return [None, by_x, raw.Select(condition, zero, grad)]


def _select_v2_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    condition, x, y = op.inputs
    result, zero = op.outputs[0], scalar_like(0, grad)
    by_x, by_y = where_v2(condition, grad, zero), where_v2(condition, zero, grad)
    # Three shapes were broadcast, so the sums start from the result, whatever the other two shapes are.
    return [None, sum_to_operands(x, result, by_x, None)[0], sum_to_operands(y, result, by_y, None)[0]]


op(
    "SelectV2",
    _all_broadcast,
    "where",
    kernel=_select_kernel,
    grad=_select_v2_gradient,
    emit=_emit_select,
    into=_select_into,
)
op("Select", _of_branches, grad=_select_gradient, sentence=_rows, emit=_emit_select, into=_select_into)


# -- Where ---------------------------------------------------------------------------------------


def _indices(ctx: InferContext) -> Sequence[TensorShape]:
    """A row of indices per element that is true."""
    return [TensorShape([None, ctx.inputs[0].shape.rank])]


op("Where", _indices, lambda x: np.argwhere(x).astype(np.int64, copy=False), NOT_DIFFERENTIABLE)
