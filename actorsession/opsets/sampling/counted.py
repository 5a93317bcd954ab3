"""Random numbers that are a function of a key and a counter, as TensorFlow 2 writes them into graphs.

The numbers are TensorFlow's. Its generator is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as
easy as 1, 2, 3"): each block of four numbers of 32 bits is a function of the key and of the counter, which
counts the blocks. ``StatelessRandomGetKeyCounter`` makes both of a seed. No function here builds these nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float64
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    Array,
    InferContext,
    Kernel,
    KernelContext,
)
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.randomness.numbers import checked_dims, drawn_shape
from actorsession.ops.randomness.samples import sample_cost
from actorsession.ops.rows import op, scalar

__all__: list[str] = []

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
# Philox is 1; 3 leaves the choice to the device, and processors take Philox.
_PHILOX, _ANY = 1, 3
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
            (right >> _HALF) ^ b ^ np.uint64(one), right & _LOW,
            (left >> _HALF) ^ d ^ np.uint64(other), left & _LOW,
        )  # fmt: skip
        one, other = (one + _STEPS[0]) % 2**32, (other + _STEPS[1]) % 2**32
    return np.stack([a, b, c, d], -1)


class _Numbers:
    """The numbers that belong to a key and a counter."""

    def __init__(self, key: Any, counter: Any) -> None:
        self._key, self._counter = int(key[0]), int(counter[0]) | int(counter[1]) << 64

    def of_32_bits(self, count: int) -> Array:
        """Return the first numbers."""
        return self.blocks(np.arange((count + 3) // 4)).reshape(-1)[:count]

    def of_64_bits(self, count: int) -> Array:
        """Return the first numbers, each of two of 32 bits."""
        pairs = self.of_32_bits(2 * count).reshape(-1, 2)
        return pairs[:, 0] | pairs[:, 1] << _HALF

    def blocks(self, first: Array) -> Array:
        """Return blocks of four numbers."""
        with np.errstate(over="ignore"):
            return _blocks(self._key, self._counter, first)


# -- distributions ---------------------------------------------------------------------------------


def _uniform(numbers: _Numbers, count: int, dtype: DType) -> Array:
    """Return numbers from 0 to 1, excluding 1, with as many random digits as the type has."""
    if dtype is float64:
        return _as_doubles(numbers.of_32_bits(2 * count))
    digits = {2: 7 if dtype is bfloat16 else 10, 4: 23}[dtype.size]
    kept = numbers.of_32_bits(count) & np.uint64(2**digits - 1)
    return (kept.astype(np.float64) / 2**digits).astype(dtype.np_dtype)


def _pairs(first: Array, second: Array, wide: Any) -> tuple[Array, Array]:
    """Return two normally distributed numbers for two uniform ones (Box and Muller)."""
    length = np.sqrt(wide(-2) * np.log(np.maximum(first, wide(_LEAST))))
    turn = wide(2 * np.pi) * second
    return np.sin(turn) * length, np.cos(turn) * length


def _as_floats(numbers: Array) -> Array:
    """Return numbers of 32 bits as uniform ones of float32."""
    return (numbers & np.uint64(2**23 - 1)).astype(np.float32) / np.float32(2**23)


def _as_doubles(numbers: Array) -> Array:
    """Return uniform numbers of float64 for pairs of numbers of 32 bits, the high bits first."""
    high, low = numbers[..., ::2] & np.uint64(2**20 - 1), numbers[..., 1::2]
    return (high << _HALF | low).astype(np.float64) / 2.0**52


def _normal(numbers: _Numbers, count: int, dtype: DType) -> Array:
    if dtype is float64:
        uniform, wide = _as_doubles(numbers.of_32_bits((count + 1) // 2 * 4)), np.float64
    else:
        uniform, wide = _as_floats(numbers.of_32_bits((count + 1) // 2 * 2)), np.float32
    pairs = _pairs(uniform[::2], uniform[1::2], wide)
    return np.stack(pairs, -1).reshape(-1)[:count].astype(dtype.np_dtype)


def _truncated(numbers: _Numbers, count: int, dtype: DType) -> Array:
    """Return normal numbers of less than two deviations: of each group the first that are."""
    wide, size = (np.float64, 2) if dtype is float64 else (np.float32, 4)
    groups = (count + size - 1) // size
    made = np.empty((groups, size), wide)
    waiting, drawn = np.arange(groups), np.empty((groups, 0), wide)
    used, some = 0, 4
    while waiting.size:
        first = waiting[:, None] * (_RESERVED * size // 4) + used + np.arange(some)
        blocks = numbers.blocks(first).reshape(waiting.size, -1)
        uniform = _as_doubles(blocks) if wide is np.float64 else _as_floats(blocks)
        pairs = np.stack(_pairs(uniform[:, ::2], uniform[:, 1::2], wide), -1)
        drawn = np.concatenate([drawn, pairs.reshape(waiting.size, -1)], 1)
        order = np.argsort(np.abs(drawn) >= _MOST, 1, kind="stable")[:, :size]
        kept = np.take_along_axis(drawn, order, 1)
        done = (np.abs(kept) < _MOST).all(1)
        made[waiting[done]] = kept[done]
        waiting, drawn, used = waiting[~done], drawn[~done], used + some
    return made.reshape(-1)[:count].astype(dtype.np_dtype)


def _integers(numbers: _Numbers, count: int, dtype: DType) -> Array:
    drawn = numbers.of_64_bits(count) if dtype.size == 8 else numbers.of_32_bits(count)
    return drawn.astype(np.dtype(f"u{dtype.size}")).view(dtype.np_dtype)


# -- op types --------------------------------------------------------------------------------------


def _check(ctx: InferContext, name: str, index: int, length: int) -> None:
    if not ctx.inputs[index].shape.is_compatible_with([length]):
        raise ValueError(
            f"{ctx.op}: {name} has shape [{length}], got shape {ctx.inputs[index].shape}"
        )


def _drawn(ctx: InferContext) -> Sequence[TensorShape]:
    _check(ctx, "the key", 1, 1)
    # TensorFlow takes longer counters, whose further words it leaves unused.
    if ctx.inputs[2].shape.rank not in (None, 1):
        raise ValueError(f"{ctx.op}: the counter is a vector, got shape {ctx.inputs[2].shape}")
    for spec in ctx.inputs[3:]:
        if spec.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: the algorithm and the ends are scalars, got {spec}")
    return [drawn_shape(ctx)]


def _numbers(op_type: str, key: Any, counter: Any, algorithm: Any) -> _Numbers:
    if algorithm not in (_PHILOX, _ANY):
        raise InvalidArgumentError(f"{op_type}: Unsupported algorithm id: {algorithm}")
    if np.shape(key) != (1,) or np.ndim(counter) != 1 or len(counter) < 2:
        raise InvalidArgumentError(
            f"{op_type}: a key of one number and a counter of at least two are needed, got shapes "
            f"{list(np.shape(key))} and {list(np.shape(counter))}"
        )
    return _Numbers(key, counter)


def _drawing(draw: Callable[[_Numbers, int, DType], Array]) -> Callable[[KernelContext], Kernel]:
    def factory(ctx: KernelContext) -> Kernel:
        op_type, dtype = ctx.op, ctx.outputs[0].dtype

        def kernel(shape: Any, key: Any, counter: Any, algorithm: Any) -> Any:
            dims = checked_dims(shape)
            numbers = _numbers(op_type, key, counter, algorithm)
            return np.asarray(draw(numbers, prod(dims), dtype)).reshape(dims)

        return kernel

    return factory


def _between_kernel(ctx: KernelContext) -> Kernel:
    op_type, dtype = ctx.op, ctx.outputs[0].dtype

    def kernel(shape: Any, key: Any, counter: Any, algorithm: Any, low: Any, high: Any) -> Any:
        if low >= high:
            raise InvalidArgumentError(
                f"Need minval < maxval, got {low} >= {high}: {op_type} draws from minval on, below maxval"
            )
        dims = checked_dims(shape)
        drawn = _integers(_numbers(op_type, key, counter, algorithm), prod(dims), dtype)
        unsigned = drawn.view(np.dtype(f"u{dtype.size}"))
        offsets = unsigned % unsigned.dtype.type(int(high) - int(low))
        with np.errstate(over="ignore"):
            return (offsets.view(dtype.np_dtype) + low).reshape(dims)

    return kernel


def _scrambled(seed: Any) -> tuple[Array, Array]:
    """Return the key and the counter that belong to a seed."""
    if np.shape(seed) != (2,):
        raise InvalidArgumentError(f"a seed is two integers, got shape {list(np.shape(seed))}")
    first, second = (int(part) % 2**64 for part in seed)
    with np.errstate(over="ignore"):
        a, b, c, d = _blocks(_SCRAMBLING, first | second << 64, np.zeros(1))[0]
    return np.array([a | b << _HALF], np.uint64), np.array([0, c | d << _HALF], np.uint64)


def _key_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    _check(ctx, "a seed", 0, 2)
    more = [scalar_shape] if ctx.op.endswith("Alg") else []
    return [TensorShape([1]), TensorShape([2]), *more]


def _algorithm() -> Any:
    return np.int32(_PHILOX)


for _name, _draw in (
    ("RandomUniform", _uniform), ("RandomNormal", _normal), ("TruncatedNormal", _truncated),
    ("RandomUniformFullInt", _integers),
):  # fmt: skip
    op(
        f"Stateless{_name}V2", _drawn, kernel=_drawing(_draw), grad=NOT_DIFFERENTIABLE,
        cost=sample_cost, sized_by=(0,),
    )  # fmt: skip
op(
    "StatelessRandomUniformIntV2", _drawn, kernel=_between_kernel, grad=NOT_DIFFERENTIABLE,
    cost=sample_cost, sized_by=(0,),
)  # fmt: skip
op("StatelessRandomGetKeyCounter", _key_shapes, _scrambled, NOT_DIFFERENTIABLE)
op(
    "StatelessRandomGetKeyCounterAlg", _key_shapes, lambda seed: (*_scrambled(seed), _algorithm()),
    NOT_DIFFERENTIABLE,
)  # fmt: skip
op("StatelessRandomGetAlg", scalar, _algorithm, NOT_DIFFERENTIABLE)
