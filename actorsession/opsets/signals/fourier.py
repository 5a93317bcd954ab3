"""Fourier transforms along the last one, two or three axes, implemented with numpy.

Owns ``FFT``, ``IFFT``, ``RFFT`` and ``IRFFT`` with their forms ``...2D`` and ``...3D``. The real transforms
keep the half of a spectrum that determines the other half, and have the length of the signal as an operand.
The other modules of ``signals`` are composed of these ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, complex64, complex128, float32, float64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.array import pad
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.build import make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.complex_numbers import complex as complex_of
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.reductions.reduction import reduce_prod
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import Ints, constant_ints, ints

__all__ = ["COMPLEX", "REAL", "suffix"]

# The complex dtype with components of a real dtype, and the reverse.
COMPLEX = {float32: complex64, float64: complex128}
REAL = {wide: narrow for narrow, wide in COMPLEX.items()}


def suffix(rank: int) -> str:
    """Return the suffix of op types that transform along the given number of axes."""
    return "" if rank == 1 else f"{rank}D"


def _rank(op: str) -> int:
    """Return the number of axes along which an op type transforms."""
    return int(op[-2]) if op.endswith("D") else 1


def _half(sizes: Ints) -> Ints:
    """Return the sizes of the half spectrum of a real signal."""
    return (*sizes[:-1], sizes[-1] // 2 + 1 if sizes[-1] else 0)


# -- shape rules -----------------------------------------------------------------------------------


def _complex_shape(ctx: InferContext) -> Sequence[TensorShape]:
    whole, rank = ctx.inputs[0].shape, _rank(ctx.op)
    if whole.rank is not None and whole.rank < rank:
        raise ValueError(f"{ctx.op}: shape must be at least rank {rank}, got {whole}")
    return [whole]


def _real_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    rank, back = _rank(ctx.op), ctx.op.startswith("I")
    key, made_of = ("Treal", REAL) if back else ("Tcomplex", COMPLEX)
    dtype, out_dtype = ctx.inputs[0].dtype, as_dtype(ctx.attrs[key])
    if made_of[dtype] is not out_dtype:
        raise TypeError(f"{ctx.op} cannot make {out_dtype.name} of {dtype.name}")
    [whole], length = _complex_shape(ctx), ctx.inputs[1].shape
    if not length.is_compatible_with([rank]):
        raise ValueError(f"{ctx.op}: fft_length has shape [{rank}], got {length}")
    if whole.rank is None:
        return [unknown_shape]
    known = constant_ints(ctx, 1)
    sizes = [None] * rank if known is None else known if back else _half(known)
    return [TensorShape([*whole.as_list()[:-rank], *sizes])]


# -- kernels ---------------------------------------------------------------------------------------


def _require_rank(op: str, value: Any) -> None:
    if value.ndim < _rank(op):
        raise InvalidArgumentError(f"{op}: at least rank {_rank(op)} is needed, got {list(value.shape)}")


def _complex_kernel(ctx: KernelContext) -> Kernel:
    axes, dtype = range(-_rank(ctx.op), 0), ctx.outputs[0].dtype.np_dtype
    transform = np.fft.ifftn if ctx.op.startswith("I") else np.fft.fftn

    def transformed(x: Any) -> Any:
        _require_rank(ctx.op, x)
        return np.asarray(transform(x, axes=axes), dtype) if x.size else np.empty_like(x)

    return transformed


def _real_kernel(ctx: KernelContext) -> Kernel:
    rank, back, dtype = _rank(ctx.op), ctx.op.startswith("I"), ctx.outputs[0].dtype.np_dtype
    transform = np.fft.irfftn if back else np.fft.rfftn

    def transformed(x: Any, length: Any) -> Any:
        _require_rank(ctx.op, x)
        sizes = _checked_length(ctx.op, x, ints(length))
        out_sizes = sizes if back else _half(sizes)
        if not x.size or 0 in out_sizes:
            return np.zeros((*x.shape[:-rank], *out_sizes), dtype)
        return np.asarray(transform(x, sizes, range(-rank, 0)), dtype)

    return transformed


def _checked_length(op: str, x: Any, sizes: Ints) -> Ints:
    """Check the lengths of a transform against its input, and return them."""
    rank = _rank(op)
    if len(sizes) != rank or min(sizes) < 0:
        raise InvalidArgumentError(f"{op}: fft_length is {rank} numbers of at least 0, got {list(sizes)}")
    needed = _half(sizes) if op.startswith("I") else sizes
    if x.size and any(old < new for old, new in zip(x.shape[-rank:], needed, strict=True)):
        raise InvalidArgumentError(
            f"{op}: the last axes must have length of at least {list(needed)}, got shape {list(x.shape)}"
        )
    return sizes


# -- gradients -------------------------------------------------------------------------------------


def _count(op: Operation, x: Tensor) -> Tensor:
    """Return the number of elements of one transform."""
    return cast(reduce_prod(shape(x)[-_rank(op.type) :]), x.dtype)


def _fft_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [make_one(f"I{op.type}", [grad]) * _count(op, grad)]


def _ifft_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [make_one(op.type[1:], [grad]) / _count(op, grad)]


def _padded(value: Tensor, rank: int, extents: Tensor) -> Tensor:
    """Return a tensor padded with zeros at the end of its last axes, up to the given sizes."""
    sizes = shape(value)
    extra = concat([sizes[:-rank] * 0, extents - sizes[-rank:]], 0)
    return pad(value, stack([extra * 0, extra], 1))


def _rfft_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Transform back the half spectrum, padded with zeros to the whole."""
    (signal, length), rank = op.inputs, _rank(op.type)
    full = _padded(grad, rank, length)
    back = real(make_one(f"IFFT{suffix(rank)}", [full])) * cast(reduce_prod(length), signal.dtype)
    return [_padded(back, rank, shape(signal)[-rank:]), None]


def _irfft_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Transform forth; numbers of the spectrum that also represent their mirror count twice."""
    (spectrum, length), rank = op.inputs, _rank(op.type)
    transformed = make_one(op.type[1:], [grad, length], {"Tcomplex": spectrum.dtype})
    even = (length[-1:] + 1) % 2
    single, double = ones([1], grad.dtype), ones((length[-1:] - 1) // 2, grad.dtype) * 2
    times = concat([single, double, ones(even, grad.dtype)], 0)
    scaled = times / cast(reduce_prod(length), grad.dtype)
    weighted = transformed * complex_of(scaled, scaled * 0)
    return [_padded(weighted, rank, shape(spectrum)[-rank:]), None]


# -- rows ------------------------------------------------------------------------------------------

for _end in ("", "2D", "3D"):
    op(f"FFT{_end}", _complex_shape, kernel=_complex_kernel, grad=_fft_gradient)
    op(f"IFFT{_end}", _complex_shape, kernel=_complex_kernel, grad=_ifft_gradient)
for _end in ("", "2D"):
    op(f"RFFT{_end}", _real_shape, kernel=_real_kernel, grad=_rfft_gradient, sized_by=(1,))
    op(f"IRFFT{_end}", _real_shape, kernel=_real_kernel, grad=_irfft_gradient, sized_by=(1,))
# TensorFlow has no gradients of these.
op("RFFT3D", _real_shape, kernel=_real_kernel, sized_by=(1,))
op("IRFFT3D", _real_shape, kernel=_real_kernel, sized_by=(1,))
