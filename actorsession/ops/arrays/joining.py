"""Joining tensors: concat, stack, and unstack as the inverse of stack.

Joining copies; unstacking returns views. ``splitting`` cuts along an axis that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, merge_all, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import constant, convert_all, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed, constant_ints, constant_ints_of, normal_axis, shape_of_rank

__all__ = ["concat", "stack", "unstack", "without_gaps"]


# -- ConcatV2 --------------------------------------------------------------------------------------


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Concatenate tensors along an axis.

    Args:
        values: tensors of one dtype and rank, equal in all dimensions but ``axis``.
        axis: scalar, may be negative.
    """
    listed = list(values) if isinstance(values, (list, tuple)) else [values]
    if not listed:
        raise ValueError("concat needs at least one tensor, got none")
    tensors = convert_all(listed)
    if len(tensors) == 1:
        _check_scalar(axis)
        return raw.Identity(tensors[0], name=name)
    return raw.ConcatV2(tensors, axis, name=name)


def _check_scalar(axis: Any) -> None:
    """Detect arguments in the order before TensorFlow 1.0, ``concat(axis, values)``."""
    rank = axis.shape.rank if hasattr(axis, "shape") else int(isinstance(axis, (list, tuple)))
    if rank:
        raise ValueError(f"concat: axis is a scalar, got {axis!r:.100}; values come first")


def _infer_concat(ctx: InferContext) -> list[TensorShape]:
    *values, _ = ctx.inputs
    last = len(values)
    ranks = {v.shape.rank for v in values} - {None}
    if len(ranks) > 1 or 0 in ranks:
        shapes = [str(v.shape) for v in values]
        raise ValueError(f"ConcatV2: tensors of one rank, at least 1, are joined; got {shapes}")
    axis = constant_ints(ctx, last)
    if not ranks:
        return [unknown_shape]
    rank = ranks.pop()
    assert rank is not None
    if axis is None:
        return [shape_of_rank(rank)]
    where = normal_axis(axis[0], rank, "ConcatV2")
    return [_joined_shape([v.shape.with_rank(rank) for v in values], where)]


def _joined_shape(shapes: Sequence[TensorShape], axis: int) -> TensorShape:
    try:
        rest = merge_all([TensorShape([*s[:axis], *s[axis + 1 :]]) for s in shapes]).as_list()
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ValueError(f"ConcatV2: shapes may differ on axis {axis} only, got {listed}") from None
    along = [s[axis] for s in shapes]
    rest.insert(axis, None if None in along else sum(d for d in along if d is not None))
    return TensorShape(rest)


def _concat_kernel(ctx: KernelContext) -> Kernel:
    axis = constant_ints(ctx, len(ctx.inputs) - 1)
    fixed = None if axis is None else axis[0]

    def joined(*operands: Any) -> Any:
        parts = operands[:-1]
        try:
            return np.concatenate(parts, int(operands[-1]) if fixed is None else fixed)
        except ValueError as exc:  # numpy's AxisError is one as well
            shapes = ", ".join(str(list(p.shape)) for p in parts)
            raise InvalidArgumentError(
                f"cannot join shapes {shapes} along axis {int(operands[-1])}: "
                "they need one rank and may differ on that axis only"
            ) from exc

    return joined


def _concat_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    *values, axis = op.inputs
    return [*_cut_like(grad, values, axis), None]


def _cut_like(grad: Tensor, values: Sequence[Tensor], axis: Tensor) -> list[Tensor]:
    """Split ``grad`` along ``axis`` into pieces as long as ``values``."""
    where = constant_ints_of(axis)
    rank = next((v.shape.rank for v in values if v.shape.rank is not None), None)
    if where is not None and rank is not None:
        at = normal_axis(where[0], rank, "ConcatV2")
        known = [v.spec.shape.with_rank(rank)[at] for v in values]
        if None not in known:
            sizes = np.array(known, np.int32)
            return raw.SplitV(grad, sizes, axis, num_split=len(values), name="split")
    zero = constant(0, int32, graph=grad.graph)
    lengths = [raw.GatherV2(shape(v), _front(axis, v), zero) for v in values]
    return raw.SplitV(grad, stack(lengths), axis, num_split=len(values), name="split")


