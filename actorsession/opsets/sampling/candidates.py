"""Candidate samplers: they draw a few of many classes, for the losses that train with a sample of classes.

Owns TensorFlow's sampler op types; used by ``accidental_hits`` and ``sampled_losses``. Each sampler also
returns how often the true and the drawn classes are expected in a sample; the losses correct for these
counts.

A generator belongs to a session and node and is seeded like those of ``random``; the sequence is not
TensorFlow's. A unique sample is drawn until it has enough different classes, and the expected counts depend
on the number of draws.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.randomness.numbers import get_seed
from actorsession.ops.rows import op
from actorsession.opsets.sampling.draws import (
    Classes,
    by_weight,
    different_classes,
    expected_counts,
    fixed_unigram,
    log_uniform,
    uniform,
)
from transports.host import current_host

__all__ = [
    "all_candidate_sampler",
    "check_true_classes",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "seeds",
    "true_shape",
    "uniform_candidate_sampler",
]

_WORD = 2**64 - 1


class Candidates(NamedTuple):
    """The result of a sampler.

    Attributes:
        sampled_candidates: the classes drawn, int64, shape ``[num_sampled]``.
        true_expected_count: how often each true class is expected in such a sample, float32, shape
            ``[batch, num_true]``.
        sampled_expected_count: the same for each class drawn, float32, shape ``[num_sampled]``.
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


# -- public functions ------------------------------------------------------------------------------


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draw classes that are all equally likely.

    Args:
        true_classes: int64, shape ``[batch, num_true]``.
        num_true: true classes of each example.
        num_sampled: number of classes to draw for the whole batch.
        unique: whether the drawn classes must differ.
        range_max: number of classes; classes are numbered from 0.
        seed: the op's own seed.

    Returns:
        The drawn classes, and the expected counts of the true and of the drawn classes in such a sample.

    Raises:
        ValueError: for numbers below 1, or true classes of another shape.
    """
    return _sampler(
        "UniformCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max
    )


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draw class ``c`` with probability ``log((c + 2) / (c + 1)) / log(range_max + 1)``.

    This approximates word frequencies when words are numbered from the most frequent one. The arguments are
    those of ``uniform_candidate_sampler``.
    """
    return _sampler(
        "LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max
    )


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draw classes by given weights; see ``uniform_candidate_sampler``.

    Args:
        vocab_file: a file with a line for each class, whose last column (between commas) is its weight; read
            while the node is built.
        distortion: power that weights are raised to; 0 makes all equally likely.
        num_reserved_ids: number of classes before those with a weight; they are never drawn.
        num_shards: number of samplers that together draw from all classes.
        shard: index of this sampler among them. It draws from the classes ``c`` with
            ``c % num_shards == shard``, renumbered 0, 1, 2, ...
        unigrams: the weights, in place of a file.

    Raises:
        ValueError: for both or neither of ``vocab_file`` and ``unigrams``, a file with a line that does not
            end in a number, or as for ``uniform_candidate_sampler``.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("a fixed unigram sampler takes a vocab_file or unigrams, one of the two")
    weights = _read_weights(vocab_file) if vocab_file else [float(w) for w in unigrams]
    return _sampler(
        "FixedUnigramCandidateSampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
        distortion=float(distortion),
        num_reserved_ids=int(num_reserved_ids),
        num_shards=int(num_shards),
        shard=int(shard),
        unigrams=weights,
    )


