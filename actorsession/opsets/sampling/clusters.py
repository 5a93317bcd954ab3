"""The choice of first centres of clusters: k-means++, and a Markov chain in its place.

Owns ``KmeansPlusPlusInitialization`` and ``KMC2ChainInitialization``. The numbers are a function of the seed,
and are this library's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops.rows import check_inputs, op

__all__: list[str] = []


def _chosen(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    ctx.inputs[0].shape.with_rank(2)
    return [unknown_shape]  # as in TensorFlow


def _choose(points: Any, count: Any, seed: Any, retries: Any) -> Any:
    """Choose points, each as likely as its squared distance from those before; the best of some draws."""
    number, tries = int(count), int(retries)
    if points.ndim != 2 or not 0 < number <= len(points) or tries < 0:
        raise InvalidArgumentError(
            f"Expected num_points >= num_to_sample > 0 and num_retries_per_sample >= 0, got {number} of "
            f"points of shape {list(points.shape)} and {tries}"
        )
    random = np.random.default_rng(int(seed) & (2**64 - 1))
    wide = points.astype(np.float64)
    places = [int(random.integers(len(points)))]
    distances = ((wide - wide[places[0]]) ** 2).sum(1)
    while len(places) < number:
        total = np.cumsum(distances)
        drawn = np.searchsorted(total, random.random(tries + 1) * total[-1], side="right")
        candidates = np.minimum(drawn, len(points) - 1)
        left = np.minimum(
            distances, ((wide[:, None] - wide[candidates]) ** 2).sum(2).T
        )  # of each candidate, what would remain
        best = int(np.argmin(left.sum(1)))
        places.append(int(candidates[best]))
        distances = left[best]
    return points[places]


def _walk(distances: Any, seed: Any) -> Any:
    """Return the state in which a chain ends that goes to each next point as likely as it is further."""
    if distances.ndim != 1 or not len(distances):
        raise InvalidArgumentError(f"distances are a vector with an element, got shape {list(distances.shape)}")
    random = np.random.default_rng(int(seed) & (2**64 - 1))
    at = 0
    for place, share in enumerate(random.random(len(distances))):
        if distances[at] == 0 or distances[place] / distances[at] > share:
            at = place
    return np.int64(at)


def _state(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    ctx.inputs[0].shape.with_rank(1)
    return [scalar_shape]


op("KmeansPlusPlusInitialization", _chosen, _choose, sized_by=(1,))
op("KMC2ChainInitialization", _state, _walk)
