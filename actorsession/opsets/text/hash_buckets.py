"""Hash buckets of strings by TensorFlow's hashes: FarmHash, its original hash, and the keyed SipHash.

FarmHash itself is in ``fingerprints``. The buckets equal TensorFlow's, because otherwise trained tables would
not fit. The original hash is MurmurHash64A; the keyed one is SipHash-2-4, whose buckets cannot be predicted
without the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.opsets.text.fingerprints import farmhash64
from actorsession.opsets.text.kernels import like_strings, per_string

__all__ = ["string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong"]

_MASK = 2**64 - 1


def string_to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return an int64 bucket for each string; new programs use ``string_to_hash_bucket_fast``.

    Args:
        input: strings.
        num_buckets: number of buckets, at least 1.
    """
    value = convert_to_tensor(input, string)
    return raw.StringToHashBucket(value, num_buckets=int(num_buckets), name=name)


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return an int64 bucket for each string: its FarmHash fingerprint modulo ``num_buckets``."""
    value = convert_to_tensor(input, string)
    return raw.StringToHashBucketFast(value, num_buckets=int(num_buckets), name=name)


def string_to_hash_bucket_strong(input: Any, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """Return an int64 bucket for each string that cannot be predicted without the key.

    Args:
        input: strings.
        num_buckets: number of buckets, at least 1.
        key: two whole numbers of 64 bits.

    Returns:
        The buckets. At run time an InvalidArgumentError is raised for a key of another length.
    """
    value, words = convert_to_tensor(input, string), [int(word) for word in key]
    return raw.StringToHashBucketStrong(value, num_buckets=int(num_buckets), key=words, name=name)


# -- the hashes ------------------------------------------------------------------------------------


_MURMUR, _SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


def murmur64(data: bytes) -> int:
    """Return MurmurHash64A with TensorFlow's seed, as an unsigned number."""
    fingerprint = _SEED ^ (len(data) * _MURMUR & _MASK)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        word = int.from_bytes(data[start : start + 8], "little") * _MURMUR & _MASK
        fingerprint = (fingerprint ^ (word ^ word >> 47) * _MURMUR & _MASK) * _MURMUR & _MASK
    if whole < len(data):
        fingerprint = (fingerprint ^ int.from_bytes(data[whole:], "little")) * _MURMUR & _MASK
    fingerprint = (fingerprint ^ fingerprint >> 47) * _MURMUR & _MASK
    return fingerprint ^ fingerprint >> 47


def _rotated_left(value: int, by: int) -> int:
    """Return the 64 bits rotated to the left."""
    return (value << by | value >> 64 - by) & _MASK


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Apply one round of SipHash to its four words."""
    a, c = a + b & _MASK, c + d & _MASK
    b, d = _rotated_left(b, 13) ^ a, _rotated_left(d, 16) ^ c
    a = _rotated_left(a, 32)
    c, a = c + b & _MASK, a + d & _MASK
    b, d = _rotated_left(b, 17) ^ c, _rotated_left(d, 21) ^ a
    return a, b, _rotated_left(c, 32), d


def siphash64(key: Sequence[int], data: bytes) -> int:
    """Return SipHash-2-4 with a key of two words, as an unsigned number."""
    low, high = (word & _MASK for word in key)
    # "somepseudorandomlygeneratedbytes"
    state = (low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573)
    # The last word contains the remaining bytes, and the number of bytes in its highest byte.
    padded = data + bytes(7 - len(data) % 8) + bytes((len(data) & 255,))
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        a, b, c, d = state
        state = _round(*_round(a, b, c, d ^ word))
        state = (state[0] ^ word, *state[1:])
    a, b, c, d = state
    state = (a, b, c ^ 0xFF, d)
    for _ in range(4):
        state = _round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


# -- rows ------------------------------------------------------------------------------------------


def _in_buckets(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.attrs["num_buckets"] < 1:
        raise ValueError(f"{ctx.op}: num_buckets is at least 1, got {ctx.attrs['num_buckets']}")
    return like_strings(ctx)


def _buckets(hash_of: Callable[[bytes], int]) -> Callable[[KernelContext], Kernel]:
    """Return the kernel that computes the bucket of each string from its hash."""

    def bucket(ctx: KernelContext) -> Callable[[bytes], int]:
        count = ctx.attrs["num_buckets"]
        return lambda value: hash_of(value) % count

    return per_string(bucket)


def _strong_bucket(ctx: KernelContext) -> Callable[[bytes], int]:
    count, key = ctx.attrs["num_buckets"], ctx.attrs["key"]
    if len(key) != 2:
        raise InvalidArgumentError(f"{ctx.op}: Key must have 2 elements, got {len(key)}")
    return lambda value: siphash64(key, value) % count


op("StringToHashBucket", _in_buckets, kernel=_buckets(murmur64), grad=NOT_DIFFERENTIABLE)
op("StringToHashBucketFast", _in_buckets, kernel=_buckets(farmhash64), grad=NOT_DIFFERENTIABLE)
op("StringToHashBucketStrong", _in_buckets, kernel=per_string(_strong_bucket), grad=NOT_DIFFERENTIABLE)
