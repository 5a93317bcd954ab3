"""Decompression of Snappy's raw format, in which blocks of LevelDB-style tables may be.

TensorFlow does not compress its checkpoints unless it was built to. Input may be damaged: every invalid input
is a ``ValueError``.
"""

from __future__ import annotations

from actorsession.protobuf.wire import read_varint

__all__ = ["decompress"]

# Blocks are some 256 KiB; a damaged length must not request gigabytes.
_MAX_LENGTH = 1 << 30


def decompress(data: bytes) -> bytes:
    """Return the bytes that were compressed.

    Raises:
        ValueError: if ``data`` is not Snappy's.
    """
    length, position = read_varint(data, 0)
    if length > _MAX_LENGTH:
        raise ValueError(f"a compressed block of {length} bytes is too long")
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            size, position = _literal_size(data, position, tag >> 2)
            if position + size > len(data):
                raise ValueError("a compressed block ends in the middle of a literal")
            out += data[position : position + size]
            position += size
        else:
            size, offset, position = _copy(data, position, tag)
            _repeat(out, offset, size)
        if len(out) > length:
            break
    if len(out) != length:
        raise ValueError(f"a compressed block announces {length} bytes, but contains {len(out)}")
    return bytes(out)


def _literal_size(data: bytes, position: int, code: int) -> tuple[int, int]:
    if code < 60:
        return code + 1, position
    extra = code - 59
    return _number(data, position, extra) + 1, position + extra


def _copy(data: bytes, position: int, tag: int) -> tuple[int, int, int]:
    """Return the size and offset of a copy, and the position behind it."""
    kind = tag & 3
    if kind == 1:
        offset = (tag >> 5) << 8 | _number(data, position, 1)
        return (tag >> 2 & 7) + 4, offset, position + 1
    extra = 2 if kind == 2 else 4
    return (tag >> 2) + 1, _number(data, position, extra), position + extra


def _number(data: bytes, position: int, size: int) -> int:
    if position + size > len(data):
        raise ValueError("a compressed block ends in the middle of a number")
    return int.from_bytes(data[position : position + size], "little")


def _repeat(out: bytearray, offset: int, size: int) -> None:
    if not 0 < offset <= len(out):
        raise ValueError(f"a copy refers {offset} bytes back, but there are only {len(out)}")
    piece = out[-offset:]
    # A copy may overlap its own result: the piece is then repeated.
    out += (piece * (size // offset + 1))[:size]