def _front(axis: Tensor, value: Tensor) -> Tensor:
    """Return the axis counted from the front, for gathering from a shape."""
    known = constant_ints_of(axis)
    return axis if known is not None and known[0] >= 0 else (axis + rank(value)) % rank(value)


def _concat_static(ctx: InferContext) -> Array | None:
    if any(v is None for v in ctx.constants):
        return None
    *parts, axis = (np.asarray(v) for v in ctx.constants)
    return np.concatenate(parts, int(axis))


op("ConcatV2", _infer_concat, kernel=_concat_kernel, grad=_concat_gradient, static_value=_concat_static)


# -- ConcatOffset ----------------------------------------------------------------------------------

# The offsets of joined tensors are part of gradients in TensorFlow's graphs; those made here split instead.


def _infer_offsets(ctx: InferContext) -> list[TensorShape]:
    axis, *shapes = ctx.inputs
    if axis.dtype is not int32 or axis.shape.rank not in (None, 0) or not shapes:
        raise ValueError(f"ConcatOffset: an int32 scalar and shapes, got {ctx.inputs}")
    try:
        common = merge_all([spec.shape.with_rank(1) for spec in shapes])
    except ValueError:
        listed = ", ".join(str(spec.shape) for spec in shapes)
        raise ValueError(f"ConcatOffset: vectors of one length, got {listed}") from None
    return [common] * len(shapes)


def _offsets(axis: Any, *shapes: Any) -> Any:
    ranks = {len(dims) for dims in shapes}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"tensors of one rank are joined, got ranks {sorted(ranks)}")
    where = normal_axis(int(axis), len(shapes[0]), "ConcatOffset", InvalidArgumentError)
    offsets: list[Array] = []
    begin = 0
    for dims in shapes:
        others = np.delete(dims, where)
        if not np.array_equal(others, np.delete(shapes[0], where)):
            raise InvalidArgumentError(
                f"tensors of shapes {list(shapes[0])} and {list(dims)} cannot be joined along axis {where}"
            )
        offset = np.zeros_like(dims)
        offset[where] = begin
        begin += int(dims[where])
        offsets.append(offset)
    return tuple(offsets) if len(offsets) > 1 else offsets[0]


op("ConcatOffset", _infer_offsets, _offsets, NOT_DIFFERENTIABLE)


