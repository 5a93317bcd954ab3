"""Elements reordered along axes: ``reverse``, ``reverse_sequence`` and ``roll``.

A reversal is a view; the others copy. Axes are constants in nearly every graph and are then checked while the
graph is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    ints,
    normal_axis,
    require_rank,
    shape_operand,
    vector_length,
    with_boxed,
)

__all__ = ["reverse", "reverse_sequence", "reverse_v2", "roll"]


# -- ReverseV2 -------------------------------------------------------------------------------------


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return the tensor reversed along some axes.

    Args:
        tensor: any tensor.
        axis: the axes, an int32 or int64 vector without repetitions; negative ones count from the end.

    Returns:
        A view.
    """
    value = convert_to_tensor(tensor)
    with value.graph.name_scope(name or "ReverseV2") as scope:
        return raw.ReverseV2(value, _integers(axis, value, "axis"), name=scope)


def _integers(entries: Any, value: Tensor, name: str) -> Tensor:
    """Convert integers: a scalar stays one, and an empty list does not become floats."""
    if isinstance(entries, (list, tuple)):
        return shape_operand(entries, value.graph, name)
    return convert_to_tensor(entries, name=name, graph=value.graph)


reverse_v2 = reverse


def _reversed_axes(axes: Ints, rank: int, error: Callable[[str], Exception]) -> Ints:
    positions = tuple(normal_axis(a, rank, "ReverseV2", error) for a in axes)
    if len(set(positions)) < len(positions):
        raise error(f"ReverseV2: each axis is given once, got {list(axes)}")
    return positions


def _infer_reverse(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    shape, axes = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if shape.rank is not None and axes is not None:
        _reversed_axes(axes, shape.rank, ValueError)
    return [shape]


def _reverse_kernel(ctx: KernelContext) -> Kernel:
    fixed = constant_ints(ctx, 1)

    def backwards(x: Any, axis: Any) -> Any:
        if axis.ndim != 1:
            raise InvalidArgumentError(f"axes are a vector, got shape {list(axis.shape)}")
        axes = ints(axis) if fixed is None else fixed
        backward_axes = _reversed_axes(axes, x.ndim, InvalidArgumentError)
        return x[tuple([slice(None, None, -1 if i in backward_axes else None) for i in range(x.ndim)])]

    return with_boxed(backwards, ctx.inputs[0])


op(
    "ReverseV2",
    _infer_reverse,
    kernel=_reverse_kernel,
    grad=lambda op, grad: [reverse(grad, op.inputs[1]), None],
    aliases=True,
)


# -- ReverseSequence -------------------------------------------------------------------------------


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: int, batch_axis: int | None = None, name: str | None = None
) -> Tensor:
    """Return the tensor with the beginning of each sequence reversed, and the rest unchanged.

    Args:
        input: a batch of sequences.
        seq_lengths: length of the reversed part of each sequence, int32 or int64; one entry per position of
            the batch axis.
        seq_axis: the axis along which a sequence runs.
        batch_axis: the axis of the batch, 0 if left out.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or "ReverseSequence") as scope:
        lengths = _integers(seq_lengths, value, "seq_lengths")
        return raw.ReverseSequence(value, lengths, seq_dim=int(seq_axis), batch_dim=int(batch_axis or 0), name=scope)


def _infer_reverse_sequence(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    shape, length = ctx.inputs[0].shape, vector_length(ctx.inputs[1])
    along, batch, rank = ctx.attrs["seq_dim"], ctx.attrs["batch_dim"], shape.rank
    if along == batch:
        raise ValueError(f"ReverseSequence: sequences and batch are two axes, got {along} for both")
    for axis in (along, batch):
        if axis < 0 or (rank is not None and axis >= rank):
            raise ValueError(f"ReverseSequence: axis {axis} is not in [0, {rank or 'rank'})")
    if rank is None or length is None:
        return [shape]
    dims = shape.as_list()
    if dims[batch] not in (None, length):
        raise ValueError(f"ReverseSequence: {length} lengths for axis {batch} of the shape {shape}")
    dims[batch] = length
    return [TensorShape(dims)]


def _reverse_sequence_kernel(ctx: KernelContext) -> Kernel:
    along, batch = ctx.attrs["seq_dim"], ctx.attrs["batch_dim"]

    def backwards(x: Any, lengths: Any) -> Any:
        if x.ndim <= max(along, batch) or lengths.shape != (x.shape[batch],):
            raise InvalidArgumentError(
                f"ReverseSequence: lengths of shape {list(lengths.shape)} for axes {batch} (batch) "
                f"and {along} (sequence) of a tensor of shape {list(x.shape)}"
            )
        extent = x.shape[along]
        if lengths.size and not (lengths.min() >= 0 and lengths.max() <= extent):
            raise InvalidArgumentError(f"ReverseSequence: lengths are in [0, {extent}], got {lengths.tolist()}")
        places = np.arange(extent)
        ends = lengths.astype(np.intp)[:, None]
        places = np.where(places < ends, ends - 1 - places, places)
        moved = np.moveaxis(x, (batch, along), (0, 1))
        rows = np.arange(x.shape[batch])[:, None]
        return np.moveaxis(moved[rows, places], (0, 1), (batch, along))

    return backwards


def _reverse_sequence_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    along, batch = op.attrs["seq_dim"], op.attrs["batch_dim"]
    return [reverse_sequence(grad, op.inputs[1], seq_axis=along, batch_axis=batch), None]


op("ReverseSequence", _infer_reverse_sequence, kernel=_reverse_sequence_kernel, grad=_reverse_sequence_gradient)


# -- Roll ------------------------------------------------------------------------------------------


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return the tensor with elements shifted along axes, cyclically.

    Args:
        input: a tensor of rank at least 1.
        shift: number of positions, an integer or a vector of them; a negative one shifts to the front.
        axis: the axis of each shift, of the shape of ``shift``; shifts along one axis add up.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or "Roll") as scope:
        places, axes = _integers(shift, value, "shift"), _integers(axis, value, "axis")
        return raw.Roll(value, places, axes, name=scope)


def _infer_roll(ctx: InferContext) -> list[TensorShape]:
    shape, shift, axis = (spec.shape for spec in ctx.inputs)
    if shape.rank == 0:
        raise ValueError("Roll: the tensor has rank at least 1, got a scalar")
    if max(shift.rank or 0, axis.rank or 0) > 1 or not shift.is_compatible_with(axis):
        raise ValueError(f"Roll: shift and axis are scalars or vectors of one length, got shapes {shift} and {axis}")
    for entry in constant_ints(ctx, 2) or ():
        if shape.rank is not None:
            normal_axis(entry, shape.rank, "Roll")
    return [shape]


def _rolled(xp: Any, ctx: KernelContext) -> Kernel:
    def rolled(x: Any, shift: Any, axis: Any) -> Any:
        if not x.ndim or shift.shape != axis.shape or shift.ndim > 1:
            raise InvalidArgumentError(
                f"Roll: shifts of shape {list(shift.shape)} and axes of shape {list(axis.shape)} for a "
                f"tensor of shape {list(x.shape)}: shifts and axes have one shape, and the tensor an axis"
            )
        axes = [normal_axis(a, x.ndim, "Roll", InvalidArgumentError) for a in ints(axis)]
        return xp.roll(x, ints(shift), axes)

    return rolled


def _roll_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    shift, axis = op.inputs[1:]
    return [roll(grad, raw.Neg(shift), axis), None, None]


op("Roll", _infer_roll, sentence=_rolled, grad=_roll_gradient)
