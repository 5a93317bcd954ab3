"""Fields of TensorFlow's ``Summary`` messages, written from their values."""

from __future__ import annotations

import struct

from actorsession.protobuf.wire import FIXED32, FIXED64, integer_field, length_field, write_tag

__all__ = ["AUDIO", "HISTOGRAM", "IMAGE", "TENSOR", "double_field", "float_field", "sized", "tagged"]

IMAGE, HISTOGRAM, AUDIO, TENSOR = 4, 5, 6, 8
"""The fields of a ``Summary.Value`` that hold its value."""

_VALUE, _TAG, _NUMBER = 1, 1, 2


def double_field(number: int, value: float) -> bytes:
    """Return a field of type double; nothing for 0, the default."""
    return write_tag(number, FIXED64) + struct.pack("<d", value) if value else b""


def float_field(number: int, value: float) -> bytes:
    """Return a field of type float."""
    return write_tag(number, FIXED32) + struct.pack("<f", value)


def sized(number: int, value: int) -> bytes:
    """Return an integer field; nothing for 0, the default."""
    return integer_field(number, value) if value else b""


def tagged(tag: bytes, number: int, content: bytes | float) -> bytes:
    """Return a summary of one value.

    Args:
        tag: name of the value.
        number: the field of its content; of no matter for a plain number.
        content: bytes of a message, or a number.
    """
    if isinstance(content, bytes):
        inner = length_field(number, content)
    else:
        inner = float_field(_NUMBER, content)
    return length_field(_VALUE, length_field(_TAG, tag) + inner)
