"""Images of summaries: pixels scaled to bytes, and PNG files written with zlib."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

__all__ = ["png_of", "to_bytes"]

# The colour of pixels with a channel that is not finite: red, or white where there is one channel.
_BAD_COLOUR = np.array([255, 0, 0, 255], np.uint8)
# Images whose largest value is below this are black.
_NEARLY_ZERO = 1e-6
# The colour type of a PNG file by its number of channels.
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def to_bytes(image: Any, bad_colour: Any = None) -> Any:
    """Return the pixels of an image of floats as uint8, scaled to the range of its finite pixels.

    Images without negative values are scaled to 0 to 255; others keep zero at 128.

    Args:
        image: floats of shape ``[height, width, channels]``.
        bad_colour: the colour of pixels that are not finite; red if omitted.
    """
    pixels = np.asarray(image).astype(np.float32)
    finite = np.isfinite(pixels).all(axis=-1)
    good = pixels[finite]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    largest = max(abs(low), abs(high)) if low < 0 else high
    span, offset = (127.0, 128.0) if low < 0 else (255.0, 0.0)
    scale = np.float32(0.0 if largest < _NEARLY_ZERO else span / largest)
    out = np.empty(pixels.shape, np.uint8)
    out[finite] = (good * scale + np.float32(offset)).astype(np.uint8)
    colour = _BAD_COLOUR if bad_colour is None else np.asarray(bad_colour, np.uint8)
    out[~finite] = colour[: pixels.shape[-1]]
    return out


def png_of(pixels: Any) -> bytes:
    """Return pixels as a PNG file.

    Args:
        pixels: uint8 of shape ``[height, width, channels]`` with one to four channels.
    """
    height, width, channels = pixels.shape
    # Each row begins with the number of its filter, 0 for none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = np.ascontiguousarray(pixels).reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        ]
    )
