"""Blocks of a tensor moved into its batch, and back.

Owns ``SpaceToBatchND`` and ``BatchToSpaceND``, each of which is a reshape, a transposition and another
reshape; the kernels copy once. ``required_space_to_batch_paddings`` computes the padding with which a tensor
divides into blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.graph import constant_value
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.joining import stack
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make_one
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, constant_ints, ints, require_rank, shape_operand, vector_length

__all__ = [
    "batch_to_space",
    "batch_to_space_nd",
    "required_space_to_batch_paddings",
    "space_to_batch",
    "space_to_batch_nd",
]

_ErrorClass = Callable[[str], Exception]


# -- SpaceToBatchND, BatchToSpaceND ----------------------------------------------------------------


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Split a tensor into blocks; each position within a block becomes a separate batch.

    Args:
        input: ``[batch, ...]``; the axes after the batch are the spatial ones, as many as ``block_shape`` has
            entries.
        block_shape: extents of a block, int32 or int64 of shape ``[m]``, at least 1 each.
        paddings: number of zeros before and after along each spatial axis, int32 or int64 of shape ``[m,
            2]``.

    Returns:
        A tensor of ``[batch * product of block_shape, padded extent / block extent, ...]``.
    """
    return _moved("SpaceToBatchND", input, block_shape, paddings, "paddings", name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Reassemble blocks of a tensor: the inverse of ``space_to_batch_nd``.

    Args:
        input: ``[batch, ...]``.
        block_shape: extents of a block, int32 or int64 of shape ``[m]``; their product divides the batch.
        crops: number of positions to remove before and after along each spatial axis, int32 or int64 of shape
            ``[m, 2]``.

    Returns:
        A tensor of ``[batch / product of block_shape, extent * block extent - crops, ...]``.
    """
    return _moved("BatchToSpaceND", input, block_shape, crops, "crops", name)


def _moved(op: str, input: Any, block: Any, margins: Any, what: str, name: str | None) -> Tensor:
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or op) as scope:
        extents = shape_operand(block, value.graph, "block_shape")
        if isinstance(margins, (list, tuple)) and not len(margins):
            margins = np.zeros([0, 2], np.int32)
        pairs = convert_to_tensor(margins, name=what, graph=value.graph)
        return make_one(op, [value, extents, pairs], None, scope)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: int | None = None
) -> Tensor:
    """Apply ``space_to_batch_nd`` to images and square blocks; arguments as there."""
    out = space_to_batch_nd(input, _square(block_size, block_shape), paddings, name)
    return _image(out)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None, name: str | None = None, block_shape: int | None = None
) -> Tensor:
    """Apply ``batch_to_space_nd`` to images and square blocks; arguments as there."""
    out = batch_to_space_nd(input, _square(block_size, block_shape), crops, name)
    return _image(out)


def _square(size: int | None, other: int | None) -> Any:
    if (size is None) == (other is None):
        kind = TypeError if size is None else ValueError
        raise kind(f"give one of block_size and block_shape, got {size} and {other}")
    side = other if size is None else size
    return np.array([side, side], np.int64)


def _image(tensor: Tensor) -> Tensor:
    tensor.set_shape([None] * 4)
    return tensor


def _pairs(margins: Any) -> list[tuple[int, int]]:
    return [(before, after) for before, after in margins.tolist()]


def _check_blocks(op: str, rank: int, block: Ints, margins: list[tuple[int, int]], error: _ErrorClass) -> None:
    if len(margins) != len(block) or rank < len(block) + 1:
        raise error(
            f"{op}: a block of {list(block)} needs as many pairs of margins and as many axes behind "
            f"the batch, got {margins} and rank {rank}"
        )
    if min(block, default=1) < 1 or any(min(pair) < 0 for pair in margins):
        raise error(f"{op}: blocks are at least 1 and margins at least 0, got {list(block)} and {margins}")


def _blocks_shape(
    op: str, shape: list[Dim], block: Ints, margins: list[tuple[int, int]], error: _ErrorClass
) -> list[Dim]:
    """Return the shape of the result of either op."""
    _check_blocks(op, len(shape), block, margins, error)
    out, total, spatial = list(shape), prod(block), op == "SpaceToBatchND"
    if shape[0] is not None:
        if not spatial and shape[0] % total:
            raise error(f"{op}: a batch of {shape[0]} is not divisible by {total}")
        out[0] = shape[0] * total if spatial else shape[0] // total
    for axis, (side, (before, after)) in enumerate(zip(block, margins, strict=True), 1):
        dim = shape[axis]
        if dim is None:
            continue
        if spatial:
            whole = dim + before + after
            if whole % side:
                raise error(f"{op}: axis {axis} of {whole} with its margin is not divisible by {side}")
            out[axis] = whole // side
        else:
            kept = dim * side - before - after
            if kept < 0:
                raise error(f"{op}: {before} + {after} are cut off axis {axis} of {dim * side}")
            out[axis] = kept
    return out


def _infer_blocks(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    require_rank(ctx, 2, rank=2)
    shape, block, margins = ctx.inputs[0].shape, constant_ints(ctx, 1), ctx.constant(2)
    rank, axes = shape.rank, vector_length(ctx.inputs[1])
    if not ctx.inputs[2].shape.is_compatible_with([axes, 2]):
        raise ValueError(f"{ctx.op}: margins have shape [{axes}, 2], got {ctx.inputs[2].shape}")
    if rank is None:
        return [unknown_shape]
    if axes is not None and rank < axes + 1:
        raise ValueError(f"{ctx.op}: {axes} axes of blocks and a batch need more than {shape}")
    if axes == 0:
        return [shape]
    if block is None or margins is None:
        rest = shape[rank if axes is None else axes + 1 :]
        front = TensorShape([None] * (rank - len(rest)))
        return [front.concatenate(rest)]
    dims = _blocks_shape(ctx.op, shape.as_list(), block, _pairs(margins), ValueError)
    return [TensorShape(dims)]


def _space_to_batch(xp: Any, ctx: KernelContext) -> Kernel:
    zero: Any = b"" if ctx.inputs[0].dtype.kind == "s" else 0

    def moved(x: Any, block_shape: Any, paddings: Any) -> Any:
        block, margins = ints(block_shape), _pairs(paddings)
        out = [n or 0 for n in _blocks_shape("SpaceToBatchND", [*x.shape], block, margins, InvalidArgumentError)]
        batch, rest, padded = x.shape[0], x.shape[len(block) + 1 :], x
        sides = [count * side for count, side in zip(out[1:], block, strict=False)]
        if any(map(any, margins)):
            padded = xp.full([batch, *sides, *rest], zero, dtype=x.dtype, device=x.device)
            inside = [slice(before, n - after) for n, (before, after) in zip(sides, margins, strict=True)]
            padded[(slice(None), *inside)] = x
        parts = padded.reshape([batch, *[n for pair in zip(out[1:], block, strict=False) for n in pair], *rest])
        within, counts = range(2, 2 * len(block) + 1, 2), range(1, 2 * len(block) + 1, 2)
        order = [*within, 0, *counts, *range(2 * len(block) + 1, parts.ndim)]
        return xp.permute_dims(parts, order).reshape(out)

    return moved


def _batch_to_space(xp: Any, ctx: KernelContext) -> Kernel:
    def moved(x: Any, block_shape: Any, crops: Any) -> Any:
        block, margins = ints(block_shape), _pairs(crops)
        _blocks_shape("BatchToSpaceND", list(x.shape), block, margins, InvalidArgumentError)
        m = len(block)
        parts = x.reshape([*block, x.shape[0] // prod(block), *x.shape[1:]])
        inner = [axis for i in range(m) for axis in (m + 1 + i, i)]
        order = [m, *inner, *range(2 * m + 1, parts.ndim)]
        sides = [n * side for n, side in zip(x.shape[1:], block, strict=False)]
        whole = xp.permute_dims(parts, order).reshape([parts.shape[m], *sides, *x.shape[m + 1 :]])
        kept = [slice(a, n - b) for n, (a, b) in zip(sides, margins, strict=True)]
        return xp.asarray(whole[(slice(None), *kept)], copy=True) if any(map(any, margins)) else whole

    return moved


def _blocks_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    back = batch_to_space_nd if op.type == "SpaceToBatchND" else space_to_batch_nd
    return [back(grad, op.inputs[1], op.inputs[2]), None, None]


for _name, _sentence in (("SpaceToBatchND", _space_to_batch), ("BatchToSpaceND", _batch_to_space)):
    op(_name, _infer_blocks, sentence=_sentence, grad=_blocks_gradient, aliases=True, sized_by=(1, 2))


# -- required paddings -----------------------------------------------------------------------------


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the paddings with which a tensor divides into blocks, and the crops that remove them again.

    Args:
        input_shape: extents of the spatial axes, int32 of shape ``[m]``.
        block_shape: extents of a block, int32 of shape ``[m]``.
        base_paddings: minimum paddings, int32 of shape ``[m, 2]``; zeros if left out.

    Returns:
        Paddings for ``space_to_batch_nd`` and crops for ``batch_to_space_nd``, both of shape ``[m, 2]``.

    Raises:
        ValueError: if the number of axes is not known, or the shapes do not fit.
    """
    graph = graph_of(input_shape, block_shape, base_paddings)
    with graph.name_scope(name or "required_space_to_batch_paddings"):
        extents = convert_to_tensor(input_shape, int32, "input_shape", graph=graph)
        block = convert_to_tensor(block_shape, int32, "block_shape", graph=graph)
        count = vector_length(block.spec)
        if count is None or block.shape.rank != 1 or not extents.shape.is_compatible_with([count]):
            raise ValueError(
                "required_space_to_batch_paddings takes two vectors of one known length, got shapes "
                f"{extents.shape} and {block.shape}"
            )
        least = np.zeros([count, 2], np.int32) if base_paddings is None else base_paddings
        base = convert_to_tensor(least, int32, "base_paddings", graph=graph)
        if not base.shape.is_compatible_with([count, 2]):
            raise ValueError(f"base_paddings have shape [{count}, 2], got {base.shape}")
        known = [constant_value(t) for t in (extents, block, base)]
        if all(value is not None for value in known):
            paddings, crops = _known_paddings(*known)
            return (
                constant(paddings, int32, name="paddings", graph=graph),
                constant(crops, int32, name="crops", graph=graph),
            )
        return _computed_paddings(extents, block, base)


def _known_paddings(extents: Any, block: Any, base: Any) -> tuple[Any, Any]:
    before, after = base[:, 0], base[:, 1]
    extra = -(extents + before + after) % block
    crops = np.stack([np.zeros_like(extra), extra], axis=1)
    return np.stack([before, after + extra], axis=1), crops


def _computed_paddings(extents: Tensor, block: Tensor, base: Tensor) -> tuple[Tensor, Tensor]:
    before, after = base[:, 0], base[:, 1]
    whole = extents + before + after
    extra = (block - whole % block) % block
    paddings = stack([before, after + extra], axis=1, name="paddings")
    return paddings, stack([raw.ZerosLike(extra), extra], axis=1, name="crops")
