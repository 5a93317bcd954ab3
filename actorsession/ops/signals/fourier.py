"""Fourier transforms along the last one, two or three axes, implemented with numpy.

Owns ``FFT``, ``IFFT``, ``RFFT`` and ``IRFFT`` with their forms ``...2D`` and ``...3D``. The real transforms
keep the half of a spectrum that determines the other half, and have the length of the signal as an operand.
The other modules of ``signals`` are composed of these ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, complex64, complex128, float32, float64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Gradient, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops.arrays.array import pad
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.build import make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.complex_numbers import complex as complex_of
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.reductions.reduction import reduce_prod
from actorsession.ops.rows import Shapes, check_fixed_types, op
from actorsession.ops.shape_operands import Ints, constant_ints, ints

__all__ = ["COMPLEX", "REAL", "suffix"]

# The complex dtype with components of a real dtype, and the reverse.
COMPLEX = {float32: complex64, float64: complex128}
REAL = {wide: narrow for narrow, wide in COMPLEX.items()}


def suffix(rank: int) -> str:
    """Return the suffix of op types that transform along the given number of axes."""
    return "" if rank == 1 else f"{rank}D"


# -- shape rules -----------------------------------------------------------------------------------


def _at_least(rank: int) -> Shapes:
    """The output has the shape of the first input, which has that rank or more."""

    def shapes(ctx: InferContext) -> Sequence[TensorShape]:
        given = ctx.inputs[0].shape
        if given.rank is not None and given.rank < rank:
            raise ValueError(f"{ctx.op}: shape must be at least rank {rank}, got {given}")
        return [given]

    return shapes


def _of_length(rank: int, back: bool) -> Shapes:
    """The last axes of the output have the lengths that are the second input, or half of them."""

    def shapes(ctx: InferContext) -> Sequence[TensorShape]:
        check_fixed_types(ctx)
        key, made_of = ("Treal", REAL) if back else ("Tcomplex", COMPLEX)
        dtype, made = ctx.inputs[0].dtype, as_dtype(ctx.attrs[key])
        if made_of[dtype] is not made:
            raise TypeError(f"{ctx.op} cannot make {made.name} of {dtype.name}")
        [given], length = _at_least(rank)(ctx), ctx.inputs[1].shape
        if not length.is_compatible_with([rank]):
            raise ValueError(f"{ctx.op}: fft_length has shape [{rank}], got {length}")
        if given.rank is None:
            return [unknown_shape]
        known = constant_ints(ctx, 1)
        sizes: list[Dim] = [None] * rank if known is None else list(known)
        if known is not None and not back:
            sizes[-1] = known[-1] // 2 + 1 if known[-1] else 0
        return [TensorShape([*given.as_list()[:-rank], *sizes])]

    return shapes


# -- kernels ---------------------------------------------------------------------------------------


def _require(op: str, value: Any, rank: int) -> None:
    if value.ndim < rank:
        raise InvalidArgumentError(f"{op}: at least rank {rank} is needed, got {list(value.shape)}")


def _complex_kernel(rank: int, transform: Any) -> Callable[[KernelContext], Kernel]:
    axes = tuple(range(-rank, 0))

    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx.outputs[0].dtype.np_dtype

        def transformed(x: Any) -> Any:
            _require(ctx.op, x, rank)
            return np.asarray(transform(x, axes=axes), dtype) if x.size else np.empty_like(x)

        return transformed

    return kernel


def _real_kernel(rank: int, back: bool) -> Callable[[KernelContext], Kernel]:
    axes = tuple(range(-rank, 0))

    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx.outputs[0].dtype.np_dtype

        def transformed(x: Any, length: Any) -> Any:
            _require(ctx.op, x, rank)
            sizes = _checked_length(ctx.op, x, ints(length), rank, back)
            made = sizes if back else (*sizes[:-1], sizes[-1] // 2 + 1 if sizes[-1] else 0)
            if not x.size or 0 in made:
                return np.zeros((*x.shape[:-rank], *made), dtype)
            return np.asarray((np.fft.irfftn if back else np.fft.rfftn)(x, sizes, axes), dtype)

        return transformed

    return kernel


def _checked_length(op: str, x: Any, sizes: Ints, rank: int, back: bool) -> Ints:
    """Check the lengths of a transform against its input, and return them."""
    if len(sizes) != rank or min(sizes) < 0:
        raise InvalidArgumentError(
            f"{op}: fft_length is {rank} numbers of at least 0, got {list(sizes)}"
        )
    needed = (*sizes[:-1], sizes[-1] // 2 + 1 if sizes[-1] else 0) if back else sizes
    if x.size and any(old < new for old, new in zip(x.shape[-rank:], needed, strict=True)):
        raise InvalidArgumentError(
            f"{op}: the last axes must have length of at least {list(needed)}, got shape {list(x.shape)}"
        )
    return sizes


# -- gradients -------------------------------------------------------------------------------------


def _count(x: Tensor, rank: int) -> Tensor:
    """Return the number of elements of one transform."""
    return reduce_prod(shape(x)[-rank:])


def _fft_gradient(rank: int) -> Gradient:
    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        back = make_one(f"IFFT{suffix(rank)}", [grad])
        return [back * cast(_count(grad, rank), grad.dtype)]

    return gradient


def _ifft_gradient(rank: int) -> Gradient:
    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        back = make_one(f"FFT{suffix(rank)}", [grad])
        return [back / cast(_count(grad, rank), grad.dtype)]

    return gradient


def _behind(value: Tensor, rank: int, wanted: Tensor) -> Tensor:
    """Return a tensor padded with zeros at the end of its last axes, up to the given sizes."""
    sizes = shape(value)
    extra = concat([sizes[:-rank] * 0, wanted - sizes[-rank:]], 0)
    return pad(value, stack([extra * 0, extra], 1))


def _rfft_gradient(rank: int) -> Gradient:
    """Return the gradient: the half spectrum, padded with zeros to the whole, is transformed back."""

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        signal, length = op.inputs
        full = _behind(grad, rank, length)
        back = real(make_one(f"IFFT{suffix(rank)}", [full])) * cast(
            reduce_prod(length), signal.dtype
        )
        return [_behind(back, rank, shape(signal)[-rank:]), None]

    return gradient


def _irfft_gradient(rank: int) -> Gradient:
    """Return the gradient; numbers of the spectrum that also represent their mirror count twice."""

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        spectrum, length = op.inputs
        attrs = {"Tcomplex": spectrum.dtype}
        there = make_one(f"RFFT{suffix(rank)}", [grad, length], attrs)
        even = (length[-1:] + 1) % 2
        single, double = ones([1], grad.dtype), ones((length[-1:] - 1) // 2, grad.dtype) * 2
        times = concat([single, double, ones(even, grad.dtype)], 0)
        scaled = times / cast(reduce_prod(length), grad.dtype)
        found = there * complex_of(scaled, scaled * 0)
        return [_behind(found, rank, shape(spectrum)[-rank:]), None]

    return gradient


# -- rows ------------------------------------------------------------------------------------------

for _rank in (1, 2, 3):
    _end, _same = suffix(_rank), _at_least(_rank)
    op(f"FFT{_end}", _same, kernel=_complex_kernel(_rank, np.fft.fftn), grad=_fft_gradient(_rank))
    op(
        f"IFFT{_end}",
        _same,
        kernel=_complex_kernel(_rank, np.fft.ifftn),
        grad=_ifft_gradient(_rank),
    )
    # TensorFlow has no gradients of the last two in three dimensions.
    op(
        f"RFFT{_end}",
        _of_length(_rank, back=False),
        kernel=_real_kernel(_rank, back=False),
        grad=_rfft_gradient(_rank) if _rank < 3 else None,
        sized_by=(1,),
    )
    op(
        f"IRFFT{_end}",
        _of_length(_rank, back=True),
        kernel=_real_kernel(_rank, back=True),
        grad=_irfft_gradient(_rank) if _rank < 3 else None,
        sized_by=(1,),
    )