# -- Pack, Unpack ----------------------------------------------------------------------------------


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors of one shape along a new axis.

    Args:
        values: tensors of one dtype and shape; a tensor is what it is stacked of along its first axis.
        axis: position of the new axis in the result, may be negative.
    """
    if axis == 0 and isinstance(values, Tensor):
        return values
    if not any(hasattr(v, "_as_graph_element") for v in values) and axis == 0:
        return convert_to_tensor(list(values), name=name)
    return raw.Pack(convert_all(list(values)), axis=int(axis), name=name)


def _infer_pack(ctx: InferContext) -> list[TensorShape]:
    try:
        shape = merge_all([v.shape for v in ctx.inputs])
    except ValueError:
        listed = ", ".join(str(v.shape) for v in ctx.inputs)
        raise ValueError(f"Pack: tensors of one shape are stacked, got {listed}") from None
    if shape.rank is None:
        return [unknown_shape]
    dims = shape.as_list()
    dims.insert(normal_axis(ctx.attrs["axis"], len(dims) + 1, "Pack"), len(ctx.inputs))
    return [TensorShape(dims)]


def _stacked(parts: Sequence[Any], axis: int, dtype: np.dtype[Any]) -> Any:
    first = parts[0].shape
    if any(p.shape != first for p in parts):
        shapes = ", ".join(str(list(p.shape)) for p in parts)
        raise InvalidArgumentError(f"tensors of one shape are stacked, got shapes {shapes}")
    where = normal_axis(axis, len(first) + 1, "Pack", InvalidArgumentError)
    out = np.empty((*first[:where], len(parts), *first[where:]), dtype)
    behind: tuple[Any, ...] = (slice(None),) * where
    for i, part in enumerate(parts):
        out[(*behind, i)] = part[()]  # for an array of rank 0 the element itself, strings included
    return out


def _pack_kernel(ctx: KernelContext) -> Kernel:
    dtype, axis = ctx.outputs[0].dtype.np_dtype, ctx.attrs["axis"]
    if dtype.kind == "O":
        return lambda *parts: _stacked([boxed(p) for p in parts], axis, dtype)
    if any(spec.shape.rank == 0 for spec in ctx.inputs):
        # For the short vectors of which shapes are made, this takes half the time of filling an array.
        return lambda *parts: np.array(parts, dtype)
    return lambda *parts: _stacked(parts, axis, dtype)


def _pack_static(ctx: InferContext) -> Array | None:
    known = [v for v in ctx.constants if v is not None]
    if len(known) < len(ctx.constants):
        return None
    return np.stack(known, ctx.attrs["axis"])


op(
    "Pack",
    _infer_pack,
    kernel=_pack_kernel,
    grad=lambda op, grad: [*unstack(grad, len(op.inputs), op.attrs["axis"])],
    static_value=_pack_static,
)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Return the slices of a tensor along an axis, without that axis.

    Args:
        value: a tensor of rank at least 1.
        num: number of slices; taken from the static shape if left out.
        axis: the axis, may be negative.

    Raises:
        ValueError: if the number of slices is neither given nor known, or contradicts the shape.
    """
    tensor = convert_to_tensor(value)
    if num is None:
        dims = tensor.shape.sizes
        if dims is not None:
            num = dims[normal_axis(axis, len(dims), "unstack")]
        if num is None:
            raise ValueError(
                f"Cannot infer argument `num` from shape {tensor.shape}: unstack needs num, because axis "
                f"{axis} is not known early"
            )
    return raw.Unpack(tensor, num=int(num), axis=int(axis), name=name)


def _infer_unpack(ctx: InferContext) -> list[TensorShape]:
    shape, num, axis = ctx.inputs[0].shape, ctx.attrs["num"], ctx.attrs["axis"]
    if shape.rank is None:
        return [unknown_shape] * num
    dims = shape.as_list()
    extent = dims.pop(normal_axis(axis, len(dims), "Unpack"))
    if extent not in (None, num):
        raise ValueError(f"Unpack: axis {axis} of shape {shape} has not {num} positions")
    return [TensorShape(dims)] * num


def _unpack_kernel(ctx: KernelContext) -> Kernel:
    num, axis = ctx.attrs["num"], ctx.attrs["axis"]

    def parts(x: Any) -> Any:
        where = normal_axis(axis, x.ndim, "Unpack", InvalidArgumentError)
        if x.shape[where] != num:
            raise InvalidArgumentError(f"axis {axis} of a tensor of shape {list(x.shape)} has not {num} positions")
        moved = np.moveaxis(x, where, 0) if where else x
        return tuple(moved) if num != 1 else moved[0]

    return parts


def without_gaps(op: Operation, grads: Sequence[Tensor | None]) -> list[Tensor]:
    """Return the gradients of an op's outputs, with zeros for outputs without one."""
    pairs = zip(op.outputs, grads, strict=True)
    return [zeros_like(out) if grad is None else grad for out, grad in pairs]


op(
    "Unpack",
    _infer_unpack,
    kernel=_unpack_kernel,
    grad=lambda op, *grads: [stack(without_gaps(op, grads), axis=op.attrs["axis"])],
    aliases=True,
)
