"""Signals: Fourier and cosine transforms, framing, and window functions."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.signals.cosine": "dct idct",
    "actorsession.opsets.signals.frames": "frame overlap_and_add",
    "actorsession.opsets.signals.mel": ("linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms"),
    "actorsession.opsets.signals.short_time": "inverse_stft inverse_stft_window_fn stft",
    "actorsession.opsets.signals.transforms": (
        "fft fft2d fft3d fftshift ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft rfft2d rfft3d"
    ),
    "actorsession.opsets.signals.windows": (
        "hamming_window hann_window kaiser_bessel_derived_window kaiser_window vorbis_window"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
