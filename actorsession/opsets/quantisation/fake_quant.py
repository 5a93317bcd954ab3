"""Simulated quantisation of floats to few bits: the functions ``fake_quant_with_min_max_...``.

Owns ``FakeQuantWithMinMaxArgs``, ``FakeQuantWithMinMaxVars``, ``FakeQuantWithMinMaxVarsPerChannel`` and the
gradient of each, as TensorFlow defines them. A range is first shifted a little, so that 0 is one of its
steps. Within the range the gradient is that of the identity; outside it the gradient goes to the end of the
range that was exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import make
from actorsession.ops.rows import full, op

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]


# -- public functions ------------------------------------------------------------------------------


def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Clip numbers to a range and round them to one of its steps.

    Args:
        inputs: float32.
        min: the lower end.
        max: the upper end, above ``min``.
        num_bits: 2 to 16: the range has ``2 ** num_bits - 1`` steps.
        narrow_range: whether the range has one step less.

    Raises:
        TypeError: for another dtype.
        ValueError: for an invalid range or number of bits.
    """
    return raw.FakeQuantWithMinMaxArgs(
        inputs, min=float(min), max=float(max), num_bits=int(num_bits), narrow_range=bool(narrow_range), name=name
    )


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the gradient through ``fake_quant_with_min_max_args``; arguments as there."""
    return raw.FakeQuantWithMinMaxArgsGradient(
        gradients,
        inputs,
        min=float(min),
        max=float(max),
        num_bits=int(num_bits),
        narrow_range=bool(narrow_range),
        name=name,
    )


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Quantise like ``fake_quant_with_min_max_args``, with tensors for the range: it can be learned.

    Args:
        inputs: float32.
        min: the lower end, a float32 scalar.
        max: the upper end, a float32 scalar.
    """
    return raw.FakeQuantWithMinMaxVars(
        inputs, min, max, num_bits=int(num_bits), narrow_range=bool(narrow_range), name=name
    )


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``fake_quant_with_min_max_vars`` by the inputs and both ends of the range."""
    return raw.FakeQuantWithMinMaxVarsGradient(
        gradients, inputs, min, max, num_bits=int(num_bits), narrow_range=bool(narrow_range), name=name
    )


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Quantise like ``fake_quant_with_min_max_vars``, with a range for each index of the last axis."""
    return raw.FakeQuantWithMinMaxVarsPerChannel(
        inputs, min, max, num_bits=int(num_bits), narrow_range=bool(narrow_range), name=name
    )


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``fake_quant_with_min_max_vars_per_channel``."""
    return raw.FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients, inputs, min, max, num_bits=int(num_bits), narrow_range=bool(narrow_range), name=name
    )


# -- static types ----------------------------------------------------------------------------------


def _checked(ctx: InferContext, numbers: int) -> TensorShape:
    """Check the operands and return the shape of the inputs, which are the first ``numbers`` operands."""
    names = [spec.dtype.name for spec in ctx.inputs]
    if any(spec.dtype is not float32 for spec in ctx.inputs):
        raise TypeError(f"{ctx.op} takes float32, got {', '.join(names)}")
    bits = ctx.attrs["num_bits"]
    if not 2 <= bits <= 16:
        raise ValueError(f"{ctx.op}: num_bits must be between 2 and 16, inclusive, got {bits}")
    if "min" in ctx.attrs and not ctx.attrs["min"] < ctx.attrs["max"]:
        raise ValueError(f"{ctx.op}: min has to be smaller than max, was: {ctx.attrs['min']} >= {ctx.attrs['max']}")
    shape = ctx.inputs[0].shape
    for spec in ctx.inputs[1:numbers]:
        if not shape.is_compatible_with(spec.shape):
            raise ValueError(f"{ctx.op}: gradients have shape {shape}, inputs {spec.shape}")
        shape = shape.merge_with(spec.shape)
    return shape


def _ends(ctx: InferContext, numbers: TensorShape, first: int) -> TensorShape:
    """Return the shape of the ends of ranges."""
    ends = ctx.inputs[first:]
    expected = scalar_shape
    if "PerChannel" in ctx.op:
        if numbers.rank == 0:
            raise ValueError(f"{ctx.op}: inputs have a last axis, got a scalar")
        expected = TensorShape([None if numbers.rank is None else numbers[-1]])
    if not all(spec.shape.is_compatible_with(expected) for spec in ends):
        raise ValueError(f"{ctx.op}: min and max have shape {expected}, got {ends[0].shape} and {ends[1].shape}")
    return expected


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    count = 2 if ctx.op.endswith("Gradient") else 1
    numbers = _checked(ctx, count)
    if "Args" in ctx.op:
        return [numbers]
    ends = _ends(ctx, numbers, count)
    return [numbers] if count == 1 else [numbers, ends, ends]


# -- kernels ---------------------------------------------------------------------------------------


def _moved(xp: Any, attrs: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Return the ends of the ranges, shifted so that 0 is a step, and the step size."""
    least, most = float(attrs["narrow_range"]), float((1 << attrs["num_bits"]) - 1)
    step = (high - low) / (most - least)
    zero = least - low / step
    # Halves are rounded away from 0; the values rounded here are not negative.
    zero = xp.where(zero < least, least, xp.where(zero > most, most, xp.floor(zero + 0.5)))
    return (least - zero) * step, (most - zero) * step, step


