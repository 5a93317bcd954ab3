"""The protobuf wire format: variable-length integers, fixed words, lengths, and what is skipped.

Owns the bytes. ``message`` stands on it and knows fields; nothing here knows what a message means.

What is read may be hostile. No function looks beyond the end that it is given, a length is compared
with what is there before anything is taken, and a ``Budget`` bounds how deep messages nest and how many
there are, because an empty message is two bytes on the wire and some hundred in memory. Whatever is
wrong is a ``DataLossError`` that says where.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorsession.errors import DataLossError

__all__ = [
    "BYTES", "FIXED32", "FIXED64", "VARINT", "Budget", "Scalar", "read_bytes", "read_packed",
    "read_scalar", "read_tag", "read_varint", "scalar", "skip", "write_packed", "write_scalar",
    "write_tag", "write_varint",
]  # fmt: skip

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = 0, 1, 2, 3, 4, 5

# protobuf's own limit for nested messages.
_MAX_DEPTH = 100
# As in the codec of graphs: more than the largest graph that fits into a message has of them.
_MAX_MESSAGES = 2**22
_MAX_FIELD = 2**29 - 1


class Budget:
    """How much one reading may still build; each message takes one from it.

    Args:
        messages: how many messages, map entries included.
    """

    __slots__ = ("_left",)

    def __init__(self, messages: int = _MAX_MESSAGES) -> None:
        self._left = messages

    def enter(self, depth: int) -> None:
        """Counts one message.

        Raises:
            DataLossError: if there are too many, or it is nested too deep.
        """
        self._left -= 1
        if depth > _MAX_DEPTH:
            raise DataLossError(f"messages are nested more than {_MAX_DEPTH} deep")
        if self._left < 0:
            raise DataLossError(f"there are more than {_MAX_MESSAGES} messages in one")


# -- integers ------------------------------------------------------------------------------------


def write_varint(value: int) -> bytes:
    """A non-negative integer, seven bits a byte."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """The integer at ``pos`` (below 2**64) and the position behind it.

    Raises:
        DataLossError: if it does not end before ``end`` or takes more than ten bytes.
    """
    if pos < end and data[pos] < 0x80:
        return data[pos], pos + 1
    value = shift = 0
    for at in range(pos, min(end, pos + 10)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + 1
        shift += 7
    if end - pos < 10:
        raise DataLossError(f"an integer at byte {pos} runs over the end, byte {end}")
    raise DataLossError(f"an integer at byte {pos} takes more than ten bytes")


def write_tag(number: int, wire_type: int) -> bytes:
    """What stands before a field's value."""
    return write_varint(number << 3 | wire_type)


def read_tag(data: bytes, pos: int, end: int) -> tuple[int, int, int]:
    """Field number, wire type, and the position behind them."""
    tag, after = read_varint(data, pos, end)
    number = tag >> 3
    if not 1 <= number <= _MAX_FIELD:
        raise DataLossError(f"field number {number} at byte {pos}: 1 to {_MAX_FIELD} are valid")
    return number, tag & 7, after


