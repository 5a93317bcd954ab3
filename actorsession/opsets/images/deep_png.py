"""PNG files with 16 bits per channel, which Pillow reads and writes for grey images alone.

The format is that of the PNG specification: chunks with a length, a type and a checksum; the compressed rows
of the pixels, each behind the number of the filter that was applied to it.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError

__all__ = ["read_deep", "with_channels", "write_deep"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")
# Channels by the colour type of a file, and the other way round.
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
_COLOURS = {channels: colour for colour, channels in _CHANNELS.items()}
_DEEPEST = 65535
_MOST_PIXELS = 1 << 28
# The shares of red, green and blue in grey, in 2**15 parts.
_GREY = (6968, 23434, 2366)


def read_deep(data: bytes) -> Any:
    """Return the pixels of a PNG file of 16 bits per channel, uint16; ``None`` for any other file.

    Raises:
        InvalidArgumentError: for a damaged or interlaced file.
    """
    if not data.startswith(_SIGNATURE) or len(data) < 33:
        return None
    width, height, depth, colour, _, _, interlaced = _HEADER.unpack(data[16:29])
    if depth != 16 or colour not in _CHANNELS:
        return None
    if interlaced or not width or not height or width * height > _MOST_PIXELS:
        raise InvalidArgumentError("an interlaced PNG file of 16 bits, or one without pixels, is not read")
    step = 2 * _CHANNELS[colour]
    rows = _inflated(data, height * (1 + width * step))
    lines = np.frombuffer(rows, np.uint8).reshape(height, 1 + width * step)
    raw_lines = np.empty((height, width * step), np.uint8)
    before = np.zeros(width * step, np.uint8)
    for k, line in enumerate(lines):
        before = raw_lines[k] = _unfiltered(int(line[0]), line[1:], before, step)
    return raw_lines.view(">u2").reshape(height, width, -1).astype(np.uint16)


def _inflated(data: bytes, size: int) -> bytes:
    parts, pos = [], len(_SIGNATURE)
    while pos + 8 <= len(data):
        (length,) = struct.unpack(">I", data[pos : pos + 4])
        if data[pos + 4 : pos + 8] == b"IDAT":
            parts.append(data[pos + 8 : pos + 8 + length])
        pos += 12 + length
    try:
        rows = zlib.decompressobj().decompress(b"".join(parts), size)
    except zlib.error as exc:
        raise InvalidArgumentError(f"no PNG image: {exc}") from None
    if len(rows) != size:
        raise InvalidArgumentError(f"no PNG image: {len(rows)} of {size} bytes of pixels are there")
    return rows


def _unfiltered(kind: int, line: Any, above: Any, step: int) -> Any:
    """Return a row as it was before its filter was applied."""
    if kind == 0:
        return line
    if kind == 1:
        return np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return line + above
    if kind not in (3, 4):
        raise InvalidArgumentError(f"no PNG image: there is no filter {kind}")
    octets, up = [0] * step + line.tolist(), [0] * step + above.tolist()
    for k in range(step, len(octets)):
        left, over, corner = octets[k - step], up[k], up[k - step]
        guess = (left + over) // 2 if kind == 3 else _paeth(left, over, corner)
        octets[k] = octets[k] + guess & 255
    return np.array(octets[step:], np.uint8)


def _paeth(left: int, over: int, corner: int) -> int:
    """Return that of three neighbours which is nearest to ``left + over - corner``."""
    guess = left + over - corner
    near = abs(guess - left), abs(guess - over), abs(guess - corner)
    if near[0] <= near[1] and near[0] <= near[2]:
        return left
    return over if near[1] <= near[2] else corner


def with_channels(pixels: Any, channels: int) -> Any:
    """Return pixels of 16 bits with another number of channels; with the same for 0."""
    count = pixels.shape[2]
    if channels in (0, count):
        return pixels
    colours, opacity = pixels, None
    if count in (2, 4):
        colours, opacity = pixels[:, :, :-1], pixels[:, :, -1:]
    if channels >= 3 and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, axis=2)
    elif channels < 3 and colours.shape[2] == 3:
        grey = colours.astype(np.uint32) @ np.array(_GREY, np.uint32)
        colours = (grey >> 15).astype(np.uint16)[:, :, None]
    if channels in (1, 3):
        return np.ascontiguousarray(colours)
    if opacity is None:
        opacity = np.full_like(colours[:, :, :1], _DEEPEST)
    return np.concatenate([colours, opacity], axis=2)


def write_deep(pixels: Any, compression: int) -> bytes:
    """Return pixels of 16 bits as a PNG file.

    Args:
        pixels: uint16 of shape ``[height, width, channels]``.
        compression: 0 to 9; the usual one for -1.
    """
    height, width, channels = pixels.shape
    header = _HEADER.pack(width, height, 16, _COLOURS[channels], 0, 0, 0)
    rows = np.zeros((height, 1 + 2 * width * channels), np.uint8)
    rows[:, 1:] = np.ascontiguousarray(pixels, ">u2").view(np.uint8).reshape(height, -1)
    packed = zlib.compress(rows.tobytes(), compression)
    chunks = [_chunk(b"IHDR", header), _chunk(b"IDAT", packed), _chunk(b"IEND", b"")]
    return b"".join([_SIGNATURE, *chunks])


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
