"""Real numbers rounded to the steps of few bits, and real still: ``quantize_and_dequantize`` and its forms.

Owns ``QuantizeAndDequantize`` in four versions. To the gradient of three of them rounding is the identity;
that of the fourth is zero outside the range and goes to its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import check_inputs, full, op

__all__ = ["quantize_and_dequantize", "quantize_and_dequantize_v2"]


# -- public functions ------------------------------------------------------------------------------


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Return real numbers rounded to the steps that a few bits can tell apart.

    Args:
        input: float32 or float64.
        input_min: the lower end of the range, or one for each index of ``axis``.
        input_max: the upper end, likewise.
        signed_input: whether one of the bits is a sign.
        num_bits: how many bits there are.
        range_given: whether the range is the given one; that of the numbers otherwise.
        round_mode: ``HALF_TO_EVEN`` or ``HALF_UP``.
        narrow_range: whether the lowest of the signed integers is left out.
        axis: the axis with ranges of their own; ``None`` for one range.
    """
    return raw.QuantizeAndDequantizeV2(
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        name=name,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
    )


def quantize_and_dequantize_v2(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Do the same as ``quantize_and_dequantize``, with a gradient that knows the range."""
    value = convert_to_tensor(input)
    ends = [convert_to_tensor(end, value.dtype) for end in (input_min, input_max)]
    return raw.QuantizeAndDequantizeV4(
        value,
        *ends,
        signed_input=signed_input,
        num_bits=num_bits,
        name=name,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
    )


# -- static types ----------------------------------------------------------------------------------


def _rounded(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    axis, shape = ctx.attrs.get("axis", -1), ctx.inputs[0].shape
    if axis < -1 or (shape.rank is not None and axis >= shape.rank):
        raise ValueError(f"{ctx.op}: axis is -1 or one of shape {shape}, got {axis}")
    if not 1 <= ctx.attrs.get("num_bits", 8) <= 63:
        raise ValueError(f"num_bits is out of range: {ctx.attrs['num_bits']}")
    for spec in ctx.inputs[1:3]:
        if ctx.op != "QuantizeAndDequantizeV3" and not spec.shape.is_compatible_with(
            scalar_shape if axis == -1 else [shape[axis] if shape.rank else None]
        ):
            raise ValueError(f"{ctx.op}: the ends of the range are scalars, or vectors with an axis, got {spec.shape}")
    return [shape]


# -- kernels ---------------------------------------------------------------------------------------


def _rounding(xp: Any, ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    axis, has_range = attrs.get("axis", -1), attrs["range_given"]

    def rounded(x: Any, low: Any = None, high: Any = None, bits: Any = None) -> Any:
        if low is None:
            low, high = [full(xp, (), attrs[end], x) for end in ("input_min", "input_max")]
        count = int(attrs["num_bits"] if bits is None else bits)
        if not 0 < count < (63 if attrs["signed_input"] else 64):
            raise InvalidArgumentError(f"num_bits is out of range: {count}")
        if 0 in x.shape:
            return full(xp, x.shape, 0, x)
        if not has_range:
            others = tuple([n for n in range(x.ndim) if n != axis])
            # Of no axis, one library takes all.
            low, high = [pick(x, others) if others else x for pick in (xp.amin, xp.amax)]
        elif (low > high).any():
            raise InvalidArgumentError(f"Invalid range: input_min {low} > input_max {high}")
        if axis >= 0:
            low, high = [end.reshape(_spread(x, axis)) for end in (low, high)]
        with np.errstate(all="ignore"):
            return _to_steps(xp, x, low, high, count, attrs)

    return rounded


def _spread(x: Any, axis: int) -> Sequence[int]:
    return (-1, *(1,) * (x.ndim - axis - 1)) if axis >= 0 else ()


def _to_steps(xp: Any, x: Any, low: Any, high: Any, bits: int, attrs: Any) -> Any:
    most = float((1 << (bits - 1)) - 1 if attrs["signed_input"] else (1 << bits) - 1)
    least = float(-(1 << (bits - 1)) + attrs.get("narrow_range", False) if attrs["signed_input"] else 0)
    none = float(xp.finfo(x.dtype).max)
    by_low = xp.where(least * low > 0, least / low, none)
    by_high = xp.where(most * high > 0, most / high, none)
    lower = by_low < by_high
    scale = xp.where(lower, by_low, by_high)
    inverse = xp.where(lower, low / least if least else 0.0, high / most)
    bottom, top = xp.where(lower, low, least * inverse), xp.where(lower, most * inverse, high)
    if attrs["range_given"]:
        x = xp.minimum(xp.maximum(xp.minimum(x, top), bottom), top)
    is_up = attrs.get("round_mode", "HALF_TO_EVEN") == "HALF_UP"
    return (xp.floor(x * scale + 0.5) if is_up else xp.round(x * scale)) * inverse


def _rounding_back(xp: Any, ctx: KernelContext) -> Kernel:
    axis = ctx.attrs["axis"]

    def back(grad: Any, x: Any, low: Any, high: Any) -> Any:
        if grad.shape != x.shape:
            raise InvalidArgumentError(
                f"gradient and input must be of one shape, got {list(grad.shape)} and {list(x.shape)}"
            )
        bottom, top = [end.reshape(_spread(x, axis)) for end in (low, high)]
        inside = (x >= bottom) & (x <= top)
        return xp.where(inside, grad, 0.0), xp.zeros_like(low), xp.zeros_like(high)

    return back


# -- gradients -------------------------------------------------------------------------------------


def _identity(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [grad, *[None] * (len(op.inputs) - 1)]


def _within(op: Operation, grad: Tensor) -> Any:
    return raw.QuantizeAndDequantizeV4Grad(grad, *op.inputs, axis=op.attrs["axis"])


for _version, _gradient in (("", _identity), ("V2", _identity), ("V3", _identity), ("V4", _within)):
    op(f"QuantizeAndDequantize{_version}", _rounded, sentence=_rounding, grad=_gradient)
op("QuantizeAndDequantizeV4Grad", lambda ctx: [spec.shape for spec in ctx.inputs[1:]], sentence=_rounding_back)
