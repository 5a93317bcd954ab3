"""Distributions over classes, and the drawing and counting of samples from them.

Works on arrays only, not on graphs. Called by ``candidate_sampling``, whose op types have the attributes that
are read here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import Array

__all__ = ["Classes", "by_weight", "different_classes", "expected_counts", "fixed_unigram", "log_uniform", "uniform"]

# Number of draws at a time when classes must differ: enough to be worth a call, and at most 8 MiB.
_LEAST_DRAWS, _MOST_DRAWS = 64, 1 << 20

# Number of such rounds before the classes that are left are drawn among themselves: they are so unlikely
# by then that drawing from all classes would take long, or for ever.
_ROUNDS = 32


class Classes(NamedTuple):
    """A distribution over classes.

    Attributes:
        size: number of classes.
        drawable: number of classes with a probability above 0.
        draw: function from a generator and a count to that many classes.
        chance: function from classes to their probabilities, in float64.
    """

    size: int
    drawable: int
    draw: Callable[[np.random.Generator, int], Array]
    chance: Callable[[Array], Array]


def uniform(attrs: Mapping[str, Any]) -> Classes:
    """Return the uniform distribution."""
    size = int(attrs["range_max"])
    return Classes(
        size,
        size,
        lambda generator, count: generator.integers(0, size, count),
        lambda classes: np.full(classes.shape, 1.0 / size),
    )


def log_uniform(attrs: Mapping[str, Any]) -> Classes:
    """Return the log-uniform distribution, in which classes with greater numbers are less likely."""
    size = int(attrs["range_max"])
    scale = math.log1p(size)

    def draw(generator: np.random.Generator, count: int) -> Array:
        drawn: Array = np.expm1(generator.random(count) * scale).astype(np.int64)
        return drawn % size  # rounding may yield size itself

    return Classes(size, size, draw, lambda classes: np.log1p(1.0 / (classes + 1.0)) / scale)


def fixed_unigram(attrs: Mapping[str, Any]) -> Classes:
    """Return the distribution of one shard's classes by weight, numbered from 0 within the shard.

    Raises:
        InvalidArgumentError: for a shard that does not exist, weights that are negative or all 0, or another
            number of classes than ``range_max``.
    """
    step, first, size = attrs["num_shards"], attrs["shard"], int(attrs["range_max"])
    if step < 1 or not 0 <= first < step:
        raise InvalidArgumentError(f"a shard lies in [0, num_shards), got shard {first} of {step}")
    frequencies = np.asarray(attrs["unigrams"], np.float64) ** attrs["distortion"]
    every = np.concatenate([np.zeros(attrs["num_reserved_ids"]), frequencies])
    own = every[first::step]
    if own.size != size or not own.sum() > 0 or own.min() < 0:
        raise InvalidArgumentError(
            f"range_max is the number of classes in the shard, and their weights are at least 0, one "
            f"of them above; got range_max {size} for {own.size} classes of weights {own}"
        )
    return by_weight(own)


def by_weight(weights: Array) -> Classes:
    """Return the distribution that belongs to non-negative weights, at least one of them positive."""
    share = weights / weights.sum()
    ends = np.cumsum(share)

    def draw(generator: np.random.Generator, count: int) -> Array:
        # Rounding may leave the last end below 1; the last drawable class covers the rest.
        last = int(np.flatnonzero(share)[-1])
        numbers = np.searchsorted(ends, generator.random(count), side="right")
        return np.minimum(numbers, last).astype(np.int64)

    drawable = int(np.count_nonzero(share))
    return Classes(len(share), drawable, draw, lambda classes: share[classes])


def different_classes(classes: Classes, generator: np.random.Generator, count: int) -> tuple[Array, float]:
    """Return ``count`` different classes in the order drawn, and the number of draws that this took."""
    different = np.zeros(0, np.int64)
    tries: float = 0
    for _ in range(_ROUNDS):
        missing = count - different.size
        drawn = classes.draw(generator, min(max(2 * missing, _LEAST_DRAWS), _MOST_DRAWS))
        places = np.unique(drawn, return_index=True)[1]
        fresh = np.sort(places[~np.isin(drawn[places], different)])
        if fresh.size >= missing:
            fresh = fresh[:missing]
            return np.concatenate([different, drawn[fresh]]), tries + int(fresh[-1]) + 1
        different, tries = np.concatenate([different, drawn[fresh]]), tries + drawn.size
    rest, more = _different_of_the_rest(classes, generator, count - different.size, different)
    return np.concatenate([different, rest]), tries + more


def _different_of_the_rest(
    classes: Classes, generator: np.random.Generator, count: int, excluded: Array
) -> tuple[Array, float]:
    """Return ``count`` different classes that are not in ``excluded``, and the number of draws they stand for.

    A draw that yields a class of the rest comes after a number of draws of a geometric distribution, so no
    draw needs to be made in vain. Their number is a float, because classes of tiny weights take more than
    fit into 64 bits.
    """
    chances = classes.chance(np.arange(classes.size))
    chances[excluded] = 0.0
    drawn: list[int] = []
    tries = 0.0
    for _ in range(count):
        left = chances.sum()
        ends = np.cumsum(chances / left)
        last = int(np.flatnonzero(chances)[-1])
        drawn.append(min(int(np.searchsorted(ends, generator.random(), side="right")), last))
        with np.errstate(over="ignore"):
            tries += max(1.0, np.ceil(generator.exponential() / -np.log1p(-left)))
        chances[drawn[-1]] = 0.0
    return np.array(drawn, np.int64), min(tries, sys.float_info.max)


def expected_counts(chance: Array, count: int, tries: float) -> Array:
    """Return the expected number of occurrences in a sample, for classes with the given probabilities."""
    if tries == count:
        return (chance * count).astype(np.float32)
    # 1 - (1 - chance)**tries, without losing the digits of small chances.
    with np.errstate(divide="ignore"):
        expected: Array = -np.expm1(tries * np.log1p(-chance))
    return expected.astype(np.float32)
