"""Random samples that continue from step to step: classes, gamma and Poisson numbers, shuffled rows.

Generators and seeds are those of ``numbers``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, float32, float64, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.elementwise import exp, log
from actorsession.ops.operands import scalar_like
from actorsession.ops.randomness.numbers import Draw, checked_dims, drawn_shape, generator_of, seed_attrs
from actorsession.ops.rows import op, same
from actorsession.ops.shape_operands import Ints, elements, shape_operand

__all__ = ["categorical", "multinomial", "random_gamma", "random_poisson", "random_shuffle"]

# Microseconds per number drawn.
_COST = 0.05


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Draw classes by their logarithmic weights.

    Args:
        logits: a row of weights for each row of samples; classes with non-finite weights are never drawn.
        num_samples: number of samples per row, an int32 scalar.
        seed: the op's own seed.
        output_dtype: int32 or int64; int64 if left out.
    """
    graph = graph_of(logits, num_samples)
    with graph.name_scope(name or "multinomial"):
        weights = convert_to_tensor(logits, name="logits", graph=graph)
        count = convert_to_tensor(num_samples, int32, "num_samples", graph=graph)
        class_type = int64 if output_dtype is None else as_dtype(output_dtype)
        return raw.Multinomial(weights, count, output_dtype=class_type, **seed_attrs(seed, graph))


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw classes by their logarithmic weights; arguments as for ``multinomial``."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def random_gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw numbers from gamma distributions.

    Args:
        shape: shape of the draws for each pair of parameters; the shape of the result is this one followed by
            that of the parameters.
        alpha: the shapes of the distributions; NaN is drawn where they are below 0.
        beta: their inverse scales, 1 if left out; they broadcast with ``alpha``.
        dtype: a floating type.
        seed: the op's own seed.
    """
    element_type = as_dtype(dtype)
    graph = graph_of(alpha, beta, shape)
    with graph.name_scope(name or "random_gamma"):
        dims = shape_operand(shape, graph)
        each = convert_to_tensor(alpha, element_type, "alpha", graph=graph)
        rate = convert_to_tensor(1.0 if beta is None else beta, element_type, "beta", graph=graph)
        both = each if beta is None else each + raw.ZerosLike(rate)
        drawn = raw.RandomGamma(dims, both, **seed_attrs(seed, graph))
        scaled = drawn if beta is None else drawn / rate
        least = scalar_like(float(np.finfo(_wide(element_type)).tiny), scaled)
        return raw.Maximum(least, scaled)


def random_poisson(
    lam: Any, shape: Any, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw numbers from Poisson distributions.

    Args:
        lam: means of the distributions; 0 is drawn where they are below 0.
        shape: shape of the draws for each mean; the shape of the result is this one followed by that of
            ``lam``.
        dtype: dtype of the result, a floating type, int32 or int64.
        seed: the op's own seed.
    """
    graph = graph_of(lam, shape)
    with graph.name_scope(name or "random_poisson"):
        dims = shape_operand(shape, graph)
        rate = convert_to_tensor(lam, name="rate", graph=graph)
        return raw.RandomPoissonV2(dims, rate, dtype=dtype, **seed_attrs(seed, graph))


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return the rows of a tensor, or the entries of a vector, in random order.

    Args:
        value: a tensor of any dtype.
        seed: the op's own seed.
    """
    tensor = convert_to_tensor(value)
    return raw.RandomShuffle(tensor, name=name, **seed_attrs(seed, tensor.graph))


def _wide(dtype: DType) -> Any:
    return np.float64 if dtype is float64 else np.float32


# -- Multinomial ---------------------------------------------------------------------------------


def classes_shape(ctx: InferContext) -> list[TensorShape]:
    """The output has a row of classes for each row of ``logits``, the first input."""
    output = as_dtype(ctx.attrs["output_dtype"])
    if output not in (int32, int64):
        raise TypeError(f"{ctx.op}: classes are int32 or int64, got {output.name}")
    logits, count = ctx.inputs[0].shape, ctx.constant(1)
    if logits.rank not in (None, 2):
        raise ValueError(f"{ctx.op}: logits are a matrix, got shape {logits}")
    if ctx.inputs[1].dtype is not int32 or ctx.inputs[1].shape.rank not in (None, 0):
        raise TypeError(f"{ctx.op}: num_samples is an int32 scalar, got {ctx.inputs[1]}")
    if count is not None and count < 0:
        raise ValueError(f"{ctx.op}: num_samples is at least 0, got {count}")
    rows = None if logits.sizes is None else logits.sizes[0]
    return [TensorShape([rows, None if count is None else int(count)])]


def drawn_classes(generator: np.random.Generator, logits: Array, count: Any) -> Array:
    """Draw classes for each row of logits, by inversion of the cumulative weights.

    Raises:
        InvalidArgumentError: if a row has no classes, or ``count`` is below 0.
    """
    if logits.ndim != 2 or logits.shape[1] == 0:
        raise InvalidArgumentError(f"logits are a matrix with one class or more, got shape {list(logits.shape)}")
    if count < 0:
        raise InvalidArgumentError(f"num_samples is at least 0, got {count}")
    wide = logits.astype(np.float64)
    wide[~np.isfinite(wide)] = -np.inf
    most = wide.max(axis=1, keepdims=True)
    if np.isneginf(most).any():
        raise InvalidArgumentError("each row of logits needs a finite one, got a row without")
    ends = np.cumsum(np.exp(wide - most), axis=1)
    places = generator.random((len(wide), int(count)))
    classes = np.empty(places.shape, np.int64)
    for row, (end, place) in enumerate(zip(ends, places, strict=True)):
        # The product is below the last end, and the first end above it never belongs to a class without
        # weight.
        classes[row] = np.searchsorted(end, place * end[-1], side="right")
    return np.asarray(np.minimum(classes, logits.shape[1] - 1))


def _classes_kernel(ctx: KernelContext) -> Kernel:
    generator, dtype = generator_of(ctx), ctx.outputs[0].dtype.np_dtype
    return lambda logits, count: drawn_classes(generator, logits, count).astype(dtype)


# -- RandomGamma, RandomPoissonV2 ----------------------------------------------------------------


def _with_parameters(ctx: InferContext) -> list[TensorShape]:
    return [drawn_shape(ctx).concatenate(ctx.inputs[1].shape)]


def check_counts(ctx: InferContext) -> None:
    """Check the dtype of numbers drawn from Poisson distributions."""
    dtype = as_dtype(ctx.attrs["dtype"])
    if not dtype.is_floating and dtype not in (int32, int64):
        raise TypeError(f"{ctx.op} draws a floating type, int32 or int64, got {dtype.name}")


def _counts_shape(ctx: InferContext) -> list[TensorShape]:
    check_counts(ctx)
    return _with_parameters(ctx)


def drawn_gamma(generator: np.random.Generator, dims: Ints, alpha: Any) -> Array:
    """Draw numbers from gamma distributions of scale 1, in float64; NaN where ``alpha`` is below 0."""
    shapes = np.asarray(alpha, np.float64)
    bad = ~(shapes >= 0)
    out = np.asarray(generator.standard_gamma(np.where(bad, 1.0, shapes), (*dims, *shapes.shape)))
    return np.where(bad, np.nan, out) if bad.any() else out


def drawn_poisson(generator: np.random.Generator, dims: Ints, lam: Any) -> Array:
    """Draw numbers from Poisson distributions.

    Raises:
        InvalidArgumentError: for means that are NaN or beyond the range of int64.
    """
    means = np.maximum(np.asarray(lam, np.float64), 0.0)
    try:
        return np.asarray(generator.poisson(means, (*dims, *means.shape)))
    except ValueError as error:
        raise InvalidArgumentError(
            f"the means of Poisson distributions are numbers below 2**63, got {means.max()}"
        ) from error


def _parameter_kernel(draw: Draw) -> Callable[[KernelContext], Kernel]:
    def factory(ctx: KernelContext) -> Kernel:
        generator, dtype = generator_of(ctx), ctx.outputs[0].dtype.np_dtype
        return lambda shape, parameter: np.asarray(draw(generator, checked_dims(shape), parameter)).astype(dtype)

    return factory


def gamma_gradient(op: Operation, grad: Tensor, alpha: Tensor) -> Tensor | None:
    """Return the gradient by the shape parameter of gamma distributions.

    The sample at a fixed quantile of the distribution moves with ``alpha``: its derivative is that of the
    cumulative distribution by ``alpha``, over the density (M. Figurnov, S. Mohamed, A. Mnih, Implicit
    reparameterization gradients). Samples of 0 do not move.
    """
    sample = op.outputs[0]
    moved = raw.IgammaGradA(alpha, sample)
    density = (alpha - 1) * log(sample) - sample - raw.Lgamma(alpha)
    by_alpha = -moved * exp(-density) * grad
    return sum_to_operands(alpha, sample, by_alpha, None)[0]


def _gamma_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [None, gamma_gradient(op, grad, op.inputs[1])]


# -- RandomShuffle -------------------------------------------------------------------------------


def _shuffle_kernel(ctx: KernelContext) -> Kernel:
    generator = generator_of(ctx)

    def shuffle(value: Any) -> Any:
        if np.ndim(value) == 0:
            return value if not isinstance(value, np.ndarray) else value.copy()
        return value[generator.permutation(len(value))]

    return shuffle


def sample_cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return a cost estimate proportional to the number of samples."""
    return 2.0 + _COST * elements(outputs[0])


op("Multinomial", classes_shape, kernel=_classes_kernel, grad=NOT_DIFFERENTIABLE, cost=sample_cost, sized_by=(1,))
op(
    "RandomGamma",
    _with_parameters,
    kernel=_parameter_kernel(drawn_gamma),
    grad=_gamma_gradient,
    cost=sample_cost,
    sized_by=(0,),
)
op("RandomPoissonV2", _counts_shape, kernel=_parameter_kernel(drawn_poisson), cost=sample_cost, sized_by=(0,))
op("RandomShuffle", same, kernel=_shuffle_kernel, grad=NOT_DIFFERENTIABLE, cost=sample_cost)
