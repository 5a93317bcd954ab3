"""Random numbers by key and counter: the second versions of the stateless operations, and generators.

TensorFlow 2 makes a key and a counter of a seed first, or keeps both in a variable, from which each draw
takes its part: a vector of int64, the counter before the key. Uniform, normal and whole numbers are
TensorFlow's (``philox``); others are this library's, and depend on key, counter and shape alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, resource
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.randomness import philox
from actorsession.ops.randomness.numbers import checked_dims
from actorsession.ops.randomness.philox import Philox
from actorsession.ops.randomness.samples import drawn_gamma, gamma_gradient, sample_cost
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import described_shape
from transports.host import current_host

__all__ = ["stateless_binomial", "stateless_parameterized_truncated_normal"]

_WORD = 2**64 - 1
# TensorFlow's number of the algorithm that its processors use, and how many words its counter has.
_PHILOX, _WORDS = 1, 2
_ANY = 3  # the device chooses
# -- public functions ------------------------------------------------------------------------------


def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Return numbers of successes, as a function of the seed.

    Args:
        shape: wanted shape; it ends with that of the parameters, broadcast.
        seed: two integers.
        counts: how often is tried.
        probs: how likely a success is.
        output_dtype: the dtype of the result.
    """
    chances = convert_to_tensor(probs)
    tries = cast(convert_to_tensor(counts, graph=chances.graph), chances.dtype)
    return raw.StatelessRandomBinomial(shape, seed, tries, chances, dtype=as_dtype(output_dtype), name=name)


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:
    """Return normally distributed numbers between two bounds, as a function of the seed.

    Args:
        shape: wanted shape, with which the parameters broadcast.
        seed: two integers.
        means: means of the numbers before they are bounded.
        stddevs: their standard deviations.
        minvals: the lower bounds.
        maxvals: the upper bounds.
    """
    return raw.StatelessParameterizedTruncatedNormal(shape, seed, means, stddevs, minvals, maxvals, name=name)


# Bounds further apart than this around zero have normal numbers between them often enough.
_WIDE = 2.5
Whole = Callable[..., Any]


def _generator(*words: Any) -> np.random.Generator:
    """Return the generator of a key and a counter, which are vectors."""
    seeds = [int(word) & _WORD for part in words for word in np.ravel(part)]
    if any(np.ndim(part) != 1 for part in words) or not seeds:
        raise InvalidArgumentError(
            f"key and counter are vectors of numbers, got shapes {[list(np.shape(w)) for w in words]}"
        )
    return np.random.Generator(np.random.SFC64(seeds))


# -- what is drawn ---------------------------------------------------------------------------------


def _binomial(generator: Any, dims: Any, dtype: Any, counts: Any, probs: Any) -> Any:
    """Draw numbers of successes; NaN, or 0 of an integer type, for parameters that have none."""
    n, p = (np.asarray(value, np.float64) for value in (counts, probs))
    good = (n >= 0) & (p >= 0) & (p <= 1)
    drawn = np.asarray(generator.binomial(np.where(good, np.floor(n), 0).astype(np.int64), np.where(good, p, 0), dims))
    if dtype.is_floating:
        drawn = np.where(good, drawn, np.nan)
    return drawn.astype(dtype.np_dtype)


def _gamma(generator: Any, dims: Any, dtype: Any, alpha: Any) -> Any:
    lead = len(dims) - np.ndim(alpha)
    if lead < 0 or tuple(dims[lead:]) != np.shape(alpha):
        raise InvalidArgumentError(f"the shape ends with that of alpha, got {list(dims)} and {list(np.shape(alpha))}")
    return drawn_gamma(generator, dims[:lead], alpha).astype(dtype.np_dtype)


