"""String tensors as bytes, for which the safetensors format has no element type.

The bytes hold for each element in C order its length, unsigned with 64 bits little-endian, and its bytes. The
shape is stored elsewhere.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from actorsession.checkpoints.slices import Array, Shape
from actorsession.errors import DataLossError, InvalidArgumentError

__all__ = ["pack_strings", "unpack_strings"]

_LENGTH = struct.Struct("<Q")


def pack_strings(value: Array) -> Array:
    """Return the bytes of a string tensor.

    Args:
        value: an array of bytes or str objects.

    Returns:
        A vector of uint8.

    Raises:
        InvalidArgumentError: if an element is neither bytes nor str.
    """
    parts: list[bytes] = []
    for item in value.flat:
        text = item.encode() if isinstance(item, str) else item
        if not isinstance(text, bytes):
            raise InvalidArgumentError(f"a string tensor must contain bytes to be saved, found {type(item).__name__}")
        parts += [_LENGTH.pack(len(text)), text]
    return np.frombuffer(b"".join(parts), np.uint8)


def unpack_strings(content: Any, shape: Shape, where: str) -> Array:
    """Return the string tensor from the bytes that ``pack_strings`` made.

    Args:
        content: the bytes.
        shape: of the tensor.
        where: description of the source, for messages.

    Raises:
        DataLossError: if the bytes are not those of a tensor of that shape.
    """
    data, count = bytes(content), math.prod(shape)
    strings: list[bytes] = []
    position = 0
    while len(strings) < count and position + _LENGTH.size <= len(data):
        (size,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        strings.append(data[position : position + size])
        position += size
    if len(strings) != count or position != len(data):
        raise DataLossError(f"{where} does not contain the {count} strings of shape {list(shape)}")
    out = np.empty(count, object)
    out[:] = strings
    return out.reshape(shape)
