"""Random numbers that are a function of their seed: the same seed yields the same numbers in each step.

The seed is an operand of two integers, so a program can compute it. The numbers depend only on the seed, the
shape and the parameters, never on the device or the session; they are not TensorFlow's numbers. Different
shapes with one seed share numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, float32, float64, int32, int64, uint32, uint64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.operands import scalar_like
from actorsession.ops.randomness.numbers import (
    Draw,
    checked_dims,
    drawn_shape,
    floats_shape,
    normal_numbers,
    truncated_normal_numbers,
    uniform_numbers,
)
from actorsession.ops.randomness.samples import (
    check_counts,
    classes_shape,
    drawn_classes,
    drawn_gamma,
    drawn_poisson,
    gamma_gradient,
    sample_cost,
)
from actorsession.ops.rows import Shapes, op
from actorsession.ops.shape_operands import Ints, shape_operand

__all__ = [
    "stateless_categorical",
    "stateless_gamma",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
]

_WORD = 2**64 - 1


# -- public functions ----------------------------------------------------------------------------


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return uniformly distributed numbers in ``[minval, maxval)``, as a function of the seed.

    Args:
        shape: wanted shape.
        seed: two integers.
        minval: the lower end; a scalar for integers.
        maxval: the upper end; 1 if left out. Integers require both ends or neither: ``None`` for both draws
            from all numbers of the dtype.
        dtype: a floating type, int32 or int64; uint32 and uint64 without ends.

    Raises:
        ValueError: for integers with one end, or unsigned ones with ends.
    """
    element_type = as_dtype(dtype)
    graph = graph_of(seed, minval, maxval, shape)
    with graph.name_scope(name or "stateless_random_uniform") as scope:
        dims, word = shape_operand(shape, graph), _seed(seed, graph)
        if not element_type.is_integer:
            low = 0 if minval is None else minval
            drawn = raw.StatelessRandomUniform(dims, word, dtype=element_type)
            return _stretched(drawn, (1 if maxval is None else maxval), low, scope, ends=True)
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"stateless_uniform of {element_type.name} takes both ends or None for both, got minval "
                f"{minval!r} and maxval {maxval!r}"
            )
        if minval is None:
            return raw.StatelessRandomUniformFullInt(dims, word, dtype=element_type, name=scope)
        if element_type not in (int32, int64):
            raise ValueError(f"stateless_uniform draws int32 or int64 between ends, got {element_type.name}")
        ends = [convert_to_tensor(end, element_type, graph=graph) for end in (minval, maxval)]
        return raw.StatelessRandomUniformInt(dims, word, *ends, name=scope)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return normally distributed numbers, as a function of the seed.

    Args:
        shape: wanted shape.
        seed: two integers.
        mean: mean of the numbers, anything that broadcasts to ``shape``.
        stddev: standard deviation of the numbers, likewise.
        dtype: a floating type.
    """
    name = name or "stateless_random_normal"
    return _normal("StatelessRandomNormal", shape, seed, mean, stddev, dtype, name)


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return ``stateless_normal`` restricted to numbers less than two deviations from the mean."""
    name = name or "stateless_truncated_normal"
    return _normal("StatelessTruncatedNormal", shape, seed, mean, stddev, dtype, name)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = int64, name: str | None = None
) -> Tensor:
    """Return classes drawn by their logarithmic weights, as a function of the seed.

    Args:
        logits: a row of weights for each row of samples; classes with non-finite weights are never drawn.
        num_samples: number of samples per row, an int32 scalar.
        seed: two integers.
        output_dtype: int32 or int64.
    """
    graph = graph_of(logits, num_samples, seed)
    with graph.name_scope(name or "stateless_multinomial"):
        weights = convert_to_tensor(logits, name="logits", graph=graph)
        count = convert_to_tensor(num_samples, int32, "num_samples", graph=graph)
        word = _seed(seed, graph)
        return raw.StatelessMultinomial(weights, count, word, output_dtype=output_dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """Return classes drawn by logarithmic weights; arguments as for ``stateless_multinomial``."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def stateless_gamma(
    shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return numbers from gamma distributions, as a function of the seed.

    Args:
        shape: shape of the result; it ends with that of the parameters, broadcast.
        seed: two integers.
        alpha: the shapes of the distributions.
        beta: their inverse scales, 1 if left out.
        dtype: a floating type.
    """
    element_type = as_dtype(dtype)
    graph = graph_of(seed, alpha, beta, shape)
    with graph.name_scope(name or "stateless_random_gamma"):
        dims = shape_operand(shape, graph)
        each = convert_to_tensor(alpha, element_type, "alpha", graph=graph)
        rate = convert_to_tensor(1.0 if beta is None else beta, element_type, "beta", graph=graph)
        both = each if beta is None else each + raw.ZerosLike(rate)
        drawn = raw.StatelessRandomGammaV2(dims, _seed(seed, graph), both)
        scaled = drawn if beta is None else drawn / rate
        wide = np.float64 if element_type is float64 else np.float32
        return raw.Maximum(scalar_like(float(np.finfo(wide).tiny), scaled), scaled)


def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = int32, name: str | None = None) -> Tensor:
    """Return numbers from Poisson distributions, as a function of the seed.

    Args:
        shape: shape of the result; it ends with that of ``lam``.
        seed: two integers.
        lam: means of the distributions; 0 is drawn where they are below 0.
        dtype: dtype of the result, a floating type, int32 or int64.
    """
    graph = graph_of(seed, lam, shape)
    with graph.name_scope(name or "stateless_random_poisson"):
        dims = shape_operand(shape, graph)
        rate = convert_to_tensor(lam, name="lam", graph=graph)
        return raw.StatelessRandomPoisson(dims, _seed(seed, graph), rate, dtype=dtype)


