"""TensorFlow 1's ``tf.spectral`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.opsets.signals.cosine import dct, idct
from actorsession.opsets.signals.transforms import (
    fft,
    fft2d,
    fft3d,
    ifft,
    ifft2d,
    ifft3d,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d",
    "rfft", "rfft2d", "rfft3d",
]  # fmt: skip
