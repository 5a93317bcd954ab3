"""Reductions over axes: sums, means, products, extrema, all and any.

Owns the ops, their shape functions and gradients, and the public functions; ``reducers`` has the computation.
Axes are an operand, as in TensorFlow; where they are constant the kernel is specialised for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape, shape_tensor, size
from actorsession.ops.arrays.shape import broadcast_to, reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal, is_finite
from actorsession.ops.elements.elementwise import conj, exp, log
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import check_dtype, scalar_like
from actorsession.ops.reductions import reducers
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    constant_ints,
    constant_ints_of,
    ints,
    normal_axis,
    require_rank,
    shape_of_rank,
)

__all__ = [
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


# -- public functions ----------------------------------------------------------------------------


def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return the sum over axes.

    Args:
        input_tensor: numbers.
        axis: an axis, several, or an integer tensor; all axes if left out.
        keepdims: whether reduced axes stay with length 1.
    """
    return _reduce(raw.Sum, input_tensor, axis, keepdims, name)


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return the mean over axes, NaN for no elements; integers stay integers.

    The arguments are those of ``reduce_sum``.
    """
    return _reduce(raw.Mean, input_tensor, axis, keepdims, name)


def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return the product over axes; arguments as for ``reduce_sum``."""
    return _reduce(raw.Prod, input_tensor, axis, keepdims, name)


