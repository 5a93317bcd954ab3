"""The protobuf wire format: varints, tags, fixed words, lengths, and the skipping of unknown fields.

Callers define the numbers of their fields; ``scalars`` has the types of their values.

Input may be hostile. No function reads beyond the end that it is given, and a length is compared with the
remaining bytes before anything is read. Every fault is a ``WireError`` with its position; callers convert it
into an error about their own data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "BYTES", "FIXED32", "FIXED64", "GROUP", "MAX_DEPTH", "VARINT", "FieldValue", "WireError", "as_bytes",
    "as_integer", "counted", "fields", "integer_field", "integers_from", "length_field", "read_bytes",
    "read_tag", "read_varint", "signed", "single_integers", "skip", "skip_value", "varints", "write_tag",
    "write_varint", "write_varints",
]  # fmt: skip

# A varint or a fixed number as int, a length-delimited field as its bytes.
FieldValue: TypeAlias = "int | bytes"

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = 0, 1, 2, 3, 4, 5

# protobuf's own limit for nested messages, and for groups here.
MAX_DEPTH = 100
_MAX_FIELD = 2**29 - 1
# Ten groups of seven bits hold the 64 of a word.
_MAX_VARINT = 10
_WORD = 0xFFFFFFFFFFFFFFFF
# The bit of each byte of a word that marks another byte after it; words of which 0 to 10 bytes count, and the
# bits and marks in those of an integer of so many.
_MARKS = np.uint64(0x8080808080808080)
_MASKS = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(11)], np.uint64)
_BITS = _MASKS & ~_MARKS
_MARKS_OF = np.concatenate((_MASKS[:1], _MASKS[:8], _MASKS[8:10])) & _MARKS
# Bytes of a sequence of integers that are decoded at a time: the results should stay in the cache.
_BLOCK = 1 << 14


class WireError(ValueError):
    """The bytes are no valid message."""


# -- varints ---------------------------------------------------------------------------------------


def write_varint(value: int) -> bytes:
    """Return a non-negative integer as a varint, with seven bits a byte."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, pos: int, end: int | None = None) -> tuple[int, int]:
    """Return the integer at ``pos`` (below 2**64) and the position behind it.

    Raises:
        WireError: if it does not end before ``end``, that of the bytes if left out, or takes more than ten
            bytes.
    """
    if end is None:
        end = len(data)
    if pos < end and data[pos] < 0x80:
        return data[pos], pos + 1
    value = shift = 0
    for at in range(pos, min(end, pos + _MAX_VARINT)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, at + 1
        shift += 7
    if end - pos < _MAX_VARINT:
        raise WireError(f"an integer at byte {pos} runs over the end, byte {end}")
    raise WireError(f"an integer at byte {pos} takes more than ten bytes")


def signed(value: int) -> int:
    """Return the int64 whose two's complement a varint holds."""
    return value - (1 << 64) if value >> 63 else value


def varints(data: bytes | bytearray) -> np.ndarray[Any, Any]:
    """Return all the integers of a packed sequence, uint64; a new array.

    Raises:
        WireError: if the last one has no end, or one takes more than ten bytes.
    """
    octets = np.frombuffer(data, np.uint8)
    last = octets < 0x80
    if octets.size == 0 or last.all():
        return octets.astype(np.uint64)
    if not last[-1]:
        raise WireError(f"an integer runs over the end, byte {octets.size}")
    out = np.empty(np.count_nonzero(last), np.uint64)
    # Eight bytes can be read from each position, also from the one behind the first eight of an integer.
    padded = bytes(data) + bytes(16)
    start = done = 0
    while start < octets.size:  # a block at a time, because of the caches
        ends = np.flatnonzero(last[start : start + _BLOCK]) + (start + 1)
        if not ends.size:
            raise WireError(f"an integer at byte {start} takes more than ten bytes")
        starts = np.empty_like(ends)
        starts[0], starts[1:] = start, ends[:-1]
        sizes = ends - starts
        if sizes.max() > _MAX_VARINT:
            raise WireError(f"an integer at byte {starts[sizes.argmax()]} takes more than ten bytes")
        out[done : done + ends.size] = _integers_at(padded, starts, sizes)
        start, done = int(ends[-1]), done + ends.size
    return out


def single_integers(
    data: bytes, starts: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any] | None:
    """Return the integers, int64, in parts of some bytes, if each part is one integer; else ``None``.

    Args:
        data: the bytes, and at least sixteen more.
        starts: where the parts begin.
        sizes: number of bytes of each, at least one.
    """
    if not sizes.size:
        return np.zeros(0, np.int64)
    most = int(sizes.max())
    if most == 1:
        octets = np.frombuffer(data, np.uint8)[starts]
        return octets.astype(np.int64) if octets.max() < 0x80 else None
    if most > _MAX_VARINT:
        return None
    words = _words(data, "<u8")
    if not _marked(words[starts], sizes):
        return None
    longer = np.flatnonzero(sizes > 8)
    if longer.size and not _marked(words[starts[longer] + 8], sizes[longer] - 8):
        return None
    return _integers_at(data, starts, sizes).view(np.int64)


def integers_from(data: bytes, starts: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the integers, uint64, that begin at some bytes, and how many bytes each takes.

    One that takes more than eight bytes is 0 in both.

    Args:
        data: the bytes, and at least sixteen more.
        starts: where the integers begin.
    """
    ends = ~_words(data, "<u8")[starts] & _MARKS
    sizes = np.frexp((ends & -ends).astype(np.float64))[1] // 8  # of the lowest bit, that of the first end
    return _integers_at(data, starts, sizes), sizes


def _marked(words: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> bool:
    """Return whether all bytes of integers at the start of words are marked, except the last of each."""
    return not ((words & _MARKS ^ _MARKS_OF[sizes]) & _MASKS[sizes]).any()


def _integers_at(data: bytes, starts: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bits of integers without the marks; sixteen more bytes must follow the last."""
    most = int(sizes.max(initial=0))
    out: np.ndarray[Any, Any]
    # Bytes are joined two by two, then pairs, then halves.
    if most <= 4:  # half the memory is half the time
        out = _words(data, "<u4")[starts] & _BITS.astype(np.uint32)[sizes]
        if most > 1:
            out = out & 0x007F007F | (out & 0x7F007F00) >> 1
        if most > 2:
            out = out & 0x3FFF | (out & 0x3FFF0000) >> 2
        return out.astype(np.uint64)
    words = _words(data, "<u8")
    out = words[starts] & _BITS[sizes]
    out = out & 0x007F007F007F007F | (out & 0x7F007F007F007F00) >> 1
    out = out & 0x00003FFF00003FFF | (out & 0x3FFF00003FFF0000) >> 2
    out = out & 0x000000000FFFFFFF | (out & 0x0FFFFFFF00000000) >> 4
    if most > 8:
        longer = np.flatnonzero(sizes > 8)
        rest = words[starts[longer] + 8] & _BITS[sizes[longer] - 8]
        out[longer] |= rest << 56 | rest >> 8 << 63
    return out


def _words(data: bytes, kind: str) -> np.ndarray[Any, Any]:
    """Return the words that begin at each byte."""
    dtype = np.dtype(kind)
    return np.ndarray((len(data) - dtype.itemsize + 1,), dtype, data, strides=(1,))


def write_varints(words: np.ndarray[Any, Any]) -> bytes:
    """Return integers as a packed sequence; negative ones as their two's complement."""
    return b"".join([write_varint(word & _WORD) for word in words.tolist()])


# -- fields ----------------------------------------------------------------------------------------


def write_tag(number: int, wire_type: int) -> bytes:
    """Return the tag before a field's value."""
    return write_varint(number << 3 | wire_type)


def counted(content: bytes) -> bytes:
    """Return bytes preceded by their length."""
    return write_varint(len(content)) + content


def length_field(number: int, content: bytes) -> bytes:
    """Return a field that is bytes, a string or a message."""
    return write_tag(number, BYTES) + counted(content)


def integer_field(number: int, value: int) -> bytes:
    """Return a field that is a non-negative integer; no bytes for 0, the value of a field left out."""
    return write_tag(number, VARINT) + write_varint(value) if value else b""


def read_tag(data: bytes, pos: int, end: int) -> tuple[int, int, int]:
    """Return field number, wire type, and the position behind them."""
    tag, after = read_varint(data, pos, end)
    number = tag >> 3
    if not 1 <= number <= _MAX_FIELD:
        raise WireError(f"field number {number} at byte {pos}: 1 to {_MAX_FIELD} are valid")
    return number, tag & 7, after


def read_bytes(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Return where the bytes of a field with a length begin and end."""
    length, start = read_varint(data, pos, end)
    if length > end - start:
        raise WireError(f"a length of {length} at byte {pos} reaches beyond the end: {end - start} bytes are left")
    return start, start + length


def skip(data: bytes, pos: int, end: int, number: int, wire_type: int) -> int:
    """Return the position behind an unknown field.

    Raises:
        WireError: if it is cut short or of no valid wire type.
    """
    open_groups: list[int] = []
    while True:
        if wire_type == GROUP:
            open_groups.append(number)
            if len(open_groups) > MAX_DEPTH:
                raise WireError(f"groups are nested more than {MAX_DEPTH} deep")
        elif wire_type == GROUP_END:
            if not open_groups or open_groups.pop() != number:
                raise WireError(f"a group {number} ends at byte {pos} that did not begin")
        else:
            pos = skip_value(data, pos, end, wire_type)
        if not open_groups:
            return pos
        number, wire_type, pos = read_tag(data, pos, end)


def skip_value(data: bytes, pos: int, end: int, wire_type: int) -> int:
    """Return the position behind a value that is no group; errors as for ``skip``."""
    if wire_type == VARINT:
        return read_varint(data, pos, end)[1]
    if wire_type == BYTES:
        return read_bytes(data, pos, end)[1]
    if wire_type not in (FIXED64, FIXED32):
        raise WireError(f"wire type {wire_type} at byte {pos}: 0, 1, 2 and 5 are valid")
    pos += 8 if wire_type == FIXED64 else 4
    if pos > end:
        raise WireError(f"a fixed word runs over the end, byte {end}")
    return pos


def fields(data: bytes) -> Iterator[tuple[int, FieldValue]]:
    """Yield number and value of the fields of a message in their order; groups are left out.

    Raises:
        WireError: if the bytes are no message.
    """
    pos, end = 0, len(data)
    while pos < end:
        # Most tags, numbers and lengths are single bytes; a call for each takes three times as long.
        tag = data[pos]
        if 8 <= tag < 0x80:
            number, kind = tag >> 3, tag & 7
            pos += 1
        else:
            number, kind, pos = read_tag(data, pos, end)
        if kind == VARINT:
            if pos < end and (value := data[pos]) < 0x80:
                pos += 1
            else:
                value, pos = read_varint(data, pos, end)
            yield number, value
        elif kind == BYTES:
            if pos < end and (size := data[pos]) < 0x80 and pos + size < end:
                start = pos + 1
                pos = start + size
            else:
                start, pos = read_bytes(data, pos, end)
            yield number, data[start:pos]
        else:
            start, pos = pos, skip(data, pos, end, number, kind)
            if kind != GROUP:
                yield number, int.from_bytes(data[start:pos], "little")


def as_integer(value: FieldValue) -> int:
    """Return a value of ``fields`` that must be a number.

    Raises:
        WireError: if it is bytes.
    """
    if not isinstance(value, int):
        raise WireError("a field holds bytes where a number is expected")
    return value


def as_bytes(value: FieldValue) -> bytes:
    """Return a value of ``fields`` that must be bytes, a string or a message.

    Raises:
        WireError: if it is a number.
    """
    if not isinstance(value, bytes):
        raise WireError("a field holds a number where bytes are expected")
    return value
