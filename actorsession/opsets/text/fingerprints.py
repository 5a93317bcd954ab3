"""Fingerprints of values: the same 64 bits in every process, on every machine and in every version.

Owns ``Fingerprint`` and ``farmhash64``, the hash that TensorFlow uses for persistent hashes: Google's
FarmHash (the 64-bit fingerprint of its ``na`` variant). It is plain integer arithmetic modulo 2**64 on
little-endian words, with different mixing for short and long values. Not suitable for secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed

__all__ = ["farmhash64", "fingerprint"]

_MASK = 2**64 - 1
# Primes between 2**63 and 2**64 that FarmHash multiplies by.
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


# -- the hash --------------------------------------------------------------------------------------


def farmhash64(data: bytes) -> int:
    """Return the 64-bit FarmHash fingerprint of some bytes, as an unsigned number."""
    size = len(data)
    if size <= 16:
        return _of_16(data)
    if size <= 32:
        return _mixed(*_ends_of(data, _K1), _factor(size))
    return _of_64(data) if size <= 64 else _of_many(data)


def _word(data: bytes, start: int, width: int = 8) -> int:
    start = start if start >= 0 else len(data) + start
    return int.from_bytes(data[start : start + width], "little")


def _rotated_right(value: int, by: int) -> int:
    """Return the 64 bits rotated to the right."""
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _shifted(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _factor(size: int) -> int:
    return _K2 + 2 * size


def _mixed(first: int, second: int, factor: int) -> int:
    """Return two words mixed into one."""
    inner = _shifted((first ^ second) * factor)
    return _shifted((second ^ inner) * factor) * factor & _MASK


def _of_16(data: bytes) -> int:
    size = len(data)
    if size >= 8:
        first, last = _word(data, 0) + _K2, _word(data, -8)
        factor = _factor(size)
        return _mixed(
            (_rotated_right(last, 37) * factor + first) & _MASK,
            (_rotated_right(first, 25) + last) * factor & _MASK,
            factor,
        )
    if size >= 4:
        return _mixed(size + (_word(data, 0, 4) << 3), _word(data, -4, 4), _factor(size))
    if size:
        low, high = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _shifted(low * _K2 ^ high * _K0) * _K2 & _MASK
    return _K2


def _ends_of(data: bytes, prime: int) -> tuple[int, int]:
    """Return two words computed from the first and the last 16 bytes."""
    first, second = _word(data, 0) * prime & _MASK, _word(data, 8)
    third = _word(data, -8) * _factor(len(data)) & _MASK
    fourth = _word(data, -16) * _K2
    one = _rotated_right(first + second, 43) + _rotated_right(third, 30) + fourth
    return one & _MASK, (first + _rotated_right(second + _K2, 18) + third) & _MASK


def _of_64(data: bytes) -> int:
    factor = _factor(len(data))
    one, other = _ends_of(data, _K2)
    both = _mixed(one, other, factor)
    first, second = _word(data, 16) * factor & _MASK, _word(data, 24)
    third = (one + _word(data, -32)) * factor & _MASK
    fourth = (both + _word(data, -24)) * factor
    start = _word(data, 0) * _K2
    return _mixed(
        (_rotated_right(first + second, 43) + _rotated_right(third, 30) + fourth) & _MASK,
        (first + _rotated_right(second + start, 18) + third) & _MASK,
        factor,
    )


def _four_words(data: bytes, start: int, first: int, second: int) -> tuple[int, int]:
    """Return two words of state after mixing in 32 bytes."""
    words = [_word(data, start + 8 * i) for i in range(4)]
    first += words[0]
    second = _rotated_right(second + first + words[3], 21)
    total = first + words[1] + words[2]
    return (total + words[3]) & _MASK, (second + _rotated_right(total, 44) + first) & _MASK


class _State:
    """The seven words of state for long values, which are mixed in 64 bytes at a time."""

    def __init__(self, data: bytes) -> None:
        seed = 81
        self.y = seed * _K1 + 113 & _MASK
        self.z = _shifted(self.y * _K2 + 113) * _K2 & _MASK
        self.v = self.w = (0, 0)
        self.x = seed * _K2 + _word(data, 0) & _MASK

    def take(self, data: bytes, start: int, factor: int, weight: int) -> None:
        """Mix in 64 bytes; the last ones use another factor and weight."""
        (v0, v1), (w0, w1) = self.v, self.w
        x = _rotated_right(self.x + self.y + v0 + _word(data, start + 8), 37) * factor & _MASK
        y = _rotated_right(self.y + v1 + _word(data, start + 48), 42) * factor & _MASK
        x ^= w1 * weight & _MASK
        y = y + v0 * weight + _word(data, start + 40) & _MASK
        z = _rotated_right(self.z + w0, 33) * factor & _MASK
        self.v = _four_words(data, start, v1 * factor, x + w0)
        self.w = _four_words(data, start + 32, z + w1, y + _word(data, start + 16))
        self.x, self.y, self.z = z, y, x


def _of_many(data: bytes) -> int:
    state = _State(data)
    whole = (len(data) - 1) // 64 * 64
    for start in range(0, whole, 64):
        state.take(data, start, _K1, 1)
    factor = _K1 + ((state.z & 0xFF) << 1)
    (v0, v1), (w0, w1) = state.v, state.w
    w0 += (len(data) - 1) & 63
    v0 += w0
    state.v, state.w = (v0 & _MASK, v1), ((w0 + v0) & _MASK, w1)
    state.take(data, len(data) - 64, factor, 9)
    (v0, v1), (w0, w1) = state.v, state.w
    return _mixed(
        (_mixed(v0, w0, factor) + _shifted(state.y) * _K0 + state.z) & _MASK,
        (_mixed(v1, w1, factor) + state.x) & _MASK,
        factor,
    )


# -- Fingerprint -----------------------------------------------------------------------------------


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """Return a fingerprint of each row of a tensor.

    Args:
        data: any tensor of rank at least 1; its first axis counts rows.
        method: ``farmhash64``, a string scalar.

    Returns:
        uint8 of shape ``[rows, 8]``, lowest byte first.
    """
    value = convert_to_tensor(data)
    with value.graph.name_scope(name or "Fingerprint") as scope:
        how = convert_to_tensor(method, string, "method", graph=value.graph)
        return raw.Fingerprint(value, how, name=scope)


def _rows(ctx: InferContext) -> Sequence[TensorShape]:
    value, method = ctx.inputs
    if value.shape.rank == 0:
        raise ValueError("Fingerprint: data have rank at least 1, got a scalar")
    if method.dtype is not string or method.shape.rank not in (None, 0):
        raise TypeError(f"Fingerprint: method is a string scalar, got {method.dtype.name}")
    known = ctx.constant(1)
    if known is not None and known.item() != b"farmhash64":
        raise ValueError(f"Fingerprint: the method is farmhash64, got {known.item()!r}")
    rows = value.shape[0] if value.shape.rank else None
    return [TensorShape([rows, 8])]


def _fingerprints(data: Any, method: Any) -> Array:
    if np.ndim(method) or boxed(method).item() != b"farmhash64":
        raise InvalidArgumentError(f"the method is farmhash64, got {method!r:.100}")
    if not np.ndim(data):
        raise InvalidArgumentError("data have rank at least 1, got a scalar")
    out = np.empty([len(data), 8], np.uint8)
    for row, value in zip(out, data, strict=True):
        row[:] = np.frombuffer(farmhash64(_row_bytes(value)).to_bytes(8, "little"), np.uint8)
    return out


def _row_bytes(value: Any) -> bytes:
    """Return the bytes to hash for one row: its own bytes, or the fingerprints of its strings."""
    if isinstance(value, bytes):
        return value
    if value.dtype.kind != "O":
        return bytes(value.tobytes())
    words = list(value.flat)
    if len(words) == 1:
        return bytes(words[0])
    return b"".join(farmhash64(word).to_bytes(8, "little") for word in words)


op("Fingerprint", _rows, _fingerprints)
