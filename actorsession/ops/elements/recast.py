"""Reinterpretation and saturating conversion of elements: ``bitcast`` and ``saturate_cast``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.complex_numbers import complex as complex_
from actorsession.ops.elements.complex_numbers import imag, real
from actorsession.ops.rows import op

__all__ = ["bitcast", "saturate_cast"]


# -- bitcast -------------------------------------------------------------------------------------


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """Return the same bytes as elements of another type, in this machine's byte order.

    Args:
        input: numbers.
        type: the new type, of numbers. A smaller one adds a last axis; for a larger one the last axis must
            have as many elements as form one new element, and is dropped.
        name: wanted name.

    Raises:
        ValueError: if the last axis has another length.
    """
    return raw.Bitcast(input, type=type, name=name)


def _bitcast_shape(ctx: InferContext) -> Sequence[TensorShape]:
    source, target = ctx.inputs[0].dtype, as_dtype(ctx.attrs["type"])
    if not (target.is_numeric or target.is_quantized):
        raise TypeError(f"Bitcast makes numbers; got {target.name}")
    shape = ctx.inputs[0].shape
    if shape.rank is None:
        return [unknown_shape]
    if source.itemsize == target.itemsize:
        return [shape]
    if source.itemsize > target.itemsize:
        return [shape.concatenate([source.itemsize // target.itemsize])]
    ratio = target.itemsize // source.itemsize
    if shape.rank == 0 or shape[-1] not in (None, ratio):
        raise ValueError(_wrong_length(source, target, str(shape)))
    return [TensorShape(shape[:-1])]


def _wrong_length(source: DType, target: DType, shape: str) -> str:
    ratio = target.itemsize // source.itemsize
    return (
        f"Bitcast of {source.name} to {target.name} makes one element of {ratio}: the last axis "
        f"has that length; got shape {shape}"
    )


def _bitcast_kernel(ctx: KernelContext) -> Kernel:
    source, target = ctx.inputs[0].dtype, ctx.outputs[0].dtype
    ratio = target.itemsize // source.itemsize

    def bitcast(x: Any) -> Any:
        array: Array = np.ascontiguousarray(x).reshape(np.shape(x))
        if ratio > 1:
            if not array.ndim or array.shape[-1] != ratio:
                raise InvalidArgumentError(_wrong_length(source, target, str(list(array.shape))))
            dims: tuple[int, ...] = array.shape[:-1]
        elif ratio == 1:
            dims = array.shape
        else:
            dims = (*array.shape, source.itemsize // target.itemsize)
        return array.reshape(-1).view(target.np_dtype).reshape(dims)

    return bitcast


op("Bitcast", _bitcast_shape, kernel=_bitcast_kernel, aliases=True)


# -- saturate_cast -------------------------------------------------------------------------------


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Return numbers with another element type; those outside its range are clamped to it.

    Of complex numbers, a real type gets the real part.
    """
    tensor, target = convert_to_tensor(value), as_dtype(dtype)
    for each in (tensor.dtype, target):
        if not each.is_numeric:
            raise TypeError(f"saturate_cast converts numbers; {each.name} has no range")
    with tensor.graph.name_scope(name or "saturate_cast") as scope:
        if tensor.dtype.is_complex and target.is_complex:
            first, second = (_clamped(t, _part_dtype(target)) for t in (real(tensor), imag(tensor)))
            return cast(complex_(first, second), target, scope)
        return cast(_clamped(real(tensor), _part_dtype(target)), target, scope)


def _part_dtype(dtype: DType) -> DType:
    return as_dtype(f"float{dtype.itemsize * 4}") if dtype.is_complex else dtype


def _clamped(value: Tensor, target: DType) -> Tensor:
    (low, high), (lowest, highest) = _range(value.dtype), _range(target)
    if low >= lowest and high <= highest:
        return value
    ends = [
        convert_to_tensor(_nearest(max(low, lowest), value.dtype, up=True), graph=value.graph),
        convert_to_tensor(_nearest(min(high, highest), value.dtype, up=False), graph=value.graph),
    ]
    return raw.ClipByValue(value, *ends, name="clamp")


def _range(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest finite value, exactly: all of them are integers."""
    if dtype.is_integer:
        info = np.iinfo(dtype.np_dtype)
        return int(info.min), int(info.max)
    finfo: Any = ml_dtypes.finfo
    limit = int(float(finfo(dtype.np_dtype).max))
    return -limit, limit


def _nearest(number: int, dtype: DType, *, up: bool) -> Array:
    """Return the value of ``dtype`` that is nearest to an integer and not beyond it."""
    nearest = np.array(number, dtype.np_dtype)
    if dtype.is_floating and (float(nearest) < number if up else float(nearest) > number):
        nearest = np.nextafter(nearest, np.zeros((), dtype.np_dtype))
    return np.asarray(nearest)