def _truncated(generator: Any, dims: Any, dtype: Any, means: Any, deviations: Any, least: Any, most: Any) -> Any:
    """Draw normal numbers between two bounds, by the inverse of the distribution between them."""
    mean, deviation, low, high = (np.asarray(v, np.float64) for v in (means, deviations, least, most))
    if (low >= high).any():
        raise InvalidArgumentError(f"Max truncation bound must be greater than min, got {low}, {high}")
    if not (deviation > 0).all():
        raise InvalidArgumentError(f"Invalid parameters: deviations are above 0, got {deviation}")
    shape = np.broadcast_shapes(tuple(dims), mean.shape, deviation.shape, low.shape, high.shape)
    if shape != tuple(dims):
        raise InvalidArgumentError(f"Shape passed in must end with broadcasted shape, got {dims}")
    a, b = (low - mean) / deviation, (high - mean) / deviation
    return (mean + deviation * _between_bounds(generator, shape, a, b)).astype(dtype.np_dtype)


def _between_bounds(generator: Any, shape: Any, a: Any, b: Any) -> Any:
    """Draw standard normal numbers between bounds, none of which need be near zero.

    Numbers are proposed and drawn again until they are accepted: normal ones where the bounds are far apart
    around zero, exponential ones in a tail, and uniform ones between bounds that are close.
    """
    turned = np.broadcast_to(a + b < 0, shape).reshape(-1)
    first, last = (np.broadcast_to(x, shape).reshape(-1) for x in (a, b))
    low, high = np.where(turned, -last, first), np.where(turned, -first, last)
    out, left = np.empty(len(low)), np.arange(len(low))
    while left.size:
        near, far = low[left], high[left]
        rate = (near + np.sqrt(near * near + 4)) / 2
        in_tail = near > 0
        normal = ~in_tail & (far - near > _WIDE)
        exponential = in_tail & (far - near > 1 / rate)
        uniform = ~normal & ~exponential
        drawn = generator.standard_normal(left.size)
        drawn[exponential] = (near + generator.standard_exponential(left.size) / rate)[exponential]
        drawn[uniform] = generator.uniform(near[uniform], far[uniform])
        log_share = np.zeros(left.size)
        log_share[exponential] = (-((drawn - rate) ** 2) / 2)[exponential]
        start = np.maximum(near, 0)[uniform]
        log_share[uniform] = (start * start - drawn[uniform] ** 2) / 2
        kept = (drawn >= near) & (drawn <= far)
        kept &= np.log1p(-generator.random(left.size)) <= log_share
        out[left[kept]] = drawn[kept]
        left = left[~kept]
    return np.where(turned, -out, out).reshape(shape)


# -- keys and counters of seeds --------------------------------------------------------------------


def _key_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    if not ctx.inputs[0].shape.is_compatible_with([2]):
        raise ValueError(f"{ctx.op}: a seed is two integers, got shape {ctx.inputs[0].shape}")
    ends = [scalar_shape] if ctx.op.endswith("Alg") else []
    return [TensorShape([1]), TensorShape([_WORDS]), *ends]


def _key_kernel(ctx: KernelContext) -> Kernel:
    names_algorithm = ctx.op.endswith("Alg")

    def key(seed: Any) -> Any:
        if np.shape(seed) != (2,):
            raise InvalidArgumentError(f"seed must have shape [2], not {list(np.shape(seed))}")
        state = philox.key_and_counter(seed)
        return (*state, np.int32(_PHILOX)) if names_algorithm else state

    return key


for _name in ("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"):
    op(_name, _key_shapes, kernel=_key_kernel, grad=NOT_DIFFERENTIABLE)
op("StatelessRandomGetAlg", lambda ctx: [scalar_shape], lambda: np.int32(_PHILOX), NOT_DIFFERENTIABLE)


# -- second versions -------------------------------------------------------------------------------


def _keyed_shape(ctx: InferContext) -> Sequence[TensorShape]:
    for at, (rank, what) in enumerate(((1, "key"), (1, "counter"), (0, "alg")), 1):
        if ctx.inputs[at].shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op}: {what} has rank {rank}, got {ctx.inputs[at].shape}")
    return [described_shape(ctx, 0)]