def _seed(seed: Any, graph: Any) -> Tensor:
    if isinstance(seed, (list, tuple)) and all(isinstance(part, int) for part in seed):
        fits = all(-(2**31) <= part < 2**31 for part in seed)
        return convert_to_tensor(seed, int32 if fits else int64, "seed", graph=graph)
    return convert_to_tensor(seed, name="seed", graph=graph)


def _normal(op_type: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str) -> Tensor:
    graph = graph_of(seed, mean, stddev, shape)
    with graph.name_scope(name) as scope:
        dims = shape_operand(shape, graph)
        drawn = make_one(op_type, [dims, _seed(seed, graph)], {"dtype": as_dtype(dtype)})
        return _stretched(drawn, stddev, mean, scope)


def _stretched(drawn: Tensor, factor: Any, shift: Any, scope: str, *, ends: bool = False) -> Tensor:
    """Return the draw times ``factor`` plus ``shift``; with ``ends``, between ``shift`` and ``factor``."""
    low = convert_to_tensor(shift, drawn.dtype, graph=drawn.graph)
    by = convert_to_tensor(factor, drawn.dtype, graph=drawn.graph)
    return raw.AddV2(drawn * (by - low if ends else by), low, name=scope)


# -- shapes --------------------------------------------------------------------------------------


def _seeded(shapes: Shapes, index: int = 1) -> Shapes:
    """Return a shape rule that also checks the shape of the seed, the operand ``index``."""

    def checked(ctx: InferContext) -> Sequence[TensorShape]:
        seed_shape = ctx.inputs[index].shape
        if not seed_shape.is_compatible_with([2]):
            raise ValueError(f"{ctx.op}: a seed is two integers, got shape {seed_shape}")
        return shapes(ctx)

    return checked


def _as_asked(ctx: InferContext) -> list[TensorShape]:
    return [drawn_shape(ctx)]


def _between_shape(ctx: InferContext) -> list[TensorShape]:
    for spec in ctx.inputs[2:]:
        if spec.shape.rank not in (None, 0):
            raise TypeError(f"{ctx.op}: the ends are scalars, got {spec}")
    return [drawn_shape(ctx)]


def _full_shape(ctx: InferContext) -> list[TensorShape]:
    dtype = as_dtype(ctx.attrs["dtype"])
    if dtype not in (int32, int64, uint32, uint64):
        raise TypeError(f"{ctx.op} draws int32, int64, uint32 or uint64, got {dtype.name}")
    return [drawn_shape(ctx)]


