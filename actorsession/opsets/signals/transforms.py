"""Fourier transforms under TensorFlow's names, ``fft``, ``rfft`` and others, based on the ops of ``fourier``.

The lengths that real transforms need are derived from shapes here, and shorter signals are padded with zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import complex64, float32, int32
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.array import pad, range_
from actorsession.ops.arrays.dimensions import rank as rank_of
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.reversal import roll
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.shape_operands import constant_ints_of
from actorsession.opsets.signals.fourier import COMPLEX, REAL, suffix

__all__ = [
    "fft", "fft2d", "fft3d", "fftshift", "ifft", "ifft2d", "ifft3d", "ifftshift", "irfft", "irfft2d",
    "irfft3d", "rfft", "rfft2d", "rfft3d",
]  # fmt: skip


def fft(input: Any, name: str | None = None) -> Tensor:
    """Return the spectrum of a signal along the last axis.

    Args:
        input: complex numbers, with at least as many axes as are transformed.

    Returns:
        Complex numbers of the same shape.
    """
    return raw.FFT(_complex(input), name=name)


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """Return the spectrum along the last two axes; arguments as for ``fft``."""
    return raw.FFT2D(_complex(input), name=name)


def fft3d(input: Any, name: str | None = None) -> Tensor:
    """Return the spectrum along the last three axes; arguments as for ``fft``."""
    return raw.FFT3D(_complex(input), name=name)


def ifft(input: Any, name: str | None = None) -> Tensor:
    """Return the signal of a spectrum along the last axis; arguments as for ``fft``."""
    return raw.IFFT(_complex(input), name=name)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """Return the signal of a spectrum along the last two axes; arguments as for ``fft``."""
    return raw.IFFT2D(_complex(input), name=name)


def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """Return the signal of a spectrum along the last three axes; arguments as for ``fft``."""
    return raw.IFFT3D(_complex(input), name=name)


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the spectrum of a real signal along the last axis, without its mirrored half.

    Args:
        input_tensor: float32 or float64, with at least as many axes as are transformed.
        fft_length: int32 of shape ``[axes]``: length of the transform, for which the signal is truncated or
            padded with zeros; that of the signal if left out.

    Returns:
        Complex numbers, ``length // 2 + 1`` along the last axis.
    """
    return _of_real(1, input_tensor, fft_length, name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the spectrum of a real signal along the last two axes.

    The arguments are those of ``rfft``, with a length for each axis.
    """
    return _of_real(2, input_tensor, fft_length, name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the spectrum of a real signal along the last three axes.

    The arguments are those of ``rfft``, with a length for each axis.
    """
    return _of_real(3, input_tensor, fft_length, name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the real signal of a half spectrum along the last axis.

    Args:
        input_tensor: complex64 or complex128, with at least as many axes as are transformed.
        fft_length: int32 of shape ``[axes]``: length of the signal; missing entries of the spectrum are zero.
            ``2 * (n - 1)`` for ``n`` entries if left out.
    """
    return _to_real(1, input_tensor, fft_length, name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the real signal of a half spectrum along the last two axes; see ``irfft``."""
    return _to_real(2, input_tensor, fft_length, name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the real signal of a half spectrum along the last three axes; see ``irfft``."""
    return _to_real(3, input_tensor, fft_length, name)


def _complex(value: Any) -> Tensor:
    return convert_to_tensor(value, name="input", dtype_hint=complex64)


def _named(rank: int, kind: str) -> str:
    return kind if rank == 1 else f"{kind}{rank}d"


def _of_real(rank: int, value: Any, length: Any, name: str | None) -> Tensor:
    signal = convert_to_tensor(value, name="input", dtype_hint=float32)
    if signal.dtype not in COMPLEX:
        raise ValueError(f"RFFT requires float32 or float64 inputs, got: {signal.dtype.name}")
    with signal.graph.as_default(), signal.graph.name_scope(name or _named(rank, "rfft")) as scope:
        if length is None:
            sizes = _sizes(signal, rank)
        else:
            sizes = convert_to_tensor(length, int32, "fft_length")
            signal = _filled_up(signal, rank, sizes)
        attrs = {"Tcomplex": COMPLEX[signal.dtype]}
        return make_one(f"RFFT{suffix(rank)}", [signal, sizes], attrs, scope)


def _to_real(rank: int, value: Any, length: Any, name: str | None) -> Tensor:
    spectrum = convert_to_tensor(value, name="input", dtype_hint=complex64)
    if spectrum.dtype not in REAL:
        raise ValueError(f"IRFFT requires complex inputs, got: {spectrum.dtype.name}")
    graph = spectrum.graph
    with graph.as_default(), graph.name_scope(name or _named(rank, "irfft")) as scope:
        if length is None:
            sizes = _sizes(spectrum, rank, half=True)
        else:
            sizes = convert_to_tensor(length, int32, "fft_length")
            needed = concat([sizes[:-1], sizes[-1:] // 2 + 1], 0)
            spectrum = _filled_up(spectrum, rank, needed, half_of=sizes)
        attrs = {"Treal": REAL[spectrum.dtype]}
        return make_one(f"IRFFT{suffix(rank)}", [spectrum, sizes], attrs, scope)


def _sizes(value: Tensor, rank: int, half: bool = False) -> Tensor:
    """Return the sizes of the last axes; with ``half``, those of the signal with this spectrum."""
    static = value.shape[-rank:].as_list() if (value.shape.rank or 0) >= rank else [None]
    known = [size for size in static if size is not None]
    if len(known) == len(static):
        if half:
            known[-1] = max(0, 2 * (known[-1] - 1))
        return convert_to_tensor(np.array(known, np.int32), name="fft_length")
    sizes = shape(value)[-rank:]
    return concat([sizes[:-1], maximum(0, 2 * (sizes[-1:] - 1))], 0) if half else sizes


def _filled_up(value: Tensor, rank: int, sizes_needed: Tensor, half_of: Tensor | None = None) -> Tensor:
    """Return a tensor padded with zeros where the last axes are shorter than needed."""
    known = constant_ints_of(sizes_needed if half_of is None else half_of)
    static = value.shape[-rank:].as_list() if (value.shape.rank or 0) >= rank else [None]
    if known is not None and len(known) == len(static):
        needed = list(known)
        if half_of is not None:
            needed[-1] = needed[-1] // 2 + 1
        missing = [None if old is None else max(0, new - old) for old, new in zip(static, needed, strict=True)]
        if missing.count(0) == len(missing):
            return value
        if None not in missing:
            outer = (value.shape.rank or rank) - rank
            return pad(value, [[0, 0]] * outer + [[0, extra] for extra in missing])
    if value.shape.rank is not None and value.shape.rank < rank:
        return value
    sizes = shape(value)
    extra = maximum(0, sizes_needed - sizes[-rank:])
    behind = concat([sizes[:-rank] * 0, extra], 0)
    filled = pad(value, stack([behind * 0, behind], 1))
    if value.shape.rank is not None:
        filled.set_shape(value.shape[:-rank].concatenate([None] * rank))
    return filled


# -- shifts ----------------------------------------------------------------------------------------


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Exchange the halves of a spectrum, so that the first entry moves to the middle.

    Args:
        x: a tensor.
        axes: the axes to shift, an integer or several; all if left out.
    """
    return _shifted(x, axes, name or "fftshift", back=False)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Undo ``fftshift``; arguments as there."""
    return _shifted(x, axes, name or "ifftshift", back=True)


def _shifted(x: Any, axes: Any, name: str, back: bool) -> Tensor:
    value = convert_to_tensor(x)
    with value.graph.as_default(), value.graph.name_scope(name) as scope:
        if axes is None:
            known = value.shape.rank
            chosen = range_(rank_of(value)) if known is None else convert_to_tensor([*range(known)])
        else:
            chosen = convert_to_tensor(axes)
            chosen = where_v2(chosen < 0, chosen + rank_of(value), chosen)
        half = gather(shape(value), chosen) // 2
        return roll(value, -half if back else half, chosen, scope)
