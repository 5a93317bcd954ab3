"""Splitting of signals into overlapping frames, and addition of frames to a signal."""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import Dim
from actorsession.ops.arrays.array import pad, range_
from actorsession.ops.arrays.dimensions import rank as rank_of
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.scatter import unsorted_segment_sum
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.shape_operands import constant_ints_of, normal_axis

__all__ = ["frame", "overlap_and_add"]


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Split a signal into frames, which overlap if the step is shorter than the frames.

    Args:
        signal: numbers of rank 1 or more.
        frame_length: length of a frame, an int32 scalar.
        frame_step: distance between the starts of successive frames, an int32 scalar.
        pad_end: whether incomplete frames at the end are included and padded.
        pad_value: value for padding.
        axis: the axis to split.

    Returns:
        The signal with two axes in place of ``axis``: frames, and the samples of each.
    """
    value = convert_to_tensor(signal, name="signal")
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "frame"):
        length = convert_to_tensor(frame_length, int32, "frame_length")
        step = convert_to_tensor(frame_step, int32, "frame_step")
        filler = convert_to_tensor(pad_value, value.dtype, "pad_value")
        value.shape.with_rank_at_least(1)
        for scalar in (length, step, filler):
            scalar.shape.assert_has_rank(0)
        place = axis if value.shape.rank is None else normal_axis(axis, value.shape.rank, "frame")
        size = shape(value)[place]
        count = (size + step - 1) // step if pad_end else 1 + (size - length) // step
        count = maximum(0, count)
        if pad_end:
            value = _longer(value, place, maximum(0, length + step * (count - 1) - size), filler)
        places = expand_dims(range_(count) * step, 1) + range_(length)
        frames = gather(value, places, axis=place)
        return _shaped(frames, convert_to_tensor(signal), place, length, step, pad_end)


def _longer(value: Tensor, axis: int, extra: Tensor, filler: Tensor) -> Tensor:
    """Return a tensor padded with a filler at the end of an axis."""
    if value.shape.rank is not None:
        margins = [[0, 0] for _ in range(value.shape.rank)]
        wide: Any = margins
        wide[axis] = [0, extra]
        return pad(value, wide, constant_values=filler)
    number = rank_of(value)
    place = range_(number) - (number + axis if axis < 0 else axis)
    here = 1 - maximum(0, place) - maximum(0, -place)
    behind = maximum(0, here) * extra
    return pad(value, stack([behind * 0, behind], 1), constant_values=filler)


def _shaped(frames: Tensor, signal: Tensor, axis: int, length: Tensor, step: Tensor, pads: bool) -> Tensor:
    """Return the frames with their static shape, as far as it is known."""
    if signal.shape.rank is None:
        return frames
    dims = signal.shape.as_list()
    sizes, steps, old = constant_ints_of(length), constant_ints_of(step), dims[axis]
    count: Dim = None
    if steps and steps[0] and old is not None and (pads or sizes):
        new = -(-old // steps[0]) if pads or not sizes else 1 + (old - sizes[0]) // steps[0]
        count = max(0, new)
    frames.set_shape([*dims[:axis], count, sizes[0] if sizes else None, *dims[axis + 1 :]])
    return frames


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Add overlapping frames to a signal, each starting a step after the one before.

    Args:
        signal: numbers of shape ``[..., frames, frame_length]``.
        frame_step: the step, an int32 scalar.

    Returns:
        A tensor of shape ``[..., frame_length + step * (frames - 1)]``.
    """
    value = convert_to_tensor(signal, name="signal")
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "overlap_and_add"):
        value.shape.with_rank_at_least(2)
        step = convert_to_tensor(frame_step, name="frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype.name}")
        step.shape.assert_has_rank(0)
        sizes = shape(value)
        count, length = sizes[-2], sizes[-1]
        total = length + step * (count - 1)
        places = expand_dims(range_(count) * step, 1) + range_(length)
        flat = transpose(reshape(value, concat([[-1], sizes[-2:]], 0)), [1, 2, 0])
        added = unsorted_segment_sum(flat, places, total)
        overlapped = reshape(transpose(added), concat([sizes[:-2], expand_dims(total, 0)], 0))
        if value.shape.rank is not None:
            *outer, frames, size = value.shape.as_list()
            steps = constant_ints_of(step)
            known: Dim = None
            if frames is not None and size is not None and steps:
                known = size + steps[0] * (frames - 1)
            overlapped.set_shape([*outer, known])
        return overlapped
