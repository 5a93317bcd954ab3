"""Signals: Fourier and cosine transforms, frames, windows, and spectra of frames."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

signals = Family("signals")
FAMILIES = [signals]


def _real(tf: Any, np: Any, *shape: int, dtype: str = "float32") -> Any:
    return tf.constant(reals(np, shape or (2, 3, 4, 5), dtype=dtype))


def _complex(tf: Any, np: Any, *shape: int) -> Any:
    size = shape or (2, 3, 4, 5)
    return tf.complex(tf.constant(reals(np, size)), tf.constant(reals(np, size, -1, 1)))


for _name in ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"):
    signals.add(_name, lambda tf, np, name=_name: getattr(tf.signal, name)(_complex(tf, np)))
    signals.add(
        f"{_name}-gradient",
        lambda tf, np, name=_name: _gradient_of_complex(tf, np, name),
    )
    signals.add(f"{_name}-of-scalar", lambda tf, np, name=_name: getattr(tf, name)(1j))
    signals.add(f"{_name}-of-reals", lambda tf, np, name=_name: getattr(tf, name)(_real(tf, np)))


def _gradient_of_complex(tf: Any, np: Any, name: str) -> Any:
    x = _complex(tf, np)
    return tf.gradients(tf.abs(getattr(tf.signal, name)(x)), x)


_LENGTHS = {1: ([5], [3], [6], [7], [1]), 2: ([4, 5], [2, 3], [6, 7]), 3: ([3, 4, 5], [2, 2, 2])}
for _rank, _end in ((1, ""), (2, "2d"), (3, "3d")):
    for _length in (None, *_LENGTHS[_rank], [1, 1, 1, 1]):
        _what = "all" if _length is None else "x".join(map(str, _length))
        signals.add(
            f"rfft{_end}-{_what}",
            lambda tf, np, end=_end, length=_length: getattr(tf.signal, f"rfft{end}")(
                _real(tf, np), length
            ),
        )
        signals.add(
            f"irfft{_end}-{_what}",
            lambda tf, np, end=_end, length=_length: getattr(tf.signal, f"irfft{end}")(
                _complex(tf, np), length
            ),
        )
    signals.add(
        f"rfft{_end}-gradient",
        lambda tf, np, end=_end: _gradient_of_real(tf, np, f"rfft{end}"),
    )
    signals.add(
        f"irfft{_end}-gradient",
        lambda tf, np, end=_end: _gradient_of_half(tf, np, f"irfft{end}"),
    )


def _gradient_of_real(tf: Any, np: Any, name: str) -> Any:
    x = _real(tf, np)
    return tf.gradients(tf.abs(getattr(tf.spectral, name)(x)), x)


def _gradient_of_half(tf: Any, np: Any, name: str) -> Any:
    x = _complex(tf, np)
    return tf.gradients(tf.square(getattr(tf.spectral, name)(x)), x)


signals.add("rfft-of-numbers", lambda tf, np: tf.signal.rfft([1, 2, 3, 4]))
signals.add("rfft-of-integers", lambda tf, np: tf.signal.rfft(tf.constant([1, 2, 3, 4])))
signals.add("rfft-double", lambda tf, np: tf.signal.rfft(_real(tf, np, 3, 6, dtype="float64")))
for _type in (1, 2, 3, 4, 5):
    for _norm in (None, "ortho", "other"):
        for _n in (None, 3, 7, 0):
            signals.add(
                f"dct-{_type}-{_norm}-{_n}",
                lambda tf, np, kind=_type, norm=_norm, n=_n: [
                    tf.signal.dct(_real(tf, np), kind, n, norm=norm),
                    tf.signal.idct(_real(tf, np), kind, n, norm=norm),
                ],
            )
signals.add("dct-along-another", lambda tf, np: tf.signal.dct(_real(tf, np), axis=0))
signals.add("dct-first-of-one", lambda tf, np: tf.signal.dct(_real(tf, np, 3, 1), 1))
signals.add(
    "dct-gradient",
    lambda tf, np: [
        g
        for x in [_real(tf, np)]
        for kind in (1, 2, 3, 4)
        for g in tf.gradients(tf.square(tf.signal.dct(x, kind)), x)
    ],
)
for _size, _apart in ((4, 3), (1, 1), (14, 3), (3, 5), (11, 11)):
    for _pads in (False, True):
        signals.add(
            f"frames-{_size}-{_apart}-{_pads}",
            lambda tf, np, length=_size, step=_apart, pads=_pads: tf.signal.frame(
                _real(tf, np, 2, 11), length, step, pads, 0.5
            ),
        )
for _axis in (0, 1, -2, 5):
    signals.add(
        f"frames-axis{_axis}",
        lambda tf, np, axis=_axis: tf.signal.frame(_real(tf, np, 4, 5, 3), 2, 1, axis=axis),
    )
signals.add("frames-of-scalar", lambda tf, np: tf.signal.frame(1.0, 2, 1))
signals.add("frames-of-vector-length", lambda tf, np: tf.signal.frame([1.0, 2.0], [2], 1))
for _by in (1, 3, 5, 7, 2.0):
    signals.add(
        f"overlap-and-add-{_by}",
        lambda tf, np, step=_by: tf.signal.overlap_and_add(_real(tf, np), step),
    )
signals.add("overlap-and-add-vector", lambda tf, np: tf.signal.overlap_and_add([1.0, 2.0], 1))
for _name in ("hann", "hamming", "kaiser", "vorbis", "kaiser_bessel_derived"):
    for _size in (1, 2, 5, 8):
        signals.add(
            f"{_name}-{_size}",
            lambda tf, np, name=_name, size=_size: [
                getattr(tf.signal, f"{name}_window")(size),
                getattr(tf.signal, f"{name}_window")(size, dtype=tf.float64),
            ],
        )
for _size in (1, 2, 5, 8):
    signals.add(
        f"hann-not-periodic-{_size}", lambda tf, np, n=_size: tf.signal.hann_window(n, False)
    )
signals.add("hann-of-integers", lambda tf, np: tf.signal.hann_window(4, dtype=tf.int32))
for _long, _hop, _points in ((8, 4, None), (6, 4, None), (6, 4, 6), (6, 2, 4), (6, 3, 16)):
    _what = f"{_long}-{_hop}-{_points}"
    signals.add(
        f"stft-{_what}",
        lambda tf, np, length=_long, step=_hop, size=_points: [
            tf.signal.stft(_real(tf, np, 2, 40), length, step, size, pad_end=pads)
            for pads in (False, True)
        ],
    )
    signals.add(
        f"inverse-stft-{_what}",
        lambda tf, np, length=_long, step=_hop, size=_points: [
            tf.signal.inverse_stft(
                tf.signal.stft(_real(tf, np, 2, 40), length, step, size), length, step, size, window
            )
            for window in (tf.signal.hann_window, tf.signal.inverse_stft_window_fn(step), None)
        ],
    )
signals.add("mel-weights", lambda tf, np: tf.signal.linear_to_mel_weight_matrix())
signals.add(
    "mel-weights-others", lambda tf, np: tf.signal.linear_to_mel_weight_matrix(5, 9, 1000, 20, 400)
)
signals.add("mel-beyond", lambda tf, np: tf.signal.linear_to_mel_weight_matrix(sample_rate=4000))
signals.add(
    "mel-upside-down", lambda tf, np: tf.signal.linear_to_mel_weight_matrix(5, 9, 8000, 9, 5)
)
signals.add("mfccs", lambda tf, np: tf.signal.mfccs_from_log_mel_spectrograms(_real(tf, np)))
for _axes in (None, 0, [1, 2], -1):
    signals.add(
        f"shifts-{_axes}".replace(" ", ""),
        lambda tf, np, axes=_axes: [
            tf.signal.fftshift(_real(tf, np), axes), tf.signal.ifftshift(_real(tf, np), axes)
        ],
    )  # fmt: skip
