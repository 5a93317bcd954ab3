"""Ops that change only the shape of a tensor: reshape, expand_dims, squeeze, broadcast_to.

These ops return views and are specialised if the shape is statically known. The functions of ``dimensions``
can be imported from here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape, shape_tensor, size
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    ints,
    normal_axis,
    partial_ints,
    require_rank,
    shape_of_rank,
    shape_operand,
    vector_length,
    with_boxed,
)

__all__ = ["broadcast_to", "expand_dims", "rank", "reshape", "shape", "shape_tensor", "size", "squeeze"]

# Up to this many elements a broadcast is copied: setting up numpy's view takes longer (about 4 us) than
# writing them, and the readers get contiguous memory.
_COPIED_BROADCAST = 32_768


# -- Reshape ---------------------------------------------------------------------------------------


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return the same elements in the same order under another shape.

    Args:
        tensor: any tensor.
        shape: the new shape, int32 or int64; one entry may be -1 and is then computed.

    Returns:
        A view of ``tensor`` where its layout allows.
    """
    value = convert_to_tensor(tensor)
    with value.graph.name_scope(name or "Reshape") as scope:
        dims = shape_operand(shape, value.graph)
        return raw.Reshape(value, dims, name=scope)


def _infer_reshape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    value, dims = ctx.inputs[0].shape, partial_ints(ctx, 1)
    if dims is None:
        length = vector_length(ctx.inputs[1])  # if it is 1, the result is a vector of all elements
        shape = TensorShape([value.num_elements()]) if length == 1 else shape_of_rank(length)
    else:
        shape = TensorShape(_filled(dims, value))
    return [shape]


def _filled(asked: Sequence[int | None], source: TensorShape) -> list[Dim]:
    """Return the wanted dimensions with -1, or an only unknown one, replaced if that is possible."""
    dims = [-1 if d is None else d for d in asked]
    if list(asked).count(-1) > 1 or min(dims, default=0) < -1:
        raise ValueError(f"Reshape: one dimension may be -1, others are at least 0: {list(asked)}")
    total, product = source.num_elements(), prod(d for d in dims if d != -1)
    if total is None or dims.count(-1) > 1 or (-1 in dims and product == 0):
        return [None if d == -1 else d for d in dims]
    fits = total % product == 0 if -1 in dims else total == product
    if not fits:
        target = str(list(dims)).replace(" ", "")
        if -1 in dims:
            raise ValueError(
                f"Dimension size must be evenly divisible by {product} but is {total}: Reshape of {total} "
                f"elements of shape {source} to {target}"
            )
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {target} ({product} elements): Reshape "
            f"of shape {source}"
        )
    return [total // product if d == -1 else d for d in dims]


def _reshaped(x: Any, dims: Ints) -> Any:
    try:
        if min(dims, default=0) < -1:  # numpy treats any negative number as -1
            raise ValueError("a dimension below -1")
        return x.reshape(dims)
    except ValueError as exc:
        if x.size == 0 and 0 in dims and dims.count(-1) == 1:
            return _reshaped_empty(x, dims)
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape has {_room(dims)}: "
            f"cannot reshape a tensor of shape {list(x.shape)} to {list(dims)}"
        ) from exc


def _room(dims: Ints) -> str:
    """How many elements a shape has, as far as it is known."""
    product = prod(d for d in dims if d != -1)
    return f"a multiple of {product}" if -1 in dims else str(product)


def _reshaped_empty(x: Any, dims: Ints) -> Any:
    """Reshape by TensorFlow's rule for the ambiguous 0 = 0 * -1: dimensions of 0 are ignored."""
    missing = prod(d for d in x.shape if d) // prod(d for d in dims if d > 0)
    return x.reshape([missing if d == -1 else d for d in dims])


def _early_shape(ctx: KernelContext) -> Ints | None:
    """Return the output shape if it is statically known."""
    shape = ctx.outputs[0].shape
    if shape.is_fully_defined() and constant_ints(ctx, 1) is not None:
        return shape.as_tuple()
    return None


def _reshape_kernel(ctx: KernelContext) -> Kernel:
    dims = _early_shape(ctx) or constant_ints(ctx, 1)
    if dims is None:
        return with_boxed(lambda x, dims: _reshaped(x, ints(dims)), *ctx.inputs)
    return with_boxed(lambda x, _dims: _reshaped(x, dims), *ctx.inputs)


