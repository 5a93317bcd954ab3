"""Real numbers to quantised ones and back: ``QuantizeV2``, ``Dequantize``, and changes of the range.

Owns ``Requantize``, ``RequantizationRange`` and ``QuantizeDownAndShrinkRange`` as well, which bring sums of
products back to few bits. ``ranges`` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, qint32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.rows import check_inputs, op
from actorsession.opsets.quantisation.ranges import (
    bounds,
    integers_of,
    quantised,
    real,
    real_exactly,
    requantised,
    round_away,
    tagged,
)

__all__ = ["dequantize", "quantize", "quantize_v2"]

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_FLOAT = np.float32


# -- public functions ------------------------------------------------------------------------------


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return real numbers as integers of a quantised type, and the range that these divide.

    Args:
        input: float32.
        min_range: the wanted lower end, a scalar, or one for each index of ``axis``.
        max_range: the wanted upper end, likewise.
        T: a quantised type.
        mode: ``MIN_COMBINED``, ``MIN_FIRST`` or ``SCALED``: how the range is divided.
        round_mode: ``HALF_AWAY_FROM_ZERO``, or with ``SCALED`` also ``HALF_TO_EVEN``.
        narrow_range: whether the least integer of a signed type is left out, with ``SCALED``.
        axis: the axis with ranges of their own; ``None`` for one range.
        ensure_minimum_range: the ends are at least this apart, relative to their size.

    Returns:
        The integers, and the lower and upper end of their range.
    """
    return raw.QuantizeV2(
        input,
        min_range,
        max_range,
        T=T,
        mode=mode,
        round_mode=round_mode,
        name=name,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=ensure_minimum_range,
    )


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Do the same as ``quantize``, with TensorFlow 1's order of arguments."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis, ensure_minimum_range)


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = float32,
) -> Tensor:
    """Return the real numbers that quantised ones stand for; arguments as for ``quantize``."""
    return raw.Dequantize(
        input,
        min_range,
        max_range,
        mode=mode,
        narrow_range=narrow_range,
        dtype=dtype,
        name=name,
        axis=-1 if axis is None else axis,
    )


# -- static types ----------------------------------------------------------------------------------


def _ends(ctx: InferContext) -> TensorShape:
    """Return the shape of each end of the range, after a check of attributes."""
    check_inputs(ctx)
    if ctx.attrs["mode"] not in _MODES:
        raise ValueError(f"{ctx.op}: mode is one of {', '.join(_MODES)}, got {ctx.attrs['mode']!r}")
    axis, shape = ctx.attrs["axis"], ctx.inputs[0].shape
    if axis < -1:
        raise ValueError(f"{ctx.op}: axis should be at least -1, got {axis}")
    expected = scalar_shape if axis == -1 else TensorShape([shape[axis]] if shape.rank else None)
    for spec in ctx.inputs[1:]:
        if not spec.shape.is_compatible_with(expected):
            raise ValueError(f"{ctx.op}: the ends of the range have shape {expected}, got {spec.shape}")
    return expected


def _quantised(ctx: InferContext) -> Sequence[TensorShape]:
    ends = _ends(ctx)
    scaled = ctx.attrs["mode"] == "SCALED"
    if ctx.attrs["round_mode"] not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise ValueError("round_mode is HALF_AWAY_FROM_ZERO or HALF_TO_EVEN, got " + ctx.attrs["round_mode"])
    if ctx.attrs["round_mode"] == "HALF_TO_EVEN" and not scaled:
        raise ValueError("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'")
    return [ctx.inputs[0].shape, ends, ends]


def _real(ctx: InferContext) -> Sequence[TensorShape]:
    _ends(ctx)
    return [ctx.inputs[0].shape]


# -- kernels ---------------------------------------------------------------------------------------


def _slices(x: Any, axis: int) -> list[Any]:
    """Return the indices of the parts of an array that have ranges of their own."""
    if axis == -1:
        return [...]
    return [(slice(None),) * axis + (index,) for index in range(x.shape[axis])]


def _check_ends(op_type: str, x: Any, low: Any, high: Any, axis: int) -> None:
    expected = () if axis == -1 else x.shape[axis : axis + 1]
    if np.shape(low) != expected or np.shape(high) != expected:
        raise InvalidArgumentError(
            f"{op_type}: the ends of the range have shape {list(expected)}, got {list(np.shape(low))} and "
            f"{list(np.shape(high))}"
        )


def _quantize_kernel(ctx: KernelContext) -> Kernel:
    attrs, dtype, axis = ctx.attrs, ctx.outputs[0].dtype, ctx.attrs["axis"]

    def quantize(x: Any, low: Any, high: Any) -> Any:
        _check_ends(ctx.op, x, low, high, axis)
        x = np.asarray(x)
        out = np.empty(x.shape, dtype.integers)
        ends = []
        pairs = zip(np.ravel(low), np.ravel(high), strict=True)
        for where, (least, most) in zip(_slices(x, axis), pairs, strict=True):
            out[where], *end = _part(x[where], *_apart(least, most, attrs), attrs, dtype)
            ends.append(end)
        limits = np.array(ends, _FLOAT).reshape(-1, 2).T.reshape(2, *np.shape(low))
        return tagged(out, dtype), limits[0].copy(), limits[1].copy()

    return quantize


