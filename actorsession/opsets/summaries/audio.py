"""Sound of summaries: WAV files with samples of 16 bits."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

__all__ = ["wav_of"]

_PCM, _BYTES, _BITS = 1, 2, 16


def wav_of(samples: Any, rate: int) -> bytes:
    """Return samples as a WAV file.

    Args:
        samples: floats of shape ``[frames, channels]``; values beyond -1 to 1 are clipped.
        rate: frames per second.
    """
    channels = samples.shape[1]
    scaled = np.round(np.asarray(samples, np.float32) * np.float32(1 << 15))
    data = np.clip(scaled, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    block = channels * _BYTES
    form = struct.pack("<HHIIHH", _PCM, channels, rate, rate * block, block, _BITS)
    return b"".join(
        [
            b"RIFF",
            struct.pack("<I", 36 + len(data)),
            b"WAVEfmt ",
            struct.pack("<I", len(form)),
            form,
            b"data",
            struct.pack("<I", len(data)),
            data,
        ]
    )