def _counts_shape(ctx: InferContext) -> list[TensorShape]:
    check_counts(ctx)
    return [drawn_shape(ctx)]


# -- kernels -------------------------------------------------------------------------------------


def _generator(seed: Any) -> np.random.Generator:
    if np.shape(seed) != (2,):
        raise InvalidArgumentError(f"a seed is two integers, got shape {list(np.shape(seed))}")
    return np.random.Generator(np.random.SFC64([int(part) & _WORD for part in seed]))


def _drawing(draw: Draw) -> Callable[[KernelContext], Kernel]:
    def factory(ctx: KernelContext) -> Kernel:
        dtype = ctx.outputs[0].dtype
        return lambda shape, seed: np.asarray(draw(_generator(seed), checked_dims(shape), dtype))

    return factory


def _between_kernel(ctx: KernelContext) -> Kernel:
    dtype: Any = ctx.outputs[0].dtype.np_dtype

    def kernel(shape: Any, seed: Any, low: Any, high: Any) -> Any:
        if low >= high:
            raise InvalidArgumentError(f"minval lies below maxval, got {low} and {high}")
        return np.asarray(_generator(seed).integers(low, high, checked_dims(shape), dtype))

    return kernel


def _full_kernel(ctx: KernelContext) -> Kernel:
    dtype: Any = ctx.outputs[0].dtype.np_dtype
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max

    def kernel(shape: Any, seed: Any) -> Any:
        dims = checked_dims(shape)
        return np.asarray(_generator(seed).integers(least, most, dims, dtype, endpoint=True))

    return kernel


def _multinomial_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype
    return lambda logits, count, seed: drawn_classes(_generator(seed), logits, count).astype(dtype)


def _leading(op: str, dims: Ints, parameter: Any) -> Ints:
    """Return the part of a shape before that of the parameters, which it must end with."""
    theirs = np.shape(parameter)
    if dims[len(dims) - len(theirs) :] != theirs or len(theirs) > len(dims):
        raise InvalidArgumentError(
            f"{op}: the shape ends with that of the parameters, got {list(dims)} and {list(theirs)}"
        )
    return dims[: len(dims) - len(theirs)]


def _parameter_kernel(draw: Draw) -> Callable[[KernelContext], Kernel]:
    def factory(ctx: KernelContext) -> Kernel:
        op, dtype = ctx.op, ctx.outputs[0].dtype.np_dtype

        def kernel(shape: Any, seed: Any, parameter: Any) -> Any:
            lead = _leading(op, checked_dims(shape), parameter)
            return np.asarray(draw(_generator(seed), lead, parameter)).astype(dtype)

        return kernel

    return factory


def _gamma_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [None, None, gamma_gradient(op, grad, op.inputs[2])]


for _name, _shapes, _kernel, _gradient in (
    ("RandomUniform", floats_shape, _drawing(uniform_numbers), NOT_DIFFERENTIABLE),
    ("RandomNormal", floats_shape, _drawing(normal_numbers), NOT_DIFFERENTIABLE),
    ("TruncatedNormal", floats_shape, _drawing(truncated_normal_numbers), NOT_DIFFERENTIABLE),
    ("RandomUniformInt", _between_shape, _between_kernel, NOT_DIFFERENTIABLE),
    ("RandomUniformFullInt", _full_shape, _full_kernel, NOT_DIFFERENTIABLE),
    ("RandomPoisson", _counts_shape, _parameter_kernel(drawn_poisson), NOT_DIFFERENTIABLE),
    ("RandomGammaV2", _as_asked, _parameter_kernel(drawn_gamma), _gamma_gradient),
):
    op(f"Stateless{_name}", _seeded(_shapes), kernel=_kernel, grad=_gradient, cost=sample_cost, sized_by=(0,))
op(
    "StatelessMultinomial",
    _seeded(classes_shape, 2),
    kernel=_multinomial_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=sample_cost,
    sized_by=(1,),
)
