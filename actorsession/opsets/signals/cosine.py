"""Cosine transforms of the first to the fourth type, composed of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import pad, range_
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.reversal import reverse_v2
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.complex_numbers import complex as complex_of
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.elements.elementwise import cos, rsqrt, sin, sqrt
from actorsession.opsets.signals.transforms import irfft, rfft

__all__ = ["dct", "idct"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """Return the cosine transform of a signal along the last axis, as in SciPy.

    Args:
        input: float32 or float64.
        type: 1 to 4.
        n: number of samples to transform, padded with zeros where there are fewer; all if left out.
        axis: must be -1.
        norm: ``ortho`` for an orthonormal transform, not with the first type; otherwise ``None``.
    """
    _check(type, n, axis, norm)
    value = convert_to_tensor(input, name="input")
    if value.shape.rank == 0:
        raise ValueError("a scalar has no axis to transform along")
    with value.graph.as_default(), value.graph.name_scope(name or "dct"):
        value = _resized(value, n)
        if type == 1 and value.shape.rank is not None and value.shape[-1] in (0, 1):
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
        return (_first, _second, _third, _fourth)[type - 1](value, norm == "ortho")


def idct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """Return the inverse of ``dct``, up to a factor of ``2 * n`` without ``norm``; arguments as there."""
    _check(type, n, axis, norm)
    return dct(input, _INVERSE[type], n, axis, norm, name)


def _check(type: int, n: int | None, axis: int, norm: str | None) -> None:
    if type not in _INVERSE:
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type == 1 and norm:
        raise ValueError("Normalization is not supported for the Type-I DCT.")


def _resized(value: Tensor, n: int | None) -> Tensor:
    """Return the first ``n`` samples of each signal, padded with zeros."""
    if n is None:
        return value
    rank = value.shape.rank
    if rank is None:
        raise ValueError("a number of numbers needs a signal of known rank")
    cut = value[..., :n]
    known = cut.shape[-1]
    if known == n:
        return cut
    missing = n - shape(cut)[-1] if known is None else n - known
    filled = pad(cut, [*[[0, 0]] * (rank - 1), [0, missing]])
    filled.set_shape(value.shape[:-1].concatenate([n]))
    return filled


def _count(value: Tensor) -> Any:
    """Return the length of the signals, as a number if it is known."""
    known = value.shape[-1] if value.shape.rank is not None else None
    return shape(value)[-1] if known is None else known


def _rotated(value: Tensor, angles: Tensor, away: bool) -> Tensor:
    """Return numbers times twice a rotation by angles, in one direction or the other."""
    way = sin(angles) * (-2 if away else 2)
    turns = complex_of(cos(angles) * 2, way)
    return value * turns


def _angles(value: Tensor) -> Tensor:
    """Return angles over a quarter turn, in as many steps as there are samples."""
    count = _count(value)
    steps = cast(range_(count), value.dtype)
    return steps * (math.pi / 2) / cast(convert_to_tensor(count, int32), value.dtype)


def _first(value: Tensor, normal: bool) -> Tensor:
    mirrored = concat([value, reverse_v2(value[..., 1:-1], [-1])], -1)
    return real(rfft(mirrored))


def _second(value: Tensor, normal: bool) -> Tensor:
    count = _count(value)
    half = rfft(value, convert_to_tensor([2 * count]))[..., :count]
    numbers = real(_rotated(half, _angles(value), away=True))
    return numbers * _weights(value, inverse=False) if normal else numbers


def _third(value: Tensor, normal: bool) -> Tensor:
    count = _count(value)
    if normal:
        scaled = value * _weights(value, inverse=True)
    else:
        scaled = value * cast(convert_to_tensor(count, int32), value.dtype)
    turned = _rotated(complex_of(scaled, scaled * 0), _angles(value), away=False)
    return irfft(turned, convert_to_tensor([2 * count]))[..., :count]


def _fourth(value: Tensor, normal: bool) -> Tensor:
    """Return every other number of a transform of twice the length."""
    count = _count(value)
    double = concat([value, value * 0], -1)
    numbers = _second(double, normal=False)[..., 1::2]
    if not normal:
        return numbers
    size = cast(convert_to_tensor(count, int32), value.dtype)
    return numbers * math.sqrt(0.5) * rsqrt(size)


def _weights(value: Tensor, inverse: bool) -> Tensor:
    """Return the factors of an orthonormal transform: that of the mean differs from all others."""
    size = cast(convert_to_tensor(_count(value), int32), value.dtype)
    first = sqrt(size) if inverse else 0.5 * rsqrt(size)
    others = first * (math.sqrt(0.5) if inverse else math.sqrt(2))
    is_first = cast(range_(_count(value)) < convert_to_tensor(np.int32(1)), value.dtype)
    return others + (first - others) * is_first
