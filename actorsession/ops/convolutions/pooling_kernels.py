"""Pools of arrays, channels last: the largest or the mean of each window, and their gradients.

Owns the numpy side of pools with any number of spatial axes; the op files call it. A window has few
elements, so each kernel goes over these, with one operation on whole images for each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.graph.registry import Array
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.windows import padded
from actorsession.ops.shape_operands import Ints

__all__ = [
    "averaged", "averaged_back", "chosen", "largest", "lowest", "spread", "window_argmax",
]  # fmt: skip


def lowest(dtype: np.dtype[Any]) -> Any:
    """What no element of a window is below: it stands where a window reaches over the edge."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return dtype.type(-np.inf)


def _whole(s: Sliding) -> slice:
    return slice(0, s.counts[0])


def largest(x: Array, s: Sliding) -> Array:
    """The maximum of each window: ``[batch, *counts, C]``; NaN if it holds one."""
    wide = padded(x, s.pads, lowest(x.dtype))
    first, *others = (wide[(slice(None), *s.at(position, _whole(s)))] for position in s.positions)
    out = first.copy()
    for view in others:
        np.maximum(out, view, out=out)
    return out


def window_argmax(x: Array, y: Array, s: Sliding) -> Array:
    """For each window, the number of the first of its elements that equals its maximum ``y``.

    One behind the last where none does, as with NaN.
    """
    wide = padded(x, s.pads, lowest(x.dtype))
    positions = s.positions
    small = np.uint8 if len(positions) < 255 else np.int32
    found = np.full(y.shape, len(positions), small)
    # Backwards, so that the first that is equal stays.
    for number in range(len(positions) - 1, -1, -1):
        view = wide[(slice(None), *s.at(positions[number], _whole(s)))]
        np.copyto(found, small(number), where=view == y)
    return found


def spread(x: Array, y: Array, g: Array, s: Sliding) -> Array:
    """The gradient by the images of a pool of maxima: all of it to the first maximum."""
    found = window_argmax(x, y, s)
    sizes = x.shape[1:-1]
    wide = _room(x.shape, g.dtype, s)
    zero = g.dtype.type(0)
    for number, position in enumerate(s.positions):
        view = wide[(slice(None), *s.at(position, _whole(s)))]
        view += np.where(found == number, g, zero)
    return _inner(wide, sizes, s)


def chosen(x: Array, y: Array, g: Array, s: Sliding) -> Array:
    """What ``g`` of the images' shape holds where the maxima are: the derivative of ``spread``."""
    found = window_argmax(x, y, s)
    wide = padded(g, s.pads)
    out = np.zeros(y.shape, g.dtype)
    for number, position in enumerate(s.positions):
        view = wide[(slice(None), *s.at(position, _whole(s)))]
        np.copyto(out, view, where=found == number)
    return out


def averaged(x: Array, s: Sliding) -> Array:
    """The mean of each window: what lies over the edge does not count."""
    wide = padded(x, s.pads)
    first, *others = (wide[(slice(None), *s.at(position, _whole(s)))] for position in s.positions)
    out = first.copy()
    for view in others:
        out += view
    out /= _members(x.shape[1:-1], s, out.dtype)
    return out


def averaged_back(shape: Ints, g: Array, s: Sliding) -> Array:
    """The gradient of ``averaged`` by images of a shape."""
    wide = _room(shape, g.dtype, s)
    share = g / _members(shape[1:-1], s, g.dtype)
    for position in s.positions:
        view = wide[(slice(None), *s.at(position, _whole(s)))]
        view += share
    return _inner(wide, shape[1:-1], s)


def _members(sizes: Ints, s: Sliding, dtype: np.dtype[Any]) -> Any:
    """How many elements of the images are in each window: a number, or ``[*counts, 1]``."""
    if not any(a or b for a, b in s.pads):
        return dtype.type(math.prod(s.window))
    total = np.ones((), np.intp)
    for axis, size in enumerate(sizes):
        start = np.arange(s.counts[axis]) * s.strides[axis] - s.pads[axis][0]
        stop = np.minimum(start + s.window[axis], size)
        total = np.multiply.outer(total, stop - np.maximum(start, 0))
    return total[..., None].astype(dtype)


def _room(shape: Ints, dtype: np.dtype[Any], s: Sliding) -> Array:
    extents = [size + a + b for size, (a, b) in zip(shape[1:-1], s.pads, strict=True)]
    return np.zeros((shape[0], *extents, shape[-1]), dtype)


def _inner(wide: Array, sizes: Ints, s: Sliding) -> Array:
    inner = tuple(slice(a, a + size) for size, (a, _) in zip(sizes, s.pads, strict=True))
    return np.ascontiguousarray(wide[(slice(None), *inner)])
