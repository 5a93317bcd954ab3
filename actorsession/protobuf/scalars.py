"""The scalar types of protobuf as Python values and as bytes, alone and packed.

A type checks the values that are to be written. Bytes that hold no value of a type are a ``WireError`` with
their position.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from actorsession.protobuf.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    counted,
    read_bytes,
    read_varint,
    skip_value,
    write_varint,
)
from actorsession.records import dataclass

__all__ = ["Scalar", "read_packed", "read_scalar", "scalar", "write_packed", "write_scalar"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar type of protobuf.

    Attributes:
        name: protobuf's name.
        wire_type: the wire type of a single value.
        default: the value of an unset field.
        check: returns the value to store for a given one, and raises ``TypeError`` or ``ValueError`` for an
            invalid one.
        write: returns the bytes of a checked value, with its length prefix if the type has one.
        from_word: returns the value of the word that was read; ``None`` for strings and bytes.
        packed: the numpy type of packed words of fixed size; ``None`` for other types.
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
        if isinstance(value, np.bool_):
            value = bool(value)  # an integer, as for protobuf and numpy of TensorFlow 1's time
        if not hasattr(value, "__index__"):
            raise TypeError(f"an {name} is wanted, got {type(value).__name__}: {value!r:.100}")
        number: int = value.__index__()
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
        with np.errstate(over="ignore"):  # too large values become infinite, as in protobuf
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
            where = (exc.encoding, exc.object, exc.start, exc.end)
            raise UnicodeDecodeError(*where, f"{exc.reason}: a string is UTF-8") from None
    if not isinstance(value, str):
        raise TypeError(f"a string is wanted, got {type(value).__name__}: {value!r:.100}")
    return value


def _check_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"bytes are wanted, got {type(value).__name__}: {value!r:.100}")
    return bytes(value)


def _word(value: int) -> bytes:
    return write_varint(value & 0xFFFFFFFFFFFFFFFF)


def _zigzag(value: int) -> bytes:
    return write_varint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)


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
        Scalar("float", FIXED32, 0.0, _check_float("float"), _F32.pack, lambda w: _F32.unpack(_U32.pack(w))[0], "<f4"),
        Scalar(
            "double", FIXED64, 0.0, _check_float("double"), _F64.pack, lambda w: _F64.unpack(_U64.pack(w))[0], "<f8"
        ),
        Scalar("fixed32", FIXED32, 0, _whole("uint32", 0, 2**32 - 1), _U32.pack, int, "<u4"),
        Scalar("fixed64", FIXED64, 0, _whole("uint64", 0, 2**64 - 1), _U64.pack, int, "<u8"),
        Scalar("sint64", VARINT, 0, _whole("int64", -(2**63), 2**63 - 1), _zigzag, lambda w: (w >> 1) ^ -(w & 1)),
        Scalar("string", BYTES, "", _check_string, lambda v: counted(v.encode())),
        Scalar("bytes", BYTES, b"", _check_bytes, counted),
    )
}


def scalar(name: str) -> Scalar | None:
    """Return the scalar type with the given name, or ``None``."""
    return _SCALARS.get(name)


def write_scalar(kind: Scalar, value: Any) -> bytes:
    """Return the bytes of one value.

    Raises:
        TypeError: for a value of the wrong type.
        ValueError: for a value out of range.
    """
    return kind.write(kind.check(value))


def read_scalar(kind: Scalar, data: bytes, pos: int, end: int) -> tuple[Any, int]:
    """Return one value, encoded with the type's own wire type, and the position after it."""
    if kind.from_word is None:
        start, stop = read_bytes(data, pos, end)
        content = data[start:stop]
        if kind.name == "bytes":
            return content, stop
        try:
            return content.decode(), stop
        except UnicodeDecodeError as exc:
            raise WireError(f"a string at byte {start} is not UTF-8: {exc.reason}") from exc
    if kind.wire_type == VARINT:
        word, stop = read_varint(data, pos, end)
    else:
        stop = skip_value(data, pos, end, kind.wire_type)
        word = int.from_bytes(data[pos:stop], "little")
    return kind.from_word(word), stop


def write_packed(kind: Scalar, values: Iterable[Any]) -> bytes:
    """Return values in packed form, without a length prefix."""
    return b"".join([write_scalar(kind, value) for value in values])


def read_packed(kind: Scalar, data: bytes, pos: int, end: int) -> list[Any]:
    """Return the packed values between two positions."""
    if kind.packed is not None:
        dtype = np.dtype(kind.packed)
        if (end - pos) % dtype.itemsize:
            raise WireError(f"{end - pos} bytes at byte {pos} are no row of {kind.name} values")
        found: list[Any] = np.frombuffer(data, dtype, (end - pos) // dtype.itemsize, pos).tolist()
        return found
    convert = kind.from_word
    if convert is None:
        raise WireError(f"values of {kind.name} cannot be packed (byte {pos})")
    values = []
    while pos < end:
        word, pos = read_varint(data, pos, end)
        values.append(convert(word))
    return values
