"""The arithmetic of quantised numbers: integers, and the range of real numbers that they divide evenly.

The least integer of a type stands for the lower end of the range and the greatest for the upper end, shifted
by less than a step so that 0 is one of them. TensorFlow rounds at certain places in float32 and at others in
float64, and so do these functions: the integers are to be the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, qint32, quint8
from actorsession.graph.registry import Array

__all__ = [
    "bounds",
    "integers_of",
    "product_range",
    "quantised",
    "quantised_exactly",
    "real",
    "real_exactly",
    "requantised",
    "round_away",
    "tagged",
]

_FLOAT = np.float32
# The ends of qint32 as float32 numbers that are int32 numbers too.
_LEAST, _MOST = _FLOAT(-2147483648.0), _FLOAT(2147483520.0)


def integers_of(values: Any, dtype: DType) -> Array:
    """Return the integers of quantised numbers."""
    return np.asarray(values).view(dtype.integers)


def tagged(integers: Any, dtype: DType) -> Array:
    """Return integers as numbers of a quantised type."""
    return np.ascontiguousarray(integers, dtype.integers).view(dtype.np_dtype).reshape(np.shape(integers))


def bounds(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest integer of a quantised type."""
    info = np.iinfo(dtype.integers)
    return int(info.min), int(info.max)


def round_away(x: Any) -> Any:
    """Return the nearest integers, and of two the one further from zero, as C's ``round`` has it."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def quantised_exactly(x: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Return the integer of each real number, in float64 and without a clamp."""
    least, most = bounds(dtype)
    if low == high:
        return np.full(np.shape(x), least, np.int64)
    steps = float(most - least + 1)
    scale = steps / (float(_FLOAT(high) - _FLOAT(low)) * (steps / (steps - 1)))
    wide = np.asarray(x, np.float64)
    start = round_away(np.float64(low) * np.float64(scale))
    return (round_away(wide * scale) - start).astype(np.int64) + least


def quantised(x: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Return the integer of each real number, in float32 and within the type."""
    least, most = bounds(dtype)
    span = _FLOAT(high) - _FLOAT(low)
    scale = _FLOAT(float(most - least) / float(span)) if span else _FLOAT(0)
    start = round_away(_FLOAT(low) * scale) - _FLOAT(least)
    steps = round_away(np.asarray(x, _FLOAT) * scale) - start
    return np.clip(steps, max(_FLOAT(least), _LEAST), min(_FLOAT(most), _MOST)).astype(np.int64)


def real_exactly(integers: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Return the real number of each integer, by way of float64."""
    least, most = bounds(dtype)
    if low == high:
        return np.full(np.shape(integers), low, _FLOAT)
    steps = float(most - least + 1)
    scale = float(_FLOAT(high) - _FLOAT(low)) * (steps / (steps - 1)) / steps
    start = float(round_away(_FLOAT(low) / _FLOAT(scale))) * float(_FLOAT(scale))
    return (start + (np.asarray(integers, np.float64) - least) * scale).astype(_FLOAT)


def real(integers: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Return the real number of each integer, in float32."""
    least, most = bounds(dtype)
    scale = _FLOAT(float(_FLOAT(high) - _FLOAT(low)) / float(most - least))
    start = _FLOAT(low) if low == high else round_away(_FLOAT(low) / scale) * scale
    return (start - _FLOAT(least) * scale) + np.asarray(integers, _FLOAT) * scale


def product_range(
    a: tuple[Any, Any], a_type: DType, b: tuple[Any, Any], b_type: DType, dtype: DType
) -> tuple[Any, Any]:
    """Return the range of products of numbers of two ranges."""
    steps = []
    for (low, high), each in ((a, a_type), (b, b_type)):
        least, most = bounds(each)
        steps.append((_FLOAT(high) - _FLOAT(low)) / _FLOAT(most - least))
    least, most = bounds(dtype)
    step = steps[0] * steps[1]
    return step * _FLOAT(least), step * _FLOAT(most)


def requantised(integers: Any, old: tuple[Any, Any], old_type: DType, new: tuple[Any, Any], new_type: DType) -> Any:
    """Return integers of one range and type as those of another; 32 bits become 8 in fixed point."""
    if (old_type, new_type) != (qint32, quint8):
        return quantised(real(integers, *old, old_type), *new, new_type)
    (low, high), (least, most) = map(_FLOAT, old), map(_FLOAT, new)
    old_range, new_range = high - low, most - least
    if new_range == 0:
        return np.zeros(np.shape(integers), np.int64)
    scale = int(255.0 * 65536 * float(old_range) / float(new_range))
    inverse = _FLOAT(255.0 / float(new_range))
    centre = _FLOAT(float(low + high) / 2.0)
    offset = int(centre * inverse * _FLOAT(65536))
    start = int(round_away(np.float64(65536 * (float(least) * 255.0) / float(new_range))))
    fixed = (np.asarray(integers, np.int64) * scale) >> 32
    return np.clip((fixed + (offset - start + 32768)) >> 16, 0, 255)
