"""Strided slices in TensorFlow's sparse form: three vectors of bounds and five bit masks.

One entry of the vectors corresponds to one entry of a numpy index, so a constant slice becomes one index that
is made when the plan is bound. Outputs are views. ``slicing`` builds these ops for square brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import constant, convert_all, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    described_shape,
    ints,
    partial_ints,
    require_index,
    vector_length,
)

__all__ = ["MASKS", "fixed_index", "index_text", "numpy_index", "strided_shape", "strided_slice"]

Entries: TypeAlias = "Sequence[int | None] | None"

MASKS = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Return a slice of a tensor as Python's square brackets do, in TensorFlow's sparse form.

    Args:
        input_: the tensor.
        begin: first position per entry, int32 or int64.
        end: position after the last per entry.
        strides: step per entry, never 0; ones if left out.
        begin_mask: bit i set: entry i starts at its natural start, and ``begin`` is ignored.
        end_mask: the same for ``end``.
        ellipsis_mask: bit i set: entry i stands for all axes not mentioned; at most one bit.
        new_axis_mask: bit i set: entry i adds an axis of extent 1.
        shrink_axis_mask: bit i set: entry i takes position ``begin[i]`` and drops the axis.
    """
    tensor = convert_to_tensor(input_)
    with tensor.graph.as_default():
        if strides is None:
            starts, ends = convert_all([begin, end])
            length = vector_length(starts.spec)
            if length is None:
                raise ValueError("strided_slice needs strides when the length of begin is unknown")
            steps = constant(np.ones(length, starts.dtype.np_dtype))
        else:
            starts, ends, steps = convert_all([begin, end, strides])
    return raw.StridedSlice(
        tensor,
        starts,
        ends,
        steps,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


def numpy_index(begin: Ints, end: Ints, strides: Ints, masks: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the numpy index that is equivalent to a sparse strided slice.

    Raises:
        InvalidArgumentError: for vectors of different length, a stride of 0, or one that is not positive on
            an entry that drops its axis.
    """
    if not len(begin) == len(end) == len(strides):
        raise InvalidArgumentError(
            f"begin, end and strides have one length, got {len(begin)}, {len(end)}, {len(strides)}"
        )
    out: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if step == 0:
            raise InvalidArgumentError(f"strides must not be 0, got {list(strides)}")
        if masks["ellipsis_mask"] & bit:
            out.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            out.append(None)
        elif masks["shrink_axis_mask"] & bit:
            if step < 0:
                raise InvalidArgumentError(f"an entry that drops its axis has a positive stride, got {list(strides)}")
            out.append(first)
        else:
            lower = None if masks["begin_mask"] & bit else first
            upper = None if masks["end_mask"] & bit else last
            out.append(slice(lower, upper, step))
    return tuple(out)


def _infer_strided(ctx: InferContext) -> list[TensorShape]:
    value, *bounds = ctx.inputs
    require_index(ctx, 1, 2, 3, rank=1)
    if ctx.attrs["ellipsis_mask"].bit_count() > 1:
        raise ValueError("StridedSlice: only one ellipsis is allowed")
    try:
        fixed_index(ctx)
    except InvalidArgumentError as exc:
        raise ValueError(f"StridedSlice: {exc.message}") from None
    known = [partial_ints(ctx, i) for i in (1, 2, 3)]
    lengths = {n for n in map(vector_length, bounds) if n is not None}
    if len(lengths) > 1:
        raise ValueError(f"StridedSlice: begin, end and strides have one length, got {lengths}")
    if not lengths or value.shape.rank is None:
        return [unknown_shape]
    return [strided_shape(value.shape, lengths.pop(), known, ctx.attrs)]


def strided_shape(shape: TensorShape, length: int, known: Sequence[Entries], masks: Mapping[str, Any]) -> TensorShape:
    """Return the static shape of a strided slice.

    Args:
        shape: shape of the input, of known rank.
        length: length of the three vectors.
        known: begin, end and strides; ``None`` where an entry or a whole vector is unknown.
        masks: the five masks.
    """
    begin, end, strides = ([None] * length if entries is None else entries for entries in known)
    dims = shape.as_list()
    special = masks["ellipsis_mask"] | masks["new_axis_mask"]
    taken = sum(not special & (1 << i) for i in range(length))
    if taken > len(dims):
        if not dims:
            raise ValueError("Attempting to slice scalar input: one position is too many.")
        raise ValueError(
            f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims: "
            f"{taken} positions for the shape {shape} are too many"
        )
    out: list[Dim] = []
    axis = 0
    for i in range(length):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            out.extend(dims[axis : axis + len(dims) - taken])
            axis += len(dims) - taken
        elif masks["new_axis_mask"] & bit:
            out.append(1)
        else:
            if masks["shrink_axis_mask"] & bit:
                _check_position(begin[i], dims[axis], axis)
            else:
                lower = None if masks["begin_mask"] & bit else (begin[i],)
                upper = None if masks["end_mask"] & bit else (end[i],)
                out.append(_range_dim(dims[axis], lower, upper, strides[i]))
            axis += 1
    return TensorShape(out + dims[axis:])


def _check_position(position: int | None, dim: Dim, axis: int) -> None:
    if position is not None and dim is not None and not -dim <= position < dim:
        raise ValueError(
            f"slice index {position} of dimension {axis} out of bounds: position {position} on axis "
            f"{axis} is not in [{-dim}, {dim})"
        )


def _range_dim(dim: Dim, lower: tuple[int | None] | None, upper: tuple[int | None] | None, step: int | None) -> Dim:
    """Return the static extent of one range; a bound is ``None`` if open, ``(None,)`` if unknown."""
    if step == 0:
        raise ValueError("StridedSlice: strides must not be 0")
    if dim is None or step is None or lower == (None,) or upper == (None,):
        return None
    bounds = slice(lower[0] if lower else None, upper[0] if upper else None, step)
    return len(range(*bounds.indices(dim)))


def fixed_index(ctx: KernelContext | InferContext, first: int = 1) -> tuple[Any, ...] | None:
    """Return the numpy index if all bounds are statically known."""
    begin, end, strides = (constant_ints(ctx, first + i) for i in range(3))
    if begin is None or end is None or strides is None:
        return None
    return numpy_index(begin, end, strides, ctx.attrs)


def _taken(x: Any, index: tuple[Any, ...]) -> Any:
    try:
        return x[index]
    except IndexError as exc:
        raise InvalidArgumentError(f"slice of shape {list(x.shape)}: {exc}") from exc


def _strided_kernel(ctx: KernelContext) -> Kernel:
    index = fixed_index(ctx)
    masks = ctx.attrs
    if index is None:
        return lambda x, begin, end, strides: _taken(x, numpy_index(ints(begin), ints(end), ints(strides), masks))
    if ctx.inputs[0].shape.is_fully_defined():
        return lambda x, _begin, _end, _strides: x[index]
    return lambda x, _begin, _end, _strides: _taken(x, index)


def _emit_strided(ctx: KernelContext, args: Sequence[str]) -> str | None:
    if not ctx.inputs[0].shape.is_fully_defined() or not (index := fixed_index(ctx)):
        return None
    return f"{args[0]}[{index_text(index)}]"


def index_text(index: tuple[Any, ...]) -> str:
    """Return the source text of a numpy index between square brackets."""

    def text(entry: Any) -> str:
        if isinstance(entry, slice):
            parts = ["" if b is None else str(b) for b in (entry.start, entry.stop)]
            return ":".join(parts if entry.step in (None, 1) else [*parts, str(entry.step)])
        return "..." if entry is Ellipsis else str(entry)

    return ", ".join(map(text, index)) + ("," if len(index) == 1 else "")


def _strided_static(ctx: InferContext) -> Array | None:
    value, index = ctx.constants[0], fixed_index(ctx)
    return None if value is None or index is None else np.asarray(value[index])


def _masks(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in MASKS}


def _strided_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    value, begin, end, strides = op.inputs
    dims = shape_tensor(value, begin.dtype)
    return [raw.StridedSliceGrad(dims, begin, end, strides, grad, **_masks(op)), None, None, None]


op(
    "StridedSlice",
    _infer_strided,
    kernel=_strided_kernel,
    grad=_strided_gradient,
    emit=_emit_strided,
    static_value=_strided_static,
    aliases=True,
)


def _infer_strided_grad(ctx: InferContext) -> list[TensorShape]:
    return [described_shape(ctx, 0)]


def _strided_grad_kernel(ctx: KernelContext) -> Kernel:
    dtype, masks = ctx.outputs[0].dtype.np_dtype, ctx.attrs
    known, fixed_shape = fixed_index(ctx), constant_ints(ctx, 0)

    def spread(shape: Any, begin: Any, end: Any, strides: Any, grad: Any) -> Any:
        out = np.zeros(ints(shape) if fixed_shape is None else fixed_shape, dtype)
        index = known
        if index is None:
            index = numpy_index(ints(begin), ints(end), ints(strides), masks)
        view = _taken(out, index)
        if view.shape != grad.shape:
            raise InvalidArgumentError(f"a gradient of shape {list(view.shape)} is needed, got {list(grad.shape)}")
        out[index] = grad
        return out

    return spread


op(
    "StridedSliceGrad",
    _infer_strided_grad,
    kernel=_strided_grad_kernel,
    grad=lambda op, grad: [None] * 4 + [raw.StridedSlice(grad, *op.inputs[1:4], **_masks(op))],
    sized_by=(0,),
)
