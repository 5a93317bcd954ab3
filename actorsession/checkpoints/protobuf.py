"""Reading protobuf's wire form, as far as checkpoints of TensorFlow need it.

Owns varints and the walk over the fields of a message. Knows no message: who calls it knows the numbers of
the fields. Input may be damaged: everything that cannot be is a ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Field", "fields", "read_varint", "signed"]

# A varint or a fixed number as int, a length-delimited field as its bytes.
Field: TypeAlias = "int | bytes"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Ten groups of seven bits hold 64 of them.
_MAX_VARINT = 10


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The varint at ``position``, and the position behind it.

    Raises:
        ValueError: if the bytes end in it, or it is longer than 64 bits.
    """
    value = 0
    for i in range(_MAX_VARINT):
        if position + i >= len(data):
            raise ValueError("the bytes end in the middle of a number")
        byte = data[position + i]
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position + i + 1
    raise ValueError("a number is longer than 64 bits")


def signed(value: int) -> int:
    """The int64 whose two's complement a varint holds."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """The fields of a message in the order in which they stand: number and value.

    Raises:
        ValueError: if the bytes are no message.
    """
    position = 0
    while position < len(data):
        key, position = read_varint(data, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = read_varint(data, position)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, position = read_varint(data, position)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"a field has the unknown wire type {kind}")
        if position + size > len(data):
            raise ValueError("the bytes end in the middle of a field")
        content = data[position : position + size]
        position += size
        yield key >> 3, content if kind == _BYTES else int.from_bytes(content, "little")
