"""Resampling of a pixel grid along one axis: the source pixels and their weights.

All of TensorFlow's resize methods treat rows and columns alike, one after the other, so one ``Taps`` per axis
determines the result and its gradient. Coordinates are computed in float32, as in TensorFlow; otherwise
results would differ where a coordinate coincides with a pixel. Imports only numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.records import dataclass

__all__ = ["Taps", "area_taps", "bicubic_taps", "bilinear_taps", "nearest_taps", "resampled", "spread"]

# TensorFlow tabulates the weights of cubic curves at this many positions between two pixels.
_STEPS = 1024


@dataclass(frozen=True, slots=True)
class Taps:
    """The source pixels and weights of each new pixel along an axis.

    Attributes:
        places: old pixels, shape ``[new size, taps]``.
        weights: their weights, of the same shape, float32.
    """

    places: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]


def _scale(old: int, new: int, align_corners: bool) -> np.float32:
    if align_corners and new > 1:
        return np.float32(old - 1) / np.float32(new - 1)
    return np.float32(old) / np.float32(new)


def _positions(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Return the positions of the new pixels among the old ones."""
    steps, scale = np.arange(new, dtype=np.float32), _scale(old, new, align_corners)
    if half_pixel_centers:
        return (steps + np.float32(0.5)) * scale - np.float32(0.5)
    return steps * scale


def bilinear_taps(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Return the two nearest pixels, weighted by their proximity."""
    where = _positions(old, new, align_corners, half_pixel_centers)
    below = np.floor(where)
    upper = np.minimum(np.ceil(where).astype(np.int64), old - 1)
    lower = np.minimum(np.maximum(below.astype(np.int64), 0), upper)
    part = where - below
    return Taps(np.stack([lower, upper], 1), np.stack([np.float32(1) - part, part], 1))


def nearest_taps(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Return the nearest pixel."""
    steps, scale = np.arange(new, dtype=np.float32), _scale(old, new, align_corners)
    where = (steps + np.float32(0.5)) * scale if half_pixel_centers else steps * scale
    whole = np.floor(where + np.float32(0.5)) if align_corners else np.floor(where)
    places = np.clip(whole.astype(np.int64), 0, old - 1)
    return Taps(places[:, None], np.ones([new, 1], np.float32))


def bicubic_taps(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Return four pixels on a cubic curve; with half pixel centres those beyond the edge are ignored."""
    where = _positions(old, new, align_corners, half_pixel_centers)
    below = np.floor(where)
    part = np.rint((where - below) * np.float32(_STEPS)) / _STEPS
    taps = below.astype(np.int64)[:, None] + np.arange(-1, 3)
    places = np.clip(taps, 0, old - 1)
    sharpness = -0.5 if half_pixel_centers else -0.75
    distance = np.stack([part + 1, part, 1 - part, 2 - part], 1)
    near = ((sharpness + 2) * distance - (sharpness + 3)) * distance**2 + 1
    far = ((sharpness * distance - 5 * sharpness) * distance + 8 * sharpness) * distance
    weights = np.where(distance <= 1, near, far - 4 * sharpness)
    if half_pixel_centers:
        weights = np.where(places == taps, weights, 0.0)
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(np.abs(total) < np.finfo(np.float32).tiny * 1000, 1, total)
    return Taps(places, weights.astype(np.float32))


def area_taps(old: int, new: int, align_corners: bool) -> Taps:
    """Return all pixels that the new one covers, weighted by the covered fraction."""
    scale = _scale(old, new, align_corners)
    start = np.arange(new, dtype=np.float32) * scale
    end = np.arange(1, new + 1, dtype=np.float32) * scale
    first, last = np.floor(start).astype(np.int64), np.ceil(end).astype(np.int64)
    taps = first[:, None] + np.arange(max(1, int((last - first).max(initial=1))))
    low, high = np.maximum(taps, start[:, None]), np.minimum(taps + 1, end[:, None])
    covered = np.where(taps < last[:, None], np.maximum(high - low, 0), 0)
    # A place with weight 0 repeats one with positive weight, so that a NaN elsewhere has no effect.
    places = np.clip(np.minimum(taps, np.maximum(last[:, None] - 1, first[:, None])), 0, old - 1)
    return Taps(places, (covered / scale).astype(np.float32))


def _along(x: Any, taps: Taps, axis: int) -> Any:
    """Return ``x`` resampled along one axis."""
    shape = [1] * x.ndim
    shape[axis] = -1
    out = x.take(taps.places[:, 0], axis) * taps.weights[:, 0].reshape(shape)
    for tap in range(1, taps.places.shape[1]):
        weights = taps.weights[:, tap].reshape(shape)
        # A pixel of weight 0 is ignored even if it is not finite.
        part = x.take(taps.places[:, tap], axis)
        np.multiply(part, weights, out=part)
        np.copyto(part, 0, where=weights == 0)
        out += part
    return out


def resampled(x: Any, rows: Taps, columns: Taps) -> Any:
    """Return images ``[n, height, width, channels]`` at another size, in their dtype."""
    return _along(_along(x, columns, 2), rows, 1)


def _back(grad: Any, taps: Taps, axis: int, size: int) -> Any:
    """Return the gradient of ``_along``."""
    moved = np.moveaxis(grad, axis, 0)
    out = np.zeros((size, *moved.shape[1:]), grad.dtype)
    shape = (-1, *[1] * (moved.ndim - 1))
    for tap in range(taps.places.shape[1]):
        weights = taps.weights[:, tap].astype(grad.dtype).reshape(shape)
        np.add.at(out, taps.places[:, tap], moved * weights)
    return np.moveaxis(out, 0, axis)


def spread(grad: Any, rows: Taps, columns: Taps, height: int, width: int) -> Any:
    """Return the gradient of ``resampled``: that of each new pixel is distributed over its sources."""
    return np.ascontiguousarray(_back(_back(grad, rows, 1, height), columns, 2, width))
