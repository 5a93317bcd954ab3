"""``learned_unigram_candidate_sampler``: classes are drawn in proportion to how often they were true.

Owns ``LearnedUnigramCandidateSampler``. The weights are state of the node in its session: each class starts
with weight 1 and gains 1 each time that it is a true class.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, Kernel, KernelContext
from actorsession.ops.neural.candidate_draws import by_weight
from actorsession.ops.neural.candidate_sampling import (
    Candidates,
    check_true_classes,
    drawn_classes,
    generator_of,
    sampled,
    sampler,
)
from actorsession.ops.rows import op

__all__ = ["learned_unigram_candidate_sampler"]


def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draw classes in proportion to how often they were true in earlier steps of this session.

    The arguments are those of ``uniform_candidate_sampler``.

    Raises:
        TypeError: if the true classes are not int64.
        ValueError: for another shape, or numbers below 1.
    """
    return sampler(
        "LearnedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name,
        range_max=int(range_max),
    )  # fmt: skip


class _Learned:
    """The current weights of the classes and the generator; the lock guards against concurrent steps."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.lock = threading.Lock()
        self.weights = np.ones(attrs["range_max"])
        self.generator = generator_of(attrs)


def _learned_kernel(ctx: KernelContext) -> Kernel:
    learned: _Learned = ctx.state(lambda: _Learned(ctx.attrs))
    count, unique = ctx.attrs["num_sampled"], ctx.attrs["unique"]

    def sample(true_classes: Any) -> tuple[Array, Array, Array]:
        check_true_classes(ctx, true_classes, len(learned.weights))
        with learned.lock:
            classes = by_weight(learned.weights)
            found = drawn_classes(classes, learned.generator, count, unique, true_classes)
            np.add.at(learned.weights, true_classes, 1)
        return found

    return sample


op("LearnedUnigramCandidateSampler", sampled, kernel=_learned_kernel, grad=NOT_DIFFERENTIABLE)
