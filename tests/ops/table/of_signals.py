"""Rows of Fourier transforms: numpy's, and their gradients by real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import signal
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

_DRAWN = np.random.default_rng(7)
REALS = _DRAWN.normal(size=(2, 3, 4, 5)).astype(np.float32)
NUMBERS = (REALS + 1j * _DRAWN.normal(size=REALS.shape)).astype(np.complex64)


def _parts(function: Callable[..., Any], known: Any = None) -> Callable[..., Any]:
    """Of real and imaginary parts to those of the result, for derivatives by both."""
    rest = () if known is None else (known,)

    def build(*given: Any) -> Any:
        value = given[0] if len(given) == 1 else acts.math.complex(*given)
        found = function(value, *rest)
        return [acts.math.real(found), acts.math.imag(found)] if found.dtype.is_complex else found

    return build


def _parts_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def numpy(*given: Any) -> Any:
        found = function(given[0] if len(given) == 1 else given[0] + 1j * given[1])
        return [found.real, found.imag] if found.dtype.kind == "c" else found

    return numpy


def _of_complex(rank: int, back: bool) -> list[Row]:
    kind, end = ("IFFT" if back else "FFT"), "" if rank == 1 else f"{rank}D"
    function = getattr(signal, f"{kind.lower()}{end.lower()}")
    axes = tuple(range(-rank, 0))

    def numpy(x: Any) -> Any:
        if not x.size:
            return x
        return (np.fft.ifftn if back else np.fft.fftn)(x, axes=axes).astype(x.dtype)

    wide = NUMBERS[0].astype(np.complex128)
    least = wide[(0,) * (3 - rank)]
    return [
        Row(f"{kind}{end}", function, numpy).on(
            [
                NUMBERS,
                wide,
                least,
                NUMBERS[..., :0],
                NUMBERS[:0],
                NUMBERS[..., :1],
                np.where(REALS > 2, np.nan, NUMBERS),
            ],
            faults=[Fault(least[(0,)], "at least rank", "at least rank")],
            rtol=1e-4,
        ),
        Row(f"{kind}{end}-parts", _parts(function), _parts_numpy(numpy)).on(
            [(wide.real, wide.imag)], [(wide.real[:2, :2, :3], wide.imag[:2, :2, :3])], rtol=1e-5
        ),
    ]


def _lengths(rank: int, *length: int) -> Any:
    return np.array(length[-rank:], np.int32)


def _of_real(rank: int) -> list[Row]:
    end = "" if rank == 1 else f"{rank}D"
    function = getattr(signal, f"rfft{end.lower()}")
    axes = tuple(range(-rank, 0))

    def numpy(x: Any, length: Any = None) -> Any:
        sizes = x.shape[-rank:] if length is None else tuple(length.tolist())
        if not x.size or 0 in sizes:
            last = sizes[-1] // 2 + 1 if sizes[-1] else 0
            return np.zeros((*x.shape[:-rank], *sizes[:-1], last), np.complex64)
        made = np.fft.rfftn(x, sizes, axes)
        return made.astype(np.complex64 if x.dtype == np.float32 else np.complex128)

    def plain(x: Any, length: Any) -> Any:
        kind = np.complex64 if x.dtype.name == "float32" else np.complex128
        return make_one(f"RFFT{end}", [x, length], {"Tcomplex": kind})

    none = "TensorFlow has registered none" if rank == 3 else None
    cut, longer = _lengths(rank, 2, 3, 3), _lengths(rank, 4, 4, 7)
    rows = [
        Row(f"RFFT{end}-length", plain, numpy).on(
            [(REALS, cut), (REALS.astype(np.float64), cut), (REALS[..., :0], cut), (REALS, 0 * cut), (REALS[:0], cut)],
            faults=[
                Fault((REALS, longer), "at least"),
                Fault((REALS, -cut), "at least 0", early=""),
                Fault((REALS, np.ones(4, np.int32)), "fft_length", "fft_length"),
                Fault((REALS[(0,) * (5 - rank)], cut), "at least rank", "at least"),
            ],
            rtol=1e-4,
        ),
        Row(f"RFFT{end}", function, numpy).on([REALS, REALS.astype(np.float64), REALS[:, :, :0], REALS[0]], rtol=1e-4),
        Row(f"RFFT{end}-longer", lambda x: function(x, longer), lambda x: numpy(x, longer)).on([REALS], rtol=1e-4),
    ]
    some = REALS[0, :2, :3].astype(np.float64)
    for what, length in (("all", None), ("cut", cut), ("more", longer)) if none is None else ():
        rows.append(
            Row(
                f"RFFT{end}-{what}-parts",
                _parts(function, length),
                _parts_numpy(lambda x, length=length: numpy(x, length)),
            ).on([some], [some, some[..., :4]], rtol=1e-5)
        )
    return rows


def _to_real(rank: int) -> list[Row]:
    end = "" if rank == 1 else f"{rank}D"
    function = getattr(signal, f"irfft{end.lower()}")
    axes = tuple(range(-rank, 0))

    def numpy(x: Any, length: Any = None) -> Any:
        sizes = (*x.shape[-rank:-1], 2 * (x.shape[-1] - 1)) if length is None else length.tolist()
        kind = np.float32 if x.dtype == np.complex64 else np.float64
        if not x.size or 0 in sizes:
            return np.zeros((*x.shape[:-rank], *sizes), kind)
        return np.fft.irfftn(x, sizes, axes).astype(kind)

    def plain(x: Any, length: Any) -> Any:
        kind = np.float32 if x.dtype.name == "complex64" else np.float64
        return make_one(f"IRFFT{end}", [x, length], {"Treal": kind})

    none = "TensorFlow has registered none" if rank == 3 else None
    odd, longer = _lengths(rank, 2, 3, 7), _lengths(rank, 4, 4, 11)
    rows = [
        Row(f"IRFFT{end}-length", plain, numpy).on(
            [
                (NUMBERS, odd),
                (NUMBERS.astype(np.complex128), odd),
                (NUMBERS[:0], odd),
                (NUMBERS, 0 * odd),
                (NUMBERS, odd + odd % 2),
            ][: 5 if rank == 1 else 4],
            faults=[
                Fault((NUMBERS, longer), "at least"),
                Fault((NUMBERS, np.ones(4, np.int32)), "fft_length", "fft_length"),
            ],
            rtol=1e-4,
        ),
        Row(f"IRFFT{end}", function, numpy).on([NUMBERS, NUMBERS[..., :1]], rtol=1e-4),
        Row(
            f"IRFFT{end}-longer",
            lambda x: function(x, longer),
            lambda x: numpy(
                np.pad(
                    x,
                    [(0, 0)] * (4 - rank)
                    + [(0, max(0, n - o)) for n, o in zip([*longer.tolist()[:-1], 6], x.shape[-rank:], strict=True)],
                ),
                longer,
            ),
        ).on([NUMBERS], rtol=1e-4),
    ]
    some = NUMBERS[0, :2, :3, :4].astype(np.complex128)
    for what, length in (("all", None), ("odd", odd - odd % 7), ("cut", _lengths(rank, 1, 2, 5))):
        if none is None and not (length is not None and 0 in length):
            rows.append(
                Row(
                    f"IRFFT{end}-{what}-parts",
                    _parts(function, length),
                    _parts_numpy(lambda x, length=length: numpy(x, length)),
                ).on([(some.real, some.imag)], [(some.real, some.imag)], rtol=1e-5)
            )
    return rows


ROWS = [
    row
    for rank in (1, 2, 3)
    for rows in (_of_complex(rank, False), _of_complex(rank, True), _of_real(rank), _to_real(rank))
    for row in rows
]