def _read_weights(path: str) -> list[float]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    try:
        return [float(line.rpartition(",")[2]) for line in lines if line.strip()]
    except ValueError as exc:
        raise ValueError(f"each line of {path!r} ends in a weight: {exc}") from exc


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
    return _sampler(
        "LearnedUnigramCandidateSampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=int(range_max),
    )


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: int | None = None, name: str | None = None
) -> Candidates:
    """Return all classes below ``num_sampled``, each expected once. Meant for tests of sampled losses.

    The arguments are those of ``uniform_candidate_sampler``.
    """
    return _sampler("AllCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name)


def _sampler(
    op_type: str,
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None,
    name: str | None,
    **attrs: Any,
) -> Candidates:
    """Add a sampler node; arguments as for ``uniform_candidate_sampler``, and further attributes."""
    classes = convert_to_tensor(true_classes, int64)
    settings = {
        "num_true": int(num_true),
        "num_sampled": int(num_sampled),
        "unique": bool(unique),
        **attrs,
        **seeds(seed, classes),
    }
    return Candidates(*make(op_type, [classes], settings, name).outputs)


def seeds(seed: int | None, classes: Tensor) -> dict[str, int]:
    """Return the seed attributes of a node in the graph of ``classes``."""
    first, second = get_seed(seed, classes.graph)
    return {"seed": first or 0, "seed2": second or 0}


# -- static types ----------------------------------------------------------------------------------


def true_shape(ctx: InferContext) -> TensorShape:
    """Check the true classes and return their shape.

    Raises:
        TypeError: if they are not int64.
        ValueError: for another shape, or ``num_true`` below 1.
    """
    classes, count = ctx.inputs[0], ctx.attrs["num_true"]
    if classes.dtype is not int64:
        raise TypeError(f"{ctx.op}: true classes are int64, got {classes.dtype.name}")
    if count < 1:
        raise ValueError(f"{ctx.op}: num_true is at least 1, got {count}")
    try:
        return classes.shape.merge_with([None, count])
    except ValueError:
        raise ValueError(f"{ctx.op}: true classes have shape [batch, {count}], got {classes.shape}") from None


def _sampled(ctx: InferContext) -> Sequence[TensorShape]:
    """A class for each sample, and a count for each true and each sampled class."""
    shape, count = true_shape(ctx), ctx.attrs["num_sampled"]
    for name in ("num_sampled", "range_max"):
        if ctx.attrs.get(name, 1) < 1:
            raise ValueError(f"{ctx.op}: {name} is at least 1, got {ctx.attrs[name]}")
    drawn = TensorShape([count])
    return [drawn, shape, drawn]


# -- kernels ---------------------------------------------------------------------------------------


def check_true_classes(ctx: KernelContext, classes: Any, below: int | None = None) -> None:
    """Check that true classes have the right shape and lie in [0, below).

    Raises:
        InvalidArgumentError: if they do not.
    """
    count = ctx.attrs["num_true"]
    if classes.ndim != 2 or classes.shape[1] != count:
        raise InvalidArgumentError(f"true classes have shape [batch, {count}], got {list(classes.shape)}")
    if below is not None and classes.size:
        outside = (classes < 0) | (classes >= below)
        if outside.any():
            raise InvalidArgumentError(f"true classes lie in [0, {below}), got {classes[outside][0]}")


def _drawn_classes(
    classes: Classes, generator: np.random.Generator, count: int, unique: bool, true_classes: Any
) -> tuple[Array, Array, Array]:
    """Return ``count`` classes, and the expected counts of these and of the true classes.

    Raises:
        InvalidArgumentError: if they must differ and there are too few classes.
    """
    tries: float = count
    if not unique:
        drawn = classes.draw(generator, count)
    elif count > classes.drawable:
        raise InvalidArgumentError(f"{count} different classes cannot be drawn from {classes.drawable}")
    else:
        drawn, tries = different_classes(classes, generator, count)
    return (
        drawn,
        expected_counts(classes.chance(true_classes), count, tries),
        expected_counts(classes.chance(drawn), count, tries),
    )


def _generator_of(attrs: Mapping[str, Any]) -> np.random.Generator:
    """Return a generator with the seeds of a node, or with a random one if both are 0."""
    seeds = [attrs["seed"] & _WORD, attrs["seed2"] & _WORD]
    return np.random.Generator(np.random.SFC64(seeds if any(seeds) else current_host().entropy.randbits(128)))


def _sampling(distribution: Callable[[Mapping[str, Any]], Classes]) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        generator = ctx.state(lambda: _generator_of(ctx.attrs))
        classes = distribution(ctx.attrs)
        count, unique = ctx.attrs["num_sampled"], ctx.attrs["unique"]

        def sample(true_classes: Any) -> tuple[Array, Array, Array]:
            check_true_classes(ctx, true_classes, classes.size)
            return _drawn_classes(classes, generator, count, unique, true_classes)

        return sample

    return kernel


class _Learned:
    """State of a node in its session; the lock guards against concurrent steps.

    Each class starts with weight 1, and gains 1 each time that it is a true class.
    """

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.lock = threading.Lock()
        self.weights = np.ones(attrs["range_max"])
        self.generator = _generator_of(attrs)


def _learned_kernel(ctx: KernelContext) -> Kernel:
    learned: _Learned = ctx.state(lambda: _Learned(ctx.attrs))
    count, unique = ctx.attrs["num_sampled"], ctx.attrs["unique"]

    def sample(true_classes: Any) -> tuple[Array, Array, Array]:
        check_true_classes(ctx, true_classes, len(learned.weights))
        with learned.lock:
            classes = by_weight(learned.weights)
            drawn = _drawn_classes(classes, learned.generator, count, unique, true_classes)
            np.add.at(learned.weights, true_classes, 1)
        return drawn

    return sample


def _all_kernel(ctx: KernelContext) -> Kernel:
    count = ctx.attrs["num_sampled"]

    def every(true_classes: Any) -> tuple[Array, Array, Array]:
        check_true_classes(ctx, true_classes, count)
        ones = np.ones(true_classes.shape, np.float32)
        return np.arange(count, dtype=np.int64), ones, np.ones(count, np.float32)

    return every


for _name, _kernel in {
    "AllCandidateSampler": _all_kernel,
    "FixedUnigramCandidateSampler": _sampling(fixed_unigram),
    "LearnedUnigramCandidateSampler": _learned_kernel,
    "LogUniformCandidateSampler": _sampling(log_uniform),
    "UniformCandidateSampler": _sampling(uniform),
}.items():
    op(_name, _sampled, kernel=_kernel, grad=NOT_DIFFERENTIABLE)
