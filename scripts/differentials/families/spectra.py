"""Signals: cosine transforms, frames, windows, and spectra of frames; what Fourier transforms refuse.

What operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

signals = Family("signals")
FAMILIES = [signals]


def _real(tf: Any, np: Any, *shape: int, dtype: str = "float32") -> Any:
    return tf.constant(reals(np, shape or (2, 3, 4, 5), dtype=dtype))


def _complex(tf: Any, np: Any) -> Any:
    return tf.complex(_real(tf, np), tf.constant(reals(np, (2, 3, 4, 5), -1, 1)))


_COMPLEX = ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d")
signals.over("{name}-of-scalar", lambda tf, np, name: getattr(tf, name)(1j), name=_COMPLEX)
signals.over("{name}-of-reals", lambda tf, np, name: getattr(tf, name)(_real(tf, np)), name=_COMPLEX)
_HALVES = ("rfft", "rfft2d", "rfft3d", "irfft", "irfft2d", "irfft3d")


@signals("{name}-gradient", name=(*_COMPLEX, *_HALVES))
def _gradient(tf: Any, np: Any, name: str) -> Any:
    """Return the gradient; those of three axes that are cut to halves have none."""
    x = _real(tf, np) if name.startswith("rfft") else _complex(tf, np)
    found = getattr(tf.spectral, name)(x)
    return tf.gradients(tf.square(found) if name.startswith("irfft") else tf.abs(found), x)


@signals("{name}-1x1x1x1", name=_HALVES)
def _too_many_lengths(tf: Any, np: Any, name: str) -> Any:
    return getattr(tf.signal, name)((_real if name.startswith("r") else _complex)(tf, np), [1, 1, 1, 1])


def _cosines(tf: Any, np: Any, kind: int, norm: str | None, n: int | None) -> Any:
    return [way(_real(tf, np), kind, n, norm=norm) for way in (tf.signal.dct, tf.signal.idct)]


signals.over(
    "dct-{kind}",
    lambda tf, np, kind: [_cosines(tf, np, kind, norm, n) for norm in (None, "ortho")[:kind] for n in (None, 3, 7)],
    kind=(1, 2, 3, 4),
)
signals.add("dct-1-ortho", lambda tf, np: _cosines(tf, np, 1, "ortho", None))
signals.add("dct-2-0", lambda tf, np: _cosines(tf, np, 2, None, 0))
signals.over("dct-{kind}-other", lambda tf, np, kind: _cosines(tf, np, kind, "other", None), kind=(1, 5))


@signals("dct-gradient")
def _gradient_of_cosines(tf: Any, np: Any) -> Any:
    x = _real(tf, np)
    return [tf.gradients(tf.square(tf.signal.dct(x, kind)), x)[0] for kind in (1, 2, 3, 4)]


signals.over(
    "frames-{pads}",
    lambda tf, np, pads: [
        tf.signal.frame(_real(tf, np, 2, 11), length, step, pads, 0.5)
        for length, step in ((4, 3), (1, 1), (14, 3), (3, 5), (11, 11))
    ],
    pads=(False, True),
)
signals.over(
    "frames-axis{axis}",
    lambda tf, np, axis: tf.signal.frame(_real(tf, np, 4, 5, 3), 2, 1, axis=axis),
    axis=(0, 1, -2, 5),
)
signals.over(
    "overlap-and-add-{step}",
    lambda tf, np, step: tf.signal.overlap_and_add(_real(tf, np), step),
    step=(1, 3, 5, 7, 2.0),
)
signals.over(
    "{name}",
    lambda tf, np, name: [
        getattr(tf.signal, name)(size, dtype=dtype) for size in (1, 2, 5, 8) for dtype in (tf.float32, tf.float64)
    ],
    name=[f"{name}_window" for name in ("hann", "hamming", "kaiser", "vorbis", "kaiser_bessel_derived")],
)
_FRAMES: list[tuple[int, int, int | None]] = [(8, 4, None), (6, 4, None), (6, 4, 6), (6, 2, 4), (6, 3, 16)]
_FRAMES_BY_NAME = {"-".join(map(str, frames)): frames for frames in _FRAMES}


@signals("stft-{frames}", frames=_FRAMES_BY_NAME)
def _stft(tf: Any, np: Any, frames: Any) -> Any:
    x = _real(tf, np, 2, 40)
    found, padded = (tf.signal.stft(x, *frames, pad_end=pads) for pads in (False, True))
    windows = (tf.signal.hann_window, tf.signal.inverse_stft_window_fn(frames[1]), None)
    return [found, padded, *(tf.signal.inverse_stft(found, *frames, window) for window in windows)]


signals.over(
    "shifts-{axes}",
    lambda tf, np, axes: [tf.signal.fftshift(_real(tf, np), axes), tf.signal.ifftshift(_real(tf, np), axes)],
    axes=(None, 0, [1, 2], -1),
)
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "hann-not-periodic": lambda s, real: [s.hann_window(size, False) for size in (1, 2, 5, 8)],
    "rfft-of-numbers": lambda s, real: s.rfft([1, 2, 3, 4]),
    "dct-along-another": lambda s, real: s.dct(real(), axis=0),
    "dct-first-of-one": lambda s, real: s.dct(real(3, 1), 1),
    "frames-of-scalar": lambda s, real: s.frame(1.0, 2, 1),
    "frames-of-vector-length": lambda s, real: s.frame([1.0, 2.0], [2], 1),
    "overlap-and-add-vector": lambda s, real: s.overlap_and_add([1.0, 2.0], 1),
    "mel-weights": lambda s, real: [
        s.linear_to_mel_weight_matrix(),
        s.linear_to_mel_weight_matrix(5, 9, 1000, 20, 400),
    ],
    "mel-beyond": lambda s, real: s.linear_to_mel_weight_matrix(sample_rate=4000),
    "mel-upside-down": lambda s, real: s.linear_to_mel_weight_matrix(5, 9, 8000, 9, 5),
    "mfccs": lambda s, real: s.mfccs_from_log_mel_spectrograms(real()),
}
signals.each(_CALLS, lambda call: lambda tf, np: call(tf.signal, partial(_real, tf, np)))
signals.add("hann-of-integers", lambda tf, np: tf.signal.hann_window(4, dtype=tf.int32))
signals.add("rfft-of-integers", lambda tf, np: tf.signal.rfft(tf.constant([1, 2, 3, 4])))