def _apart(low: Any, high: Any, attrs: Any) -> tuple[Any, Any]:
    """Return a range that has 0 in it and is not too narrow.

    Raises:
        InvalidArgumentError: if its ends are in the wrong order.
    """
    if low > high:
        raise InvalidArgumentError(f"input_max_range must be larger than input_min_range, got {low} and {high}")
    least = min(_FLOAT(0), low)
    gap = max(_FLOAT(1), abs(low), abs(high)) * _FLOAT(attrs["ensure_minimum_range"])
    return least, max(max(high, least + gap), _FLOAT(0))


def _part(x: Any, low: Any, high: Any, attrs: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the integers of one range, and the range as it became."""
    least, most = bounds(dtype)
    if attrs["mode"] == "MIN_FIRST":
        return quantised(x, low, high, dtype), low, high
    if attrs["mode"] == "MIN_COMBINED":
        scale = _FLOAT((float(most) - float(least)) / float(high - low))
        steps = (np.clip(x, low, high) - low) * scale
        if least < 0:
            half = _FLOAT((float(most) - float(least) + 1) / 2)
            return round_away(steps - half).astype(np.int64), low, high
        return np.trunc(steps + _FLOAT(0.5)).astype(np.int64), low, high
    least += attrs["narrow_range"]
    none = np.finfo(_FLOAT).max
    by_low = _FLOAT(least) / low if least * low > 0 else none
    by_high = _FLOAT(most) / high if most * high > 0 else none
    scale = min(by_low, by_high)
    low, high = _FLOAT(least) / scale, _FLOAT(most) / scale
    steps = np.clip(x, low, high) * scale
    rounded = np.rint(steps) if attrs["round_mode"] == "HALF_TO_EVEN" else round_away(steps)
    return np.clip(rounded.astype(np.float64), least, most).astype(np.int64), low, high


def _dequantize_kernel(ctx: KernelContext) -> Kernel:
    attrs, dtype, axis = ctx.attrs, ctx.inputs[0].dtype, ctx.attrs["axis"]
    least, most = bounds(dtype)
    half = _FLOAT((float(most) - float(least) + 1) / 2) if least < 0 else _FLOAT(0)

    def numbers(x: Any, low: Any, high: Any) -> Any:
        if attrs["mode"] == "MIN_FIRST":
            return real(x, low, high, dtype)
        if attrs["mode"] == "SCALED":
            narrow = least + attrs["narrow_range"]
            scale = high / _FLOAT(most)
            return x.astype(_FLOAT) * (max(low / _FLOAT(narrow), scale) if narrow else scale)
        scale = (high - low) / _FLOAT(float(most) - float(least))
        return (x.astype(_FLOAT) + half) * scale + low

    def dequantize(x: Any, low: Any, high: Any) -> Any:
        _check_ends(ctx.op, x, low, high, axis)
        integers = integers_of(x, dtype)
        out = np.empty(integers.shape, _FLOAT)
        pairs = zip(np.ravel(low), np.ravel(high), strict=True)
        for where, (lower, upper) in zip(_slices(integers, axis), pairs, strict=True):
            out[where] = numbers(integers[where], lower, upper)
        return out.astype(ctx.outputs[0].dtype.np_dtype, copy=False)

    return dequantize


op("QuantizeV2", _quantised, kernel=_quantize_kernel)
op("Dequantize", _real, kernel=_dequantize_kernel)


# -- other ranges ----------------------------------------------------------------------------------


def _with_range(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    for spec in ctx.inputs[1:]:
        spec.shape.with_rank(0)
    ends = [scalar_shape, scalar_shape]
    return ends if ctx.op == "RequantizationRange" else [ctx.inputs[0].shape, *ends]


def _used(integers: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the range that numbers use, with 0 in it."""
    if not integers.size:
        return _FLOAT(0), _FLOAT(0)
    ends = np.array([integers.min(), integers.max()])
    least, most = real_exactly(ends, low, high, qint32)
    return min(least, _FLOAT(0)), most


def _requantize_kernel(ctx: KernelContext) -> Kernel:
    old_type, new_type = ctx.inputs[0].dtype, ctx.outputs[0].dtype

    def requantize(x: Any, low: Any, high: Any, *requested: Any) -> Any:
        integers = integers_of(x, old_type)
        least, most = requested or _used(integers, low, high)
        if requested and not (least <= 0 and most >= least):
            raise InvalidArgumentError(
                f"requested_output_min must be <= 0 and requested_output_max not below it, got {least} and {most}"
            )
        requantized = requantised(integers, (low, high), old_type, (least, most), new_type)
        return tagged(requantized, new_type), np.asarray(least, _FLOAT), np.asarray(most, _FLOAT)

    return requantize


def _used_kernel(ctx: KernelContext) -> Kernel:
    def used(x: Any, low: Any, high: Any) -> Any:
        return tuple([np.asarray(end) for end in _used(integers_of(x, qint32), low, high)])

    return used


op("Requantize", _with_range, kernel=_requantize_kernel)
op("QuantizeDownAndShrinkRange", _with_range, kernel=_requantize_kernel)
op("RequantizationRange", _with_range, kernel=_used_kernel)
