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
        given: Array = np.ascontiguousarray(x).reshape(np.shape(x))
        if ratio > 1:
            if not given.ndim or given.shape[-1] != ratio:
                raise InvalidArgumentError(_wrong_length(source, target, str(list(given.shape))))
            dims: tuple[int, ...] = given.shape[:-1]
        elif ratio == 1:
            dims = given.shape
        else:
            dims = (*given.shape, source.itemsize // target.itemsize)
        return given.reshape(-1).view(target.np_dtype).reshape(dims)

    return bitcast


op("Bitcast", _bitcast_shape, kernel=_bitcast_kernel, aliases=True)


# -- saturate_cast -------------------------------------------------------------------------------


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Return numbers with another element type; those outside its range are clamped to it.

    Of complex numbers, a real type gets the real part.
    """
    given, wanted = convert_to_tensor(value), as_dtype(dtype)
    for found in (given.dtype, wanted):
        if not found.is_numeric:
            raise TypeError(f"saturate_cast converts numbers; {found.name} has no range")
    with given.graph.name_scope(name or "saturate_cast") as scope:
        if given.dtype.is_complex and wanted.is_complex:
            first, second = (_clamped(t, _part_dtype(wanted)) for t in (real(given), imag(given)))
            return cast(complex_(first, second), wanted, scope)
        return cast(_clamped(real(given), _part_dtype(wanted)), wanted, scope)


def _part_dtype(dtype: DType) -> DType:
    return as_dtype(f"float{dtype.itemsize * 4}") if dtype.is_complex else dtype


def _clamped(value: Tensor, wanted: DType) -> Tensor:
    (low, high), (lowest, highest) = _range(value.dtype), _range(wanted)
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
    made = np.array(number, dtype.np_dtype)
    if dtype.is_floating and (float(made) < number if up else float(made) > number):
        made = np.nextafter(made, np.zeros((), dtype.np_dtype))
    return np.asarray(made)
