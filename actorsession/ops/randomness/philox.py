"""Philox 4x32-10, the generator of TensorFlow, and what TensorFlow draws of its numbers.

Each block of four numbers of 32 bits is a function of a key and of a counter, which counts the blocks (Salmon
et al., "Parallel random numbers: as easy as 1, 2, 3"). Numbers by one key and counter are TensorFlow's.
``keyed`` has the operation types that draw.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float64
from actorsession.graph.registry import Array
from actorsession.ops.shape_operands import Ints

__all__ = ["Philox", "between", "integers", "key_and_counter", "normal", "truncated_normal", "uniform"]

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
# What a seed is scrambled by, so that seeds that differ in any bit have other keys.
_SCRAMBLING = 0x02461E293EC8F720
# Numbers from here on are drawn again, for normal numbers that are truncated.
_MOST = 2.0
# TensorFlow gives each four truncated numbers so many blocks of their own.
_RESERVED = 256
# The least of what a logarithm is taken of.
_LEAST = 1e-7


def _blocks(key: int, counter: int, first: Array) -> Array:
    """Return blocks of four numbers of 32 bits, as rows of uint64.

    Args:
        key: 64 bits.
        counter: 128 bits.
        first: how many blocks after the counter each one is, less than 2**63.
    """
    low = np.uint64(counter & (2**64 - 1)) + first.astype(np.uint64)
    high = np.uint64(counter >> 64) + (low < first.astype(np.uint64)).astype(np.uint64)
    a, b, c, d = low & _LOW, low >> _HALF, high & _LOW, high >> _HALF
    one, other = key & 0xFFFFFFFF, key >> 32
    for _ in range(_ROUNDS):
        left, right = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (
            (right >> _HALF) ^ b ^ np.uint64(one),
            right & _LOW,
            (left >> _HALF) ^ d ^ np.uint64(other),
            left & _LOW,
        )
        one, other = (one + _STEPS[0]) % 2**32, (other + _STEPS[1]) % 2**32
    return np.stack([a, b, c, d], -1)


class Philox:
    """The numbers that belong to a key and a counter.

    Args:
        key: a vector with one number.
        counter: a vector with two numbers, the low one first; what follows is unused.

    Raises:
        InvalidArgumentError: for vectors that are shorter.
    """

    def __init__(self, key: Any, counter: Any) -> None:
        if np.shape(key) != (1,) or np.ndim(counter) != 1 or len(counter) < 2:
            raise InvalidArgumentError(
                "a key of one number and a counter of at least two are needed, got shapes "
                f"{list(np.shape(key))} and {list(np.shape(counter))}"
            )
        self._key, low, high = (int(word) % 2**64 for word in (key[0], *counter[:2]))
        self._counter = low | high << 64

    def of_32_bits(self, count: int) -> Array:
        """Return the first numbers."""
        return self.blocks(np.arange((count + 3) // 4)).reshape(-1)[:count]

    def of_64_bits(self, count: int) -> Array:
        """Return the first numbers, each of two of 32 bits."""
        pairs = self.of_32_bits(2 * count).reshape(-1, 2)
        numbers: Array = pairs[:, 0] | pairs[:, 1] << _HALF
        return numbers

    def blocks(self, first: Array) -> Array:
        """Return blocks of four numbers."""
        with np.errstate(over="ignore"):
            return _blocks(self._key, self._counter, first)


# -- distributions ---------------------------------------------------------------------------------


def uniform(numbers: Philox, dims: Ints, dtype: DType) -> Array:
    """Return numbers from 0 to 1, excluding 1, with as many random digits as the type has."""
    count = prod(dims)
    if dtype is float64:
        return _as_doubles(numbers.of_32_bits(2 * count)).reshape(dims)
    digits = {2: 7 if dtype is bfloat16 else 10, 4: 23}[dtype.size]
    kept = numbers.of_32_bits(count) & np.uint64(2**digits - 1)
    fractions: Array = (kept.astype(np.float64) / 2**digits).astype(dtype.np_dtype)
    return fractions.reshape(dims)


def _pairs(first: Array, second: Array, wide: Any) -> tuple[Array, Array]:
    """Return two normally distributed numbers for two uniform ones (Box and Muller)."""
    length = np.sqrt(wide(-2) * np.log(np.maximum(first, wide(_LEAST))))
    turn = wide(2 * np.pi) * second
    return np.sin(turn) * length, np.cos(turn) * length


def _as_floats(numbers: Array) -> Array:
    """Return numbers of 32 bits as uniform ones of float32."""
    floats: Array = (numbers & np.uint64(2**23 - 1)).astype(np.float32) / np.float32(2**23)
    return floats


def _as_doubles(numbers: Array) -> Array:
    """Return uniform numbers of float64 for pairs of numbers of 32 bits, the high bits first."""
    high, low = numbers[..., ::2] & np.uint64(2**20 - 1), numbers[..., 1::2]
    doubles: Array = (high << _HALF | low).astype(np.float64) / 2.0**52
    return doubles


def normal(numbers: Philox, dims: Ints, dtype: DType) -> Array:
    """Return normally distributed numbers."""
    wide: Any
    count = prod(dims)
    if dtype is float64:
        ones, wide = _as_doubles(numbers.of_32_bits((count + 1) // 2 * 4)), np.float64
    else:
        ones, wide = _as_floats(numbers.of_32_bits((count + 1) // 2 * 2)), np.float32
    pairs = _pairs(ones[::2], ones[1::2], wide)
    return np.stack(pairs, -1).reshape(-1)[:count].astype(dtype.np_dtype).reshape(dims)


def truncated_normal(numbers: Philox, dims: Ints, dtype: DType) -> Array:
    """Return normal numbers of less than two deviations: of each group the first that are."""
    wide: Any
    wide, size = (np.float64, 2) if dtype is float64 else (np.float32, 4)
    count = prod(dims)
    groups = (count + size - 1) // size
    normals = np.empty((groups, size), wide)
    waiting, drawn = np.arange(groups), np.empty((groups, 0), wide)
    used, some = 0, 4
    while waiting.size:
        first = waiting[:, None] * (_RESERVED * size // 4) + used + np.arange(some)
        blocks = numbers.blocks(first).reshape(waiting.size, -1)
        ones = _as_doubles(blocks) if wide is np.float64 else _as_floats(blocks)
        pairs = np.stack(_pairs(ones[:, ::2], ones[:, 1::2], wide), -1)
        drawn = np.concatenate([drawn, pairs.reshape(waiting.size, -1)], 1)
        order = np.argsort(np.abs(drawn) >= _MOST, 1, kind="stable")[:, :size]
        kept = np.take_along_axis(drawn, order, 1)
        done = (np.abs(kept) < _MOST).all(1)
        normals[waiting[done]] = kept[done]
        waiting, drawn, used = waiting[~done], drawn[~done], used + some
    return normals.reshape(-1)[:count].astype(dtype.np_dtype).reshape(dims)


def integers(numbers: Philox, dims: Ints, dtype: DType) -> Array:
    """Return any numbers of an integer type."""
    count = prod(dims)
    drawn = numbers.of_64_bits(count) if dtype.size == 8 else numbers.of_32_bits(count)
    return drawn.astype(np.dtype(f"u{dtype.size}")).view(dtype.np_dtype).reshape(dims)


def between(numbers: Philox, dims: Ints, dtype: DType, low: Any, high: Any) -> Array:
    """Return integers from ``low`` on, below ``high``."""
    if low >= high:
        raise InvalidArgumentError(f"Need minval < maxval, got {low} >= {high}")
    unsigned = integers(numbers, dims, dtype).view(np.dtype(f"u{dtype.size}"))
    offsets = unsigned % unsigned.dtype.type(int(high) - int(low))
    with np.errstate(over="ignore"):
        result: Array = offsets.view(dtype.np_dtype) + low
    return result


def key_and_counter(seed: Any) -> tuple[Array, Array]:
    """Return the key and the counter that belong to a seed of two integers."""
    first, second = (int(part) % 2**64 for part in seed)
    with np.errstate(over="ignore"):
        a, b, c, d = _blocks(_SCRAMBLING, first | second << 64, np.zeros(1))[0]
    return np.array([a | b << _HALF], np.uint64), np.array([0, c | d << _HALF], np.uint64)
