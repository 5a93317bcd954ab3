# Written by scripts/generated.py.
"""Signals: Fourier and cosine transforms, framing, and window functions."""

from actorsession.opsets.signals.cosine import dct as dct
from actorsession.opsets.signals.cosine import idct as idct
from actorsession.opsets.signals.frames import frame as frame
from actorsession.opsets.signals.frames import overlap_and_add as overlap_and_add
from actorsession.opsets.signals.mel import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from actorsession.opsets.signals.mel import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from actorsession.opsets.signals.short_time import inverse_stft as inverse_stft
from actorsession.opsets.signals.short_time import inverse_stft_window_fn as inverse_stft_window_fn
from actorsession.opsets.signals.short_time import stft as stft
from actorsession.opsets.signals.transforms import fft as fft
from actorsession.opsets.signals.transforms import fft2d as fft2d
from actorsession.opsets.signals.transforms import fft3d as fft3d
from actorsession.opsets.signals.transforms import fftshift as fftshift
from actorsession.opsets.signals.transforms import ifft as ifft
from actorsession.opsets.signals.transforms import ifft2d as ifft2d
from actorsession.opsets.signals.transforms import ifft3d as ifft3d
from actorsession.opsets.signals.transforms import ifftshift as ifftshift
from actorsession.opsets.signals.transforms import irfft as irfft
from actorsession.opsets.signals.transforms import irfft2d as irfft2d
from actorsession.opsets.signals.transforms import irfft3d as irfft3d
from actorsession.opsets.signals.transforms import rfft as rfft
from actorsession.opsets.signals.transforms import rfft2d as rfft2d
from actorsession.opsets.signals.transforms import rfft3d as rfft3d
from actorsession.opsets.signals.windows import hamming_window as hamming_window
from actorsession.opsets.signals.windows import hann_window as hann_window
from actorsession.opsets.signals.windows import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from actorsession.opsets.signals.windows import kaiser_window as kaiser_window
from actorsession.opsets.signals.windows import vorbis_window as vorbis_window

__all__ = [
"dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct",
"ifft", "ifft2d", "ifft3d", "ifftshift", "inverse_stft", "inverse_stft_window_fn", "irfft",
"irfft2d", "irfft3d", "kaiser_bessel_derived_window", "kaiser_window",
"linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft",
"rfft2d", "rfft3d", "stft", "vorbis_window"
]
