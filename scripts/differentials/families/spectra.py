"""Signals: Fourier and cosine transforms, frames, windows, and spectra of frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, sized

__all__ = ["FAMILIES"]

signals = Family("signals")
FAMILIES = [signals]


def _real(tf: Any, np: Any, *shape: int, dtype: str = "float32") -> Any:
    return tf.constant(reals(np, shape or (2, 3, 4, 5), dtype=dtype))


def _complex(tf: Any, np: Any, *shape: int) -> Any:
    size = shape or (2, 3, 4, 5)
    return tf.complex(tf.constant(reals(np, size)), tf.constant(reals(np, size, -1, 1)))


def _transform(tf: Any, name: str, x: Any) -> Any:
    return getattr(tf.signal, name)(x)


_COMPLEX = ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d")
signals.over("{name}", lambda tf, np, name: _transform(tf, name, _complex(tf, np)), name=_COMPLEX)
signals.over("{name}-of-scalar", lambda tf, np, name: getattr(tf, name)(1j), name=_COMPLEX)
signals.over("{name}-of-reals", lambda tf, np, name: getattr(tf, name)(_real(tf, np)), name=_COMPLEX)


@signals("{name}-gradient", name=_COMPLEX)
def _gradient_of_complex(tf: Any, np: Any, name: str) -> Any:
    x = _complex(tf, np)
    return tf.gradients(tf.abs(_transform(tf, name, x)), x)


_LENGTHS = {"": ([5], [3], [6], [7], [1]), "2d": ([4, 5], [2, 3], [6, 7]), "3d": ([3, 4, 5], [2, 2, 2])}
for _end, _lengths in _LENGTHS.items():
    _lengths_by_name = {"all": None, **sized(*_lengths, [1, 1, 1, 1])}
    signals.over(
        f"rfft{_end}-{{length}}",
        lambda tf, np, end, length: getattr(tf.signal, f"rfft{end}")(_real(tf, np), length),
        end=[_end],
        length=_lengths_by_name,
    )
    signals.over(
        f"irfft{_end}-{{length}}",
        lambda tf, np, end, length: getattr(tf.signal, f"irfft{end}")(_complex(tf, np), length),
        end=[_end],
        length=_lengths_by_name,
    )


@signals("{name}-gradient", name=("rfft", "rfft2d", "rfft3d"))
def _gradient_of_real(tf: Any, np: Any, name: str) -> Any:
    x = _real(tf, np)
    return tf.gradients(tf.abs(getattr(tf.spectral, name)(x)), x)


@signals("{name}-gradient", name=("irfft", "irfft2d", "irfft3d"))
def _gradient_of_half(tf: Any, np: Any, name: str) -> Any:
    x = _complex(tf, np)
    return tf.gradients(tf.square(getattr(tf.spectral, name)(x)), x)


signals.over(
    "dct-{kind}-{norm}-{n}",
    lambda tf, np, kind, norm, n: [
        tf.signal.dct(_real(tf, np), kind, n, norm=norm),
        tf.signal.idct(_real(tf, np), kind, n, norm=norm),
    ],
    kind=(1, 2, 3, 4, 5),
    norm=(None, "ortho", "other"),
    n=(None, 3, 7, 0),
)


@signals("dct-gradient")
def _gradient_of_cosines(tf: Any, np: Any) -> Any:
    x = _real(tf, np)
    return [tf.gradients(tf.square(tf.signal.dct(x, kind)), x)[0] for kind in (1, 2, 3, 4)]


for _size, _apart in ((4, 3), (1, 1), (14, 3), (3, 5), (11, 11)):
    signals.over(
        "frames-{length}-{step}-{pads}",
        lambda tf, np, length, step, pads: tf.signal.frame(_real(tf, np, 2, 11), length, step, pads, 0.5),
        length=[_size],
        step=[_apart],
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
    "{name}-{size}",
    lambda tf, np, name, size: [
        getattr(tf.signal, f"{name}_window")(size),
        getattr(tf.signal, f"{name}_window")(size, dtype=tf.float64),
    ],
    name=("hann", "hamming", "kaiser", "vorbis", "kaiser_bessel_derived"),
    size=(1, 2, 5, 8),
)
signals.over("hann-not-periodic-{size}", lambda tf, np, size: tf.signal.hann_window(size, False), size=(1, 2, 5, 8))
_FRAMES: list[tuple[int, int, int | None]] = [(8, 4, None), (6, 4, None), (6, 4, 6), (6, 2, 4), (6, 3, 16)]
_FRAMES_BY_NAME = {"-".join(map(str, frames)): frames for frames in _FRAMES}


@signals("stft-{frames}", frames=_FRAMES_BY_NAME)
def _stft(tf: Any, np: Any, frames: Any) -> Any:
    return [tf.signal.stft(_real(tf, np, 2, 40), *frames, pad_end=pads) for pads in (False, True)]


@signals("inverse-stft-{frames}", frames=_FRAMES_BY_NAME)
def _inverse_stft(tf: Any, np: Any, frames: Any) -> Any:
    windows = (tf.signal.hann_window, tf.signal.inverse_stft_window_fn(frames[1]), None)
    return [
        tf.signal.inverse_stft(tf.signal.stft(_real(tf, np, 2, 40), *frames), *frames, window) for window in windows
    ]


signals.over(
    "shifts-{axes}",
    lambda tf, np, axes: [tf.signal.fftshift(_real(tf, np), axes), tf.signal.ifftshift(_real(tf, np), axes)],
    axes=(None, 0, [1, 2], -1),
)
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "rfft-of-numbers": lambda s, real: s.rfft([1, 2, 3, 4]),
    "rfft-double": lambda s, real: s.rfft(real(3, 6, dtype="float64")),
    "dct-along-another": lambda s, real: s.dct(real(), axis=0),
    "dct-first-of-one": lambda s, real: s.dct(real(3, 1), 1),
    "frames-of-scalar": lambda s, real: s.frame(1.0, 2, 1),
    "frames-of-vector-length": lambda s, real: s.frame([1.0, 2.0], [2], 1),
    "overlap-and-add-vector": lambda s, real: s.overlap_and_add([1.0, 2.0], 1),
    "mel-weights": lambda s, real: s.linear_to_mel_weight_matrix(),
    "mel-weights-others": lambda s, real: s.linear_to_mel_weight_matrix(5, 9, 1000, 20, 400),
    "mel-beyond": lambda s, real: s.linear_to_mel_weight_matrix(sample_rate=4000),
    "mel-upside-down": lambda s, real: s.linear_to_mel_weight_matrix(5, 9, 8000, 9, 5),
    "mfccs": lambda s, real: s.mfccs_from_log_mel_spectrograms(real()),
}
signals.each(_CALLS, lambda call: lambda tf, np: call(tf.signal, partial(_real, tf, np)))
signals.add("hann-of-integers", lambda tf, np: tf.signal.hann_window(4, dtype=tf.int32))
signals.add("rfft-of-integers", lambda tf, np: tf.signal.rfft(tf.constant([1, 2, 3, 4])))
