"""Layout of a tensor: transpose, tile, pad.

A transpose is a view; the others copy. Orders, multiples and paddings are constants in nearly every graph,
and the kernels are specialised for them. ``mirroring`` computes mirrored margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.partial_value import entries
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape, shape_tensor
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    as_integers,
    constant_ints,
    constant_ints_of,
    ints,
    partial_ints,
    require_rank,
    shape_of_rank,
    vector_length,
    with_boxed,
)

__all__ = ["invert_permutation", "pad", "tile", "transpose"]


# -- Transpose -------------------------------------------------------------------------------------


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Return the tensor with its axes in another order.

    Args:
        a: any tensor.
        perm: the axis of ``a`` at each position of the result; reversed order if left out.
        conjugate: whether complex elements are conjugated as well.

    Returns:
        A view, unless elements were conjugated.
    """
    value = convert_to_tensor(a)
    build = raw.ConjugateTranspose if conjugate and value.dtype.is_complex else raw.Transpose
    with value.graph.name_scope(name) as scope:
        return build(value, _order(value, perm), name=scope)


def _order(value: Tensor, perm: Any) -> Tensor:
    if perm is not None:
        return convert_to_tensor(as_integers(perm), name="perm", graph=value.graph)
    if value.shape.rank is not None:
        order = np.arange(value.shape.rank - 1, -1, -1, dtype=np.int32)
        return constant(order, name="perm", graph=value.graph)
    return range_(rank(value) - 1, -1, -1, name="perm")