def reduce_max(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return the maximum over axes, or the type's lowest value for no elements.

    The arguments are those of ``reduce_sum``.
    """
    return _reduce(raw.Max, input_tensor, axis, keepdims, name)


def reduce_min(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return the minimum over axes, or the type's highest value for no elements.

    The arguments are those of ``reduce_sum``.
    """
    return _reduce(raw.Min, input_tensor, axis, keepdims, name)


def reduce_all(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return whether all bools over axes are true; arguments as for ``reduce_sum``."""
    return _reduce(raw.All, input_tensor, axis, keepdims, name)


def reduce_any(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Tensor:
    """Return whether any bool over axes is true; arguments as for ``reduce_sum``."""
    return _reduce(raw.Any, input_tensor, axis, keepdims, name)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the root of the sum of squares over axes, truncated for integers.

    The arguments are those of ``reduce_sum``.
    """
    return _reduce(raw.EuclideanNorm, input_tensor, axis, keepdims, name)


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """Return ``log(sum(exp(x)))`` over axes without overflow; arguments as for ``reduce_sum``."""
    x = convert_to_tensor(input_tensor)
    with x.graph.name_scope(name or "ReduceLogSumExp") as scope:
        highest = reduce_max(x, axis, keepdims=True)
        # The difference of infinities is undefined; and the shift must not contribute to the derivative.
        finite = where_v2(is_finite(highest), highest, scalar_like(0, highest))
        shift = raw.StopGradient(finite)
        result = log(reduce_sum(exp(x - shift), axis, keepdims=keepdims))
        back = shift if keepdims else reshape(shift, shape_tensor(result))
        return raw.AddV2(result, back, name=scope)


def _reduce(build: Callable[..., Tensor], x: Any, axis: Any, keep: bool | None, name: str | None) -> Tensor:
    if axis is not None:
        if isinstance(axis, (list, tuple)) and not axis:
            axis = np.empty(0, np.int32)  # an empty list would become floats
        return build(x, axis, keep_dims=bool(keep), name=name)
    whole = x if hasattr(x, "shape") and hasattr(x, "_as_graph_element") else convert_to_tensor(x)
    result = build(whole, _all_axes(whole), keep_dims=bool(keep), name=name)
    if not keep:
        result.set_shape(())
    return result


def _all_axes(x: Any) -> Tensor:
    if x.shape.rank is not None:
        return constant(np.arange(x.shape.rank, dtype=np.int32), graph=x.graph)
    start, step = (constant(i, int32, graph=x.graph) for i in (0, 1))
    return raw.Range(start, rank(x), step)


# -- shapes --------------------------------------------------------------------------------------


def _reduced(ctx: InferContext) -> list[TensorShape]:
    if (ctx.inputs[1].shape.rank or 0) > 1:
        raise ValueError(f"axes of {ctx.op} are a scalar or vector; got {ctx.inputs[1].shape}")
    dims, axes, keep = ctx.inputs[0].shape.sizes, constant_ints(ctx, 1), ctx.attrs["keep_dims"]
    if dims is None:
        return [unknown_shape]
    if axes is None:
        return [shape_of_rank(len(dims)) if keep else unknown_shape]
    reduced = _normal_axes(axes, len(dims), ctx.op)
    if keep:
        return [TensorShape([1 if i in reduced else d for i, d in enumerate(dims)])]
    return [TensorShape([d for i, d in enumerate(dims) if i not in reduced])]


def _reduced_bools(ctx: InferContext) -> list[TensorShape]:
    check_dtype(ctx, "b", (0,))
    return _reduced(ctx)


def _normal_axes(axes: Sequence[int], rank: int, op: str) -> set[int]:
    reduced = {normal_axis(a, rank, op) for a in axes}
    if len(reduced) < len(axes):
        raise ValueError(f"{op}: an axis is named twice in {list(axes)}, of a tensor of rank {rank}")
    return reduced


# -- gradients -----------------------------------------------------------------------------------


def _kept(op: Operation, value: Tensor) -> Tensor:
    """Return a tensor of the result's shape with the reduced axes as 1, to broadcast to the input's."""
    if op.attrs["keep_dims"]:
        return value
    x, axes = op.inputs
    known = constant_ints_of(axes)
    if known is not None and x.shape.sizes is not None:
        reduced = _normal_axes(known, len(x.shape), op.type)
        dims = [1 if i in reduced else d for i, d in enumerate(x.shape.sizes)]
        if dims.count(None) == 0 or (dims.count(None) == 1 and 0 not in dims):
            extents = np.array([-1 if d is None else d for d in dims], np.int32)
            return reshape(value, constant(extents, graph=x.graph))
    return reshape(value, raw.ReducedShape(shape(x), axes))


def _mean_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    # The division comes before the broadcast.
    share = _kept(op, grad) / _count(op, grad)
    return [broadcast_to(share, shape_tensor(op.inputs[0])), None]


def _count(op: Operation, like: Tensor) -> Tensor:
    """Return the number of elements reduced to one, as a scalar of the dtype of ``like``."""
    x, axes = op.inputs
    known = constant_ints_of(axes)
    if known is not None and x.shape.sizes is not None:
        lengths = [x.shape.sizes[a] for a in _normal_axes(known, len(x.shape), op.type)]
        if None not in lengths:
            return scalar_like(int(np.prod([n for n in lengths if n is not None])), like)
    result = op.outputs[0]
    if result.shape.num_elements() == 1:
        return cast(size(x), like.dtype)
    return cast(size(x) / size(result), like.dtype)


def _extremum_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient in equal shares for all elements that attain the extremum."""
    x, axes = op.inputs
    attained = cast(equal(x, _kept(op, op.outputs[0])), x.dtype)
    count = reduce_sum(attained, axes, keepdims=True)
    return [attained * (_kept(op, grad) / count), None]


def _others(x: Tensor, axes: Tensor) -> Tensor:
    """Return the product of the other elements along some axes, for each element."""
    known = constant_ints_of(axes)
    if known is not None and x.shape.rank is not None and len(known) == 1:
        return _along(x, known[0])
    count = rank(x)
    flat = reshape(cast(axes, int32), [-1])
    first = where_v2(flat < 0, flat + count, flat)
    order = raw.ConcatV2([first, raw.ListDiff(raw.Range(0, count, 1), first)[0]], 0)
    turned = raw.Transpose(x, order)
    sizes = shape_tensor(turned)
    kept = raw.GatherV2(sizes, raw.Range(size(first), count, 1), 0)
    others = _along(reshape(turned, raw.ConcatV2([[-1], kept], 0)), 0)
    return raw.Transpose(reshape(others, sizes), raw.InvertPermutation(order))


def _along(x: Tensor, axis: int) -> Tensor:
    """Return the product of the other elements along one axis: of those before and those behind."""
    at = constant(axis, graph=x.graph)
    before = raw.Cumprod(x, at, exclusive=True)
    return before * raw.Cumprod(x, at, exclusive=True, reverse=True)


def _prod_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [_kept(op, grad) * conj(_others(*op.inputs)), None]


def _norm_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient; as in TensorFlow, NaN where the norm is 0."""
    x, norm = op.inputs[0], op.outputs[0]
    return [x * _kept(op, grad / conj(norm)), None]


def _infer_reduced_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, rank=1)
    return [ctx.inputs[0].shape]


def _reduced_dims(dims: Array, axes: Any) -> Array:
    out = dims.copy()
    out[list(ints(axes))] = 1
    return out


op("ReducedShape", _infer_reduced_shape, _reduced_dims, NOT_DIFFERENTIABLE)


# -- ops -----------------------------------------------------------------------------------------


def _by(reducer: Callable[[DType], reducers.Reducer]) -> Callable[[KernelContext], Kernel]:
    return lambda ctx: reducers.bound_to_axes(ctx, reducer(ctx.inputs[0].dtype))


_MAXIMUM = _by(lambda dtype: reducers.extremum(dtype, np.maximum))
_MINIMUM = _by(lambda dtype: reducers.extremum(dtype, np.minimum))
_AND = _by(lambda dtype: reducers.logical(np.logical_and))
_OR = _by(lambda dtype: reducers.logical(np.logical_or))

op(
    "Sum",
    _reduced,
    kernel=_by(reducers.total),
    grad=lambda op, grad: [broadcast_to(_kept(op, grad), shape_tensor(op.inputs[0])), None],
)
op("Mean", _reduced, kernel=_by(reducers.mean), grad=_mean_gradient)
op("Prod", _reduced, kernel=_by(reducers.product), grad=_prod_gradient)
op("Max", _reduced, kernel=_MAXIMUM, grad=_extremum_gradient)
op("Min", _reduced, kernel=_MINIMUM, grad=_extremum_gradient)
op("EuclideanNorm", _reduced, kernel=_by(reducers.euclidean_norm), grad=_norm_gradient)
op("All", _reduced_bools, kernel=_AND, grad=NOT_DIFFERENTIABLE)
op("Any", _reduced_bools, kernel=_OR, grad=NOT_DIFFERENTIABLE)
