"""Numbers for programs, the same on both sides.

They come from Python's own generator instead of numpy's, because its sequence for a text seed is the same in
every version. The side calls ``reseed`` before anything is built.
"""

from __future__ import annotations

import random
from math import prod
from typing import Any

__all__ = ["choices", "reals", "reseed", "wholes"]

_seed = 0


def reseed(seed: int) -> None:
    """Set the seed of all numbers."""
    global _seed
    _seed = seed


def reals(np: Any, shape: Any, low: float = -2.0, high: float = 2.0, dtype: str = "float32") -> Any:
    """Return real numbers with three decimals.

    Args:
        np: numpy.
        shape: the shape of the array.
        low: the lower bound.
        high: the upper bound.
        dtype: the dtype of the array.

    Returns:
        An array; two calls with the same arguments give the same numbers.
    """
    drawn = _generator(shape, low, high, dtype)
    numbers = [round(drawn.uniform(low, high), 3) for _ in range(prod(shape))]
    return np.array(numbers, dtype).reshape(shape)


def wholes(np: Any, shape: Any, low: int = -9, high: int = 9, dtype: str = "int32") -> Any:
    """Return integers from ``low`` to ``high``; otherwise like ``reals``."""
    drawn = _generator(shape, low, high, dtype)
    return np.array([drawn.randint(low, high) for _ in range(prod(shape))], dtype).reshape(shape)


def choices(np: Any, shape: Any, dtype: str = "bool") -> Any:
    """Return truth values; otherwise like ``reals``."""
    return wholes(np, shape, 0, 1).astype(dtype)


def _generator(*key: Any) -> random.Random:
    return random.Random(repr((_seed, key)))