def read_bytes(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Where the bytes of a field with a length begin and end."""
    length, start = read_varint(data, pos, end)
    if length > end - start:
        raise DataLossError(
            f"a length of {length} at byte {pos} reaches beyond the end: {end - start} bytes are left"
        )
    return start, start + length


def skip(data: bytes, pos: int, end: int, number: int, wire_type: int) -> int:
    """The position behind a field that nobody knows.

    Raises:
        DataLossError: if it is cut short or of no valid wire type.
    """
    open_groups: list[int] = []
    while True:
        if wire_type == GROUP:
            open_groups.append(number)
            if len(open_groups) > _MAX_DEPTH:
                raise DataLossError(f"groups are nested more than {_MAX_DEPTH} deep")
        elif wire_type == GROUP_END:
            if not open_groups or open_groups.pop() != number:
                raise DataLossError(f"a group {number} ends at byte {pos} that did not begin")
        else:
            pos = _skip_value(data, pos, end, wire_type)
        if not open_groups:
            return pos
        number, wire_type, pos = read_tag(data, pos, end)


def _skip_value(data: bytes, pos: int, end: int, wire_type: int) -> int:
    if wire_type == VARINT:
        return read_varint(data, pos, end)[1]
    if wire_type == BYTES:
        return read_bytes(data, pos, end)[1]
    if wire_type not in (FIXED64, FIXED32):
        raise DataLossError(f"wire type {wire_type} at byte {pos}: 0, 1, 2 and 5 are valid")
    pos += 8 if wire_type == FIXED64 else 4
    if pos > end:
        raise DataLossError(f"a fixed word runs over the end, byte {end}")
    return pos


# -- scalars -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar type of protobuf.

    Attributes:
        name: protobuf's name.
        wire_type: how a single value travels.
        default: what a field has that was not set.
        check: the value to store for one that was given; TypeError or ValueError for others.
        write: the bytes of a checked value, its length included where it has one.
        from_word: the value of the word that was read; ``None`` for strings and bytes.
        packed: numpy's type of packed fixed words, if they are such.
    """

    name: str
    wire_type: int
    default: Any
    check: Callable[[Any], Any]
    write: Callable[[Any], bytes]
    from_word: Callable[[int], Any] | None = None
    packed: str | None = None


def _whole(name: str, low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if not isinstance(value, (int, np.integer, np.bool_)):
            raise TypeError(f"an {name} is wanted, got {type(value).__name__}: {value!r:.100}")
        number = int(value)
        if not low <= number <= high:
            raise ValueError(f"{number} is out of the range of {name}, {low} to {high}")
        return number

    return check


def _signed(bits: int) -> Callable[[int], int]:
    top, mask = 1 << bits - 1, (1 << bits) - 1
    return lambda word: ((word & mask) ^ top) - top


def _check_float(name: str) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
            raise TypeError(f"a {name} is wanted, got {type(value).__name__}: {value!r:.100}")
        if name == "double":
            return float(value)
        with np.errstate(over="ignore"):  # what is too large for it is infinite, as in protobuf
            return float(np.float32(value))

    return check


def _check_bool(value: Any) -> bool:
    if not isinstance(value, (int, np.bool_, np.integer)):
        raise TypeError(f"a bool is wanted, got {type(value).__name__}: {value!r:.100}")
    return bool(value)


def _check_string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as exc:
            raise ValueError(f"a string is UTF-8, got {value!r:.100}") from exc
    if not isinstance(value, str):
        raise TypeError(f"a string is wanted, got {type(value).__name__}: {value!r:.100}")
    return value


def _check_bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"bytes are wanted, got {type(value).__name__}: {value!r:.100}")
    return bytes(value)


def _counted(content: bytes) -> bytes:
    return write_varint(len(content)) + content


def _word(value: int) -> bytes:
    return write_varint(value & 0xFFFFFFFFFFFFFFFF)


_F32, _F64 = struct.Struct("<f"), struct.Struct("<d")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


_SCALARS: Mapping[str, Scalar] = {
    s.name: s
    for s in (
        Scalar("int32", VARINT, 0, _whole("int32", -(2**31), 2**31 - 1), _word, _signed(32)),
        Scalar("int64", VARINT, 0, _whole("int64", -(2**63), 2**63 - 1), _word, _signed(64)),
        Scalar("uint32", VARINT, 0, _whole("uint32", 0, 2**32 - 1), _word, lambda w: w & 0xFFFFFFFF),
        Scalar("uint64", VARINT, 0, _whole("uint64", 0, 2**64 - 1), _word, lambda w: w),
        Scalar("enum", VARINT, 0, _whole("enum", -(2**31), 2**31 - 1), _word, _signed(32)),
        Scalar("bool", VARINT, False, _check_bool, _word, bool),
        Scalar("float", FIXED32, 0.0, _check_float("float"), _F32.pack,
               lambda w: _F32.unpack(_U32.pack(w))[0], "<f4"),
        Scalar("double", FIXED64, 0.0, _check_float("double"), _F64.pack,
               lambda w: _F64.unpack(_U64.pack(w))[0], "<f8"),
        Scalar("string", BYTES, "", _check_string, lambda v: _counted(v.encode())),
        Scalar("bytes", BYTES, b"", _check_bytes, _counted),
    )
}  # fmt: skip


def scalar(name: str) -> Scalar | None:
    """The scalar type of that name, if it is one."""
    return _SCALARS.get(name)


def write_scalar(kind: Scalar, value: Any) -> bytes:
    """The bytes of one value.

    Raises:
        TypeError: for a value of another type.
        ValueError: for one out of range.
    """
    return kind.write(kind.check(value))


def read_scalar(kind: Scalar, data: bytes, pos: int, end: int) -> tuple[Any, int]:
    """One value, which has the type's own wire type, and the position behind it."""
    if kind.from_word is None:
        start, stop = read_bytes(data, pos, end)
        content = data[start:stop]
        if kind.name == "bytes":
            return content, stop
        try:
            return content.decode(), stop
        except UnicodeDecodeError as exc:
            raise DataLossError(f"a string at byte {start} is not UTF-8: {exc.reason}") from exc
    if kind.wire_type == VARINT:
        word, stop = read_varint(data, pos, end)
    else:
        stop = _skip_value(data, pos, end, kind.wire_type)
        word = int.from_bytes(data[pos:stop], "little")
    return kind.from_word(word), stop


def write_packed(kind: Scalar, values: Iterable[Any]) -> bytes:
    """Many values in a row, without length."""
    return b"".join([write_scalar(kind, value) for value in values])


def read_packed(kind: Scalar, data: bytes, pos: int, end: int) -> list[Any]:
    """The values that stand packed between two positions."""
    if kind.packed is not None:
        dtype = np.dtype(kind.packed)
        if (end - pos) % dtype.itemsize:
            raise DataLossError(f"{end - pos} bytes at byte {pos} are no row of {kind.name} values")
        found: list[Any] = np.frombuffer(data, dtype, (end - pos) // dtype.itemsize, pos).tolist()
        return found
    convert = kind.from_word
    if convert is None:
        raise DataLossError(f"values of {kind.name} cannot be packed (byte {pos})")
    values = []
    while pos < end:
        word, pos = read_varint(data, pos, end)
        values.append(convert(word))
    return values
