"""TensorFlow's ``tf.signal`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.ops.signals.cosine import dct, idct
from actorsession.ops.signals.frames import frame, overlap_and_add
from actorsession.ops.signals.mel import (
    linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms,
)
from actorsession.ops.signals.short_time import inverse_stft, inverse_stft_window_fn, stft
from actorsession.ops.signals.transforms import (
    fft,
    fft2d,
    fft3d,
    fftshift,
    ifft,
    ifft2d,
    ifft3d,
    ifftshift,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)
from actorsession.ops.signals.windows import (
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    vorbis_window,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct", "ifft",
    "ifft2d", "ifft3d", "ifftshift", "inverse_stft", "inverse_stft_window_fn", "irfft", "irfft2d",
    "irfft3d", "kaiser_bessel_derived_window", "kaiser_window", "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft", "rfft2d", "rfft3d", "stft",
    "vorbis_window",
]  # fmt: skip