def _keyed_kernel(draw: Whole, source: Whole, ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype

    def drawn(shape: Any, key: Any, counter: Any, algorithm: Any, *rest: Any) -> Any:
        _check_algorithm(algorithm)
        return np.asarray(draw(source(key, counter), checked_dims(shape), dtype, *rest))

    return drawn


def _check_algorithm(algorithm: Any) -> None:
    if int(algorithm) not in (_PHILOX, _ANY):
        raise InvalidArgumentError(
            f"Unsupported algorithm id: {algorithm}; Philox is {_PHILOX}, and {_ANY} leaves the choice"
        )


def _keyed_gamma_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [*[None] * 4, gamma_gradient(op, grad, op.inputs[4])]


_draw: Whole
for _name, _draw in (
    ("RandomUniform", philox.uniform),
    ("RandomNormal", philox.normal),
    ("TruncatedNormal", philox.truncated_normal),
    ("RandomUniformInt", philox.between),
    ("RandomUniformFullInt", philox.integers),
):
    op(
        f"Stateless{_name}V2",
        _keyed_shape,
        kernel=functools.partial(_keyed_kernel, _draw, Philox),
        grad=NOT_DIFFERENTIABLE,
        cost=sample_cost,
        sized_by=(0,),
    )
op(
    "StatelessRandomGammaV3",
    _keyed_shape,
    grad=_keyed_gamma_gradient,
    cost=sample_cost,
    kernel=functools.partial(_keyed_kernel, _gamma, _generator),
    sized_by=(0,),
)


def _shuffle(value: Any, key: Any, counter: Any, algorithm: Any) -> Any:
    _check_algorithm(algorithm)
    if not np.ndim(value):
        return value
    return value[_generator(key, counter).permutation(len(value))]


op("StatelessShuffle", lambda ctx: [ctx.inputs[0].shape], _shuffle, NOT_DIFFERENTIABLE)


# -- by seed, and by the state of the node ---------------------------------------------------------


def _seeded_kernel(draw: Whole, ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype
    return lambda shape, seed, *rest: draw(_generator(seed), checked_dims(shape), dtype, *rest)


_BY_SEED: dict[str, Whole] = {"RandomBinomial": _binomial, "ParameterizedTruncatedNormal": _truncated}
for _name, _draw in _BY_SEED.items():
    op(
        f"Stateless{_name}",
        lambda ctx: [described_shape(ctx, 0)],
        kernel=functools.partial(_seeded_kernel, _draw),
        grad=NOT_DIFFERENTIABLE,
        cost=sample_cost,
        sized_by=(0,),
    )


def _by_batch_kernel(ctx: KernelContext) -> Kernel:
    from actorsession.ops.randomness.numbers import generator_of

    generator, dtype = generator_of(ctx), ctx.outputs[0].dtype

    def drawn(shape: Any, *parameters: Any) -> Any:
        """Draw a batch for each parameter: they stand along the first axis, where others broadcast."""
        dims = checked_dims(shape)
        if not dims:
            raise InvalidArgumentError("Shape tensor must not be empty: it begins with the batches")
        each = []
        for value in parameters:
            if np.ndim(value) > 1 or np.size(value) not in (1, dims[0]):
                raise InvalidArgumentError(
                    f"Parameters are scalars or have one number for each of {dims[0]} batches, got shape "
                    f"{list(np.shape(value))}"
                )
            each.append(np.reshape(value, (-1, *[1] * (len(dims) - 1))))
        return _truncated(generator, dims, dtype, *each)

    return drawn


op(
    "ParameterizedTruncatedNormal",
    lambda ctx: [described_shape(ctx, 0)],
    kernel=_by_batch_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=sample_cost,
    sized_by=(0,),
)


def _chance_kernel(ctx: KernelContext) -> Kernel:
    """Draw integers that no seed repeats."""
    dtype = ctx.outputs[0].dtype.np_dtype

    def drawn(shape: Any) -> Any:
        dims = checked_dims(shape)
        count = int(np.prod(dims))
        return np.frombuffer(current_host().entropy.token_bytes(count * dtype.itemsize), dtype).reshape(dims).copy()

    return drawn


op(
    "NonDeterministicInts",
    lambda ctx: [described_shape(ctx, 0)],
    kernel=_chance_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=sample_cost,
    sized_by=(0,),
)


# -- generators in variables -----------------------------------------------------------------------

# The counter of a generator has two words, and its key follows them.
_STATE = 3
# How far the counter goes on for each number, as in TensorFlow, whatever was drawn for it.
_SKIPPED = 256


def _check_state(ctx: InferContext) -> None:
    handle = ctx.inputs[0]
    if handle.dtype is not resource:
        raise TypeError(f"{ctx.op} takes the handle of a variable, got {handle.dtype.name}")


def _advanced(var: Any, op_type: str, delta: int) -> Any:
    """Advance the counter of a generator, and return its state from before."""
    before: list[Any] = []

    def advance(old: Any, out: Any = None) -> Any:
        if np.shape(old) != (_STATE,) or old.dtype != np.int64:
            raise InvalidArgumentError(
                f"{op_type}: For the Philox algorithm, the size of state must be at least {_STATE} int64 "
                f"numbers, got {old.dtype} of shape {list(np.shape(old))}"
            )
        before.append(np.array(old))
        low, high = (int(word) & _WORD for word in old[:2])
        total = (low + (high << 64) + delta) & ((1 << 128) - 1)
        words = np.array([total & _WORD, total >> 64, int(old[2]) & _WORD], np.uint64)
        advanced = words.view(np.int64)
        if out is None:
            return advanced
        out[...] = advanced
        return out

    var.update(advance)
    return before[-1]


def _skip_kernel(ctx: KernelContext) -> Kernel:
    reads = ctx.op == "RngReadAndSkip"

    def skip(var: Any, algorithm: Any, delta: Any) -> Any:
        _check_algorithm(algorithm)
        before = _advanced(var, ctx.op, (int(delta) & _WORD) * _SKIPPED)
        return before if reads else None

    return skip


def _stateful_shape(ctx: InferContext) -> Sequence[TensorShape]:
    _check_state(ctx)
    return [described_shape(ctx, 2)]


def _stateful_kernel(draw: Whole, source: Whole, ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype

    def drawn(var: Any, algorithm: Any, shape: Any, *rest: Any) -> Any:
        _check_algorithm(algorithm)
        dims = checked_dims(shape)
        state = _advanced(var, ctx.op, prod(dims) * _SKIPPED)
        return np.asarray(draw(source(state[_WORDS:], state[:_WORDS]), dims, dtype, *rest))

    return drawn


def _skipped(ctx: InferContext) -> Sequence[TensorSpec]:
    _check_state(ctx)
    return [TensorSpec(as_dtype("int64"), TensorShape([None]))] if "Read" in ctx.op else []


for _name in ("RngReadAndSkip", "RngSkip"):
    op(_name, infer=_skipped, kernel=_skip_kernel, grad=NOT_DIFFERENTIABLE)
for _name, _draw, _source in (
    ("Uniform", philox.uniform, Philox),
    ("UniformInt", philox.between, Philox),
    ("UniformFullInt", philox.integers, Philox),
    ("StandardNormalV2", philox.normal, Philox),
    ("TruncatedNormal", philox.truncated_normal, Philox),
    ("RandomBinomial", _binomial, _generator),
):
    op(
        f"Stateful{_name}",
        _stateful_shape,
        grad=NOT_DIFFERENTIABLE,
        cost=sample_cost,
        kernel=functools.partial(_stateful_kernel, _draw, _source),
        sized_by=(2,),
    )