def _infer_transpose(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    shape, order = ctx.inputs[0].shape, constant_ints(ctx, 1)
    length = vector_length(ctx.inputs[1])
    if shape.rank is not None and length not in (None, shape.rank):
        raise ValueError(f"Transpose: perm of {length} entries for the shape {shape}")
    if shape.rank is None or order is None:
        known = length if shape.rank is None else shape.rank
        return [shape_of_rank(known)]
    axes = _permutation(order, shape.rank, ValueError)
    return [TensorShape([shape[a] for a in axes])]


def _permutation(order: Ints, size: int, error: type[Exception]) -> Ints:
    """Return the order with negative axes counted from the front."""
    axes = tuple(a + size if a < 0 else a for a in order)
    if sorted(axes) != list(range(size)):
        raise error(f"Transpose: {list(order)} is no order of {size} axes")
    return axes


def _transposed(x: Any, order: Ints) -> Any:
    return x.transpose(_permutation(order, x.ndim, InvalidArgumentError))


def _transpose_kernel(ctx: KernelContext) -> Kernel:
    order, size = constant_ints(ctx, 1), ctx.inputs[0].shape.rank
    if order is None:
        return with_boxed(lambda x, perm: _transposed(x, ints(perm)), *ctx.inputs)
    if size is None:
        return with_boxed(lambda x, _perm: _transposed(x, order), *ctx.inputs)
    axes = _permutation(order, size, InvalidArgumentError)
    return with_boxed(lambda x, _perm: x.transpose(axes), *ctx.inputs)


def _emit_transpose(ctx: KernelContext, args: Sequence[str]) -> str | None:
    order, spec = constant_ints(ctx, 1), ctx.inputs[0]
    if not order or not spec.shape.rank:
        return None
    return f"{args[0]}.transpose({_permutation(order, spec.shape.rank, InvalidArgumentError)})"


def _transpose_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    perm = op.inputs[1]
    order, size = constant_ints_of(perm), op.inputs[0].shape.rank
    if order is not None:
        axes = _permutation(order, len(order) if size is None else size, ValueError)
        return [transpose(grad, np.argsort(axes).astype(np.int32)), None]
    extent = rank(grad)
    if perm.dtype is not extent.dtype:
        extent = raw.Cast(extent, DstT=perm.dtype)
    # A scalar has no axes to count from the end.
    counted = raw.Maximum(extent, convert_to_tensor(1, perm.dtype, graph=grad.graph))
    return [transpose(grad, invert_permutation(perm % counted)), None]


op(
    "Transpose",
    _infer_transpose,
    kernel=_transpose_kernel,
    grad=_transpose_gradient,
    emit=_emit_transpose,
    aliases=True,
)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse of a permutation: ``y[x[i]] == i``.

    Args:
        x: int32 or int64 vector that holds 0 to n-1 once each.
    """
    return raw.InvertPermutation(x, name=name)


def _infer_invert(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, rank=1)
    return [ctx.inputs[0].shape.with_rank(1)]


def _inverted(x: Any) -> Any:
    if x.ndim != 1 or sorted(x.tolist()) != list(range(x.size)):
        raise InvalidArgumentError(f"{x.tolist()} does not hold 0 to {x.size - 1} once each")
    out = np.empty_like(x)
    out[x] = np.arange(x.size, dtype=x.dtype)
    return out


op("InvertPermutation", _infer_invert, _inverted, NOT_DIFFERENTIABLE)


# -- Tile ------------------------------------------------------------------------------------------


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Return the tensor repeated along each axis.

    Args:
        input: a tensor of rank n, at least 1.
        multiples: number of copies along each axis, int32 or int64 of shape [n].
    """
    return raw.Tile(convert_to_tensor(input), multiples, name=name)


def _infer_tile(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    shape, times = ctx.inputs[0].shape, partial_ints(ctx, 1)
    size, length = shape.rank, vector_length(ctx.inputs[1])
    if size is not None and length not in (None, size):
        raise ValueError(f"Tile: {length} multiples for the shape {shape}")
    if times is not None and any(m is not None and m < 0 for m in times):
        raise ValueError(f"Tile: multiples are at least 0, got {list(times)}")
    known = shape_of_rank(length) if size is None else shape
    if known.rank is None:
        return [known]
    pairs = zip(known, [None] * known.rank if times is None else times, strict=True)
    dims = [0 if 0 in (d, m) else None if d is None or m is None else d * m for d, m in pairs]
    return [TensorShape(dims)]


def _tiled(x: Any, times: Ints) -> Any:
    if len(times) != x.ndim or min(times, default=0) < 0:
        raise InvalidArgumentError(
            f"a tensor of shape {list(x.shape)} needs {x.ndim} multiples of at least 0, got {list(times)}"
        )
    if x.ndim == 1:
        return np.concatenate((x,) * times[0]) if times[0] else x[:0].copy()
    # One copy: each axis gets a repeat axis before it, which the assignment fills.
    pairs = list(zip(times, x.shape, strict=True))
    out = np.empty([n for pair in pairs for n in pair], x.dtype)
    out[...] = x.reshape([n for dim in x.shape for n in (1, dim)])
    return out.reshape([m * d for m, d in pairs])


def _tile_kernel(ctx: KernelContext) -> Kernel:
    times = constant_ints(ctx, 1)
    if times is None:
        return with_boxed(lambda x, multiples: _tiled(x, ints(multiples)), *ctx.inputs)
    return with_boxed(lambda x, _multiples: _tiled(x, times), *ctx.inputs)


def _tile_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    value, multiples = op.inputs
    times = constant_ints_of(multiples)
    if value.shape.is_fully_defined() and times is not None:
        pairs = np.stack([times, value.shape.as_tuple()], axis=1).astype(np.int32).reshape(-1)
        axes = constant(np.arange(0, pairs.size, 2, dtype=np.int32), graph=grad.graph)
        split_axes = reshape(grad, pairs)
    else:
        pairs_of = stack([multiples, shape(value, out_type=multiples.dtype)], axis=1)
        split_axes = reshape(grad, reshape(pairs_of, [-1]))
        axes = range_(0, rank(value) * 2, 2)
    total = raw.Sum(split_axes, axes, keep_dims=False)
    total.set_shape(value.shape)
    return [total, None]


op("Tile", _infer_tile, kernel=_tile_kernel, grad=_tile_gradient, sized_by=(1,))


# -- Pad, PadV2 ------------------------------------------------------------------------------------


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """Return the tensor with a margin.

    Args:
        tensor: a tensor of rank n.
        paddings: positions before and after along each axis, int32 or int64 of shape [n, 2]; a tensor of
            statically known value can no longer be fed.
        mode: ``CONSTANT``, or ``REFLECT`` or ``SYMMETRIC`` for a mirror without or with the edge.
        constant_values: scalar to fill a constant margin with.
    """
    value = convert_to_tensor(tensor)
    kind = mode.upper()
    if kind not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(f"pad: mode is CONSTANT, REFLECT or SYMMETRIC, got {mode!r}")
    with value.graph.name_scope(name or "Pad") as scope:
        margins = convert_to_tensor(as_integers(paddings), name="paddings", graph=value.graph)
        if isinstance(paddings, Tensor) or margins.op.type != "Const":
            get_static_value(margins, partial=True)  # as TensorFlow's does
        if kind != "CONSTANT":
            padded = raw.MirrorPad(value, margins, mode=kind, name=scope)
        elif not hasattr(constant_values, "_as_graph_element") and constant_values == 0:
            padded = raw.Pad(value, margins, name=scope)
        else:
            filler = convert_to_tensor(constant_values, value.dtype, graph=value.graph)
            padded = raw.PadV2(value, margins, filler, name=scope)
    return padded


def margins_of(value: Any) -> list[tuple[int, int]]:
    """Return the pairs of a matrix of paddings.

    Raises:
        InvalidArgumentError: if it does not have two columns.
    """
    if value.ndim != 2 or value.shape[1] != 2:
        raise InvalidArgumentError(f"paddings have shape [rank, 2], got a tensor of shape {list(value.shape)}")
    return [(before, after) for before, after in value.tolist()]


def padded_rank(ctx: InferContext) -> int | None:
    """Return the rank of a tensor with paddings as second input, if either determines it.

    Raises:
        ValueError: if the paddings are not a matrix with a pair for each axis.
    """
    require_rank(ctx, 1, rank=2)
    size, margins = ctx.inputs[0].shape.rank, ctx.inputs[1].shape
    if margins.rank is None:
        return size
    length = margins[0]
    if margins[1] not in (None, 2) or (size is not None and length not in (None, size)):
        raise ValueError(f"{ctx.op}: paddings have shape [rank, 2], got {margins} for the shape {ctx.inputs[0].shape}")
    return length if size is None else size


def infer_pad(ctx: InferContext) -> list[TensorShape]:
    """Return the static type of a padded tensor; the second input is the paddings."""
    shape, length = ctx.inputs[0].shape, padded_rank(ctx)
    known = ctx.numbers(1)
    if known is not None and (known < 0).any():
        raise ValueError(f"{ctx.op}: paddings are at least 0, got {known.astype(np.int64).tolist()}")
    if shape.rank is None or known is None:
        return [shape_of_rank(length)]
    wide = entries(margins_widths(known))
    pairs = zip(shape, wide, strict=True)
    dims: list[Dim] = [None if d is None or w is None else d + w for d, w in pairs]
    return [TensorShape(dims)]


def margins_widths(numbers: Any) -> Any:
    """Return what paddings add to each axis, given as in ``InferContext.numbers``."""
    return numbers.reshape(-1, 2).sum(axis=1)


def check_margins(x: Any, margins: list[tuple[int, int]]) -> None:
    """Check that there is a pair of paddings for each axis, none of them negative.

    Raises:
        InvalidArgumentError: if not.
    """
    if len(margins) != x.ndim or any(min(pair) < 0 for pair in margins):
        raise InvalidArgumentError(
            f"a tensor of shape {list(x.shape)} needs {x.ndim} pairs of paddings of at least 0, got {margins}"
        )


def _pad_kernel(ctx: KernelContext) -> Kernel:
    known, dtype = ctx.constant(1), ctx.outputs[0].dtype.np_dtype
    fixed = None if known is None else margins_of(known)
    zero = b"" if dtype.kind == "O" else 0

    def padded(x: Any, paddings: Any, filler: Any = zero) -> Any:
        margins = margins_of(paddings) if fixed is None else fixed
        check_margins(x, margins)
        pairs = list(zip(x.shape, margins, strict=True))
        dims = [d + before + after for d, (before, after) in pairs]
        if filler is zero and dtype.kind != "O":
            out = np.zeros(dims, dtype)
        else:
            out = np.full(dims, filler, dtype)
        out[tuple([slice(before, before + d) for d, (before, _) in pairs])] = x
        return out

    return padded


def _pad_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    from actorsession.ops.arrays.slicing import slice_

    rest: list[Tensor | None] = [None] * (len(op.inputs) - 1)
    value, paddings = op.inputs[:2]
    # As in TensorFlow, the filler has no gradient: it is a constant in practice.
    begin = paddings[:, 0]
    return [slice_(grad, begin, shape_tensor(value, paddings.dtype)), *rest]


for _name in ("Pad", "PadV2"):
    op(_name, infer_pad, kernel=_pad_kernel, grad=_pad_gradient, sized_by=(1,))
