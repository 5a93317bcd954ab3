"""Conversion between element types.

The results for values that the new type cannot hold are undefined, as in TensorFlow: integers wrap, floats
out of an integer's range become arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, bfloat16
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.composite_tensor import CompositeTensor
from actorsession.ops.operands import writes
from actorsession.ops.rows import op, same

__all__ = ["cast"]


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Return the same values with another element type.

    Args:
        x: numbers or bools; of a sparse tensor or of indexed slices the values get the type.
        dtype: the new type. Floats lose their fraction in an integer type, complex numbers their imaginary
            part in any other type. A bool is true if the remaining value differs from 0.
        name: wanted name.

    Returns:
        ``x`` itself if it has the type already.
    """
    if isinstance(x, CompositeTensor):
        converted: Tensor = x.with_values(cast(x._values, dtype, name))
        return converted
    tensor = convert_to_tensor(x)
    target = as_dtype(dtype)
    if tensor.dtype is target:
        return tensor
    return raw.Cast(tensor, DstT=target, name=name)


def _to_numbers(ctx: InferContext) -> Sequence[TensorShape]:
    target = as_dtype(ctx.attrs["DstT"])
    if not (target.is_numeric or target.is_bool or target.is_quantized):
        raise TypeError(f"Cast makes numbers and bools; {target.name} is neither")
    return same(ctx)


def _kernel(ctx: KernelContext) -> Kernel:
    source, target = ctx.inputs[0].dtype, ctx.outputs[0].dtype
    np_dtype = target.np_dtype
    if source.is_quantized or target.is_quantized:  # the integers alone count
        taken, integers_out = source.integers, target.integers
        return lambda x: np.asarray(x).view(taken).astype(integers_out).view(np_dtype)[()]
    if ctx.attrs.get("Truncate") and source.is_floating and target.is_floating:
        return lambda x: _truncated(np.asarray(x), target)[()]
    if source.is_complex and not target.is_complex:
        # The imaginary part is dropped explicitly: numpy would warn.
        return lambda x: x.real.astype(np_dtype)
    if ctx.inputs[0].shape.rank == 0 and _by_constructor(source, target):
        # np.float32(x) takes a fifth of the time of x.astype(np.float32).
        return np_dtype.type
    return lambda x: x.astype(np_dtype)


def _into(ctx: KernelContext) -> Kernel | None:
    return None if ctx.attrs.get("Truncate") else writes(_converted)(ctx)


def _converted(x: Any, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def _truncated(x: Array, target: DType) -> Array:
    """Return ``x`` in another floating type, rounded towards 0; a finite value never becomes infinite."""
    if x.dtype == np.float32 and target is bfloat16:
        return _upper_half(x)
    out = x.astype(target.np_dtype)
    beyond = np.abs(out.astype(x.dtype)) > np.abs(x)
    return np.where(beyond, np.nextafter(out, np.zeros((), out.dtype)), out)


def _upper_half(x: Array) -> Array:
    """Return float32 as bfloat16 by its upper bits, which takes a tenth of the time of a conversion."""
    bits = np.asarray(x, order="C")[..., None].view(np.uint16)
    out = bits[..., 1].copy().view(bfloat16.np_dtype)  # little-endian, like all supported machines
    nan = np.isnan(x)
    if nan.any():
        out[nan] = np.nan  # a NaN whose bits are all in the lower half would become infinite
    return out


def _by_constructor(source: DType, target: DType) -> bool:
    """Return whether the scalar type converts like ``astype``; for integer types it refuses NaN."""
    return source is not target and (target.is_floating or source.is_bool or source.is_integer)


def _gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    source, target = op.inputs[0].dtype, op.outputs[0].dtype
    smooth = all(d.is_floating or d.is_complex for d in (source, target))
    return [cast(grad, source) if smooth else None]


def _static_value(ctx: InferContext) -> Array | None:
    value = ctx.constant(0)
    target = as_dtype(ctx.attrs["DstT"])
    if value is None or ctx.attrs["Truncate"] or target.is_quantized:
        return None
    # Floats are converted to integers in the step only: numpy warns where they do not fit.
    if value.dtype.kind not in ("iubf" if target.is_floating else "iub"):
        return None
    with np.errstate(over="ignore"):
        return value.astype(target.np_dtype)


op("Cast", _to_numbers, grad=_gradient, kernel=_kernel, into_kernel=_into, static_value=_static_value)