def _rounded(xp: Any, x: Any, low: Any, high: Any, step: Any) -> Any:
    inverse = 1.0 / step
    zero = xp.floor(-low * inverse + 0.5)
    inside = xp.maximum(xp.minimum(x, high), low)
    return xp.floor((inside - low) * inverse - zero + 0.5) * step


def _quantised(xp: Any, attrs: Any, x: Any, low: Any, high: Any) -> Any:
    empty = (low == 0) & (high == 0)
    return xp.where(empty, 0.0, _rounded(xp, x, *_moved(xp, attrs, low, high)))


def _flowing(xp: Any, attrs: Any, grad: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Return the gradient by the inputs, and the contributions to the lower and to the upper end."""
    empty = (low == 0) & (high == 0)
    first, last, _ = _moved(xp, attrs, low, high)
    inside = empty | ((x >= first) & (x <= last))
    # A product with 0 instead of the constant 0: infinities and NaN become NaN, as in TensorFlow.
    return (grad * inside, xp.where(~empty & (x < first), grad, 0.0), xp.where(~empty & (x > last), grad, 0.0))


def _check_values(op: str, x: Any, low: Any, high: Any, grad: Any = None) -> None:
    expected = x.shape[-1:] if "PerChannel" in op and x.ndim else ()
    if low.shape != expected or high.shape != expected or ("PerChannel" in op and not x.ndim):
        raise InvalidArgumentError(
            f"{op}: min and max have shape {list(expected)}, got {list(low.shape)} and {list(high.shape)}"
        )
    if grad is not None and grad.shape != x.shape:
        raise InvalidArgumentError(f"{op}: gradients have shape {list(grad.shape)}, inputs {list(x.shape)}")


def _fake_quant(xp: Any, ctx: KernelContext) -> Kernel:
    op, attrs = ctx.op, ctx.attrs
    is_gradient, is_fixed = op.endswith("Gradient"), "Args" in op

    def kernel(*values: Any) -> Any:
        grads, x, ends = values[:is_gradient], values[is_gradient], values[is_gradient + 1 :]
        low, high = [full(xp, (), attrs[end], x) for end in ("min", "max")] if is_fixed else ends
        _check_values(op, x, low, high, *grads)
        with np.errstate(all="ignore"):
            if not is_gradient:
                return _quantised(xp, attrs, x, low, high)
            back, *sides = _flowing(xp, attrs, grads[0], x, low, high)
        if is_fixed:
            return back
        rows = prod(x.shape[: x.ndim - low.ndim])
        return (back, *[side.reshape(rows, *low.shape).sum(0) for side in sides])

    return kernel


# -- rows ------------------------------------------------------------------------------------------


def _gradients(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return make(f"{op.type}Gradient", [grad, *op.inputs], op.attrs).outputs


for _kind in ("Args", "Vars", "VarsPerChannel"):
    op(f"FakeQuantWithMinMax{_kind}", _shapes, sentence=_fake_quant, grad=_gradients)
    op(f"FakeQuantWithMinMax{_kind}Gradient", _shapes, sentence=_fake_quant, grad=NOT_DIFFERENTIABLE)
