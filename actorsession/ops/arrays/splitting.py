"""Splitting a tensor along an axis: ``split`` into equal pieces or by lengths.

Pieces are views. If lengths and axis are statically known, all indices are made when the plan is bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.joining import concat, without_gaps
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    ints,
    normal_axis,
    require_index,
    require_rank,
    shape_of_rank,
    shape_operand,
    vector_length,
)

__all__ = ["split"]


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Split a tensor into pieces along an axis.

    Args:
        value: a tensor of rank at least 1.
        num_or_size_splits: number of equal pieces, or a vector of their lengths, of which one may be -1 and
            is then computed.
        axis: scalar, may be negative.
        num: number of pieces if the length of a vector of lengths is not statically known.
    """
    tensor = convert_to_tensor(value)
    with tensor.graph.name_scope(name) as scope:
        where = convert_to_tensor(axis, name="split_dim", graph=tensor.graph)
        if isinstance(num_or_size_splits, (int, np.integer)):
            return raw.Split(where, tensor, num_split=int(num_or_size_splits), name=scope)
        sizes = shape_operand(num_or_size_splits, tensor.graph, "size_splits")
        count = vector_length(sizes.spec) if num is None else num
        if count is None:
            raise ValueError("split needs num: the number of lengths is not known early")
        return raw.SplitV(tensor, sizes, where, num_split=int(count), name=scope)


def _infer_split(ctx: InferContext) -> list[TensorShape]:
    require_index(ctx, 0)
    num = ctx.attrs["num_split"]
    if num < 1:
        raise ValueError(f"Split: at least one piece is made, got {num}")
    return _pieces(ctx.inputs[1].shape, constant_ints(ctx, 0), [None] * num, equal=True)


def _infer_split_v(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    require_index(ctx, 2)
    num, sizes = ctx.attrs["num_split"], constant_ints(ctx, 1)
    if sizes is not None and len(sizes) != num:
        raise ValueError(f"SplitV: {num} pieces were announced, got lengths {list(sizes)}")
    if sizes is not None and sizes.count(-1) > 1:
        raise ValueError(f"SplitV: one length may be -1, got lengths {list(sizes)}")
    known = [None] * num if sizes is None else [None if s == -1 else s for s in sizes]
    return _pieces(ctx.inputs[0].shape, constant_ints(ctx, 2), known, equal=False)


def _pieces(shape: TensorShape, axis: Ints | None, sizes: Sequence[Dim], *, equal: bool) -> list[TensorShape]:
    """Return the shapes of the pieces, given the lengths that are known."""
    if shape.rank is None or axis is None:
        return [shape_of_rank(shape.rank)] * len(sizes)
    dims = shape.as_list()
    where = normal_axis(axis[0], len(dims), "Split")
    total, known = dims[where], sum(s for s in sizes if s is not None)
    if total is not None:
        open_ends = sizes.count(None)
        rest = total - known
        if rest < 0 or (rest and not open_ends) or (equal and total % len(sizes)):
            raise ValueError(
                f"Split: {total} positions on axis {where} do not make {len(sizes)} pieces"
                + ("" if equal else f" of lengths {list(sizes)}")
            )
        if equal or open_ends == 1:
            sizes = [rest // open_ends if s is None else s for s in sizes]
    return [TensorShape([*dims[:where], length, *dims[where + 1 :]]) for length in sizes]


def _cut(x: Any, axis: int, sizes: Ints) -> Any:
    where = normal_axis(axis, x.ndim, "Split", InvalidArgumentError)
    total = x.shape[where]
    if sizes.count(-1) == 1:
        rest = total - sum(sizes) - 1
        sizes = tuple(rest if s == -1 else s for s in sizes)
    if min(sizes, default=0) < 0 or sum(sizes) != total:
        raise InvalidArgumentError(f"lengths {list(sizes)} do not make up axis {where} of shape {list(x.shape)}")
    return _at(x, _cuts(where, sizes))


def _cuts(axis: int, sizes: Ints) -> list[tuple[slice, ...]]:
    """Return the numpy index of each piece."""
    front = (slice(None),) * axis
    ends = list(accumulate(sizes))
    return [(*front, slice(end - size, end)) for end, size in zip(ends, sizes, strict=True)]


def _at(x: Any, indices: list[tuple[slice, ...]]) -> Any:
    return tuple([x[index] for index in indices]) if len(indices) != 1 else x[indices[0]]


def _early_cuts(ctx: KernelContext, axis: Ints | None) -> list[tuple[slice, ...]] | None:
    """Return the indices if all lengths are statically known."""
    if axis is None or any(spec.shape.rank is None for spec in ctx.outputs):
        return None
    where = normal_axis(axis[0], len(ctx.outputs[0].shape), "Split")
    sizes = [spec.shape[where] for spec in ctx.outputs]
    data = ctx.inputs[1 if ctx.op == "Split" else 0]
    if None in sizes or data.shape[where] is None:
        return None
    return _cuts(where, tuple(sizes))


def _split_kernel(ctx: KernelContext) -> Kernel:
    num = ctx.attrs["num_split"]
    cuts = _early_cuts(ctx, constant_ints(ctx, 0))
    if cuts is not None:
        return lambda _axis, x: _at(x, cuts)

    def pieces(axis: Any, x: Any) -> Any:
        where = normal_axis(int(axis), x.ndim, "Split", InvalidArgumentError)
        if x.shape[where] % num:
            raise InvalidArgumentError(f"axis {where} of shape {list(x.shape)} does not make {num} equal pieces")
        return _cut(x, where, (x.shape[where] // num,) * num)

    return pieces


def _split_v_kernel(ctx: KernelContext) -> Kernel:
    cuts = _early_cuts(ctx, constant_ints(ctx, 2))
    if cuts is not None and constant_ints(ctx, 1) is not None:
        return lambda x, _sizes, _axis: _at(x, cuts)
    return lambda x, sizes, axis: _cut(x, int(axis), ints(sizes))


op(
    "Split",
    _infer_split,
    kernel=_split_kernel,
    grad=lambda op, *grads: [None, concat(without_gaps(op, grads), op.inputs[0])],
    aliases=True,
)
op(
    "SplitV",
    _infer_split_v,
    kernel=_split_v_kernel,
    grad=lambda op, *grads: [concat(without_gaps(op, grads), op.inputs[2]), None, None],
    aliases=True,
)
