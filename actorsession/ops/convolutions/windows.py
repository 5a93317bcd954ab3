"""Windows that slide over the spatial axes of images: layouts, paddings, sizes and blocks.

Owns the arithmetic that convolutions and pooling share. The modules of the op types read their attributes
with ``windows_of``; kernels work on channels last (``channels_last``) and take their views from ``patches``.
Impossible sizes raise a ValueError while the graph is built and an InvalidArgumentError while a step runs:
callers choose by passing the error class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from actorsession.graph.registry import Array
from actorsession.graph.shape import Dim
from actorsession.ops.shape_operands import Ints
from actorsession.records import dataclass

__all__ = [
    "Pads",
    "Windows",
    "blocks",
    "channel_axis",
    "channels_last",
    "explicit_padding",
    "padded",
    "patches",
    "per_axis",
    "position_slices",
    "restored",
    "windows_of",
]

Pads: TypeAlias = "tuple[tuple[int, int], ...]"
Failure: TypeAlias = Callable[[str], Exception]

# A block of patches should stay in the cache, as BLAS reads it soon after it is written; but each call of
# BLAS waits for all its threads, so blocks should not be small either. Measured on two cores with 1 MiB of L2
# each and 32 MiB of L3 together: gradient by the images, convolution and gradient by the filter of
# 32x14x14x32 images and 5x5 windows to 64 channels in float32, the median of 25 in milliseconds, with
# interleaved sizes: 256 KiB 6.0 4.5 4.6, 512 KiB 4.5 3.8 3.8, 1 MiB 3.6 3.3 3.5, 2 MiB 3.4 2.9 3.0, 4 MiB 3.5
# 2.9 3.0, the whole batch 3.9 4.3 4.2. With one thread of BLAS the order is the same, from 6.4 5.1 5.3 to 4.7
# 4.1 4.7 at 2 MiB.
_BLOCK_BYTES = 1 << 21


def channel_axis(data_format: str, rank: int) -> int:
    """Return the axis of the channels, counted from the front.

    Args:
        data_format: ``NHWC``, ``NCHW`` or their forms for one or three spatial axes.
        rank: rank of the images.
    """
    return rank - 1 if data_format.endswith("C") else 1


def channels_last(x: Array, data_format: str) -> Array:
    """Return a view of images with the channels as the last axis."""
    return x if data_format.endswith("C") else np.moveaxis(x, 1, -1)


def restored(x: Array, data_format: str) -> Array:
    """Return images with channels last in the layout ``data_format``."""
    if data_format.endswith("C"):
        return x
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


@dataclass(frozen=True, slots=True)
class Windows:
    """The movement of windows over images, by spatial axis.

    Attributes:
        axes: the spatial axes of the images.
        strides: steps from window to window.
        dilations: steps between the elements of one window.
        padding: ``SAME``, ``VALID`` or ``EXPLICIT``.
        explicit: padding before and after, for ``EXPLICIT``.
        data_format: layout of the images.
    """

    axes: Ints
    strides: Ints
    dilations: Ints
    padding: str
    explicit: Pads
    data_format: str

    def output_dim(self, axis: int, size: Dim, window: Dim, error: Failure = ValueError) -> Dim:
        """Return the number of windows on spatial axis number ``axis``; ``None`` if unknown."""
        stride = self.strides[axis]
        if size is None:
            return None
        if self.padding == "SAME":
            return -(-size // stride)
        if window is None:
            return None
        covered = (window - 1) * self.dilations[axis] + 1
        size += sum(self.explicit[axis]) if self.padding == "EXPLICIT" else 0
        if size < covered:
            raise error(
                f"a window of {covered} does not fit on {size} elements of spatial axis {axis} "
                f"(padding {self.padding}): negative size of the output"
            )
        return (size - covered) // stride + 1

    def output_dims(self, sizes: Sequence[Dim], window: Sequence[Dim], error: Failure = ValueError) -> list[Dim]:
        """Return the number of windows on each spatial axis."""
        return [self.output_dim(i, size, wide, error) for i, (size, wide) in enumerate(zip(sizes, window, strict=True))]

    def pads(self, sizes: Ints, window: Ints) -> Pads:
        """Return the padding before and after the images on each spatial axis."""
        if self.padding == "EXPLICIT":
            return self.explicit
        if self.padding == "VALID":
            return ((0, 0),) * len(sizes)
        pads = []
        for i, (size, wide) in enumerate(zip(sizes, window, strict=True)):
            last = (-(-size // self.strides[i]) - 1) * self.strides[i]
            missing = max(last + (wide - 1) * self.dilations[i] + 1 - size, 0)
            pads.append((missing // 2, missing - missing // 2))
        return tuple(pads)


def per_axis(value: Any, data_format: str, what: str) -> Ints:
    """Return a number for each axis of the images, from one for each axis, each spatial axis, or all.

    Args:
        value: an int, or a sequence of 1, of as many ints as there are spatial axes, or of as many as there
            are axes; ``None`` stands for 1.
        data_format: layout of the images; its length is their rank.
        what: name of the numbers, for the error message.

    Raises:
        ValueError: for another length.
    """
    rank = len(data_format)
    if value is None:
        value = 1
    listed = [value] if isinstance(value, (int, np.integer)) else list(value)
    if len(listed) == rank:
        return tuple(int(v) for v in listed)
    if len(listed) == 1:
        listed = listed * (rank - 2)
    if len(listed) != rank - 2:
        raise ValueError(f"{what} has length 1, {rank - 2} or {rank} for {data_format}, got {value!r}")
    spatial = tuple(int(v) for v in listed)
    return (1, *spatial, 1) if data_format.endswith("C") else (1, 1, *spatial)


def explicit_padding(padding: Any, rank: int = 4) -> tuple[Any, Ints]:
    """Return the attributes ``padding`` and ``explicit_paddings`` for a padding argument.

    Args:
        padding: ``"SAME"``, ``"VALID"``, or a pair (before, behind) for each axis.
        rank: number of axes.

    Raises:
        ValueError: for a list of another form.
    """
    if isinstance(padding, str) or not isinstance(padding, (list, tuple, np.ndarray)):
        return padding, ()
    if len(padding) != rank or any(np.shape(pair) != (2,) for pair in padding):
        raise ValueError(f"a list of paddings is {rank} pairs (before, behind), got {padding!r:.100}")
    return "EXPLICIT", tuple(int(n) for pair in padding for n in pair)


def windows_of(attrs: Mapping[str, Any], rank: int, op: str, explicit: bool = False) -> Windows:
    """Return the windows that the attributes of a node describe.

    Args:
        attrs: attribute values of the node.
        rank: rank of its images.
        op: operation type, for messages.
        explicit: whether the node supports explicit paddings.

    Raises:
        ValueError: for invalid attributes.
        TypeError: if the padding is no string.
    """
    data_format = attrs.get("data_format", "NHWC")
    formats = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
    if data_format not in formats:
        raise ValueError(f"data_format of {op} is {' or '.join(formats)}, got {data_format!r}")
    padding = attrs["padding"]
    known = ("SAME", "VALID", "EXPLICIT") if explicit else ("SAME", "VALID")
    if not isinstance(padding, str):
        raise TypeError(f"padding of {op} is a string, got {padding!r}")
    if padding not in known:
        raise ValueError(f"padding of {op} is one of {', '.join(known)}, got {padding!r}")
    channel = channel_axis(data_format, rank)
    axes = tuple(i for i in range(1, rank) if i != channel)
    steps = _positive(attrs, "strides", rank, op)
    apart = _positive(attrs, "dilations", rank, op) if "dilations" in attrs else (1,) * rank
    return Windows(
        axes=axes,
        strides=tuple(steps[i] for i in axes),
        dilations=tuple(apart[i] for i in axes),
        padding=padding,
        explicit=_explicit_pads(attrs.get("explicit_paddings", ()), padding, axes, rank, op),
        data_format=data_format,
    )


def _positive(attrs: Mapping[str, Any], key: str, rank: int, op: str) -> Ints:
    values = tuple(attrs[key])
    if len(values) != rank or any(v < 1 for v in values):
        raise ValueError(f"{key} of {op} are {rank} numbers of at least 1, got {list(values)}")
    return values


def _explicit_pads(flat: Sequence[int], padding: str, axes: Ints, rank: int, op: str) -> Pads:
    if padding != "EXPLICIT":
        if flat:
            raise ValueError(f"explicit_paddings of {op} are for padding EXPLICIT, not {padding}")
        return ()
    if len(flat) != 2 * rank or min(flat) < 0:
        raise ValueError(f"explicit_paddings of {op} are {2 * rank} numbers of at least 0, got {list(flat)}")
    pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(rank)]
    if any(pairs[i] != (0, 0) for i in range(rank) if i not in axes):
        raise ValueError(f"{op} does not pad batches or channels, got {pairs}")
    return tuple(pairs[i] for i in axes)


# -- arrays with channels last -------------------------------------------------------------------


def padded(x: Array, pads: Pads, fill: Any = 0) -> Array:
    """Return images with ``fill`` around their spatial axes, or the images themselves without padding."""
    if not any(a or b for a, b in pads):
        return x
    inner = x.shape[1:-1]
    sizes = [a + size + b for size, (a, b) in zip(inner, pads, strict=True)]
    out = np.full((x.shape[0], *sizes, x.shape[-1]), fill, x.dtype)
    place = tuple(slice(a, a + size) for size, (a, _) in zip(inner, pads, strict=True))
    out[(slice(None), *place)] = x
    return out


def patches(x: Array, counts: Ints, window: Ints, strides: Ints, dilations: Ints) -> Array:
    """Return a read-only view of all windows: ``[batch, *counts, *window, channels]``."""
    batch, *steps, channel = x.strides
    return as_strided(
        x,
        (x.shape[0], *counts, *window, x.shape[-1]),
        (
            batch,
            *(step * stride for step, stride in zip(steps, strides, strict=True)),
            *(step * apart for step, apart in zip(steps, dilations, strict=True)),
            channel,
        ),
        writeable=False,
    )


def position_slices(position: Ints, counts: Ints, strides: Ints, dilations: Ints) -> tuple[slice, ...]:
    """Return the slices of padded images, by spatial axis, that hold element ``position`` of every window."""
    return tuple(
        slice(at * apart, at * apart + (count - 1) * stride + 1, stride)
        for at, count, stride, apart in zip(position, counts, strides, dilations, strict=True)
    )


def blocks(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Cut a batch into blocks of whole images or, if those are large, of rows of one image.

    Args:
        batch: number of images.
        rows: windows on their first spatial axis.
        row_bytes: size of the patches of one such row.
    """
    images = _BLOCK_BYTES // max(1, rows * row_bytes)
    if images:
        for first in range(0, batch, images):
            yield slice(first, min(first + images, batch)), slice(0, rows)
        return
    tall = max(1, _BLOCK_BYTES // max(1, row_bytes))
    for image in range(batch):
        for first in range(0, rows, tall):
            yield slice(image, image + 1), slice(first, min(first + tall, rows))