def _emit_reshape(ctx: KernelContext, args: Sequence[str]) -> str | None:
    return _reshape_text(ctx, args[0]) if _early_shape(ctx) is not None else None


def _reshape_text(ctx: KernelContext, arg: str) -> str | None:
    """Return an inline reshape if it cannot fail; strings of rank 0 are not arrays."""
    if ctx.inputs[0].shape.is_fully_defined() and ctx.inputs[0].dtype.kind != "s":
        return f"{arg}.reshape({ctx.outputs[0].shape.as_tuple()})"
    return None


def _reshape_back(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradient of every op that changes only the shape."""
    rest: list[Tensor | None] = [None] * (len(op.inputs) - 1)
    return [reshape(grad, shape_tensor(op.inputs[0])), *rest]


def _reshape_static(ctx: InferContext) -> Array | None:
    value, dims = ctx.constants[0], constant_ints(ctx, 1)
    return None if value is None or dims is None else value.reshape(dims)


op(
    "Reshape",
    _infer_reshape,
    kernel=_reshape_kernel,
    grad=_reshape_back,
    emit=_emit_reshape,
    static_value=_reshape_static,
    aliases=True,
)


# -- ExpandDims, Squeeze ---------------------------------------------------------------------------


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return the tensor with one more axis of extent 1.

    Args:
        input: any tensor, of rank n.
        axis: position of the new axis in the result, in [-n-1, n].
    """
    return raw.ExpandDims(convert_to_tensor(input), axis, name=name)


def _single(where: Any, error: Callable[[str], Exception]) -> int:
    """Return the axis, which as in TensorFlow may be a tensor of any rank with one element."""
    if np.size(where) != 1:
        raise error(f"ExpandDims: the axis is a single number, got one of shape {list(np.shape(where))}")
    return int(np.reshape(where, ()))


def _infer_expand_dims(ctx: InferContext) -> list[TensorShape]:
    shape, where = ctx.inputs[0].shape, ctx.constant(1)
    axis = None if where is None else _single(where, ValueError)
    if shape.rank is None:
        return [unknown_shape]
    dims = shape.as_list()
    if axis is None:
        return [shape_of_rank(len(dims) + 1)]
    dims.insert(normal_axis(axis, len(dims) + 1, "ExpandDims"), 1)
    return [TensorShape(dims)]


def _expanded(x: Any, axis: int) -> Any:
    axis = normal_axis(axis, x.ndim + 1, "ExpandDims", InvalidArgumentError)
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


def _expand_dims_kernel(ctx: KernelContext) -> Kernel:
    where, known = ctx.constant(1), ctx.inputs[0].shape.rank
    if where is None:
        return with_boxed(lambda x, axis: _expanded(x, _single(axis, InvalidArgumentError)), *ctx.inputs)
    fixed = _single(where, InvalidArgumentError)
    if known is None:
        return with_boxed(lambda x, _axis: _expanded(x, fixed), *ctx.inputs)
    index = (slice(None),) * normal_axis(fixed, known + 1, "ExpandDims") + (None,)
    return with_boxed(lambda x, _axis: x[index], *ctx.inputs)


def _emit_expand_dims(ctx: KernelContext, args: Sequence[str]) -> str | None:
    return None if constant_ints(ctx, 1) is None else _reshape_text(ctx, args[0])


op(
    "ExpandDims",
    _infer_expand_dims,
    kernel=_expand_dims_kernel,
    grad=_reshape_back,
    emit=_emit_expand_dims,
    aliases=True,
)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Return the tensor without axes of extent 1.

    Args:
        input: any tensor.
        axis: the axes to drop, an int or several; all of extent 1 if left out.
    """
    axes = [] if axis is None else [int(a) for a in np.atleast_1d(axis)]
    return raw.Squeeze(input, squeeze_dims=axes, name=name)


def _infer_squeeze(ctx: InferContext) -> list[TensorShape]:
    shape, axes = ctx.inputs[0].shape, ctx.attrs["squeeze_dims"]
    dims = shape.sizes
    if dims is None or (not axes and None in dims):
        return [unknown_shape]
    dropped = {normal_axis(a, len(dims), "Squeeze") for a in axes}
    if not axes:
        dropped = {i for i, d in enumerate(dims) if d == 1}
    if any(dims[a] not in (None, 1) for a in dropped):
        raise ValueError(f"Squeeze: axes {list(axes)} of shape {shape} do not all have extent 1")
    kept = [d for i, d in enumerate(dims) if i not in dropped]
    return [TensorShape(kept)]


def _squeeze_kernel(ctx: KernelContext) -> Kernel:
    axes = tuple({*ctx.attrs["squeeze_dims"]})  # numpy refuses duplicates
    if not axes:
        return with_boxed(lambda x: x.squeeze(), *ctx.inputs)

    def squeezed(x: Any) -> Any:
        try:
            return x.squeeze(axes)
        except ValueError as exc:  # numpy's AxisError is one as well
            raise InvalidArgumentError(
                f"cannot squeeze axes {list(axes)} of a tensor of shape {list(x.shape)}: "
                "they must exist and have extent 1"
            ) from exc

    return with_boxed(squeezed, *ctx.inputs)


op(
    "Squeeze",
    _infer_squeeze,
    kernel=_squeeze_kernel,
    grad=_reshape_back,
    emit=lambda ctx, args: _reshape_text(ctx, args[0]),
    aliases=True,
)


# -- BroadcastTo -----------------------------------------------------------------------------------


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return the tensor repeated along axes of extent 1 until it has ``shape``.

    Args:
        input: any tensor.
        shape: wanted shape, int32 or int64.

    Returns:
        A read-only view if the result is large.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or "BroadcastTo") as scope:
        dims = shape_operand(shape, value.graph)
        return raw.BroadcastTo(value, dims, name=scope)


def _infer_broadcast_to(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    shape, dims = ctx.inputs[0].shape, partial_ints(ctx, 1)
    if dims is None:
        return [shape_of_rank(vector_length(ctx.inputs[1]))]
    have = (shape.sizes or ())[::-1]
    pairs = zip(have, dims[::-1], strict=False)
    if len(have) > len(dims) or any(h not in (None, 1, d) and d is not None for h, d in pairs):
        raise ValueError(f"BroadcastTo: shape {shape} does not broadcast to {list(dims)}")
    # Dimensions other than 1 stay.
    kept = [None] * (len(dims) - len(have)) + [None if h == 1 else h for h in have[::-1]]
    return [TensorShape([k if d is None else d for d, k in zip(dims, kept, strict=True)])]


def _broadcast_to_kernel(ctx: KernelContext) -> Kernel:
    fixed = constant_ints(ctx, 1)

    def broadcast(x: Any, dims: Any) -> Any:
        extents = ints(dims) if fixed is None else fixed
        try:
            if prod(extents) > _COPIED_BROADCAST:
                return np.broadcast_to(x, extents)
            out = np.empty(extents, x.dtype)
            out[...] = x
        except ValueError as exc:
            raise InvalidArgumentError(
                f"a tensor of shape {list(x.shape)} does not broadcast to {list(extents)}"
            ) from exc
        return out

    return with_boxed(broadcast, *ctx.inputs)


def summed_to(grad: Tensor, value: Tensor) -> Tensor:
    """Return ``grad`` summed over the axes along which ``value`` was repeated to its shape."""
    if value.shape.is_fully_defined() and grad.shape.is_fully_defined():
        dims, wide = value.shape.as_tuple(), grad.shape.as_tuple()
        padded = (1,) * (len(wide) - len(dims)) + dims
        repeated = [i for i, (d, w) in enumerate(zip(padded, wide, strict=True)) if d != w]
        repeated += range(len(wide) - len(dims))
        axes = constant(np.array(sorted(set(repeated)), np.int32), graph=grad.graph)
    else:
        axes = raw.BroadcastGradientArgs(shape(value), shape(grad))[0]
    total = raw.Sum(grad, axes, keep_dims=True)
    return reshape(total, shape_tensor(value))


op(
    "BroadcastTo",
    _infer_broadcast_to,
    kernel=_broadcast_to_kernel,
    grad=lambda op, grad: [summed_to(grad, op.inputs[0]), None],
    aliases=True,
    sized_by=(1,),
)
