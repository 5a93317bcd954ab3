"""Window functions for the frames of a signal: Hann, Hamming, Kaiser and Vorbis windows."""

from __future__ import annotations

import math
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, float32, int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import range_
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.reversal import reverse_v2
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import cos, sin, sqrt, square
from actorsession.ops.reductions.cumulative import cumsum
from actorsession.ops.shape_operands import constant_ints_of
from actorsession.opsets.special.bessel import bessel_i0

__all__ = ["hamming_window", "hann_window", "kaiser_bessel_derived_window", "kaiser_window", "vorbis_window"]


def hann_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return a Hann window: one period of a raised cosine, from 0 to 1 and back.

    Args:
        window_length: length of the window, an int32 scalar.
        periodic: whether a window of even length is periodic; otherwise it is symmetric.
        dtype: a floating type.
    """
    return _cosine(name or "hann_window", window_length, periodic, dtype, 0.5)


def hamming_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return a Hamming window: like Hann's, from 0.08 to 1; arguments as for ``hann_window``."""
    return _cosine(name or "hamming_window", window_length, periodic, dtype, 0.54)


def _cosine(name: str, length: Any, periodic: bool, dtype: Any, middle: float) -> Tensor:
    kind, size = _floating(dtype), convert_to_tensor(length, int32, "window_length")
    with size.graph.as_default(), size.graph.name_scope(name):
        size.shape.assert_has_rank(0)
        known = constant_ints_of(size)
        if known == (1,):
            return ones([1], kind)
        # For odd lengths both forms are equal, as in TensorFlow; a single number is at the middle.
        even = 1 - size % 2
        period = size + even - 1 if periodic else size - 1
        places = cast(range_(size), kind) * (2 * math.pi) / cast(maximum(period, 1), kind)
        if known is None:
            places = places + math.pi * cast(maximum(2 - maximum(size, 1), 0), kind)
        return middle - (1 - middle) * cos(places)


def _floating(dtype: Any) -> DType:
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind.name}")
    return kind


def vorbis_window(window_length: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return the window of Vorbis, the sine of the square of a sine.

    Args:
        window_length: length of the window, an int32 scalar.
        dtype: a floating type.
    """
    kind, size = _floating(dtype), convert_to_tensor(window_length, int32, "window_length")
    with size.graph.as_default(), size.graph.name_scope(name or "vorbis_window"):
        places = (cast(range_(size), kind) + 0.5) * math.pi / cast(size, kind)
        return sin(math.pi / 2 * square(sin(places)))


def kaiser_window(window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return a Kaiser window.

    Args:
        window_length: length of the window, an int32 scalar.
        beta: shape parameter; larger values are narrower.
        dtype: a floating type.
    """
    kind, size = _floating(dtype), convert_to_tensor(window_length, int32, "window_length")
    with size.graph.as_default(), size.graph.name_scope(name or "kaiser_window"):
        if constant_ints_of(size) == (1,):
            return ones([1], kind)
        narrow = cast(convert_to_tensor(beta, dtype_hint=kind), kind)
        half = cast(size - 1, kind) / 2
        part = (cast(range_(size), kind) - half) / half
        return bessel_i0(narrow * sqrt(maximum(1 - square(part), 0))) / bessel_i0(narrow)


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return the window derived from sums of Kaiser's; arguments as for ``kaiser_window``.

    Returns:
        A window of that length, or one less for an odd length.
    """
    kind, size = _floating(dtype), convert_to_tensor(window_length, int32, "window_length")
    graph = size.graph
    with graph.as_default(), graph.name_scope(name or "kaiser_bessel_derived_window"):
        sums = cumsum(kaiser_window(size // 2 + 1, beta, kind))
        half = sqrt(sums[:-1] / sums[-1])
        window = concat([half, reverse_v2(half, [0])], 0)
        known = constant_ints_of(size)
        window.set_shape([known[0] // 2 * 2 if known else None])
        return window
